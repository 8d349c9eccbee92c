/**
 * A flow's options, checked against the columns of its source: what is a key, what orders, what is tracked, and the columns that the
 * target has. Names are compared without case and keep the source's spelling.
 */
import { type ErrorCode, failure } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import { type StatementSetting, parseOnce } from '../commands/binding.ts'
import { analyzePredicate } from '../expr/analyze.ts'
import { tableScope } from '../expr/scope.ts'
import type { Expr } from '../expr/tree.ts'
import { call, col } from '../expr/walk.ts'
import type { DataType, StructType } from '../protocol/types.ts'
import type { RelationColumn } from '../relation/tree.ts'
import { checkLists, checkNames, checkSelected } from './definition-names.ts'
import type { ColumnSelection, FlowOptions } from './options.ts'
import { any, stringOf, surely } from './terms.ts'

export interface PayloadColumn extends RelationColumn {
  /** A change of it opens a new row (type 2). */
  readonly isTracked: boolean
  /** An event may leave it as it was. */
  readonly mayStay: boolean
}

/** The second axis of a bitemporal target. */
export interface SystemAxis extends RelationColumn {
  /** The sequence, over the source's columns. */
  readonly value: Expr
  readonly names: { readonly start: string; readonly end: string }
}

export interface FlowDefinition {
  readonly flow: string
  readonly scdType: 1 | 2
  readonly keys: readonly RelationColumn[]
  /** Selected columns that are no keys, in the source's order. */
  readonly payload: readonly PayloadColumn[]
  /** Keys and payload in the source's order: the user's columns of the target. */
  readonly selected: readonly RelationColumn[]
  readonly sequenceType: DataType
  /** Some event may leave a column as it was, so that an event says which columns it writes. */
  readonly isPartial: boolean
  readonly names: { readonly start: string; readonly end: string; readonly metadata: string }
  /** Bitemporal targets alone; their `scdType` is 2. */
  readonly system?: SystemAxis | undefined
  /** Columns a new target is partitioned by. */
  readonly partitionBy: readonly string[]
  readonly onSequenceConflict: 'deterministic' | 'error' | 'quarantine'
  readonly onBadRow: 'fail' | 'quarantine'
  /** Over the source's columns, `s.<name>`. */
  readonly source: {
    /** The parts of the sequence; several make a struct. */
    readonly sequence: readonly Expr[]
    readonly isDelete: Expr | undefined
    readonly isTruncate: Expr | undefined
    /** A selected column's value. */
    readonly value: (column: RelationColumn) => Expr
    /** TRUE where the event writes the column, or the leaf of it that has this value; undefined: every event does. */
    readonly writes: (column: PayloadColumn, value: Expr) => Expr | undefined
  }
}

/** A target of one row a key, of which each event gives every column: the last event alone counts. */
export const keepsLatestOnly = ({ scdType, isPartial }: FlowDefinition): boolean => scdType === 1 && !isPartial

export const sequencePartName = (place: number): string => `s${place}`

/** @throws the AUTOCDC classes of definition and analysis */
export function defineFlow(
  options: FlowOptions,
  columns: readonly RelationColumn[],
  setting: StatementSetting,
): FlowDefinition {
  checkOptions(options)
  const names = {
    start: options.intervalColumns?.start ?? '__START_AT',
    end: options.intervalColumns?.end ?? '__END_AT',
    metadata: options.metadataColumn ?? '__cdc',
  }
  const scdType = options.storedAs === 'bitemporal' ? 2 : (options.storedAsScdType ?? 1)
  const system = systemAxis(options, columns)
  const ours = scdType === 2 ? [names.start, names.end, names.metadata] : [names.metadata]
  const added = system === undefined ? ours : [...ours, system.names.start, system.names.end]
  checkReserved(columns, added)
  const find = (wanted: readonly string[]) => named(columns, wanted)
  const keys = find(options.keys)
  const sequence = find(typeof options.sequenceBy === 'string' ? [options.sequenceBy] : options.sequenceBy)
  for (const part of sequence) checkOrderable(part)
  const selected = select(columns, options)
  checkNames(selected, added)
  const outside = keys.filter((key) => !selected.includes(key))
  if (outside.length > 0) {
    throw failure('AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA', `the columns selected leave out ${list(outside)}`, {
      details: { keys: outside.map(({ name }) => name) },
    })
  }
  const values = selected.filter((column) => !keys.includes(column))
  const listed = options.columnsToUpdate === undefined ? undefined : find([options.columnsToUpdate])[0]
  if (listed !== undefined && (listed.type.kind !== 'array' || listed.type.element.kind !== 'string')) {
    throw invalid(`columnsToUpdate must name an array of strings, and \`${listed.name}\` is none`, listed.name)
  }
  const payload = payloadOf(options, selected, values, listed !== undefined, find)
  if (scdType === 2) requireComparable(payload)
  return {
    flow: options.flow,
    scdType,
    keys,
    payload,
    selected,
    sequenceType: sequenceType(sequence),
    isPartial: payload.some(({ mayStay }) => mayStay),
    names,
    system,
    partitionBy: named(selected, options.partitionBy ?? []).map(({ name }) => name),
    onSequenceConflict: options.onSequenceConflict ?? 'deterministic',
    onBadRow: options.onBadRow ?? 'fail',
    source: {
      sequence: sequence.map(fromSource),
      isDelete: predicate(options.applyAsDeleteWhen, 'applyAsDeleteWhen', columns, setting),
      isTruncate: predicate(options.applyAsTruncateWhen, 'applyAsTruncateWhen', columns, setting),
      value: fromSource,
      writes: (column, value) => writes(column, value, listed),
    },
  }
}

