/**
 * The rows a batch works on: its events, and of each of their keys one suffix of target and state together.
 *
 * The suffix begins at the last event before the batch's first one of the key, and one before it that is a delete need not be read: to be
 * the first of a key and to come after a delete are the same. So of the target it is enough to read the rows that are open or end at the
 * batch's first event or later; of the state, the rows from there or from the start of the first run that was read. A partial flow reads
 * the whole history of its keys, because a value left alone may come from any earlier event.
 *
 * Source: ../spec notes on AUTO CDC, "microbatch algorithm", steps 2 to 8; decomposition is `targetEvents`.
 */
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { targetColumns } from '../transaction/write-request.ts'
import type { FlowDefinition } from './definition.ts'
import { metadataField, stateColumn } from './layout.ts'
import { comparable, isBefore, isSame, restored } from './sequence-order.ts'
import { type AttemptRange, type Pin } from './pins.ts'
import {
  all,
  any,
  atLeast,
  bool,
  doubleType,
  equal,
  fieldOf,
  first,
  intOf,
  integerType,
  isNull,
  isThere,
  less,
  longOf,
  longType,
  no,
  not,
  nothing,
  stringOf,
  structOf,
  surely,
  when,
  yes,
} from './terms.ts'
import { type WorkingColumns, keyName, origin, row, systemSequence } from './working-rows.ts'

/** The least sequence of each key of the batch; NULL: its whole history is wanted. */
export const firstOfKey = '$first'

/** The user's columns in the batch's own rows, checked: no NULL in keys or sequence, no truncates. */
export function eventRows(columns: WorkingColumns, source: Relation): Relation {
  const { definition } = columns
  const { isDelete, sequence } = definition.source
  const deletes = isDelete === undefined ? no : surely(isDelete)
  const written = new Map(definition.payload.map((column) => [column, definition.source.writes(column)]))
  const fields = columns.project({
    key: (_, place) => fromSource(definition.keys[place]),
    payload: (column) => {
      const writes = written.get(column)
      const value = fromSource(column)
      const kept = writes === undefined ? not(deletes) : all(not(deletes), writes)
      return when(kept, value, nothing(column.type))
    },
    writes: (column) => when(deletes, yes, written.get(column) ?? yes),
    shown: (column) => nothing(column.type),
    rest: {
      sequence: sequenceOf(definition, sequence),
      isDelete: deletes,
      origin: intOf(origin.batch),
      weak: no,
      ...notInTarget(definition),
    },
  })
  const known = definition.system === undefined ? [] : [{ name: systemSequence, value: definition.system.value }]
  const input: Relation = { kind: 'filter', input: source, where: isGoodEvent(definition) }
  return { kind: 'project', input, columns: [...fields, ...known] }
}

function fromSource(column: { readonly name: string; readonly type: DataType } | undefined): Expr {
  return column === undefined ? nothing({ kind: 'void' }) : col(`s.${column.name}`, column.type)
}

export function sequenceOf({ sequenceType }: FlowDefinition, parts: readonly Expr[]): Expr {
  const [only, ...others] = parts
  if (only !== undefined && others.length === 0) return only
  const fields = sequenceType.kind === 'struct' ? sequenceType.fields : []
  return structOf(parts.map((value, place) => ({ name: fields[place]?.name ?? '', value })))
}

/** No part of the keys and of the sequence is NULL, and it is no truncate. */
export function isGoodEvent({ keys, source, system }: FlowDefinition): Expr {
  return all(
    ...(system === undefined ? [] : [isThere(system.value)]),
    ...keys.map((key) => isThere(fromSource(key))),
    ...(source.sequence.length === 1 ? source.sequence.map(isThere) : []),
    ...(source.isTruncate === undefined ? [] : [not(surely(source.isTruncate))]),
  )
}

function notInTarget({ sequenceType }: FlowDefinition) {
  return {
    file: nothing(integerType),
    position: nothing(doubleType),
    start: nothing(sequenceType),
    end: nothing(sequenceType),
  }
}

