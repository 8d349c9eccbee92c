/** What is refused of a snapshot, before anything is committed: because it is old, or looks broken. */
import { type BraidlakeError, failure } from '../base/errors.ts'
import { countRows } from '../cdc/maintenance/maintenance-context.ts'
import type { Pin } from '../cdc/pins.ts'
import { parseSequence, printSequence } from '../cdc/sequence-text.ts'
import { type SnapshotComparison, coveredRows, repeatedKeys } from '../cdc/snapshot-events.ts'
import { compareDatums } from '../protocol/datum-order.ts'
import type { Datum } from '../protocol/datum.ts'
import { toJs } from '../protocol/js-values.ts'
import { parseTypeName } from '../protocol/schema-json.ts'
import type { DataType } from '../protocol/types.ts'
import type { DataPlane } from '../relation/data-plane.ts'
import type { RunOptions } from './options.ts'

export interface SnapshotVersion {
  readonly value: Datum
  readonly type: DataType
}

/** Of the last snapshot that a flow applied; undefined: none. */
export function lastVersionOf(pin: Pin): SnapshotVersion | undefined {
  if (pin.offset === undefined) return undefined
  const type = parseTypeName(pin.definition.sequenceType)
  return { value: parseSequence(pin.offset, type), type }
}

export function requireRows(rowCount: number, allowEmpty: boolean | undefined): void {
  if (rowCount > 0 || allowEmpty === true) return
  throw refused('EMPTY', 'the snapshot has no rows', {}, 'Give allowEmpty if there are none indeed.')
}

export function requireNewer(version: SnapshotVersion, pin: Pin | undefined): void {
  const last = pin === undefined ? undefined : lastVersionOf(pin)
  if (last === undefined || compareDatums(version.value, last.value, version.type) > 0) return
  const [now, before] = [version, last].map(({ value, type }) => printSequence(value, type))
  throw refused('NOT_NEWER', `version ${now} of the snapshot is not newer than ${before}, the last one`, {
    version: now,
    last: before,
  })
}

const samples = 5

export async function requireUniqueKeys(
  plane: DataPlane,
  { definition, rows }: SnapshotComparison,
  options: RunOptions,
): Promise<void> {
  const repeated = repeatedKeys(definition, rows)
  const keys = await countRows({ plane, options }, repeated)
  if (keys === 0) return
  const some: Record<string, unknown>[] = []
  for await (const batch of plane.query({ kind: 'limit', input: repeated, rows: samples }, options)) {
    for (let at = 0; at < batch.rowCount; at++) {
      some.push(
        Object.fromEntries(
          definition.keys.map(({ name, type }, place) => [name, toJs(batch.columns[place]?.[at] ?? null, type)]),
        ),
      )
    }
  }
  throw refused('DUPLICATE_KEY', `the snapshot repeats ${keys} keys`, { keys, samples: some })
}

/** @param limit the share of the rows covered that may go at once */
export async function requireFewDeletes(
  plane: DataPlane,
  comparison: SnapshotComparison,
  deletes: number,
  limit: number,
  options: RunOptions,
): Promise<void> {
  if (deletes === 0 || comparison.target === undefined) return
  const covered = await countRows({ plane, options }, coveredRows(comparison, comparison.target))
  if (deletes <= covered * limit) return
  throw refused(
    'TOO_MANY_DELETES',
    `the snapshot lacks ${deletes} of the ${covered} keys that it covers, and ${limit * 100} % may go at once`,
    { deletes, covered, maxDeleteFraction: limit },
    'If it is whole, raise maxDeleteFraction for it; if it covers a part of the rows, say which: partial.',
  )
}

function refused(
  reason: string,
  message: string,
  details: Readonly<Record<string, unknown>>,
  advice?: string,
): BraidlakeError {
  return failure('AUTOCDC_SNAPSHOT_REFUSED', `${message}; nothing was committed`, {
    details: { reason, ...details },
    ...(advice === undefined ? {} : { advice }),
  })
}
