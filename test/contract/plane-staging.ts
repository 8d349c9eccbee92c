/** The contract of staging: outside rows are taken in once and can be read any number of times under the same numbers. */
import { expect, test } from 'vitest'
import type { Datum } from '../../src/protocol/datum.ts'
import type { StructType } from '../../src/protocol/types.ts'
import type { Batch, DataPlane, StagedRows } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import { call, codeOf, col, equal, longs, read, readSorted, rowsOf, sorted, types } from './plane-tools.ts'

const { long, string } = types
const schema: StructType = {
  kind: 'struct',
  fields: [
    { name: 'id', type: long, nullable: true, metadata: {} },
    { name: 'na me', type: string, nullable: true, metadata: {} },
  ],
}

const batch = (...columns: readonly (readonly Datum[])[]): Batch => ({ rowCount: columns[0]?.length ?? 0, columns })

const of = (rows: StagedRows): Relation => ({
  kind: 'staged',
  rows,
  columns: [
    { name: 's.name', from: 'na me', type: string },
    { name: 's.id', from: 'id', type: long },
  ],
  rowNumber: 's.#',
})

export function stagingContract(plane: () => DataPlane): void {
  test.each<{ name: string; batches: Iterable<Batch> | AsyncIterable<Batch> }>([
    { name: 'an array of batches', batches: [batch([5n, null], ['x', 'y']), batch([], []), batch([7n], [null])] },
    {
      name: 'an async iterable',
      batches: (async function* () {
        yield batch([5n, null], ['x', 'y'])
        await new Promise((resolve) => setImmediate(resolve))
        yield batch([7n], [null])
      })(),
    },
  ])('staging $name -> its rows, renamed and numbered from 0', async ({ batches }) => {
    const staged = await plane().stage({ kind: 'batches', schema, batches })
    expect(staged.rowCount).toBe(3)
    expect(staged.columns).toEqual([
      { name: 'id', type: long },
      { name: 'na me', type: string },
    ])
    expect(plane().columnsOf(of(staged))).toEqual([
      { name: 's.name', type: string },
      { name: 's.id', type: long },
      { name: 's.#', type: types.integer },
    ])
    const rows = await readSorted(plane(), of(staged))
    expect(rows).toEqual(
      sorted([
        ['x', 5n, 0],
        ['y', null, 1],
        [null, 7n, 2],
      ]),
    )
    expect(await readSorted(plane(), of(staged))).toEqual(rows)
    await staged.release()
  })

  test('a filtered and joined staged relation -> the numbers it had', async () => {
    const count = 5000
    const ids = BigInt64Array.from({ length: count }, (_, place) => BigInt(place * 2))
    const names = Array.from({ length: count }, (_, place) => `n${place}`)
    const staged = await plane().stage({
      kind: 'batches',
      schema,
      batches: [{ rowCount: count, columns: [ids, names] }],
    })
    const filtered: Relation = {
      kind: 'filter',
      input: of(staged),
      where: equal(call('%', [col('s.id', long), longs(1000n)]), longs(0n)),
    }
    const relation: Relation = {
      kind: 'join',
      join: 'inner',
      left: filtered,
      right: rowsOf({ 't.id': long }, [[2000n], [2001n], [9000n]]),
      on: equal(col('s.id', long), col('t.id', long)),
    }
    expect(await readSorted(plane(), relation)).toEqual(
      sorted([
        ['n1000', 2000n, 1000, 2000n],
        ['n4500', 9000n, 4500, 9000n],
      ]),
    )
    await staged.release()
  })

  test('staging nothing -> no rows, the columns of the schema', async () => {
    const staged = await plane().stage({ kind: 'batches', schema, batches: [] })
    expect(staged.rowCount).toBe(0)
    expect(staged.columns.map(({ name }) => name)).toEqual(['id', 'na me'])
    expect(await read(plane(), of(staged))).toEqual([])
    await staged.release()
  })

  test('staging a relation -> its rows as they were then', async () => {
    const relation = rowsOf({ id: long, 'na me': string }, [
      [1n, 'a'],
      [2n, null],
    ])
    const staged = await plane().stage({ kind: 'relation', relation })
    expect(staged.rowCount).toBe(2)
    const rows = (await readSorted(plane(), of(staged))).map((row) => row.slice(0, 2))
    expect(rows).toEqual(
      sorted([
        ['a', 1n],
        [null, 2n],
      ]),
    )
    await staged.release()
  })

  test('several stagings at once -> do not mix', async () => {
    const stages = await Promise.all(
      [1n, 2n, 3n, 4n].map((id) => plane().stage({ kind: 'batches', schema, batches: [batch([id], [`n${id}`])] })),
    )
    const rows = await Promise.all(stages.map((staged) => read(plane(), of(staged))))
    expect(rows).toEqual([[['n1', 1n, 0]], [['n2', 2n, 0]], [['n3', 3n, 0]], [['n4', 4n, 0]]])
    await Promise.all(stages.map((staged) => staged.release()))
  })

  test('reading after release -> CLOSED; releasing twice -> no error', async () => {
    const staged = await plane().stage({ kind: 'batches', schema, batches: [batch([1n], ['a'])] })
    await staged.release()
    await staged.release()
    expect(await codeOf(read(plane(), of(staged)))).toBe('CLOSED')
  })

  test('a source that fails half-way -> its own error, and the plane goes on', async () => {
    const broken = new Error('the source broke')
    const batches = (async function* () {
      yield batch([1n], ['a'])
      await Promise.resolve()
      throw broken
    })()
    const outcome = await plane()
      .stage({ kind: 'batches', schema, batches })
      .catch((error: unknown) => error)
    const chain = outcome instanceof Error ? [outcome, outcome.cause] : []
    expect(chain).toContain(broken)
    expect(await read(plane(), rowsOf({ a: long }, [[1n]]))).toEqual([[1n]])
  })
}