/** Each key of some events with its least sequence. */
export function keysOf(columns: WorkingColumns, events: Relation): Relation {
  const value = comparable(columns.sequence)
  const grouped: Relation = {
    kind: 'aggregate',
    input: events,
    groupBy: columns.keepKeys(),
    aggregates: [{ name: firstOfKey, function: 'min', value, type: value.type }],
  }
  const least = restored(col(firstOfKey, value.type), columns.definition.sequenceType)
  return { kind: 'project', input: grouped, columns: [...columns.keepKeys(), { name: firstOfKey, value: least }] }
}

/** Target columns under their names in the scan, `t.<name>`, beside keys as `b.<key>`. */
export function targetSuffix(
  columns: WorkingColumns,
  snapshot: Snapshot,
  files: readonly ScanFile[],
  keys: StagedRows,
  watermark?: Datum,
): Relation {
  const { definition } = columns
  const scan: Relation = {
    kind: 'scan',
    files,
    columns: targetColumns(snapshot),
    locator: { file: row.file, position: row.position },
    deletions: 'drop',
  }
  const own = definition.keys.map(({ name, type }) => col(`t.${nameIn(snapshot, name)}`, type))
  const joined: Relation = {
    kind: 'join',
    join: 'inner',
    left: scan,
    right: stagedKeys(columns, keys),
    on: onKeys(columns, own),
  }
  const end =
    definition.scdType === 2 ? col(`t.${nameIn(snapshot, definition.names.end)}`, definition.sequenceType) : undefined
  const wanted = end === undefined ? undefined : reaches(columns, end, watermark)
  return {
    kind: 'project',
    input: wanted === undefined ? joined : { kind: 'filter', input: joined, where: wanted },
    columns: targetFields(columns, snapshot),
  }
}

/**
 * The row is open, or ends at the first event of its key or later; where the whole history is wanted, at the watermark or later, for what
 * ended before it is settled. undefined: every row does.
 */
function reaches({ definition }: WorkingColumns, end: Expr, watermark: Datum | undefined): Expr | undefined {
  const { sequenceType, isPartial } = definition
  const settled = watermark === undefined ? undefined : isBefore(end, lit(watermark, sequenceType))
  if (isPartial) return settled === undefined ? undefined : any(isNull(end), not(settled))
  const since = col(`b.${firstOfKey}`, sequenceType)
  const whole = settled === undefined ? isNull(since) : all(isNull(since), not(settled))
  // A sequence of several parts that is NULL is before nothing, which would let every row pass.
  return any(isNull(end), whole, all(isThere(since), not(isBefore(end, since))))
}

function stagedKeys(columns: WorkingColumns, keys: StagedRows): Relation {
  return {
    kind: 'staged',
    rows: keys,
    columns: [
      ...columns.definition.keys.map(({ name, type }) => ({ name: `b.${name}`, from: keyName(name), type })),
      { name: `b.${firstOfKey}`, from: firstOfKey, type: columns.definition.sequenceType },
    ],
    rowNumber: undefined,
  }
}

function onKeys(columns: WorkingColumns, own: readonly Expr[]): Expr {
  return all(...columns.definition.keys.map(({ name, type }, place) => equal(own[place] ?? no, col(`b.${name}`, type))))
}

function nameIn(snapshot: Snapshot, name: string): string {
  return snapshot.columns.find((column) => column.name.toLowerCase() === name.toLowerCase())?.name ?? name
}

