/** Tables whose change feed is read, and what a feed does to rows. Test only. */
import { expect } from 'vitest'
import type { ObjectStore } from '../../src/ports/object-store.ts'
import { parseActions, printAction } from '../../src/protocol/action-codec.ts'
import type { Action } from '../../src/protocol/actions.ts'
import { commitPath } from '../../src/protocol/log-path.ts'
import type { ChangesOptions } from '../../src/table/changes.ts'
import type { DeltaTable } from '../../src/table/delta-table.ts'
import type { SeededRandom } from '../../src/testing/seeded-random.ts'
import type { DataType } from '../../src/protocol/types.ts'
import { type Row as PlaneRow, rowsOf, scanColumn, writeRequest } from '../contract/plane-tools.ts'
import { rearrange } from '../scenarios/foreign-writers.ts'
import { type Bed, openOn, partsOn } from '../scenarios/race.ts'

export type Change = Readonly<Record<string, unknown>>

export async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

export const changes = (table: DeltaTable, options: ChangesOptions): Promise<Change[]> => all(table.changes(options))

/** `+1:a@2`: kind, values and version of a change. */
export function shown(change: Change): string {
  const { _change_type: type, _commit_version: version, _commit_timestamp: _at, ...row } = change
  return `${signs[String(type)]}${Object.values(row).join(':')}@${String(version)}`
}

const signs: Readonly<Record<string, string>> = {
  insert: '+',
  delete: '-',
  update_preimage: '<',
  update_postimage: '>',
}

export async function rowsAt(table: DeltaTable, version: number): Promise<string[]> {
  return (await all(table.rows({ version }))).map((row) => Object.values(row).join(':')).sort()
}

/** The rows after the changes, which must take away only what is there. */
export function applied(rows: readonly string[], feed: readonly Change[]): string[] {
  const counts = new Map<string, number>()
  const add = (row: string, by: number) => counts.set(row, (counts.get(row) ?? 0) + by)
  for (const row of rows) add(row, 1)
  for (const change of feed) {
    const { _change_type: type, _commit_version: _v, _commit_timestamp: _at, ...row } = change
    add(Object.values(row).join(':'), type === 'insert' || type === 'update_postimage' ? 1 : -1)
  }
  for (const [row, count] of counts) expect(count, `rows like ${row}`).toBeGreaterThanOrEqual(0)
  return [...counts].flatMap(([row, count]) => Array.from({ length: count }, () => row)).sort()
}

/** The actions of a version that pass, as a commit of their own; for what no writer of ours commits. */
export async function commitActions(store: ObjectStore, version: number, actions: readonly Action[]): Promise<void> {
  const lines = actions.map(printAction).join('\n')
  expect(await store.createIfAbsent(commitPath(version), new TextEncoder().encode(`${lines}\n`))).toBe('created')
}

export async function actionsOf(store: ObjectStore, version: number): Promise<Action[]> {
  return parseActions(new TextDecoder().decode(await store.get(commitPath(version))))
}

/** Commits changes that are recorded row by row, as engines with the change feed on do. The table's own files stay as they are. */
export async function recordChanges(
  bed: Bed,
  store: ObjectStore,
  version: number,
  columns: Readonly<Record<string, DataType>>,
  files: readonly (readonly PlaneRow[])[],
): Promise<void> {
  const all = { ...columns, _change_type: { kind: 'string' } } as const
  const scanned = Object.entries(all).map(([name, type]) => scanColumn(name, type))
  const actions: Action[] = []
  for (const rows of files) {
    const request = writeRequest(store.root, scanned, rowsOf(all, rows))
    for (const { path, sizeBytes } of await bed.plane().write(request))
      actions.push({ kind: 'cdc', cdc: { path, partitionValues: {}, size: sizeBytes } })
  }
  await commitActions(store, version, actions)
}

/** One random statement. Keys `k` are unique as long as statements are only these. */
export async function randomStatement(bed: Bed, store: ObjectStore, random: SeededRandom): Promise<string> {
  const table = openOn(bed, store)
  const keys = (await all(table.rows({ columns: ['k'], long: 'number' }))).map(({ k }) => Number(k))
  const fresh = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ k: Math.max(0, ...keys) + n + 1, p: random.integer(0, 2), v: letter() }))
  const letter = () => random.pick(['a', 'b', 'c'])
  const [modulus, rest] = [random.integer(1, 4), random.integer(0, 3)]
  const where = random.chance(0.3) ? `p = ${random.integer(0, 2)}` : `k % ${modulus} = ${rest}`
  const kind = random.pick(['append', 'delete', 'update', 'move', 'merge', 'overwrite', 'rearrange'])
  switch (kind) {
    case 'append':
      await table.append(fresh(random.integer(1, 5)))
      break
    case 'delete':
      await table.delete(where)
      break
    case 'update':
      await table.update({ v: random.chance(0.3) ? 'v' : `'${letter()}'` }, { where })
      break
    case 'move':
      await table.update({ p: '(p + 1) % 3' }, { where })
      break
    case 'merge':
      await table
        .merge([...keys.filter(() => random.chance(0.3)).map((k) => ({ k, p: 1, v: letter() })), ...fresh(2)], {
          on: 't.k = s.k',
        })
        .whenMatched("s.v = 'c'")
        .delete()
        .whenMatched()
        .updateAll()
        .whenNotMatched()
        .insertAll()
        .execute()
      break
    case 'overwrite':
      await table.overwrite(fresh(random.integer(0, 2)), { where })
      break
    default:
      await rearrange(partsOn(store, bed.plane()))
  }
  return `${kind} ${where}`
}
