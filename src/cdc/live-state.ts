/**
 * The state's rows as events. Only those of attempts that live by the target's pins count; of a key those are wanted from the batch's first
 * event on, or from the start of the first run that was read of the target, for a run's hidden rows lie between its start and its last event.
 */
import type { Expr } from '../expr/tree.ts'
import { col } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { DataType } from '../protocol/types.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { nameIn, stateColumn, stateColumnsOf, tableColumn } from './layout.ts'
import { flagIn, leafIn } from './leaves.ts'
import type { AttemptRange, Pin } from './pins.ts'
import { reshaped } from './reshaped.ts'
import { comparable, isBefore, restored } from './sequence-order.ts'
import {
  all,
  any,
  atLeast,
  bool,
  equal,
  first,
  intOf,
  isNull,
  less,
  longOf,
  longType,
  no,
  not,
  nothing,
  stringOf,
  surely,
  when,
  yes,
} from './terms.ts'
import { tableRows } from './table-rows.ts'
import { type WorkingColumns, keyName, origin } from './working-rows.ts'
import { firstOfKey, notInTarget } from './event-rows.ts'
import { onKeys } from './target-suffix.ts'

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
  const scan = tableRows(state, files)
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
  // The state may have more fields in its structs: it gets them first.
  const column = (name: string, type: DataType) => {
    const own = tableColumn(state, name)
    return own === undefined ? nothing(type) : reshaped(col(`t.${own.name}`, own.type), type)
  }
  const isDelete = bool(`t.${stateColumn.isDelete}`)
  const flags = stateColumnsOf(definition).find(({ name }) => name === stateColumn.written)
  const written = flags === undefined ? undefined : column(flags.name, flags.type)
  return columns.project({
    key: (_, place) => column(definition.keys[place]?.name ?? '', definition.keys[place]?.type ?? { kind: 'void' }),
    payload: (leaf) => leafIn(column(leaf.of.name, leaf.of.type), leaf),
    writes: (leaf) => (written === undefined ? yes : first(flagIn(written, leaf), surely(isDelete))),
    shown: ({ type }) => nothing(type),
    rest: {
      sequence: column(stateColumn.sequence, definition.sequenceType),
      isDelete,
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
