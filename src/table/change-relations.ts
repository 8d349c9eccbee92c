/**
 * The rows of a change feed as relations. Every row has the table's columns, as `t.<column>`, and the three of the feed beside them. A
 * commit is read in steps, one relation each, those with deletes first, so that who applies them in order never holds a row twice.
 */
import { failure } from '../base/errors.ts'
import { columnNamed } from '../commands/assignments.ts'
import { type StatementSetting, bindCondition, targetScope } from '../commands/binding.ts'
import { joinScopes, tableScope } from '../expr/scope.ts'
import type { Expr } from '../expr/tree.ts'
import { integerType, isComparable, longType, stringType, timestampType } from '../expr/type-rules.ts'
import { and, call, col, columnNames, isTrueLiteral, lit } from '../expr/walk.ts'
import type { ChangePart, ChangeType } from '../log/change-feed.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { TableColumn } from '../protocol/column-mapping.ts'
import type { RowPositions } from '../protocol/row-positions.ts'
import { sortedValues } from '../protocol/row-positions.ts'
import type { Relation, RelationColumn, ScanColumn, ScanFile } from '../relation/tree.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { targetColumns } from '../transaction/write-request.ts'

/** The columns that a feed adds, in their order. */
export const feedColumns: readonly RelationColumn[] = [
  { name: '_change_type', type: stringType },
  { name: '_commit_version', type: longType },
  { name: '_commit_timestamp', type: timestampType },
]

const changeType = col('t._change_type', stringType)
/** Output column (double) of `partRows`: the physical position of the row in its file. */
export const positionColumn = '$position'
const fileColumn = '$file'

/** What a reader of the feed wants. */
export interface FeedShape {
  /** Its columns name and type the rows of every commit. */
  readonly snapshot: Snapshot
  readonly columns: readonly TableColumn[]
  /** Over `t.<column>`, those of the feed included. */
  readonly where: Expr
  /** Columns that identify a row; none: deletes and inserts are not paired. */
  readonly keys: readonly TableColumn[]
  readonly preimages: boolean
}

export interface FeedShapeOptions {
  readonly columns?: readonly string[] | undefined
  readonly where?: string | undefined
  readonly keys?: readonly string[] | undefined
  readonly preimages?: boolean | undefined
}

/** A part whose rows are known: those its file's `deleted` leaves, or only those at some positions. */
export interface LoadedPart {
  readonly part: ChangePart
  readonly file: ScanFile
  readonly only: RowPositions | undefined
}

/** @throws EXPRESSION_UNKNOWN_COLUMN and others of the condition, INVALID_OPTION */
export function feedShape(snapshot: Snapshot, options: FeedShapeOptions, setting: StatementSetting): FeedShape {
  const own = snapshot.columns.find(({ name }) => isFeedColumn(name))
  if (own !== undefined) {
    throw failure(
      'INVALID_OPTION',
      `the table has a column ${own.name} of its own, so its change feed cannot be read`,
      {
        details: { column: own.name },
        advice: 'Rename the column.',
      },
    )
  }
  const scope = joinScopes(
    targetScope(snapshot, setting),
    tableScope(feedColumns, ['t', 'target', setting.tableName], 't.'),
  )
  const keys = (options.keys ?? []).map((name) => columnNamed(snapshot, name))
  const unordered = keys.find(({ type }) => !isComparable(type))
  if (unordered !== undefined)
    throw failure('INVALID_OPTION', `column ${unordered.name} cannot be a key: it holds maps`, {
      details: { option: 'keys', column: unordered.name },
    })
  const names = options.columns?.filter((name) => !isFeedColumn(name))
  return {
    snapshot,
    columns: names?.map((name) => columnNamed(snapshot, name)) ?? snapshot.columns,
    where: bindCondition(options.where, scope, setting),
    keys,
    preimages: options.preimages ?? true,
  }
}

