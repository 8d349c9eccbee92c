/** The contract of aggregates: groups, NULLs, and totals exact to the last digit. */
import { expect, test } from 'vitest'
import type { Expr } from '../../src/expr/tree.ts'
import type { Datum } from '../../src/protocol/datum.ts'
import type { DataPlane } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import { col, dec, decimal, read, readSorted, rowsOf, sorted, types } from './plane-tools.ts'

const { long, string, double } = types

export function aggregateContract(plane: () => DataPlane): void {
  const v = col('v', long)
  const aggregate = (input: Relation, groupBy: readonly { name: string; value: Expr }[]): Relation => ({
    kind: 'aggregate',
    input,
    groupBy,
    aggregates: [
      { name: 'rows', function: 'count', value: undefined, type: long },
      { name: 'n', function: 'count', value: v, type: long },
      { name: 'd', function: 'count_distinct', value: v, type: long },
      { name: 's', function: 'sum', value: v, type: long },
      { name: 'lo', function: 'min', value: v, type: long },
      { name: 'hi', function: 'max', value: v, type: long },
      { name: 'mean', function: 'avg', value: v, type: double },
    ],
  })
  const values = rowsOf({ g: string, v: long }, [
    ['a', 1n],
    ['a', 4n],
    ['a', 4n],
    ['a', null],
    ['b', null],
    [null, 7n],
    [null, 8n],
  ])
  const g = { name: 'g', value: col('g', string) }

  test('aggregate by group -> NULLs do not count, a NULL key is a group', async () => {
    expect(await readSorted(plane(), aggregate(values, [g]))).toEqual(
      sorted([
        ['a', 4n, 3n, 2n, 9n, 1n, 4n, 3],
        ['b', 1n, 0n, 0n, null, null, null, null],
        [null, 2n, 2n, 2n, 15n, 7n, 8n, 7.5],
      ]),
    )
    expect(
      plane()
        .columnsOf(aggregate(values, [g]))
        .map(({ name }) => name),
    ).toEqual(['g', 'rows', 'n', 'd', 's', 'lo', 'hi', 'mean'])
  })

  test('aggregate without groups -> one row, also of nothing; with groups of nothing -> none', async () => {
    const nothing = rowsOf({ g: string, v: long }, [])
    expect(await read(plane(), aggregate(values, []))).toEqual([[7n, 5n, 4n, 24n, 1n, 8n, 4.8]])
    expect(await read(plane(), aggregate(nothing, []))).toEqual([[0n, 0n, 0n, null, null, null, null]])
    expect(await read(plane(), aggregate(nothing, [g]))).toEqual([])
  })

  test('groups only -> the distinct keys; NaN and -0.0 make one group each', async () => {
    const relation: Relation = {
      kind: 'aggregate',
      input: rowsOf({ x: double }, [[Number.NaN], [Number.NaN], [0], [-0], [null]]),
      groupBy: [{ name: 'x', value: col('x', double) }],
      aggregates: [{ name: 'n', function: 'count', value: undefined, type: long }],
    }
    expect((await read(plane(), relation)).map((row) => row[1]).toSorted()).toEqual([1n, 2n, 2n])
  })

  test.each<{ name: string; function: 'sum' | 'min' | 'max' | 'avg'; values: readonly Datum[]; result: Datum }>([
    { name: 'max of doubles: NaN is greatest', function: 'max', values: [1, Number.NaN, null], result: Number.NaN },
    {
      name: 'min of doubles: NaN is greatest',
      function: 'min',
      values: [Number.NaN, 2, Number.POSITIVE_INFINITY],
      result: 2,
    },
    { name: 'sum of doubles', function: 'sum', values: [0.5, 0.25, null], result: 0.75 },
    { name: 'avg of doubles', function: 'avg', values: [1, 2, null], result: 1.5 },
  ])('$name', async (row) => {
    const relation: Relation = {
      kind: 'aggregate',
      input: rowsOf(
        { x: double },
        row.values.map((value) => [value]),
      ),
      groupBy: [],
      aggregates: [{ name: 'r', function: row.function, value: col('x', double), type: double }],
    }
    expect(await read(plane(), relation)).toEqual([[row.result]])
  })

  test('sum of decimals -> exact to the last digit', async () => {
    const type = decimal(28, 2)
    const relation: Relation = {
      kind: 'aggregate',
      input: rowsOf({ x: type }, [[dec(9_999_999_999_999_999_999_999_999_901n, 2)], [dec(2n, 2)], [null]]),
      groupBy: [],
      aggregates: [{ name: 'r', function: 'sum', value: col('x', type), type: decimal(38, 2) }],
    }
    expect(await read(plane(), relation)).toEqual([[dec(9_999_999_999_999_999_999_999_999_903n, 2)]])
  })

  test('sum of longs past the type -> EXPRESSION_EVALUATION', async () => {
    const relation = aggregate(
      rowsOf({ g: string, v: long }, [
        ['a', 2n ** 63n - 1n],
        ['a', 1n],
      ]),
      [],
    )
    await expect(read(plane(), relation)).rejects.toMatchObject({ code: 'EXPRESSION_EVALUATION' })
  })

  test('min and max of strings -> by UTF-8 bytes, not by UTF-16 units', async () => {
    const relation: Relation = {
      kind: 'aggregate',
      input: rowsOf({ x: string }, [['\u{10000}'], ['\ufffd'], ['a']]),
      groupBy: [],
      aggregates: [
        { name: 'lo', function: 'min', value: col('x', string), type: string },
        { name: 'hi', function: 'max', value: col('x', string), type: string },
      ],
    }
    expect(await read(plane(), relation)).toEqual([['a', '\u{10000}']])
  })
}
