// What a consumer of the package does first, with the DeltaTable it has loaded: the same for import and require. Prints one line of JSON.
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

exports.run = async ({ DeltaTable, BraidlakeError }) => {
  const folder = mkdtempSync(join(tmpdir(), 'braidlake-consumer-'))
  try {
    const table = await DeltaTable.create(folder, { schema: { id: 'long', name: 'string', price: 'decimal(10,2)' } })
    await table.append([
      { id: 1n, name: 'pear', price: '1.50' },
      { id: 2n, name: 'fig', price: '2.00' },
    ])
    const changes = [
      { id: 2n, name: 'fig', price: '2.25' },
      { id: 3n, name: 'plum', price: '0.75' },
    ]
    const merged = await table
      .merge(changes, { on: 't.id = s.id' })
      .whenMatched()
      .updateAll()
      .whenNotMatched()
      .insertAll()
      .execute()
    const rows = []
    for await (const row of table.rows({ where: 'id >= :from', params: { from: 2n } }))
      rows.push({ ...row, id: String(row.id) })
    const failure = await DeltaTable.open(join(folder, 'none')).catch((error) => error)
    const refused = failure instanceof BraidlakeError ? failure.code : String(failure)
    console.log(JSON.stringify({ version: merged.version, rows: rows.sort((a, b) => a.id - b.id), refused }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