function isFeedColumn(name: string): boolean {
  return feedColumns.some((column) => column.name === name.toLowerCase())
}

/** Columns of the rows of a shape, without `positionColumn`. */
export function outputColumns(shape: FeedShape): readonly RelationColumn[] {
  return [...shape.columns.map(({ name, type }) => ({ name, type })), ...feedColumns]
}

/** The files of one commit that hold deletes and those that hold inserts are to be paired by key. */
export function isPaired(shape: FeedShape, parts: readonly LoadedPart[]): boolean {
  const has = (type: ChangePart['changeType']) => parts.some(({ part }) => part.changeType === type)
  return shape.keys.length > 0 && has('delete') && has('insert')
}

const isRecorded = (parts: readonly LoadedPart[]): boolean => parts.some(({ part }) => part.changeType === 'recorded')

/**
 * Rows, if there are any, for which the recorded changes of a commit are not those of its keys: a row that an update gave another key, or
 * one that was deleted while another got its key. Undefined: none can be.
 */
export function keysThatMoved(shape: FeedShape, parts: readonly LoadedPart[]): Relation | undefined {
  if (shape.keys.length === 0 || !isRecorded(parts)) return undefined
  const used = new Set(shape.keys.map(({ name }) => `t.${name}`))
  const rows = rawRows(shape, parts, used, false)
  const after = otherSide(shape.keys, ofTypes(rows, afterTypes))
  const on = and(shape.keys.map(sameOnBothSides))
  const gone = ofTypes(rows, ['update_preimage'])
  const inputs: Relation[] = [
    { kind: 'join', join: 'anti', left: gone, right: after, on },
    { kind: 'join', join: 'semi', left: ofTypes(rows, ['delete']), right: after, on },
  ]
  return { kind: 'limit', input: { kind: 'union', inputs }, rows: 1 }
}

/** The rows of some parts of one commit, all of one change type. With positions: of one file, its rows from one on, in their order. */
export function partRows(shape: FeedShape, parts: readonly LoadedPart[], fromPosition?: number): Relation {
  const used = new Set([...shape.columns.map(({ name }) => `t.${name}`), ...columnNames(shape.where)])
  const kept = parts.filter((part) => mayHoldRows(shape, part))
  const positions = fromPosition !== undefined
  const rows = rawRows(shape, kept, used, positions)
  const recorded = isRecorded(parts)
  const conditions = [shape.where]
  if (recorded && !shape.preimages)
    conditions.push(call('<>', [changeType, lit('update_preimage' satisfies ChangeType, stringType)]))
  if (positions) conditions.push(call('>=', [position, lit(fromPosition, position.type)]))
  const chosen = output(shape, rows, and(conditions), positions)
  return positions ? { kind: 'sort', input: chosen, by: [{ value: position, descending: false }] } : chosen
}

/**
 * The rows of a commit whose deletes and inserts are paired: of a key that is on both sides, rows that are equal were copied and are left
 * out, others are the two images of an update. Keys must identify rows. Maps have no order, so a row with one counts as changed. What is
 * recorded was not copied: there the two images may be equal.
 */
export function pairedRows(shape: FeedShape, parts: readonly LoadedPart[]): readonly Relation[] {
  const { deletes, inserts, others } = sidesOf(shape, parts)
  const sameKey = shape.keys.map(sameOnBothSides)
  const differs = isRecorded(parts) ? [] : difference(shape.snapshot.columns)
  const join = (kind: 'anti' | 'semi', left: Relation, right: Relation): Relation => ({
    kind: 'join',
    join: kind,
    left,
    right: otherSide(shape.snapshot.columns, right),
    on: and(kind === 'anti' ? sameKey : [...sameKey, ...differs]),
  })
  const before = [retyped(shape, join('anti', deletes, inserts), 'delete')]
  if (shape.preimages) before.push(retyped(shape, join('semi', deletes, inserts), 'update_preimage'))
  const after = [
    retyped(shape, join('semi', inserts, deletes), 'update_postimage'),
    retyped(shape, join('anti', inserts, deletes), 'insert'),
    ...others,
  ]
  return [before, after].map((inputs) => output(shape, { kind: 'union', inputs }, shape.where, false))
}

