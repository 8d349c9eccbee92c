/** Bad input: a typed error, no commit, no file left behind, the table as before. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DeltaTable } from '../../src/index.ts'
import { argumentCases } from './bad-arguments.ts'
import { cases } from './bad-statements.ts'
import { checkForm, errorOf, good, newTable, on, picture, plane, root, rowsOf, twice } from './ground.ts'

test.each([...cases, ...argumentCases].map((one) => [one.name, one.code, one] as const))(
  '%s -> %s, nothing is lost',
  async (_name, code, one) => {
    const table = await newTable(one.table)
    const [before, rows] = [picture(table.path), await rowsOf(table)]
    const error = await errorOf(() => one.run(table))
    checkForm(error, code, one.says)
    if (one.details !== undefined) expect(error.details).toMatchObject(one.details)
    expect([...picture(table.path).keys()]).toEqual([...before.keys()])
    expect(picture(table.path)).toEqual(before)
    expect(await rowsOf(table)).toEqual(rows)
    expect(await table.version()).toBe(1)
  },
)

test('an ambiguous merge -> the error shows the key and both source rows', async () => {
  const table = await newTable()
  const source = twice
  const error = await errorOf(() => table.merge(source, on).whenMatched().updateAll().execute())
  const shown = JSON.stringify(error.details, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  )
  for (const text of ['x', 'y', '1']) expect(shown).toContain(text)
})

test('a closed handle, a committed and a rolled back transaction -> CLOSED', async () => {
  const table = await newTable()
  const tx = await table.begin()
  await tx.append([good])
  await tx.commit()
  checkForm(await errorOf(() => tx.append([good])), 'CLOSED', /./)
  checkForm(await errorOf(() => tx.commit()), 'CLOSED', /./)
  const other = await table.begin()
  await other.rollback()
  checkForm(await errorOf(() => other.commit()), 'CLOSED', /./)
  const before = picture(table.path)
  await table.close()
  for (const call of [
    () => table.append([good]),
    () => table.version(),
    () => table.history(),
    () => table.rows().next(),
    () => table.delete(),
  ]) {
    checkForm(await errorOf(call), 'CLOSED', /./)
  }
  expect(picture(table.path)).toEqual(before)
})

test('a statement that fails in a transaction -> the transaction goes on without it', async () => {
  const table = await newTable()
  const tx = await table.begin()
  await tx.append([{ id: 10, name: 'kept' }])
  checkForm(await errorOf(() => tx.append([{ id: null }])), 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED', /id/)
  await tx.commit()
  expect(await rowsOf(table)).toHaveLength(4)
})

test('no table -> DELTA_TABLE_NOT_FOUND, and nothing is made there', async () => {
  const path = join(root, 'nothing')
  checkForm(await errorOf(() => DeltaTable.open(path, { plane })), 'DELTA_TABLE_NOT_FOUND', /nothing/)
  expect(readdirSync(root)).not.toContain('nothing')
})
