/** What a target of AUTO CDC says of itself and of its state, from the two logs alone. */
import { failure } from '../base/errors.ts'
import type { BatchTables } from '../cdc/batch-tables.ts'
import { type Pin, type PinnedDefinition, pinsOf } from '../cdc/pins.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { TableParts } from '../transaction/context.ts'
import { detailOf, filesOf } from './detail.ts'

export interface CdcFlowStatus {
  readonly flow: string
  /** How far the source was read, as the source gave it; undefined: nothing yet. */
  readonly offset: string | undefined
  /** Attempts at the state: the greatest that lives, and how many up to it are dead. */
  readonly attempts: { readonly last: number; readonly dead: number }
  /** Sequence below which no event is applied any more, as text; undefined: none. */
  readonly watermark: string | undefined
  /** Sequences of truncates, as text, ascending. */
  readonly truncates: readonly string[]
}

export interface CdcTableSize {
  readonly path: string
  readonly version: number
  readonly files: number
  readonly sizeBytes: number
  /** Rows of the files less deleted ones; undefined where the log does not say. */
  readonly rows: number | undefined
}

export interface CdcStatus {
  readonly target: CdcTableSize
  /** Dead rows included. Undefined: the state table is missing. */
  readonly state: CdcTableSize | undefined
  /** Events set aside. Undefined: none ever were. */
  readonly quarantine: CdcTableSize | undefined
  readonly definition: PinnedDefinition
  /** When the newest version was committed. */
  readonly committed: Date
  /** `~kept` holds what maintenance and retired flows have left. */
  readonly flows: readonly CdcFlowStatus[]
}

/** @throws DELTA_TABLE_NOT_FOUND, AUTOCDC_INVALID_STATE where the table is no target */
export async function cdcStatus({ target, state, quarantine }: BatchTables): Promise<CdcStatus> {
  const snapshot = await target.log.refresh()
  const pins = [...pinsOf(snapshot).values()]
  const [first] = pins
  if (first === undefined) {
    throw failure('AUTOCDC_INVALID_STATE', `${target.log.store.root} is no target of AUTO CDC: it has no flow`, {
      details: { reason: 'NOT_A_TARGET', path: target.log.store.root },
      advice: 'Name the folder of a table that a flow has made.',
    })
  }
  return {
    target: sizeOf(target.log.store.root, snapshot),
    state: await sizeIfThere(state),
    quarantine: quarantine === undefined ? undefined : await sizeIfThere(quarantine),
    definition: first.definition,
    committed: new Date(snapshot.timestampMs),
    flows: pins.map(flowStatus).sort((a, b) => (a.flow < b.flow ? -1 : 1)),
  }
}

function flowStatus({ flow, offset, last, dead, watermark, truncates }: Pin): CdcFlowStatus {
  const deadCount = dead.reduce((sum, [from, to]) => sum + to - from + 1, 0)
  return { flow, offset, attempts: { last, dead: deadCount }, watermark, truncates }
}

async function sizeIfThere({ log }: TableParts): Promise<CdcTableSize | undefined> {
  return (await log.exists()) ? sizeOf(log.store.root, await log.refresh()) : undefined
}

function sizeOf(path: string, snapshot: Snapshot): CdcTableSize {
  const { version, files, sizeBytes } = detailOf(path, snapshot)
  let rows: number | undefined = 0
  for (const file of filesOf(snapshot)) {
    rows = rows === undefined || file.rows === undefined ? undefined : rows + file.rows - file.deletedRows
  }
  return { path, version, files, sizeBytes, rows }
}
