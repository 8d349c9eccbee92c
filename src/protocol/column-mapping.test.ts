import { describe, expect, test } from 'vitest'
import { goldenRoot } from '../../test/golden/golden-root.ts'
import { goldenCommits } from '../../test/golden/log-files.ts'
import { parseActions } from './action-codec.ts'
import type { Protocol } from './actions.ts'
import { fieldId, mappingMode, physicalFieldName, physicalPath, tableColumns } from './column-mapping.ts'
import { deepFields } from './schema-walk.ts'
import { parseSchema } from './schema-json.ts'
import type { DataType, StructField, StructType } from './types.ts'

const mapped = (name: string, id: number, type: DataType = { kind: 'long' }): StructField => ({
  name,
  type,
  nullable: true,
  metadata: { comment: 'c', 'delta.columnMapping.id': id, 'delta.columnMapping.physicalName': `col-${id}` },
})
const struct = (...fields: StructField[]): StructType => ({ kind: 'struct', fields })
const list: DataType = { kind: 'array', element: struct(mapped('x', 4)), containsNull: true }
const schema = struct(mapped('id', 1), mapped('part', 2), mapped('list', 3, list))

const legacy: Protocol = { minReaderVersion: 2, minWriterVersion: 5 }

test.each<[Protocol, Record<string, string>, string]>([
  [legacy, {}, 'none'],
  [legacy, { 'delta.columnMapping.mode': 'name' }, 'name'],
  [legacy, { 'delta.columnMapping.mode': 'ID' }, 'id'],
  [{ minReaderVersion: 1, minWriterVersion: 2 }, { 'delta.columnMapping.mode': 'name' }, 'none'],
  [
    { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: [], writerFeatures: [] },
    { 'delta.columnMapping.mode': 'id' },
    'none',
  ],
])('mode of %j with %j -> %s', (protocol, configuration, mode) => {
  expect(mappingMode(protocol, configuration)).toBe(mode)
})

test('an unknown mode -> DELTA_LOG_CORRUPT', () => {
  expect(() => mappingMode(legacy, { 'delta.columnMapping.mode': 'x' })).toThrow(
    expect.objectContaining({ code: 'DELTA_LOG_CORRUPT' }),
  )
})

describe('tableColumns', () => {
  test.each(['name', 'id'] as const)('mode %s -> physical names and ids, nested ones too', (mode) => {
    const columns = tableColumns(schema, ['part'], mode)
    expect(
      columns.map(({ name, physicalName, fieldId: id, isPartition }) => [name, physicalName, id, isPartition]),
    ).toEqual([
      ['id', 'col-1', 1, false],
      ['part', 'col-2', 2, true],
      ['list', 'col-3', 3, false],
    ])
    const [inner] = [...deepFields(struct({ ...mapped('list', 3), type: columns[2]?.type ?? list }))].slice(1)
    expect(inner?.field).toMatchObject({ name: 'x' })
    expect(inner && [physicalFieldName(inner.field), fieldId(inner.field)]).toEqual(['col-4', 4])
  })

  test('mode none with stray mapping metadata -> logical names at every depth, other metadata kept', () => {
    const columns = tableColumns(schema, [], 'none')
    expect(columns.map(({ physicalName, fieldId: id }) => [physicalName, id])).toEqual([
      ['id', undefined],
      ['part', undefined],
      ['list', undefined],
    ])
    expect(columns[2]?.type).toEqual({
      kind: 'array',
      containsNull: true,
      element: struct({ name: 'x', type: { kind: 'long' }, nullable: true, metadata: { comment: 'c' } }),
    })
  })

  test('a partition column in another case -> found', () => {
    expect(tableColumns(schema, ['PART'], 'none').map(({ isPartition }) => isPartition)).toEqual([false, true, false])
  })

  test.each<[string, StructType, string[]]>([
    ['a partition column outside the schema', schema, ['nope']],
    ['a mapped table with a bare field', struct({ ...mapped('a', 1), metadata: {} }), []],
    [
      'a mapped table with a bare nested field',
      struct(mapped('a', 1, struct({ ...mapped('b', 2), metadata: {} }))),
      [],
    ],
  ])('%s -> DELTA_LOG_CORRUPT', (_, given, partitions) => {
    expect(() => tableColumns(given, partitions, 'name')).toThrow(
      expect.objectContaining({ code: 'DELTA_LOG_CORRUPT' }),
    )
  })
})

test.each<[string[], 'none' | 'name', string[] | undefined]>([
  [['id'], 'name', ['col-1']],
  [['list', 'element', 'x'], 'name', ['col-3', 'element', 'col-4']],
  [['list', 'element', 'x'], 'none', ['list', 'element', 'x']],
  [['list', 'key'], 'name', undefined],
  [['id', 'x'], 'name', undefined],
  [['col-1'], 'name', undefined],
])('physical path of %j in mode %s -> %j', (path, mode, physical) => {
  expect(physicalPath(schema, path, mode)).toEqual(physical)
})

test.skipIf(goldenRoot() === undefined)(
  'golden tables with mapping -> partition values are keyed by the physical names found',
  () => {
    let checked = 0
    for (const { table, text } of goldenCommits()) {
      const actions = parseActions(text)
      const metaData = actions.flatMap((action) => (action.kind === 'metaData' ? [action.metaData] : []))[0]
      const protocol = actions.flatMap((action) => (action.kind === 'protocol' ? [action.protocol] : []))[0]
      if (metaData === undefined || protocol === undefined || /variant|nullType/.test(metaData.schemaString)) continue
      const mode = mappingMode(protocol, metaData.configuration)
      if (mode === 'none') continue
      const columns = tableColumns(parseSchema(metaData.schemaString), metaData.partitionColumns, mode)
      const names = columns.filter(({ isPartition }) => isPartition).map(({ physicalName }) => physicalName)
      for (const action of actions) {
        if (action.kind !== 'add') continue
        expect(Object.keys(action.add.partitionValues).toSorted(), table).toEqual(names.toSorted())
        checked++
      }
      expect(
        columns.every(({ fieldId: id }) => id !== undefined),
        table,
      ).toBe(true)
    }
    expect(checked).toBeGreaterThan(10)
  },
)
