// A current copy from messages of Debezium, here from memory; kafkaSource gives them in production. Run: node examples/auto-cdc-debezium.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeltaTable, iterableSource } from 'braidlake'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const source = { connector: 'postgresql', version: '3.2.0.Final' }
const messages = iterableSource('messages', () => [
  { op: 'c', after: { id: 1, name: 'Ann', city: 'Rome' }, source: { ...source, lsn: 100 } },
  { op: 'c', after: { id: 2, name: 'Bo', city: 'Bonn' }, source: { ...source, lsn: 110 } },
  { op: 'u', after: { id: 1, name: 'Ann', city: 'Oslo' }, source: { ...source, lsn: 120 } },
  { op: 'd', before: { id: 2 }, source: { ...source, lsn: 130 } },
])

// #region flow
import { autoCdc, debezium, debeziumColumns } from 'braidlake'

const flow = autoCdc({
  flow: 'customers',
  source: debezium(messages),
  target: './customers',
  schema: 'id: long, name: string, city: string',
  keys: ['id'],
  sequenceBy: '__sequence',
  applyAsDeleteWhen: '__deleted',
  applyAsTruncateWhen: "__op = 't'",
  columnsToUpdate: '__columns',
  exceptColumns: debeziumColumns,
})
await flow.run()
// #endregion

const customers = await DeltaTable.open('./customers')
for await (const { id, name, city } of customers.rows()) console.log(id, name, city)
await flow.close()
