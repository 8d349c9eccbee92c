// A history of customers from a folder of JSON lines, and an event that comes late. Run: node examples/auto-cdc-files.mjs [folder]
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const lines = (...events) => events.map((event) => `${JSON.stringify(event)}\n`).join('')
await mkdir('events')
await writeFile(
  'events/monday.jsonl',
  lines(
    { id: 1, name: 'Ann', city: 'Rome', seq: 10, op: 'upsert' },
    { id: 1, name: 'Ann', city: 'Oslo', seq: 30, op: 'upsert' },
    { id: 2, name: 'Bo', city: 'Bonn', seq: 10, op: 'upsert' },
    { id: 2, seq: 20, op: 'delete' },
  ),
)

// #region flow
import { DeltaTable, autoCdc, fileSource } from 'braidlake'

const flow = autoCdc({
  flow: 'customers',
  source: fileSource({ path: './events' }),
  target: './customers',
  schema: 'id: long, name: string, city: string, seq: long, op: string',
  keys: ['id'],
  sequenceBy: 'seq',
  applyAsDeleteWhen: "op = 'delete'",
  exceptColumns: ['seq', 'op'],
  storedAsScdType: 2,
})
const done = await flow.run()
console.log(done.events, 'events,', done.totals.inserted, 'rows') // 4 events, 3 rows
// #endregion

await writeFile('events/late.jsonl', lines({ id: 1, name: 'Ann', city: 'Lima', seq: 20, op: 'upsert' }))

// #region late
// Ann lived in Lima in between, and the event that says so comes last. Only that event is read, and her history is right.
const late = await flow.run()
console.log(late.events, 'event,', late.totals.late, 'late') // 1 event, 1 late

const customers = await DeltaTable.open('./customers')
const history = await customers.query(
  'SELECT city, __START_AT, __END_AT FROM customers WHERE id = 1 ORDER BY __START_AT',
)
for await (const row of history) console.log(row.city, row.__START_AT, row.__END_AT)
// Rome 10n 20n
// Lima 20n 30n
// Oslo 30n null
// #endregion

// #region explain
import { cdcTarget } from 'braidlake'

const ann = await (await cdcTarget('./customers')).explain({ id: 1 })
for (const row of ann.rows) console.log(row.values.city, '-', row.why)
// #endregion
await flow.close()
