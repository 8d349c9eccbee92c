import { describe, expect, test } from 'vitest'
import { analyzeSelect } from './analyze-select.ts'
import { parseSelect } from './parse.ts'
import { printSql } from './print-sql.ts'
import { tableScope } from './scope.ts'
import { sqlTypeName } from './type-rules.ts'

const scope = tableScope(
  [
    { name: 'id', type: { kind: 'integer' } },
    { name: 'price', type: { kind: 'decimal', precision: 10, scale: 2 } },
    { name: 'kind', type: { kind: 'string' } },
  ],
  ['t'],
  't.',
)

/** One line: what is selected, grouped and aggregated. */
function shown(sql: string): string {
  const select = analyzeSelect(parseSelect(sql), scope, { frozen: { nowMicros: 0n, timeZone: 'UTC' } })
  const items = select.items.map((item) => `${item.name}: ${printSql(item.value)}`).join('; ')
  if (select.kind === 'rows')
    return `${select.distinct ? 'distinct ' : ''}rows ${items} where ${printSql(select.where)}`
  const groups = select.groupBy.map((group) => printSql(group.value)).join(', ')
  const aggregates = select.aggregates
    .map((a) => `${a.function}(${a.value === undefined ? '*' : printSql(a.value)}) ${sqlTypeName(a.type)}`)
    .join('; ')
  return `aggregate ${items} by [${groups}] of [${aggregates}] where ${printSql(select.where)}`
}

describe('a SELECT over the target', () => {
  test.each([
    ['SELECT * FROM x', 'rows id: t.id; price: t.price; kind: t.kind where TRUE'],
    [
      'SELECT t.*, id + 1 AS next FROM x WHERE id > 1',
      'rows id: t.id; price: t.price; kind: t.kind; next: (t.id + 1) where (t.id > 1)',
    ],
    ['SELECT DISTINCT kind FROM x', 'distinct rows kind: t.kind where TRUE'],
    ['SELECT count(*) FROM x', 'aggregate count(*): `$aggregate0` by [] of [count(*) BIGINT] where TRUE'],
    ['SELECT max(id) + 1 AS next FROM x', 'aggregate next: (`$aggregate0` + 1) by [] of [max(t.id) INT] where TRUE'],
    [
      'SELECT sum(price) / count(*) AS a FROM x',
      'aggregate a: (`$aggregate0` / CAST(`$aggregate1` AS DECIMAL(20,0))) by [] of [sum(t.price) DECIMAL(20,2); count(*) BIGINT] where TRUE',
    ],
    [
      'SELECT upper(kind) AS k, avg(price) AS p FROM x GROUP BY upper(kind)',
      'aggregate k: `$group0`; p: `$aggregate0` by [upper(t.kind)] of [avg(t.price) DECIMAL(14,6)] where TRUE',
    ],
    [
      "SELECT kind || '!' AS k, count(DISTINCT id) AS n FROM x GROUP BY 1",
      "aggregate k: `$group0`; n: `$aggregate0` by [(t.kind || '!')] of [count_distinct(t.id) BIGINT] where TRUE",
    ],
    ['SELECT kind FROM x GROUP BY kind', 'aggregate kind: `$group0` by [t.kind] of [] where TRUE'],
    [
      'SELECT 1 AS one, avg(id) AS a FROM x',
      'aggregate one: 1; a: `$aggregate0` by [] of [avg(CAST(t.id AS BIGINT)) DOUBLE] where TRUE',
    ],
  ])('%s', (sql, expected) => {
    expect(shown(sql)).toBe(expected)
  })

  test.each([
    ['SELECT kind, count(*) FROM x', 'EXPRESSION_UNSUPPORTED'],
    ['SELECT *, count(*) FROM x', 'EXPRESSION_UNSUPPORTED'],
    ['SELECT DISTINCT kind, count(*) FROM x GROUP BY kind', 'EXPRESSION_UNSUPPORTED'],
    ['SELECT id FROM x WHERE count(*) > 1', 'EXPRESSION_UNSUPPORTED'],
    ['SELECT sum(max(id)) FROM x', 'EXPRESSION_UNSUPPORTED'],
    ['SELECT sum(kind) FROM x', 'EXPRESSION_TYPE'],
    ['SELECT max(*) FROM x', 'EXPRESSION_TYPE'],
    ['SELECT u.* FROM x', 'EXPRESSION_UNKNOWN_COLUMN'],
    ['SELECT id FROM x WHERE nothing = 1', 'EXPRESSION_UNKNOWN_COLUMN'],
    ['SELECT id FROM x GROUP BY 9', 'EXPRESSION_UNSUPPORTED'],
  ])('%s -> %s', (sql, code) => {
    expect(() => shown(sql)).toThrow(expect.objectContaining({ code }))
  })

  test('a name of the statement around it means the subquery is correlated', () => {
    const outer = tableScope([{ name: 'region', type: { kind: 'string' } }], ['s'], 's.')
    const run = (): unknown =>
      analyzeSelect(parseSelect('SELECT id FROM x WHERE kind = s.region'), scope, {
        frozen: { nowMicros: 0n, timeZone: 'UTC' },
        outer,
      })
    expect(run).toThrow(
      expect.objectContaining({ code: 'EXPRESSION_UNSUPPORTED', message: expect.stringContaining('correlated') }),
    )
  })
})
