// A process that opens a table, merges one row and ends: the cold start of small-upserts.mjs.
import { DeltaTable } from '../dist/index.js'

const [path, id] = process.argv.slice(2)
const table = await DeltaTable.open(path)
const row = { id: BigInt(id), c1: 1n, c2: 2n, c3: 3, c4: 4, c5: 0.5, c6: 1.5, c7: 'w', c8: 'c', c9: new Date(0) }
await table.merge([row], { on: 't.id = s.id' }).whenMatched().updateAll().whenNotMatched().insertAll().execute()
