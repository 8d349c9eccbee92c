// docs/expressions.md is made from the registry here: `npx vitest run src/expr/expression-docs.test.ts -u` writes it, a plain run checks it.
import { expect, test } from 'vitest'
import { callableNames } from './analyze-function.ts'
import { functions } from './functions.ts'

const row = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

const table = (form: 'operator' | 'function'): string =>
  Object.values(functions)
    .filter((entry) => entry.form === form)
    .map((entry) => row([`\`${entry.usage}\``, entry.meaning]))
    .join('\n')

const intro = `# Expressions

Conditions, values and clauses are Spark SQL expressions in ANSI mode, wherever the work runs. This page lists all that is admitted; what is
not on it is refused by name.

- Names: \`column\`, \`t.column\`, \`column.field\`; \`t\` is the target and \`s\` the source. Case does not count. Odd names go in backticks.
- Text: \`'it''s'\` or \`"text"\`, with backslash escapes; \`r'raw'\`. Double quotes never hold a name.
- Numbers: \`1\` (INT, or BIGINT by size), \`1L\`, \`1S\`, \`1Y\`, \`1.5\` (exact DECIMAL), \`1.5D\`, \`1e3\` (DOUBLE), \`1.5F\`, \`15BD\`.
- Others: \`DATE '2024-02-29'\`, \`TIMESTAMP '2024-02-29 10:00:00Z'\`, \`TIMESTAMP_NTZ '...'\`, \`X'1F'\`, \`TRUE\`, \`FALSE\`, \`NULL\`. A timestamp without a zone is UTC.
- Parameters: \`:name\`, bound as typed literals. In a list, an array stands for its elements: \`id IN (:ids)\`.
- Clocks: \`current_timestamp()\`, \`now()\`, \`localtimestamp()\`, \`current_date()\` are read once, when the statement begins. \`rand()\`, \`uuid()\` and the like are refused: a
  statement must mean the same when it is run again.
- Subqueries: \`EXISTS (SELECT ...)\`, \`x [NOT] IN (SELECT ...)\` and \`(SELECT max(x) FROM ...)\` over one table, not correlated, where the statement allows them.
- Types: INT and BIGINT meet in BIGINT, a float and an integer in DOUBLE, text and a number as numbers, text and a date as dates. Decimal results follow
  Spark's precision rules. Where text does not read as the other type, the row is an error.
- Errors on a row (overflow, division by zero, a cast that does not fit, an array index outside) fail the statement with \`EXPRESSION_EVALUATION\`.
  AND, OR, CASE and coalesce evaluate from left to right and no more than they need, so a guard protects what follows it.

Precedence, tightest first: \`[ ]\` \`.\` \`::\`, sign, \`* / % DIV\`, \`+ - ||\`, comparison, predicates (BETWEEN, IN, LIKE, RLIKE, IS), NOT, AND, OR.
`

const forms = `## Other forms

| form | meaning |
| --- | --- |
| \`a BETWEEN b AND c\` | \`a >= b AND a <= c\` |
| \`a IN (b, ...)\` | \`a = b OR ...\` |
| \`a ILIKE b\` | \`lower(a) LIKE lower(b)\` |
| \`a IS [NOT] TRUE\`, \`FALSE\`, \`UNKNOWN\` | never NULL |
| \`a IS [NOT] DISTINCT FROM b\` | \`NOT (a <=> b)\` |
| \`CASE WHEN c THEN v ... ELSE w END\`, \`CASE x WHEN v THEN w ... END\` | the first branch that is TRUE; NULL without ELSE |
| \`if(c, v, w)\`, \`nullif(a, b)\`, \`nvl2(a, b, c)\` | as CASE |
| \`CAST(a AS type)\`, \`a::type\`, \`int(a)\`, \`to_date(a)\`, \`to_timestamp(a)\` | an error where the value does not fit |
| \`TRY_CAST(a AS type)\` | NULL where the value does not fit |
| \`a.field\` | field of a struct, or value of a map under that text |
`

function expressionDocs(): string {
  const names = callableNames().map((name) => `\`${name}\``)
  const head = row(['form', 'meaning'])
  return [
    intro,
    `## Operators\n\n${head}\n| --- | --- |\n${table('operator')}\n`,
    forms,
    `## Functions\n\n${head}\n| --- | --- |\n${table('function')}\n`,
    `Every name that can be called: ${names.join(', ')}.\n`,
  ].join('\n')
}

test('docs/expressions.md says what the registry holds', async () => {
  await expect(expressionDocs()).toMatchFileSnapshot('../../docs/expressions.md')
})
