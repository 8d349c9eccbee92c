/** The contract of failing: checks, typed errors, cancelling; nothing is left behind. */
import { describe, expect, test } from 'vitest'
import type { Expr } from '../../src/expr/tree.ts'
import type { Batch, DataPlane, RowCheck } from '../../src/relation/data-plane.ts'
import type { Relation } from '../../src/relation/tree.ts'
import type { PlaneHarness, Row } from './plane-tools.ts'
import {
  call,
  codeOf,
  col,
  isNotNull,
  lit,
  longs,
  read,
  rowsOf,
  scan,
  scanColumn,
  types,
  write,
  writeRequest,
} from './plane-tools.ts'

const { long, string, integer } = types
const id = scanColumn('t.id', long, { physicalName: 'id' })
const name = scanColumn('t.name', string, { physicalName: 'name' })
const columns = [id, name]
const rows: readonly Row[] = [
  [1n, 'a'],
  [2n, null],
  [-3n, 'c'],
]

export function failureContract(harness: PlaneHarness, plane: () => DataPlane): void {
  const invariant = (predicate: Expr): RowCheck => ({ name: 'inv', kind: 'invariant', predicate })
  const positive = invariant(call('>', [col('t.id', long), longs(0n)]))

  test.each<{ name: string; checks: readonly RowCheck[]; code: string; details: object }>([
    {
      name: 'NOT NULL with a NULL',
      checks: [{ name: 'name', kind: 'not-null', predicate: isNotNull(col('t.name', string)) }],
      code: 'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
      details: { column: 'name', row: { id: 2n, name: null } },
    },
    {
      name: 'an invariant that is FALSE',
      checks: [positive],
      code: 'DELTA_VIOLATE_CONSTRAINT_WITH_VALUES',
      details: { constraint: 'inv', row: { id: -3n, name: 'c' } },
    },
    {
      name: 'an invariant that is NULL',
      checks: [invariant(call('<>', [col('t.name', string), lit('zz', string)]))],
      code: 'DELTA_VIOLATE_CONSTRAINT_WITH_VALUES',
      details: { constraint: 'inv', row: { id: 2n, name: null } },
    },
  ])('a write that breaks $name -> $code, no file', async ({ checks, code, details }) => {
    const directory = await harness.newDirectory()
    const error: unknown = await write(harness, plane(), columns, rows, { directory, checks }).catch(
      (caught: unknown) => caught,
    )
    expect(error).toMatchObject({ code, details })
    expect(await harness.listFiles(directory)).toEqual([])
  })

  test('a write that passes all its checks -> written', async () => {
    const checks: RowCheck[] = [
      { name: 'id', kind: 'not-null', predicate: isNotNull(col('t.id', long)) },
      invariant(call('<', [col('t.id', long), longs(100n)])),
    ]
    const { files } = await write(harness, plane(), columns, rows, { checks })
    expect(files.map((file) => file.rowCount)).toEqual([3])
  })

  test('a check on a column that partitions the table -> holds too', async () => {
    const partitioned = [id, { ...name, isPartition: true }]
    const checks: RowCheck[] = [{ name: 'name', kind: 'not-null', predicate: isNotNull(col('t.name', string)) }]
    expect(await codeOf(write(harness, plane(), partitioned, rows, { checks, order: 'any' }))).toBe(
      'DELTA_NOT_NULL_CONSTRAINT_VIOLATED',
    )
  })

  test('a missing data file -> DELTA_DATA_FILE_MISSING, from a query and from a write', async () => {
    const written = await write(harness, plane(), columns, rows)
    const location = `${written.directory}/${written.files[0]?.path ?? ''}`
    await harness.removeFile(location)
    const error: unknown = await read(plane(), scan(written)).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'DELTA_DATA_FILE_MISSING' })
    expect(await codeOf(write(harness, plane(), columns, scan(written)))).toBe('DELTA_DATA_FILE_MISSING')
  })

  const failing: readonly { readonly name: string; readonly value: Expr }[] = [
    {
      name: 'division by zero',
      value: call('/', [lit(1, types.double), call('-', [lit(1, types.double), lit(1, types.double)])]),
    },
    {
      name: 'integer overflow',
      value: call('+', [
        lit(2 ** 31 - 1, integer),
        { kind: 'cast', input: col('t.id', long), type: integer, try: false },
      ]),
    },
    { name: 'a cast that does not fit', value: { kind: 'cast', input: col('t.name', string), type: long, try: false } },
  ]
  test.each(failing)(
    '$name on a row -> EXPRESSION_EVALUATION, from a query and from a write, no file',
    async ({ value }) => {
      const relation: Relation = {
        kind: 'project',
        input: rowsOf({ 't.id': long, 't.name': string }, [[1n, 'abc']]),
        columns: [{ name: 'x', value }],
      }
      expect(await codeOf(read(plane(), relation))).toBe('EXPRESSION_EVALUATION')
      const directory = await harness.newDirectory()
      const written = write(harness, plane(), [scanColumn('x', value.type)], relation, { directory })
      expect(await codeOf(written)).toBe('EXPRESSION_EVALUATION')
      expect(await harness.listFiles(directory)).toEqual([])
    },
  )

  test('a cast that may fail -> NULL instead', async () => {
    const value: Expr = { kind: 'cast', input: col('t.name', string), type: long, try: true }
    const relation: Relation = {
      kind: 'project',
      input: rowsOf({ 't.name': string }, [['abc']]),
      columns: [{ name: 'x', value }],
    }
    expect(await read(plane(), relation)).toEqual([[null]])
  })

  test('after an error -> the plane answers as before', async () => {
    const bad: Relation = {
      kind: 'project',
      input: rowsOf({ 't.name': string }, [['abc']]),
      columns: [{ name: 'x', value: failing[2]?.value ?? longs(1n) }],
    }
    await codeOf(read(plane(), bad))
    expect(await read(plane(), rowsOf({ a: long }, [[1n]]))).toEqual([[1n]])
  })

  describe('cancel', () => {
    const many = (): Relation => {
      const numbers = rowsOf(
        { n: long },
        Array.from({ length: 300 }, (_, place): Row => [BigInt(place)]),
      )
      const more = rowsOf(
        { m: long },
        Array.from({ length: 300 }, (_, place): Row => [BigInt(place)]),
      )
      return { kind: 'join', join: 'inner', left: numbers, right: more, on: lit(true, types.boolean) }
    }

    test('a signal aborted before -> CANCELLED from query, stage and write, no file', async () => {
      const signal = AbortSignal.abort()
      const relation = rowsOf({ 't.id': long, 't.name': string }, rows)
      const directory = await harness.newDirectory()
      expect(await codeOf(read(plane(), relation, { signal }))).toBe('CANCELLED')
      expect(await codeOf(plane().stage({ kind: 'relation', relation }, { signal }))).toBe('CANCELLED')
      expect(await codeOf(plane().write(writeRequest(directory, columns, relation), { signal }))).toBe('CANCELLED')
      expect(await harness.listFiles(directory)).toEqual([])
    })

    test('a signal aborted between batches -> CANCELLED, not a shorter answer', async () => {
      const controller = new AbortController()
      let batches = 0
      const run = async () => {
        for await (const batch of plane().query(many(), { signal: controller.signal })) {
          batches += Math.sign(batch.rowCount)
          controller.abort()
        }
      }
      expect(await codeOf(run())).toBe('CANCELLED')
      expect(batches).toBe(1)
    })

    test('a signal aborted while a source is staged -> CANCELLED', async () => {
      const controller = new AbortController()
      const batches = (async function* (): AsyncGenerator<Batch> {
        for (let number = 0n; number < 100n; number++) {
          if (number === 3n) controller.abort()
          await Promise.resolve()
          yield { rowCount: 1, columns: [[number]] }
        }
      })()
      const schema = { kind: 'struct' as const, fields: [{ name: 'n', type: long, nullable: true, metadata: {} }] }
      expect(await codeOf(plane().stage({ kind: 'batches', schema, batches }, { signal: controller.signal }))).toBe(
        'CANCELLED',
      )
    })

    test('a write aborted under way -> CANCELLED and no file, or done and whole', async () => {
      const controller = new AbortController()
      const directory = await harness.newDirectory()
      const request = writeRequest(directory, [scanColumn('n', long), scanColumn('m', long)], many(), { order: 'any' })
      const work = plane().write(request, { signal: controller.signal })
      setTimeout(() => controller.abort(), 5)
      const outcome: unknown = await work.catch((error: unknown) => error)
      const left = await harness.listFiles(directory)
      if (Array.isArray(outcome)) expect(left).toHaveLength(outcome.length)
      else {
        expect(outcome).toMatchObject({ code: 'CANCELLED' })
        expect(left).toEqual([])
      }
    })

    test('a query left early -> the plane answers as before', async () => {
      for await (const batch of plane().query(many())) {
        expect(batch.rowCount).toBeGreaterThan(0)
        break
      }
      expect(await read(plane(), rowsOf({ a: long }, [[1n]]))).toEqual([[1n]])
    })
  })
}