/** The target's rows as working rows. */
export function targetFields(columns: WorkingColumns, snapshot: Snapshot) {
  const { definition } = columns
  const column = (name: string, type: DataType) => col(`t.${nameIn(snapshot, name)}`, type)
  const metadataName = nameIn(snapshot, definition.names.metadata)
  const metadata = col(
    `t.${metadataName}`,
    snapshot.columns.find(({ name }) => name === metadataName)?.type ?? { kind: 'void' },
  )
  const written = definition.isPartial ? fieldOf(metadata, metadataField.written) : undefined
  const interval = (name: string) =>
    definition.scdType === 2 ? column(name, definition.sequenceType) : nothing(definition.sequenceType)
  return columns.project({
    key: (_, place) => column(definition.keys[place]?.name ?? '', definition.keys[place]?.type ?? { kind: 'void' }),
    payload: ({ name, type, mayStay }) => {
      const value = column(name, type)
      return written === undefined || !mayStay ? value : when(surely(fieldOf(written, name)), value, nothing(type))
    },
    writes: ({ name }) => (written === undefined ? yes : surely(fieldOf(written, name))),
    shown: ({ name, type }) => column(name, type),
    rest: {
      sequence: fieldOf(metadata, metadataField.sequence),
      isDelete: no,
      origin: intOf(origin.target),
      weak: no,
      file: col(row.file, integerType),
      position: col(row.position, doubleType),
      start: interval(definition.names.start),
      end: interval(definition.names.end),
    },
  })
}

/** The target's rows as events: each a head; and each closed one a tail, for something ended it, unless the next row shows what. */
export function targetEvents(columns: WorkingColumns, suffix: Relation): Relation[] {
  if (columns.definition.scdType === 1) return [suffix]
  const { definition } = columns
  const tails = columns.project({
    key: (name, place) => col(keyName(name), definition.keys[place]?.type ?? { kind: 'void' }),
    payload: ({ type }) => nothing(type),
    writes: () => yes,
    shown: ({ type }) => nothing(type),
    rest: {
      sequence: columns.end,
      isDelete: yes,
      origin: intOf(origin.implied),
      weak: yes,
      ...notInTarget(definition),
    },
  })
  return [suffix, { kind: 'project', input: withoutSuccessor(columns, suffix), columns: tails }]
}

/** Closed rows whose key has no row that starts where they end: a row that does is what ended them, and its tail would say nothing. */
function withoutSuccessor(columns: WorkingColumns, suffix: Relation): Relation {
  const { sequenceType } = columns.definition
  const next = '$next'
  const bounds: Relation = {
    kind: 'project',
    input: suffix,
    columns: [
      ...columns.keepKeys(),
      { name: row.sequence, value: columns.sequence },
      { name: row.start, value: columns.start },
      { name: row.end, value: columns.end },
    ],
  }
  const ordered: Relation = {
    kind: 'window',
    input: bounds,
    partitionBy: columns.keyNames,
    orderBy: [{ value: columns.sequence, descending: false }],
    columns: [{ name: next, call: { function: 'lead', value: columns.start, type: sequenceType, frame: 'partition' } }],
  }
  const isEnd = isSame(col(next, sequenceType), columns.end)
  return { kind: 'filter', input: ordered, where: all(isThere(columns.end), not(isEnd)) }
}

/** For each key the sequence from which its state is wanted: the batch's first event, or the first start that was read of the target. */
export function stateSince(columns: WorkingColumns, keys: StagedRows, suffix: Relation): Relation {
  const { definition } = columns
  const name = '$since'
  const keyed = (relation: Relation, value: Expr): Relation => ({
    kind: 'project',
    input: relation,
    columns: [...columns.keepKeys(), { name, value }],
  })
  const staged: Relation = {
    kind: 'staged',
    rows: keys,
    columns: [
      ...definition.keys.map((key) => ({ name: keyName(key.name), from: keyName(key.name), type: key.type })),
      { name: firstOfKey, from: firstOfKey, type: definition.sequenceType },
    ],
    rowNumber: undefined,
  }
  const inputs = [keyed(staged, col(firstOfKey, definition.sequenceType))]
  if (definition.scdType === 2) inputs.push(keyed(suffix, columns.start))
  const since = comparable(col(name, definition.sequenceType))
  return {
    kind: 'aggregate',
    input: { kind: 'union', inputs },
    groupBy: columns.keepKeys(),
    aggregates: [
      { name, function: 'min', value: since, type: since.type },
      { name: '$known', function: 'count', value: col(name, definition.sequenceType), type: longType },
      { name: '$all', function: 'count', value: undefined, type: longType },
    ],
  }
}