const beforeTypes: readonly ChangeType[] = ['delete', 'update_preimage']
const afterTypes: readonly ChangeType[] = ['insert', 'update_postimage']

/** @returns `others`: recorded rows of types that no version of the protocol knows, which are given as they are */
function sidesOf(shape: FeedShape, parts: readonly LoadedPart[]) {
  const all = new Set(shape.snapshot.columns.map(({ name }) => `t.${name}`))
  const rowsWith = (type: ChangePart['changeType']) =>
    rawRows(
      shape,
      parts.filter(({ part }) => part.changeType === type),
      all,
      false,
    )
  if (!isRecorded(parts)) return { deletes: rowsWith('delete'), inserts: rowsWith('insert'), others: [] }
  const rows = rowsWith('recorded')
  const others: Relation = {
    kind: 'filter',
    input: rows,
    where: call('not', [isOneOf([...beforeTypes, ...afterTypes])]),
  }
  return { deletes: ofTypes(rows, beforeTypes), inserts: ofTypes(rows, afterTypes), others: [others] }
}

const ofTypes = (input: Relation, types: readonly ChangeType[]): Relation => ({
  kind: 'filter',
  input,
  where: isOneOf(types),
})

/** False, too, where a file says nothing. */
function isOneOf(types: readonly ChangeType[]): Expr {
  const terms = types.map((type) => call('<=>', [changeType, lit(type, stringType)]))
  return terms.length === 1 ? and(terms) : call('or', terms)
}

const position = col(positionColumn, { kind: 'double' })

function rawRows(
  shape: FeedShape,
  parts: readonly LoadedPart[],
  used: ReadonlySet<string>,
  positions: boolean,
): Relation {
  const scanned = parts.filter(({ only }) => only === undefined)
  const located = parts.filter(({ only }) => only !== undefined)
  const inputs: Relation[] = []
  for (const group of [scanned, located]) {
    const [first] = group
    if (first === undefined) continue
    const columns = scanColumns(shape, used, first.part.changeType === 'recorded')
    const scan = group === scanned ? liveRows(group, columns, positions) : rowsAtPositions(group, columns)
    inputs.push(labelled(shape, scan, used, first.part, positions))
  }
  if (inputs.length === 0) return noRows(shape, used, positions)
  const [only] = inputs
  return inputs.length === 1 && only !== undefined ? only : { kind: 'union', inputs }
}

function scanColumns(shape: FeedShape, used: ReadonlySet<string>, recorded: boolean): readonly ScanColumn[] {
  const columns = targetColumns(shape.snapshot).filter(({ name }) => used.has(name))
  if (!recorded) return columns
  const inFile = {
    name: 't._change_type',
    type: stringType,
    physicalName: '_change_type',
    fieldId: undefined,
    isPartition: false,
  }
  return [...columns, inFile]
}

function liveRows(parts: readonly LoadedPart[], columns: readonly ScanColumn[], positions: boolean): Relation {
  const locator = positions ? { file: fileColumn, position: positionColumn } : undefined
  return { kind: 'scan', files: parts.map(({ file }) => file), columns, locator, deletions: 'drop' }
}

function rowsAtPositions(parts: readonly LoadedPart[], columns: readonly ScanColumn[]): Relation {
  const scan: Relation = {
    kind: 'scan',
    files: parts.map(({ file }) => file),
    columns,
    locator: { file: fileColumn, position: positionColumn },
    deletions: 'keep',
  }
  const files: number[] = []
  const places: number[] = []
  for (const { file, only } of parts) {
    for (const place of only === undefined ? [] : sortedValues(only)) {
      files.push(file.id)
      places.push(place)
    }
  }
  const wanted: Relation = {
    kind: 'rows',
    columns: [
      { name: 'w.file', type: integerType },
      { name: 'w.position', type: position.type },
    ],
    values: [files, places],
    rowCount: places.length,
  }
  const on = and([
    call('=', [col(fileColumn, integerType), col('w.file', integerType)]),
    call('=', [position, col('w.position', position.type)]),
  ])
  return { kind: 'join', join: 'semi', left: scan, right: wanted, on }
}

