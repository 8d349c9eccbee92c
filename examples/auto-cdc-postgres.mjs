// A history of a Postgres table by logical replication. Needs a server with wal_level=logical, and: npm install pg pg-logical-replication
// Run: node examples/auto-cdc-postgres.mjs <connection URI> [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeltaTable } from 'braidlake'
import pg from 'pg'

process.env.PGURI = process.argv[2] ?? process.env.PGURI ?? 'postgres://localhost:5432/postgres'
process.chdir(process.argv[3] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const database = new pg.Client({ connectionString: process.env.PGURI })
await database.connect()
await database.query('CREATE TABLE customers (id bigint PRIMARY KEY, name text, city text)')
await database.query("INSERT INTO customers VALUES (1, 'Ann', 'Rome'), (2, 'Bo', 'Bonn')")
await database.query('CREATE PUBLICATION braid FOR TABLE customers')

// #region flow
import { autoCdc } from 'braidlake'
import { postgresSource } from 'braidlake/postgres'

const flow = autoCdc({
  flow: 'customers',
  source: postgresSource({
    connection: process.env.PGURI, // postgres://user:password@host:5432/database
    slot: 'braid',
    publication: 'braid',
    createSlot: true,
    snapshot: true,
  }),
  target: './customer_history',
  keys: ['id'],
  sequenceBy: ['__lsn', '__ordinal'],
  applyAsDeleteWhen: "__op = 'delete'",
  applyAsTruncateWhen: "__op = 'truncate'",
  columnsToUpdate: '__columns',
  columns: ['id', 'name', 'city'],
  storedAsScdType: 2,
})
await flow.run() // the rows that are there, and with { follow: true } every change from then on
// #endregion

await database.query("UPDATE customers SET city = 'Oslo' WHERE id = 1")
await database.query('DELETE FROM customers WHERE id = 2')
await flow.run()

const customers = await DeltaTable.open('./customer_history')
const history = 'SELECT name, city, __END_AT IS NULL AS open FROM customer_history ORDER BY id, __START_AT'
for await (const row of await customers.query(history)) console.log(row.name, row.city, row.open ? 'now' : 'then')

await flow.close()
await database.query("SELECT pg_drop_replication_slot('braid')")
await database.end()