/** Live rows of the state, for the keys of a batch, as working rows. */
export function stateEvents(
  columns: WorkingColumns,
  state: Snapshot,
  files: readonly ScanFile[],
  live: Expr,
  since: Relation,
): Relation {
  const { definition } = columns
  const scan: Relation = {
    kind: 'scan',
    files,
    columns: targetColumns(state),
    locator: undefined,
    deletions: 'drop',
  }
  const renamed: Relation = {
    kind: 'project',
    input: since,
    columns: [
      ...definition.keys.map(({ name, type }) => ({ name: `b.${name}`, value: col(keyName(name), type) })),
      // A key that is wanted whole says so by a NULL.
      {
        name: `b.${firstOfKey}`,
        value: when(
          equal(col('$known', longType), col('$all', longType)),
          restored(col('$since', comparable(nothing(definition.sequenceType)).type), definition.sequenceType),
          nothing(definition.sequenceType),
        ),
      },
    ],
  }
  const own = definition.keys.map(({ name, type }) => col(`t.${nameIn(state, name)}`, type))
  const sequence = col(`t.${stateColumn.sequence}`, definition.sequenceType)
  const from = col(`b.${firstOfKey}`, definition.sequenceType)
  const wanted =
    definition.isPartial || definition.scdType === 1 ? [] : [any(isNull(from), not(isBefore(sequence, from)))]
  return {
    kind: 'project',
    input: {
      kind: 'filter',
      input: {
        kind: 'join',
        join: 'inner',
        left: { kind: 'filter', input: scan, where: live },
        right: renamed,
        on: onKeys(columns, own),
      },
      where: all(...wanted),
    },
    columns: stateFields(columns, state),
  }
}

/** Live rows of the state as working rows, whatever their keys. */
export function stateFields(columns: WorkingColumns, state: Snapshot) {
  const { definition } = columns
  const column = (name: string, type: DataType) => col(`t.${nameIn(state, name)}`, type)
  const written = definition.isPartial
    ? col(
        `t.${stateColumn.written}`,
        state.columns.find(({ name }) => name === stateColumn.written)?.type ?? { kind: 'void' },
      )
    : undefined
  return columns.project({
    key: (_, place) => column(definition.keys[place]?.name ?? '', definition.keys[place]?.type ?? { kind: 'void' }),
    payload: ({ name, type }) => column(name, type),
    writes: ({ name }) => (written === undefined ? yes : first(fieldOf(written, name), yes)),
    shown: ({ type }) => nothing(type),
    rest: {
      sequence: column(stateColumn.sequence, definition.sequenceType),
      isDelete: bool(`t.${stateColumn.isDelete}`),
      origin: intOf(origin.state),
      weak: no,
      ...notInTarget(definition),
    },
  })
}

/** Over a scan of the state: the row belongs to an attempt that lives. */
export function liveRows(pins: Iterable<Pin>): Expr {
  const terms = [...pins]
    .filter(({ last }) => last > 0)
    .map((pin) => {
      const attempt = col(`t.${stateColumn.attempt}`, longType)
      return all(
        equal(col(`t.${stateColumn.flow}`, { kind: 'string' }), stringOf(pin.flow)),
        not(less(longOf(pin.last), attempt)),
        ...pin.dead.map((range) => not(inRange(attempt, range))),
      )
    })
  return any(...terms)
}

/** Over a scan of the state: the row is of one of these attempts of a flow. */
export function rowsOf(flow: string, ranges: readonly AttemptRange[]): Expr {
  const attempt = col(`t.${stateColumn.attempt}`, longType)
  const isFlow = equal(col(`t.${stateColumn.flow}`, { kind: 'string' }), stringOf(flow))
  return all(isFlow, any(...ranges.map((range) => inRange(attempt, range))))
}

function inRange(attempt: Expr, [from, to]: AttemptRange): Expr {
  return all(atLeast(attempt, longOf(from)), not(less(longOf(to), attempt)))
}
