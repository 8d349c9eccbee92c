import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import type { TableColumn } from './column-mapping.ts'
import { compareDatums } from './datum-order.ts'
import type { Datum } from './datum.ts'
import { Decimal } from './datum.ts'
import { parseStatistics, printStatistics, statisticsPaths } from './statistics-json.ts'
import type { DataType, PrimitiveKind } from './types.ts'

function column(name: string, type: PrimitiveKind | DataType, more: Partial<TableColumn> = {}): TableColumn {
  const full: DataType = typeof type === 'string' ? { kind: type } : type
  return { name, type: full, physicalName: name, fieldId: undefined, isPartition: false, nullable: true, ...more }
}

const decimal = (precision: number, scale: number): DataType => ({ kind: 'decimal', precision, scale })
const bounds = (type: PrimitiveKind | DataType, min: string, max: string): (Datum | undefined)[] => {
  const { columns } = parseStatistics(`{"numRecords":1,"minValues":{"c":${min}},"maxValues":{"c":${max}}}`, [
    column('c', type),
  ])
  return [columns.get('c')?.min, columns.get('c')?.max]
}

describe('parseStatistics', () => {
  test.each<[PrimitiveKind | DataType, string, string, Datum | undefined, Datum | undefined]>([
    ['integer', '-1', '2147483647', -1, 2147483647],
    ['integer', '1.5', '2147483648', undefined, undefined],
    ['long', '-9223372036854775808', '9007199254740993', -9223372036854775808n, 9007199254740993n],
    ['long', '1', '9223372036854775808', 1n, undefined],
    ['double', '0.1', '12345678901234567890', 0.1, 12345678901234567000],
    ['float', '-0.1', '0.1', -0.10000000149011612, 0.10000000149011612],
    ['double', '"NaN"', '"Infinity"', undefined, undefined],
    ['string', '""', '"zz"', '', 'zz'],
    ['boolean', 'false', 'true', false, true],
    ['binary', '"a"', '"b"', undefined, undefined],
    ['date', '"2024-01-01"', '"2024-13-01"', 19723, undefined],
    ['timestamp', '"1970-01-01T00:00:00.001Z"', '"1970-01-01T00:00:00.001Z"', 1000n, 1999n],
    ['timestamp', '"1970-01-01T00:00:00.000-08:00"', '"1970-01-01T00:00:00.000-08:00"', 28800000000n, 28800000999n],
    ['timestamp', '"1970-01-01T00:00:00.000001Z"', '"1970-01-01T00:00:00.000001Z"', 1n, 1n],
    ['timestamp', '"soon"', '"+48690-07-02T16:55:49.000Z"', undefined, 1474356617749000999n],
    ['timestamp', '"1970-01-01"', '"+294247-01-10T04:00:54.775Z"', 0n, 2n ** 63n - 1n],
    ['timestamp_ntz', '"1970-01-01T00:00:00.001"', '"1970-01-01T00:00:00"', 1000n, 999n],
    [decimal(18, 0), '999999999999999999', '1e18', new Decimal(999999999999999999n, 0), undefined],
    [
      decimal(38, 2),
      '123456789012345678901234567890123456.78',
      '0.50',
      new Decimal(12345678901234567890123456789012345678n, 2),
      new Decimal(50n, 2),
    ],
    [decimal(5, 2), '1e-2', '1.555', new Decimal(1n, 2), undefined],
  ])('%j %s to %s -> exact, or unknown', (type, min, max, lower, upper) => {
    expect(bounds(type, min, max)).toEqual([lower, upper])
  })

  test('one bound that cannot be read -> the rest is known', () => {
    const columns = [column('a', 'timestamp'), column('b', 'long')]
    const statistics = parseStatistics(
      '{"numRecords":3,"minValues":{"a":"?","b":1},"nullCount":{"a":1,"b":0,"gone":2}}',
      columns,
    )
    expect(statistics.numRecords).toBe(3)
    expect(statistics.tightBounds).toBe(true)
    expect([...statistics.columns]).toEqual([
      ['b', { min: 1n, nullCount: 0 }],
      ['a', { nullCount: 1 }],
    ])
  })

  test.each([undefined, '', '{"numRecords":1,"maxValues":{"c":NaN}}', '[]', 'null'])(
    '%s -> nothing is known',
    (text) => {
      expect(parseStatistics(text, [column('c', 'double')])).toEqual({ tightBounds: false, columns: new Map() })
    },
  )

  test('wide bounds -> said', () => {
    expect(parseStatistics('{"tightBounds":false}', []).tightBounds).toBe(false)
  })
})

const nested: DataType = {
  kind: 'struct',
  fields: [
    { name: 'x', type: { kind: 'long' }, nullable: true, metadata: { 'delta.columnMapping.physicalName': 'col-x' } },
    {
      name: 'list',
      type: { kind: 'array', element: { kind: 'long' }, containsNull: true },
      nullable: true,
      metadata: {},
    },
  ],
}
const table = [
  column('p', 'string', { isPartition: true }),
  column('s', nested, { physicalName: 'col-s' }),
  column('d', decimal(20, 2)),
  column('v', 'void'),
  column('a.b', 'string'),
]

