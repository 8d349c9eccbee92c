/**
 * Statistics of a data file as the log has them: JSON in a string, trees that mirror the schema in physical names. Source: PROTOCOL.md,
 * "Per-file Statistics". What cannot be read is unknown, for that column alone; it never fails.
 */
import type { Json } from '../base/json.ts'
import { parseJson, printJson } from '../base/json-exact.ts'
import type { TableColumn } from './column-mapping.ts'
import { physicalFieldName } from './column-mapping.ts'
import { parseBound, printBound } from './statistics-text.ts'
import type { ColumnPath, ColumnStatistics, FileStatistics } from './statistics.ts'
import type { TableProperties } from './table-properties.ts'
import type { DataType } from './types.ts'

/** A column or field: one with fields below, or a leaf with a path. Arrays and maps are leaves. */
type Node =
  | {
      readonly kind: 'leaf'
      readonly name: string
      readonly path: ColumnPath
      readonly type: DataType
      readonly logical: readonly string[]
    }
  | {
      readonly kind: 'struct'
      readonly name: string
      readonly fields: readonly Node[]
      readonly byName: ReadonlyMap<string, Node>
    }

type Leaf = Extract<Node, { kind: 'leaf' }>
type Fields = Pick<Extract<Node, { kind: 'struct' }>, 'fields' | 'byName'>

const separator = '\u001f'

/** One tree per schema, however many files there are. */
const treeOf = new WeakMap<readonly TableColumn[], Fields>()

function tree(columns: readonly TableColumn[]): Fields {
  let fields = treeOf.get(columns)
  if (fields === undefined) {
    fields = indexed(
      columns
        .filter((column) => !column.isPartition)
        .map((column) => node(column.physicalName, column.type, [], [column.name])),
    )
    treeOf.set(columns, fields)
  }
  return fields
}

function node(name: string, type: DataType, above: readonly string[], logical: readonly string[]): Node {
  const path = [...above, name]
  if (type.kind !== 'struct') return { kind: 'leaf', name, path: path.join(separator), type, logical }
  const fields = type.fields.map((field) => node(physicalFieldName(field), field.type, path, [...logical, field.name]))
  return { kind: 'struct', name, ...indexed(fields) }
}

function indexed(fields: readonly Node[]): Fields {
  return { fields, byName: new Map(fields.map((field) => [field.name, field])) }
}

function* leaves(fields: readonly Node[]): Generator<Leaf> {
  for (const field of fields) {
    if (field.kind === 'leaf') yield field
    else yield* leaves(field.fields)
  }
}

type Entries = { readonly [key: string]: Json }
type Found = { -readonly [Key in keyof ColumnStatistics]: ColumnStatistics[Key] }

const unknown: FileStatistics = { tightBounds: false, columns: new Map() }

/**
 * Statistics from their text. The upper bound of a timestamp in milliseconds is raised by 999 microseconds, so that it is one again.
 * Absent or malformed text: nothing is known.
 */
export function parseStatistics(text: string | undefined, columns: readonly TableColumn[]): FileStatistics {
  const json = text === undefined ? undefined : parseObject(text)
  if (json === undefined) return unknown
  const found = new Map<ColumnPath, Found>()
  const note = (leaf: Leaf): Found => {
    let entry = found.get(leaf.path)
    if (entry === undefined) found.set(leaf.path, (entry = {}))
    return entry
  }
  const fields = tree(columns)
  for (const side of ['min', 'max'] as const) {
    visit(json[`${side}Values`], fields, (leaf, value) => {
      const bound = parseBound(value, leaf.type, side)
      if (bound !== undefined) note(leaf)[side] = bound
    })
  }
  visit(json['nullCount'], fields, (leaf, value) => {
    if (isCount(value)) note(leaf).nullCount = value
  })
  const numRecords = json['numRecords']
  return {
    numRecords: isCount(numRecords) ? numRecords : undefined,
    tightBounds: json['tightBounds'] !== false,
    columns: found,
  }
}

function parseObject(text: string): Entries | undefined {
  try {
    const json = parseJson(text)
    return isEntries(json) ? json : undefined
  } catch {
    // Some writers put NaN and Infinity in bare.
    return undefined
  }
}

function isEntries(json: Json | undefined): json is Entries {
  return typeof json === 'object' && json !== null && Object.getPrototypeOf(json) === Object.prototype
}

const isCount = (json: Json | undefined): json is number =>
  typeof json === 'number' && Number.isSafeInteger(json) && json >= 0

function visit(json: Json | undefined, { byName }: Fields, use: (leaf: Leaf, value: Json) => void): void {
  if (!isEntries(json)) return
  for (const [name, value] of Object.entries(json)) {
    const field = byName.get(name)
    if (field?.kind === 'leaf') use(field, value)
    else if (field !== undefined) visit(value, field, use)
  }
}

/**
 * The text of statistics: numRecords, minValues, maxValues, nullCount and tightBounds.
 *
 * @param prefixLength code points kept of a string (delta.dataSkippingStringPrefixLength)
 */
export function printStatistics(
  statistics: FileStatistics,
  columns: readonly TableColumn[],
  prefixLength = 32,
): string {
  const { fields } = tree(columns)
  const bounds = (side: 'min' | 'max'): Json =>
    print(fields, (leaf) => {
      const bound = statistics.columns.get(leaf.path)?.[side]
      return bound === undefined ? undefined : printBound(bound, leaf.type, side, prefixLength)
    }) ?? {}
  return printJson({
    ...(statistics.numRecords === undefined ? {} : { numRecords: statistics.numRecords }),
    minValues: bounds('min'),
    maxValues: bounds('max'),
    nullCount: print(fields, (leaf) => statistics.columns.get(leaf.path)?.nullCount) ?? {},
    tightBounds: statistics.tightBounds,
  })
}

/** Undefined when there is nothing inside. */
function print(fields: readonly Node[], valueOf: (leaf: Leaf) => Json | undefined): Json | undefined {
  const members: [string, Json][] = []
  for (const field of fields) {
    const value = field.kind === 'leaf' ? valueOf(field) : print(field.fields, valueOf)
    if (value !== undefined) members.push([field.name, value])
  }
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

/**
 * The leaves that get statistics: those named by delta.dataSkippingStatsColumns (a struct names all below it), else the first
 * delta.dataSkippingNumIndexedCols in schema order. Arrays and maps are among them, for their NULL count.
 */
export function statisticsPaths(
  columns: readonly TableColumn[],
  properties: Pick<TableProperties, 'dataSkippingNumIndexedCols' | 'dataSkippingStatsColumns'>,
): readonly ColumnPath[] {
  const eligible = [...leaves(tree(columns).fields)].filter((leaf) => leaf.type.kind !== 'void')
  const { dataSkippingNumIndexedCols: limit, dataSkippingStatsColumns: names } = properties
  return chosen(eligible, limit, names).map((leaf) => leaf.path)
}

function chosen(eligible: readonly Leaf[], limit: number, names: readonly string[] | undefined): readonly Leaf[] {
  if (names === undefined) return limit < 0 ? eligible : eligible.slice(0, limit)
  const wanted = new Set(names.map(comparable))
  return eligible.filter(({ logical }) =>
    logical.some((_, index) => wanted.has(comparable(logical.slice(0, index + 1).join('.')))),
  )
}

const comparable = (name: string): string => name.replaceAll('`', '').toLowerCase()
