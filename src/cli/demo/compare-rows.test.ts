import { expect, test } from 'vitest'
import { type Cells, compareRows } from './compare-rows.ts'

async function* rows(...values: Cells[]): AsyncGenerator<Cells> {
  yield* values
}

test('equal rows -> no difference', async () => {
  const same = () => rows(['a', 1], ['a', null], ['b', 2n])
  expect(await compareRows(same(), same())).toEqual({ rowsCompared: 3, differences: 0, shown: [] })
})

test.each<[string, Cells[], Cells[], string[]]>([
  ['a changed value', [['a', 1]], [['a', 2]], ['unexpected a,1', 'missing a,2']],
  [
    'a row too many in the middle',
    [
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ],
    [
      ['a', 1],
      ['c', 1],
    ],
    ['unexpected b,1'],
  ],
  [
    'a repeated row',
    [
      ['a', 1],
      ['a', 1],
    ],
    [['a', 1]],
    ['unexpected a,1'],
  ],
  [
    'rows missing at the end',
    [['a', 1]],
    [
      ['a', 1],
      ['b', 1],
      ['b', 2],
    ],
    ['missing b,1', 'missing b,2'],
  ],
  ['NULL for a value', [['a', null]], [['a', 1]], ['missing a,1', 'unexpected a,']],
])('%s -> named', async (_, actual, expected, named) => {
  const { shown, differences } = await compareRows(rows(...actual), rows(...expected))
  expect(differences).toBe(named.length)
  expect(shown.map(({ side, row }) => `${side} ${row.join(',')}`)).toEqual(named)
})
