import { expect, test } from 'vitest'
import type { Json } from '../base/json.ts'
import type { TableColumn } from '../protocol/column-mapping.ts'
import { parseTypeName } from '../protocol/schema-json.ts'
import type { DataType, StructField } from '../protocol/types.ts'
import { schemaObstacle } from './change-schema.ts'

const column = (name: string, type: string | DataType, more: Partial<TableColumn> = {}): TableColumn => ({
  name,
  type: typeof type === 'string' ? parseTypeName(type) : type,
  physicalName: name,
  fieldId: undefined,
  isPartition: false,
  nullable: true,
  ...more,
})
const struct = (...fields: readonly StructField[]): DataType => ({ kind: 'struct', fields })
const field = (name: string, type: string, physical?: string): StructField => {
  const metadata: { [key: string]: Json } =
    physical === undefined ? {} : { 'delta.columnMapping.physicalName': physical }
  return { name, type: parseTypeName(type), nullable: true, metadata }
}

test.each<[string, readonly TableColumn[], readonly TableColumn[], string | undefined]>([
  ['the same', [column('a', 'long')], [column('a', 'long')], undefined],
  ['added, and in another order', [column('a', 'long')], [column('b', 'string'), column('a', 'long')], undefined],
  ['nullable now', [column('a', 'long', { nullable: false })], [column('a', 'long')], undefined],
  ['wider', [column('a', 'int')], [column('a', 'long')], undefined],
  ['narrower', [column('a', 'long')], [column('a', 'int')], 'column a changed from long to integer'],
  ['another type', [column('a', 'string')], [column('a', 'long')], 'column a changed from string to long'],
  ['a wider decimal', [column('a', 'decimal(5,2)')], [column('a', 'decimal(7,2)')], undefined],
  [
    'a narrower decimal',
    [column('a', 'decimal(7,2)')],
    [column('a', 'decimal(5,2)')],
    'column a changed from decimal to decimal',
  ],
  ['a type where there was none', [column('a', 'void')], [column('a', 'string')], undefined],
  ['dropped', [column('a', 'long'), column('b', 'long')], [column('a', 'long')], 'column b was dropped'],
  [
    'renamed',
    [column('a', 'long', { physicalName: 'x' })],
    [column('b', 'long', { physicalName: 'x' })],
    'column a was renamed to b',
  ],
  [
    'dropped and made anew',
    [column('a', 'long', { physicalName: 'x' })],
    [column('a', 'long', { physicalName: 'y' })],
    'column a was dropped',
  ],
  [
    'a partition now',
    [column('a', 'long')],
    [column('a', 'long', { isPartition: true })],
    'the partitioning by column a changed',
  ],
  [
    'a field more',
    [column('s', struct(field('x', 'long')))],
    [column('s', struct(field('y', 'long'), field('x', 'long')))],
    undefined,
  ],
  [
    'a field less',
    [column('s', struct(field('x', 'long'), field('y', 'long')))],
    [column('s', struct(field('x', 'long')))],
    'field s.y was dropped',
  ],
  [
    'a field renamed',
    [column('s', struct(field('x', 'long', 'p')))],
    [column('s', struct(field('y', 'long', 'p')))],
    'field s.x was renamed to y',
  ],
  ['wider elements', [column('l', 'array<int>')], [column('l', 'array<long>')], undefined],
  [
    'other elements',
    [column('l', 'array<string>')],
    [column('l', 'array<long>')],
    'column l.element changed from string to long',
  ],
  [
    'other values of a map',
    [column('m', 'map<string,string>')],
    [column('m', 'map<string,long>')],
    'column m.value changed from string to long',
  ],
  [
    'other keys of a map',
    [column('m', 'map<string,long>')],
    [column('m', 'map<long,long>')],
    'column m.key changed from string to long',
  ],
])('%s -> %4$s', (_, earlier, later, obstacle) => {
  expect(schemaObstacle(earlier, later)).toBe(obstacle)
})