function payloadOf(
  { trackHistory, ignoreNullUpdates }: FlowOptions,
  selected: readonly RelationColumn[],
  values: readonly RelationColumn[],
  mayAllStay: boolean,
  find: (names: readonly string[]) => readonly RelationColumn[],
): PayloadColumn[] {
  const tracked = selection(trackHistory, values, find)
  const ignored = ignoreNullUpdates === true ? values : selection(ignoreNullUpdates, values, find, [])
  if (isListed(trackHistory)) checkSelected('trackHistory', tracked, selected)
  if (isListed(ignoreNullUpdates)) checkSelected('ignoreNullUpdates', ignored, selected)
  return values.map((column) => ({
    ...column,
    isTracked: tracked.includes(column),
    mayStay: mayAllStay || ignored.includes(column),
  }))
}

function requireComparable(payload: readonly PayloadColumn[]): void {
  for (const { name, type, isTracked } of payload) {
    if (isTracked && holdsMap(type))
      throw invalid(`\`${name}\` holds a map, which cannot be compared: leave it out of the tracked columns`, name)
  }
}

const isListed = (wanted: ColumnSelection | boolean | undefined): boolean =>
  typeof wanted === 'object' && 'on' in wanted

const fromSource = ({ name, type }: RelationColumn): Expr => col(`s.${name}`, type)

function checkOptions(options: FlowOptions): void {
  const { keys, sequenceBy, ignoreNullUpdates, trackHistory } = options
  if (!/^[\w-]+(\.[\w-]+)*$/.test(options.flow)) {
    throw invalid(`a flow is named by letters, digits, dashes and dots, not ${JSON.stringify(options.flow)}`, 'flow')
  }
  if (keys.length === 0) throw failure('AUTOCDC_EMPTY_KEYS', 'a flow needs at least one key column')
  if (sequenceBy === undefined || sequenceBy.length === 0)
    throw failure('AUTOCDC_MISSING_SEQUENCE_BY', 'a flow needs a column that orders its events: sequenceBy')
  if (options.columns !== undefined && options.exceptColumns !== undefined) {
    throw failure('AUTOCDC_BOTH_COLUMN_LIST_AND_EXCEPT_COLUMN_LIST', 'columns and exceptColumns exclude each other')
  }
  checkLists(options)
  if (ignoreNullUpdates !== undefined && options.columnsToUpdate !== undefined) {
    throw failure(
      'AUTOCDC_CONFLICTING_IGNORE_NULL_UPDATES_OPTIONS',
      'ignoreNullUpdates and columnsToUpdate exclude each other',
    )
  }
  if (typeof ignoreNullUpdates === 'object' && 'on' in ignoreNullUpdates && ignoreNullUpdates.on.length === 0)
    throw failure('AUTOCDC_IGNORE_NULL_EMPTY_COLUMN_LIST', 'ignoreNullUpdates lists no column')
  if (trackHistory !== undefined && options.storedAsScdType !== 2 && options.storedAs !== 'bitemporal')
    throw invalid('trackHistory is for type 2: type 1 keeps no history', 'trackHistory')
}

function systemAxis(options: FlowOptions, columns: readonly RelationColumn[]): SystemAxis | undefined {
  const { storedAs, storedAsScdType, systemSequenceBy, systemColumns } = options
  if (storedAs === undefined && systemSequenceBy === undefined && systemColumns === undefined) return undefined
  if (storedAs === undefined || systemSequenceBy === undefined)
    throw invalid('storedAs bitemporal and systemSequenceBy need each other', 'systemSequenceBy')
  if (storedAsScdType === 1) throw invalid('a bitemporal target is of type 2', 'storedAsScdType')
  if (options.applyAsTruncateWhen !== undefined)
    throw invalid('a bitemporal target takes no truncates: they have no system sequence', 'applyAsTruncateWhen')
  if (options.onSequenceConflict !== undefined && options.onSequenceConflict !== 'deterministic')
    throw invalid('in a bitemporal target a conflict may only be settled: onSequenceConflict', 'onSequenceConflict')
  const column = named(columns, [systemSequenceBy])[0]
  if (column === undefined) throw invalid('systemSequenceBy names no column', 'systemSequenceBy')
  checkOrderable(column)
  const names = { start: systemColumns?.start ?? '__SYSTEM_START_AT', end: systemColumns?.end ?? '__SYSTEM_END_AT' }
  return { ...column, value: fromSource(column), names }
}

