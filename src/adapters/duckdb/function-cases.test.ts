/** Every admitted function gives on DuckDB what the golden cases say, which the evaluator gives too. */
import { expect, test } from 'vitest'
import { type FunctionCase, functionCases } from '../../expr/function-cases.ts'
import { datumsEqual } from '../../protocol/datum-order.ts'
import type { Relation } from '../../relation/tree.ts'
import { duckdbPlane } from './duckdb-plane.ts'

const plane = duckdbPlane()

test.each(
  functionCases().map((one) => ({
    sql: one.text
      .slice(0, 2)
      .map((part) => JSON.stringify(part))
      .join(' with '),
    one,
  })),
)('$sql', async ({ one }) => {
  const run = valueOf(one)
  if (one.expected === undefined) {
    await expect(run).rejects.toMatchObject({ code: 'EXPRESSION_EVALUATION' })
    return
  }
  const value = await run
  const shown = JSON.stringify([value, one.expected.value], (_key, inner: unknown) =>
    typeof inner === 'bigint' ? `${inner}n` : inner,
  )
  expect(datumsEqual(value, one.expected.value, one.expected.type), shown).toBe(true)
})

async function valueOf({ columns, expr }: FunctionCase) {
  const relation: Relation = {
    kind: 'project',
    input: {
      kind: 'rows',
      columns: columns.map(({ name, type }) => ({ name, type })),
      values: columns.map(({ value }) => [value]),
      rowCount: 1,
    },
    columns: [{ name: 'x', value: expr }],
  }
  for await (const batch of plane.query(relation)) return batch.columns[0]?.[0] ?? null
  return null
}