describe('physical names and nesting', () => {
  const text = [
    '{"numRecords":9007199254740991,"minValues":{"col-s":{"col-x":-9223372036854775808},"d":12345678901234567.10,"a.b":"a"},',
    '"maxValues":{"col-s":{"col-x":9223372036854775807},"d":12345678901234567.20,"a.b":"b"},',
    '"nullCount":{"col-s":{"col-x":1,"list":2},"d":3,"a.b":0},"tightBounds":true}',
  ].join('')

  test('text -> by path, and back to the same text', () => {
    const statistics = parseStatistics(text, table)
    expect(statistics.columns.get('col-s\u001fcol-x')).toEqual({ min: -(2n ** 63n), max: 2n ** 63n - 1n, nullCount: 1 })
    expect(statistics.columns.get('col-s\u001flist')).toEqual({ nullCount: 2 })
    expect(printStatistics(statistics, table)).toBe(text)
  })

  test.each<[number, readonly string[] | undefined, readonly string[]]>([
    [32, undefined, ['col-s\u001fcol-x', 'col-s\u001flist', 'd', 'a.b']],
    [-1, undefined, ['col-s\u001fcol-x', 'col-s\u001flist', 'd', 'a.b']],
    [0, undefined, []],
    [3, undefined, ['col-s\u001fcol-x', 'col-s\u001flist', 'd']],
    [0, ['S'], ['col-s\u001fcol-x', 'col-s\u001flist']],
    [0, ['s.x', 'a.b'], ['col-s\u001fcol-x', 'a.b']],
    [0, ['`s`.`x`', 'nowhere'], ['col-s\u001fcol-x']],
  ])(
    'limit %i and names %j -> the leaves with statistics',
    (dataSkippingNumIndexedCols, dataSkippingStatsColumns, paths) => {
      expect(statisticsPaths(table, { dataSkippingNumIndexedCols, dataSkippingStatsColumns })).toEqual(paths)
    },
  )
})

describe('printStatistics', () => {
  const printed = (type: PrimitiveKind | DataType, min: Datum, max: Datum): unknown => {
    const text = printStatistics(
      { numRecords: 2, tightBounds: false, columns: new Map([['c', { min, max, nullCount: 1 }]]) },
      [column('c', type)],
    )
    expect(text).toContain('"nullCount":{"c":1}')
    return /"minValues":(.*),"nullCount"/.exec(text)?.[1]
  }

  test.each<[PrimitiveKind, Datum, Datum, string]>([
    ['timestamp', 1999n, 1999n, '{"c":"1970-01-01T00:00:00.001Z"},"maxValues":{"c":"1970-01-01T00:00:00.001Z"}'],
    ['timestamp_ntz', -1n, -1n, '{"c":"1969-12-31T23:59:59.999"},"maxValues":{"c":"1969-12-31T23:59:59.999"}'],
    ['double', -Infinity, NaN, '{},"maxValues":{}'],
    ['double', -0, 1.5, '{"c":-0.0},"maxValues":{"c":1.5}'],
    ['boolean', false, true, '{},"maxValues":{}'],
    ['binary', Uint8Array.of(1), Uint8Array.of(2), '{},"maxValues":{}'],
    ['date', -1, 19723, '{"c":"1969-12-31"},"maxValues":{"c":"2024-01-01"}'],
  ])('%s from %s to %s', (type, min, max, text) => {
    expect(printed(type, min, max)).toBe(text)
  })

  const a32 = 'a'.repeat(32)
  const last = '\u{10ffff}'
  test.each<[string, string, string, string | undefined]>([
    ['32 characters', a32, a32, a32],
    ['ASCII behind', `${a32}b`, a32, `${a32}\u007f`],
    ['more than ASCII behind', `${a32}éb`, a32, `${a32}${last}`],
    ['an emoji behind', `${a32}😀`, a32, `${a32}${last}`],
    ['32 emoji, 64 units', '😀'.repeat(32), '😀'.repeat(32), '😀'.repeat(32)],
    ['33 emoji', '😀'.repeat(33), '😀'.repeat(32), '😀'.repeat(32) + last],
    ['the greatest character at the cut', `${a32}${last}b`, a32, `${a32}${last}\u007f`],
    ['the greatest character only', last.repeat(70), last.repeat(32), undefined],
  ])('a long string, %s -> cut, and still a bound', (_name, value, min, max) => {
    const entry = (bound: string | undefined): string => (bound === undefined ? '{}' : JSON.stringify({ c: bound }))
    expect(printed('string', value, value)).toBe(`${entry(min)},"maxValues":${entry(max)}`)
  })

  test('any string or timestamp -> still within its bounds, where they are known, when read back, also twice', () => {
    const seed = Date.now()
    console.log(`statistics-json seed ${seed}`)
    const text = fc.string({ unit: fc.constantFrom('a', '\u007f', 'é', '😀', last), maxLength: 80 })
    const micros = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    for (const [kind, values] of [['string', text] as const, ['timestamp', micros] as const]) {
      const columns = [column('c', kind)]
      fc.assert(
        fc.property(values, (value: string | bigint) => {
          let statistics = {
            numRecords: 1,
            tightBounds: true,
            columns: new Map([['c', { min: value, max: value }]]),
          } as Parameters<typeof printStatistics>[0]
          for (let round = 0; round < 2; round++) {
            statistics = parseStatistics(printStatistics(statistics, columns), columns)
            const { min, max } = statistics.columns.get('c') ?? {}
            if (min !== undefined) expect(compareDatums(min, value, { kind })).toBeLessThanOrEqual(0)
            if (max !== undefined) expect(compareDatums(max, value, { kind })).toBeGreaterThanOrEqual(0)
          }
        }),
        { seed, numRuns: 500 },
      )
    }
  })
})
