import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { goldenRoot } from '../../test/golden/golden-root.ts'
import { goldenCommits } from '../../test/golden/log-files.ts'
import { parseJson, printJson } from '../base/json-exact.ts'
import { parseActions } from './action-codec.ts'
import { parseSchema, parseTypeName, printSchema, typeName } from './schema-json.ts'
import type { DataType } from './types.ts'

const primitive = fc.constantFrom<DataType>(
  { kind: 'string' },
  { kind: 'long' },
  { kind: 'timestamp_ntz' },
  { kind: 'void' },
  { kind: 'decimal', precision: 38, scale: 10 },
)
const anyType: fc.Arbitrary<DataType> = fc.letrec<{ type: DataType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3 },
    primitive,
    fc.record({ kind: fc.constant('array' as const), element: tie('type'), containsNull: fc.constant(true) }),
    fc.record({
      kind: fc.constant('map' as const),
      key: tie('type'),
      value: tie('type'),
      valueContainsNull: fc.constant(true),
    }),
    fc.record({
      kind: fc.constant('struct' as const),
      fields: fc.array(
        fc.record({
          name: fc.string({ minLength: 1 }),
          type: tie('type'),
          nullable: fc.boolean(),
          metadata: fc.constant({}),
        }),
        { maxLength: 3 },
      ),
    }),
  ),
})).type

describe('parseTypeName', () => {
  test.each<[string, string]>([
    ['INT', 'integer'],
    ['bigint', 'long'],
    ['SmallInt', 'short'],
    ['tinyint', 'byte'],
    ['real', 'float'],
    ['timestamp_ltz', 'timestamp'],
    ['decimal', 'decimal(10,0)'],
    ['numeric( 5 )', 'decimal(5,0)'],
    ['decimal(10, 2)', 'decimal(10,2)'],
    ['array<array<int>>', 'array<array<integer>>'],
    ['MAP<string, long>', 'map<string,long>'],
    ['struct<a: int, b string not null>', 'struct<a:integer,b:string not null>'],
    ['struct<`a b``c`:int, größe double>', 'struct<`a b``c`:integer,`größe`:double>'],
    ['struct<not: int not null>', 'struct<not:integer not null>'],
    ['struct<>', 'struct<>'],
  ])('%s -> %s', (text, name) => {
    expect(typeName(parseTypeName(text))).toBe(name)
  })

  test.each([
    '',
    'intt',
    'varchar(10)',
    'decimal(39,0)',
    'decimal(5,6)',
    'decimal(0,0)',
    'decimal(a,b)',
    'array<int',
    'array',
    'map<int>',
    'struct<a>',
    'struct<a: int,>',
    'struct<1: int>',
    'int int',
    'constructor',
    'struct<a: int not>',
  ])('%j -> INVALID_OPTION', (text) => {
    expect(() => parseTypeName(text)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })

  test('the name of any type -> the type', () => {
    fc.assert(
      fc.property(anyType, (type) => {
        expect(parseTypeName(typeName(type))).toEqual(type)
      }),
    )
  })
})

describe('parseSchema', () => {
  test('a field with unknown keys and metadata -> metadata kept, keys ignored', () => {
    const text =
      '{"type":"struct","fields":[{"name":"a","type":"long","nullable":false,"metadata":{"x":{"y":[1]},"big":9223372036854775807},"z":1}]}'
    expect(parseSchema(text)).toEqual({
      kind: 'struct',
      fields: [
        { name: 'a', type: { kind: 'long' }, nullable: false, metadata: { x: { y: [1] }, big: 9223372036854775807n } },
      ],
    })
  })

  test('no text -> no columns', () => {
    expect(parseSchema('').fields).toEqual([])
  })

  test.each([
    ['{', 'DELTA_LOG_CORRUPT'],
    ['"long"', 'DELTA_LOG_CORRUPT'],
    ['{"type":"struct"}', 'DELTA_LOG_CORRUPT'],
    ['{"type":"struct","fields":[{"type":"long"}]}', 'DELTA_LOG_CORRUPT'],
    ['{"type":"struct","fields":[{"name":"a"}]}', 'DELTA_LOG_CORRUPT'],
    ['{"type":"struct","fields":[{"name":"a","type":"variant"}]}', 'DELTA_UNSUPPORTED_TYPE'],
    ['{"type":"struct","fields":[{"name":"a","type":"interval day to second"}]}', 'DELTA_UNSUPPORTED_TYPE'],
    ['{"type":"struct","fields":[{"name":"a","type":{"type":"udt"}}]}', 'DELTA_UNSUPPORTED_TYPE'],
    ['{"type":"struct","fields":[{"name":"a","type":"decimal(40,2)"}]}', 'DELTA_UNSUPPORTED_TYPE'],
  ])('%s -> %s', (text, code) => {
    expect(() => parseSchema(text)).toThrow(expect.objectContaining({ code }))
  })

  test('an unsupported type deep inside -> its column is named', () => {
    const text =
      '{"type":"struct","fields":[{"name":"a","type":{"type":"array","elementType":{"type":"struct","fields":[{"name":"v","type":"variant"}]}}}]}'
    expect(() => parseSchema(text)).toThrow(
      expect.objectContaining({ details: { column: ['a', 'element', 'v'], type: 'variant' } }),
    )
  })

  test('any schema -> the same after printing and parsing', () => {
    fc.assert(
      fc.property(anyType, (type) => {
        const schema = { kind: 'struct', fields: [{ name: 'c', type, nullable: true, metadata: { k: 'v' } }] } as const
        expect(parseSchema(printSchema(schema))).toEqual(schema)
      }),
    )
  })

  test.skipIf(goldenRoot() === undefined)('every golden schema -> prints as it was, or is refused for its type', () => {
    let schemas = 0
    const refused = new Set<string>()
    for (const { table, text } of goldenCommits()) {
      for (const action of parseActions(text)) {
        if (action.kind !== 'metaData' || action.metaData.schemaString === '') continue
        if (/variant|geometry|geography|nullType|timestamp_nanos/.test(action.metaData.schemaString)) {
          refused.add(table)
          continue
        }
        const { schemaString } = action.metaData
        schemas++
        if (table.endsWith('data-reader-nullable-field-invalid-schema-key')) continue
        expect(printSchema(parseSchema(schemaString)), table).toBe(printJson(parseJson(schemaString)))
      }
    }
    expect(schemas).toBeGreaterThan(200)
    expect(refused.size).toBeLessThan(25)
  })
})
