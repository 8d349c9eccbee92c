/** One process of the demo: pins a version, waits at the barrier, then runs its MERGE and commits. */
import { DeltaTable } from '../../compose.ts'
import { reportedError } from '../report-error.ts'
import { on } from './corrections.ts'
import type { FromWorker, Job, ToWorker } from './worker-messages.ts'

/** Resolves once the message has left: the process may end right after. */
function say(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(message, () => resolve())
  })
}

function hear<Kind extends ToWorker['kind']>(kind: Kind): Promise<Extract<ToWorker, { kind: Kind }>> {
  return new Promise((resolve) => {
    const listener = (message: ToWorker) => {
      if (!isKind(message, kind)) return
      process.off('message', listener)
      resolve(message)
    }
    process.on('message', listener)
  })
}

function isKind<Kind extends ToWorker['kind']>(
  message: ToWorker,
  kind: Kind,
): message is Extract<ToWorker, { kind: Kind }> {
  return message.kind === kind
}

async function work({ table: path, correction }: Job): Promise<void> {
  const table = await DeltaTable.open(path)
  const transaction = await table.begin()
  const go = hear('go')
  await say({ kind: 'ready', readVersion: transaction.version })
  await go
  const startedMs = Date.now()
  await transaction
    .merge({ parquet: correction.file }, { on })
    .whenMatched()
    .update(correction.set)
    .whenNotMatched()
    .insertAll()
    .execute()
  const result = await transaction.commit()
  await say({ kind: 'committed', result, startedMs, committedMs: Date.now() })
}

void hear('job')
  .then(({ job }) => work(job))
  .catch((error: unknown) => say({ kind: 'failed', error: reportedError(error) }))
  .finally(() => process.disconnect())