function checkReserved(columns: readonly RelationColumn[], reserved: readonly string[]): void {
  const taken = new Set(reserved.map((name) => name.toLowerCase()))
  const conflict = columns.filter(({ name }) => taken.has(name.toLowerCase()))
  if (conflict.length === 0) return
  throw failure(
    'AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT',
    `the source has ${list(conflict)}, which the target adds itself`,
    {
      details: { columns: conflict.map(({ name }) => name), reserved },
    },
  )
}

/** Columns that a message names. */
const shownColumns = 20

/** Columns by name, in the order asked for. */
function named(columns: readonly RelationColumn[], wanted: readonly string[]): RelationColumn[] {
  const byName = new Map(columns.map((column) => [column.name.toLowerCase(), column]))
  const missing = wanted.filter((name) => !byName.has(name.toLowerCase()))
  if (missing.length > 0) {
    const suggestions = missing.flatMap((name) => nearest(name, columns).map((column) => column.name))
    const hint =
      suggestions.length > 0
        ? ` Did you mean ${suggestions.map((name) => `\`${name}\``).join(', ')}?`
        : ` It has ${list(columns.slice(0, shownColumns))}${columns.length > shownColumns ? ', …' : ''}.`
    throw failure(
      'AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA',
      `the source has no column ${missing.map((name) => `\`${name}\``).join(', ')}.${hint}`,
      { details: { missing, available: columns.map(({ name }) => name), suggestions } },
    )
  }
  return wanted.flatMap((name) => byName.get(name.toLowerCase()) ?? [])
}

function select(columns: readonly RelationColumn[], options: FlowOptions): readonly RelationColumn[] {
  if (options.columns !== undefined) {
    const wanted = named(columns, options.columns)
    return columns.filter((column) => wanted.includes(column))
  }
  const except = named(columns, options.exceptColumns ?? [])
  return columns.filter((column) => !except.includes(column))
}

/** @param none what no selection at all means; default: all */
function selection(
  wanted: ColumnSelection | true | undefined,
  all: readonly RelationColumn[],
  find: (names: readonly string[]) => readonly RelationColumn[],
  none: readonly RelationColumn[] = all,
): readonly RelationColumn[] {
  if (wanted === undefined || wanted === true) return none
  if ('on' in wanted) return find(wanted.on)
  const except = find(wanted.except)
  return all.filter((column) => !except.includes(column))
}

function checkOrderable({ name, type }: RelationColumn): void {
  const unordered = ['struct', 'array', 'map', 'void', 'binary', 'boolean']
  if (!unordered.includes(type.kind)) return
  throw failure('AUTOCDC_MICROBATCH_VALIDATION', `\`${name}\` cannot order events: it is of type ${type.kind}`, {
    details: { reason: 'NON_ORDERABLE_SEQUENCE', column: name, type: type.kind },
  })
}

function sequenceType(parts: readonly RelationColumn[]): DataType {
  const [first, ...others] = parts
  if (first !== undefined && others.length === 0) return first.type
  const fields = parts.map(({ type }, place) => ({
    name: sequencePartName(place),
    type,
    nullable: true,
    metadata: {},
  }))
  return { kind: 'struct', fields } satisfies StructType
}

export function holdsMap(type: DataType): boolean {
  if (type.kind === 'map') return true
  if (type.kind === 'array') return holdsMap(type.element)
  return type.kind === 'struct' && type.fields.some((field) => holdsMap(field.type))
}

function predicate(
  text: string | undefined,
  what: string,
  columns: readonly RelationColumn[],
  setting: StatementSetting,
): Expr | undefined {
  if (text === undefined) return undefined
  const frozen = { nowMicros: setting.nowMicros, timeZone: 'UTC' } as const
  return analyzePredicate(parseOnce(text, setting), tableScope(columns, ['s', 'source'], 's.'), { frozen }, what)
}

/** Between names in a list that is looked through as one text; no name has it. */
const between = '\u0001'

/** Keys are always written; a NULL is written where its column is not to be ignored. A list names columns in any case. */
function writes({ name, mayStay }: PayloadColumn, value: Expr, listed: RelationColumn | undefined): Expr | undefined {
  if (!mayStay) return undefined
  if (listed === undefined) return call('is not null', [value])
  const list = fromSource(listed)
  const end = stringOf(between)
  const text = call('||', [call('||', [end, call('lower', [call('array_join', [list, end])])]), end])
  const isThere = call('contains', [text, stringOf(`${between}${name.toLowerCase()}${between}`)])
  return any(surely(call('array_contains', [list, stringOf(name)])), surely(isThere))
}

function invalid(message: string, option: string, code: ErrorCode = 'AUTOCDC_INVALID_DEFINITION'): Error {
  return failure(code, message, { details: { option } })
}

const list = (columns: readonly RelationColumn[]): string => columns.map(({ name }) => `\`${name}\``).join(', ')
