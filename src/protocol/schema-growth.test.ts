import { expect, test } from 'vitest'
import { withMappedFields } from './column-mapping.ts'
import { grownSchema } from './schema-growth.ts'
import { parseTypeName, typeName } from './schema-json.ts'
import { deepFields } from './schema-walk.ts'
import type { StructType } from './types.ts'

function struct(text: string): StructType {
  const type = parseTypeName(`struct<${text}>`)
  if (type.kind !== 'struct') throw new Error(text)
  return type
}

const path = ({ path: names }: { readonly path: readonly string[] }) => names.join('.')

test.each<[string, string, string, string, string, string]>([
  ['nothing new', 'a: long, b: string', 'b: string, a: long', 'a: long, b: string', '', ''],
  ['a new column', 'a: long', 'b: string, a: long', 'a: long, b: string', 'b', ''],
  ['fewer columns', 'a: long, b: string', 'a: long', 'a: long, b: string', '', ''],
  ['another spelling', 'a: long', 'A: long', 'a: long', '', ''],
  ['a new field', 's: struct<x: int>', 's: struct<y: int, x: int>', 's: struct<x: int, y: int>', 's.y', ''],
  ['fewer fields', 's: struct<x: int, y: int>', 's: struct<y: int>', 's: struct<x: int, y: int>', '', ''],
  [
    'a field deep down, spelled otherwise above',
    's: struct<t: struct<x: int>>',
    'S: struct<T: struct<X: int, y: date>>',
    's: struct<t: struct<x: int, y: date>>',
    's.t.y',
    '',
  ],
  ['a new struct', 'a: long', 's: struct<x: int not null>', 'a: long, s: struct<x: int>', 's', ''],
  ['a wider type', 'a: int', 'a: long', 'a: int', '', 'a'],
  ['another precision', 'a: decimal(9,2)', 'a: decimal(10,2)', 'a: decimal(9,2)', '', 'a'],
  [
    'a field of another type',
    's: struct<x: int>',
    's: struct<x: string, y: int>',
    's: struct<x: int, y: int>',
    's.y',
    's.x',
  ],
  ['a struct where a value was', 'a: int', 'a: struct<x: int>', 'a: int', '', 'a'],
  [
    'a field inside an array',
    'a: array<struct<x: int>>',
    'a: array<struct<x: int, y: int>>',
    'a: array<struct<x: int>>',
    '',
    'a',
  ],
  [
    'a field inside a map',
    'm: map<string, struct<x: int>>',
    'm: map<string, struct<y: int>>',
    'm: map<string, struct<x: int>>',
    '',
    'm',
  ],
  ['a known column without a type', 'a: long', 'a: void', 'a: long', '', ''],
  ['a new column without a type', 'a: long', 'b: void', 'a: long', '', ''],
  [
    'new columns that hold nothing',
    'a: long',
    'b: array<void>, s: struct<x: void>, m: map<string, void>',
    'a: long',
    '',
    '',
  ],
  [
    'a new struct with a field of no type',
    'a: long',
    's: struct<x: void, y: int>',
    'a: long, s: struct<y: int>',
    's',
    '',
  ],
])('%s -> grown so', (_, stored, given, grown, added, misfits) => {
  const found = grownSchema(struct(stored), struct(given).fields)
  expect(typeName(found.schema)).toBe(typeName(struct(grown)))
  expect(found.added.map(path).join(', ')).toBe(added)
  expect(found.misfits.map(path).join(', ')).toBe(misfits)
})

test('what is there keeps its metadata and that it may not be NULL -> what is new may be', () => {
  const stored: StructType = {
    kind: 'struct',
    fields: [{ name: 'a', type: { kind: 'long' }, nullable: false, metadata: { comment: 'the key' } }],
  }
  const { schema } = grownSchema(stored, struct('a: long, b: string not null').fields)
  expect(schema.fields).toEqual([
    ...stored.fields,
    { name: 'b', type: { kind: 'string' }, nullable: true, metadata: {} },
  ])
})

test('a mapped table -> new fields get names and ids behind the last one, and what is mapped keeps its own', () => {
  const mapped = (id: number, name: string) => ({
    'delta.columnMapping.id': id,
    'delta.columnMapping.physicalName': name,
  })
  const field = (name: string, metadata = {}) => ({ name, type: { kind: 'long' }, nullable: true, metadata }) as const
  const stored: StructType = {
    kind: 'struct',
    fields: [
      field('a', mapped(1, 'col-a')),
      { ...field('s', mapped(2, 'col-s')), type: { kind: 'struct', fields: [field('x', mapped(3, 'col-x'))] } },
    ],
  }
  const { schema: grown } = grownSchema(stored, struct('s: struct<y: int>, t: struct<z: int>').fields)
  let names = 0
  const configuration = { 'delta.columnMapping.maxColumnId': '7' }
  const { schema, configuration: after } = withMappedFields(grown, configuration, 'name', () => `new-${++names}`)
  const found = [...deepFields(schema)].map(({ path: names, field: { metadata } }) => [
    names.join('.'),
    metadata['delta.columnMapping.id'],
  ])
  expect(found).toEqual([
    ['a', 1],
    ['s', 2],
    ['s.x', 3],
    ['s.y', 8],
    ['t', 10],
    ['t.z', 9],
  ])
  expect(after['delta.columnMapping.maxColumnId']).toBe('10')
  expect(
    new Set([...deepFields(schema)].map(({ field: { metadata } }) => metadata['delta.columnMapping.physicalName']))
      .size,
  ).toBe(6)
  expect(withMappedFields(grown, configuration, 'none', () => 'never')).toEqual({ schema: grown, configuration })
})
