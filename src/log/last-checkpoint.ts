/**
 * `_last_checkpoint`: a hint at where to start listing, never the truth. It may be missing, empty, broken, older than the newest
 * checkpoint or ahead of what is left, and none of that may keep a table from being read. Source: PROTOCOL.md, "Last Checkpoint File".
 */
import { parseJson, printJson } from '../base/json-exact.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import { lastCheckpointPath } from '../protocol/log-path.ts'

export interface CheckpointHint {
  readonly version: number
  /** Actions in the checkpoint. */
  readonly size: number
  readonly sizeInBytes: number
  readonly numOfAddFiles: number
}

/** The version that the hint names; undefined where there is no usable hint. */
export async function readCheckpointHint(store: ObjectStore): Promise<number | undefined> {
  const bytes = await store.get(lastCheckpointPath)
  if (bytes === undefined) return undefined
  const version = versionIn(new TextDecoder().decode(bytes))
  return version !== undefined && Number.isSafeInteger(version) && version >= 0 ? version : undefined
}

function versionIn(text: string): number | undefined {
  try {
    const json = parseJson(text)
    if (typeof json !== 'object' || json === null || !('version' in json)) return undefined
    const { version } = json
    return typeof version === 'number' ? version : undefined
  } catch {
    return undefined
  }
}

export async function writeCheckpointHint(store: ObjectStore, hint: CheckpointHint): Promise<void> {
  await store.put(lastCheckpointPath, new TextEncoder().encode(printJson({ ...hint })))
}
