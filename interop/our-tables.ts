/** Tables as this engine leaves them, one of each kind that other engines must read. */
import { join } from 'node:path'
import { autoCdc, DeltaTable } from '../src/index.ts'
import { braid } from '../test/e2e/built.ts'
import { everyType, everyTypeRows } from './every-type.ts'

type Make = (path: string) => Promise<string>

/** Every type, odd partition values, deletion vectors, a checkpoint between them. */
const everything: Make = async (path) => {
  const properties = { 'delta.checkpointInterval': '3' }
  const table = await DeltaTable.create(path, { schema: everyType, partitionBy: ['part'], properties })
  const rows = everyTypeRows()
  await table.append(rows.slice(0, 20))
  await table.append(rows.slice(20))
  await table.delete('id = 9007199254740994')
  await table.update({ t_string: "concat(t.t_string, '!')", t_int: '7' }, { where: 't_boolean' })
  await table
    .merge([...rows.slice(5, 10), { id: 1n, part: 'new', t_double: 1e-7 }], { on: 't.id = s.id' })
    .whenMatched()
    .updateAll()
    .whenNotMatched()
    .insertAll()
    .execute()
  await table.delete("part = 'x=1%20'")
  return path
}

/** The same statements on a table without deletion vectors: files are written again. */
const copyOnWrite: Make = async (path) => {
  const properties = { 'delta.enableDeletionVectors': 'false', 'delta.checkpointInterval': '4' }
  const table = await DeltaTable.create(path, {
    schema: { id: 'long', name: 'string', day: 'date' },
    partitionBy: ['day'],
    properties,
  })
  const row = (id: number) => ({ id, name: `n${id}`, day: id % 3 === 0 ? null : `2024-02-${28 + (id % 2)}` })
  await table.append(Array.from({ length: 300 }, (_, i) => row(i)))
  await table.update({ name: "concat(name, '-')" }, { where: 'id % 7 = 0' })
  await table.delete('id BETWEEN 100 AND 110')
  await table
    .merge([row(5), row(105), row(1000)], { on: 't.id = s.id' })
    .whenMatched()
    .delete()
    .whenNotMatched()
    .insertAll()
    .execute()
  await table.overwrite([{ id: -1, name: 'one', day: '2024-02-29' }], { where: "day = DATE '2024-02-29'" })
  return path
}

const localTimes: Make = async (path) => {
  const table = await DeltaTable.create(path, {
    schema: { id: 'int', at: 'timestamp_ntz', on_day: 'timestamp_ntz' },
    partitionBy: ['on_day'],
  })
  const rows = ['1969-12-31T23:59:59.999999', '2024-02-29T12:00:00', '0001-01-01T00:00:00.000001']
  await table.append(rows.map((at, id) => ({ id, at, on_day: id === 2 ? null : at })))
  await table.delete('id = 1')
  return path
}

/** Many small commits over the same rows, with the default of a checkpoint every ten. */
const longLog: Make = async (path) => {
  const table = await DeltaTable.create(path, { schema: { id: 'long', n: 'int' } })
  await table.append(Array.from({ length: 500 }, (_, id) => ({ id, n: 0 })))
  for (let round = 1; round <= 24; round++) {
    const source = Array.from({ length: 10 }, (_, i) => ({ id: (round * 37 + i * 53) % 600, n: round }))
    await table.merge(source, { on: 't.id = s.id' }).whenMatched().updateAll().whenNotMatched().insertAll().execute()
  }
  return path
}

/** Two writers from one version, the second repaired; then a transaction of several statements. */
const repaired: Make = async (path) => {
  const table = await DeltaTable.create(path, { schema: { id: 'long', v: 'string' } })
  await table.append(Array.from({ length: 100 }, (_, id) => ({ id, v: 'a' })))
  const tx = await table.begin()
  await tx.update({ v: "concat(v, '1')" }, { where: 'id < 60' })
  await table.update({ v: "concat(v, '2')" }, { where: 'id >= 40' })
  await table.delete('id % 10 = 3')
  const { reconciled } = await tx.commit()
  if (!reconciled.some(({ rung }) => rung === 'L2')) throw new Error('the second writer was not repaired')
  return path
}

/** What the demo leaves: eight processes merged into a table that Spark wrote. */
const demo: Make = async (path) => {
  const counties = new URL('../test/tables/counties', import.meta.url).pathname
  const { code, stderr } = await braid(['demo', '--table', counties, '--dir', path, '--json'], process.cwd())
  if (code !== 0) throw new Error(`braid demo ended with ${code}: ${stderr}`)
  return join(path, 'table')
}

/** A type 2 target of AUTO CDC after late, repeated and tied events, deletes and unchanged updates; it leaves rows in the state, too. */
const history: Make = async (path) => {
  const flow = autoCdc({
    target: path,
    flow: 'orders',
    keys: ['id'],
    sequenceBy: 'seq',
    applyAsDeleteWhen: "op = 'D'",
    exceptColumns: ['op', 'seq'],
    trackHistory: { on: ['city'] },
    storedAsScdType: 2,
  })
  const event = (id: number, seq: number, op: string, city: string | null, note = '-') => ({ id, seq, op, city, note })
  const batches = [
    [event(1, 10, 'U', 'Rome'), event(2, 10, 'U', 'Oslo'), event(2, 20, 'U', 'Oslo', 'same'), event(3, 5, 'D', null)],
    [event(1, 30, 'D', null), event(1, 20, 'U', 'Bern'), event(3, 9, 'U', 'Kyiv'), event(2, 10, 'U', 'Oslo')],
    [event(2, 15, 'U', 'Lima'), event(4, 1, 'U', 'Bonn'), event(4, 1, 'U', 'Metz')],
  ]
  for (const rows of batches) await flow.apply(rows)
  await flow.close()
  return path
}

/** What the flow knows besides what its target shows. */
const historyState: Make = async (path) => `${await history(path)}__cdc_state`

export const ourTables: readonly (readonly [string, Make])[] = [
  ['every type, odd partitions, deletion vectors', everything],
  ['copy on write, overwritten partitions', copyOnWrite],
  ['timestamps without a zone', localTimes],
  ['a long log with checkpoints', longLog],
  ['a repaired commit', repaired],
  ['the table of the demo', demo],
  ['a type 2 target of AUTO CDC', history],
  ['the state of AUTO CDC', historyState],
]