function labelled(
  shape: FeedShape,
  input: Relation,
  used: ReadonlySet<string>,
  part: ChangePart,
  positions: boolean,
): Relation {
  const type = part.changeType === 'recorded' ? changeType : lit(part.changeType, stringType)
  const labels = [type, lit(BigInt(part.version), longType), lit(BigInt(part.timestampMs) * 1000n, timestampType)]
  return { kind: 'project', input, columns: [...rowColumns(shape, used, positions), ...labelColumns(labels)] }
}

function rowColumns(shape: FeedShape, used: ReadonlySet<string>, positions: boolean): { name: string; value: Expr }[] {
  const columns = targetColumns(shape.snapshot)
    .filter(({ name }) => used.has(name))
    .map(({ name, type }) => ({ name, value: col(name, type) }))
  return positions ? [...columns, { name: positionColumn, value: position }] : columns
}

function labelColumns(values: readonly Expr[]): { name: string; value: Expr }[] {
  return feedColumns.map(({ name, type }, place) => ({ name: `t.${name}`, value: values[place] ?? lit(null, type) }))
}

function noRows(shape: FeedShape, used: ReadonlySet<string>, positions: boolean): Relation {
  const columns = [...rowColumns(shape, used, positions), ...labelColumns([])]
  return {
    kind: 'rows',
    columns: columns.map(({ name, value }) => ({ name, type: value.type })),
    values: columns.map(() => []),
    rowCount: 0,
  }
}

function output(shape: FeedShape, rows: Relation, where: Expr, positions: boolean): Relation {
  const input: Relation = isTrueLiteral(where) ? rows : { kind: 'filter', input: rows, where }
  const columns = outputColumns(shape).map(({ name, type }) => ({ name, value: col(`t.${name}`, type) }))
  if (positions) columns.push({ name: positionColumn, value: position })
  return { kind: 'project', input, columns }
}

function mayHoldRows({ snapshot, where }: FeedShape, { part, file }: LoadedPart): boolean {
  return mayHold(snapshot, where, {
    path: part.path,
    partitionValues: file.partitionValues,
    size: part.sizeBytes,
    modificationTime: 0,
    dataChange: true,
    stats: part.stats,
  })
}

const otherName = (name: string): string => `o.${name}`

function otherSide(columns: readonly TableColumn[], input: Relation): Relation {
  const renamed = columns.map(({ name, type }) => ({ name: otherName(name), value: col(`t.${name}`, type) }))
  return { kind: 'project', input, columns: renamed }
}

function sameOnBothSides({ name, type }: TableColumn): Expr {
  return call('<=>', [col(`t.${name}`, type), col(otherName(name), type)])
}

/** The condition under which two rows differ; none: they always count as different. */
function difference(columns: readonly TableColumn[]): readonly Expr[] {
  if (!columns.every(({ type }) => isComparable(type))) return []
  const equal = and(columns.filter(({ type }) => type.kind !== 'void').map(sameOnBothSides))
  return [call('not', [equal])]
}

function retyped(shape: FeedShape, input: Relation, type: ChangeType): Relation {
  const all = new Set(shape.snapshot.columns.map(({ name }) => `t.${name}`))
  const [, ...labels] = feedColumns.map((column) => col(`t.${column.name}`, column.type))
  return {
    kind: 'project',
    input,
    columns: [...rowColumns(shape, all, false), ...labelColumns([lit(type, stringType), ...labels])],
  }
}
