/** Work after a commit. Nothing here can fail the commit: what goes wrong becomes an event, and a warning where it was waited for. */
import type { TableParts } from './context.ts'

/** @returns what went wrong, a sentence each */
export async function afterCommit(
  parts: TableParts,
  version: number,
  checkpointInterval: number,
  discarded: readonly string[],
): Promise<string[]> {
  const warnings: string[] = []
  const attempt = async (what: string, work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      const message = `${what} failed: ${error instanceof Error ? error.message : String(error)}`
      warnings.push(message)
      parts.telemetry.log('warn', message, { version })
      parts.telemetry.event('braidlake.post_commit_failed', { what, version })
    }
  }
  if (discarded.length > 0) await attempt('deleting unused files', () => parts.log.store.delete(discarded))
  if (version > 0 && version % checkpointInterval === 0) {
    // Taken now, while the version is the newest one and costs nothing to have.
    const snapshot = parts.log.snapshot({ version })
    // A failure is met by whoever awaits it, which may be nobody where a later checkpoint takes this one's place.
    snapshot.catch(() => undefined)
    const work = () => attempt('the checkpoint', async () => parts.log.checkpoint(await snapshot))
    if (parts.checkpoints === 'wait') await work()
    else parts.background.run(work)
  }
  return warnings
}
