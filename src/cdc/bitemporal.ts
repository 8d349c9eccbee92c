/**
 * A batch of a bitemporal target. Its type 2 rows have a second interval: since which system sequence a row was believed, and from which on
 * it no longer was. The state keeps every event with its system sequence, so that the table follows from the set of events alone, and system
 * sequences may come late like anything else.
 *
 * Of each key of the batch only beliefs from its first new system sequence `m` on can change. What was believed just before `m` the target
 * says: rows whose system interval reaches `m`. For each system sequence of the key from `m` on, its moments, the events known by then are
 * folded as ever. A row goes on from one moment to the next where both folds have it, unchanged in everything; else its interval ends, or
 * another begins. The rows that come of this are compared with those the target has, and only what differs is written.
 *
 * Cost: a key's events times its moments from `m` on. Where system sequences ascend from batch to batch, as they do where they are commit
 * or load times, that is one moment, and one pass over the history of each key.
 *
 * Source: notes on AUTO CDC, 6.2 (Bitemporal); held to bitemporal-oracle.ts.
 */
import type { Expr } from '../expr/tree.ts'
import { call, col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { DataPlane, RunOptions, StagedRows } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import { mayHold } from '../transaction/file-facts.ts'
import { targetColumns } from '../transaction/write-request.ts'
import { BeliefColumns, eventCount, kindOf, systemEnd } from './beliefs.ts'
import type { BatchBounds, BatchGround, Computed } from './compute.ts'
import type { SystemAxis } from './definition.ts'
import { action, finalName, foldHistory, outcome } from './fold.ts'
import { firstOfKey, liveRows, stateFields } from './gather.ts'
import { metadataField, stateColumn, tableColumn } from './layout.ts'
import { resolveTies, tie } from './resolve-ties.ts'
import { isBefore, isSame } from './sequence-order.ts'
import {
  type NamedValue,
  all,
  any,
  atLeast,
  bool,
  booleanType,
  doubleType,
  equal,
  fieldOf,
  int,
  integerType,
  intOf,
  isNull,
  less,
  longOf,
  longType,
  no,
  not,
  same,
  surely,
  when,
} from './terms.ts'
import { WorkingColumns, keyName, payloadName, row, systemSequence, writesName } from './working-rows.ts'

/** Columns of a key's moments: `moment.*` beside the keys. */
const moment = {
  /** The system sequence, the moment's number within its key (from 1), and the next system sequence. */
  at: '$moment',
  number: '$number',
  next: '$nextMoment',
} as const

const other = (name: string): string => `o.${name}`

/** @param events working rows with `systemSequence`. @returns the outcome for `BeliefRows` */
export async function computeBeliefs(
  plane: DataPlane,
  columns: WorkingColumns,
  system: SystemAxis,
  ground: BatchGround,
  events: Relation,
  bounds: BatchBounds,
  options: RunOptions,
): Promise<Computed> {
  const held: StagedRows[] = []
  const stage = async (relation: Relation): Promise<StagedRows> => {
    const rows = await plane.stage({ kind: 'relation', relation }, options)
    held.push(rows)
    return rows
  }
  const work = new Beliefs(columns, system)
  let keys: StagedRows | undefined
  try {
    const stored = await work.storedEvents(ground, bounds)
    const known = stored === undefined ? undefined : asIs(await stage(work.ofKeys(stored, events)))
    const fresh = asIs(await stage(work.fresh(events, known)))
    keys = await plane.stage({ kind: 'relation', relation: work.keys(fresh) }, options)
    const first = asIs(keys)
    const all = asIs(await stage({ kind: 'union', inputs: known === undefined ? [fresh] : [fresh, known] }))
    const moments = asIs(await stage(work.moments(all, first)))
    const rows = asIs(await stage(work.eventsAtMoments(all, moments)))
    const folded = asIs(await stage(work.folded(rows)))
    const before = asIs(
      await stage(await work.reached(ground, bounds, first, await leastOf(plane, first, system, options))),
    )
    const beliefs = asIs(await stage(work.beliefs(before, folded, moments, first)))
    const result = await plane.stage(
      { kind: 'relation', relation: work.outcome(beliefs, before, fresh, folded, events) },
      options,
    )
    return { outcome: result, keys }
  } catch (error) {
    await keys?.release()
    throw error
  } finally {
    for (const rows of held) await rows.release()
  }
}

/** The least system sequence from which a key is computed; NULL: no key is. */
async function leastOf(plane: DataPlane, first: Relation, { type }: SystemAxis, options: RunOptions): Promise<Datum> {
  const least: Relation = {
    kind: 'aggregate',
    input: first,
    groupBy: [],
    aggregates: [{ name: 'least', function: 'min', value: col(firstOfKey, type), type }],
  }
  let found: Datum = null
  for await (const { columns } of plane.query(least, options)) found = columns[0]?.[0] ?? null
  return found
}

function asIs(rows: StagedRows): Relation {
  return {
    kind: 'staged',
    rows,
    columns: rows.columns.map(({ name, type }) => ({ name, from: name, type })),
    rowNumber: undefined,
  }
}

class Beliefs {
  readonly #columns: WorkingColumns
  readonly #system: SystemAxis
  /** The same flow with the moment as one more key: each moment is folded by itself. */
  readonly #byMoment: WorkingColumns
  readonly #names: BeliefColumns

  constructor(columns: WorkingColumns, system: SystemAxis) {
    this.#columns = columns
    this.#system = system
    const { definition } = columns
    const keys = [...definition.keys, { name: moment.at, type: system.type }]
    this.#byMoment = new WorkingColumns({ ...definition, keys, system: undefined })
    this.#names = new BeliefColumns(columns, system)
  }

  get #systemOf(): Expr {
    return col(systemSequence, this.#system.type)
  }

  /** Columns of an event: those of a working row, and its system sequence. */
  #eventNames(): NamedValue[] {
    const columns = this.#columns
    const own = columns.project({
      key: (_, place) => columns.keys[place] ?? no,
      payload: (column) => columns.payload(column),
      writes: (column) => columns.writes(column),
      shown: (column) => columns.shown(column),
      rest: this.#rest(columns),
    })
    return [...own, { name: systemSequence, value: this.#systemOf }]
  }

  #rest(columns: WorkingColumns) {
    const { sequence, isDelete, origin, weak, file, position, start, end } = columns
    return { sequence, isDelete, origin, weak, file, position, start, end }
  }

  /** All live events of the state; undefined: it has none. */
  async storedEvents(ground: BatchGround, bounds: BatchBounds): Promise<Relation | undefined> {
    const live = [...ground.pins.values()].filter(({ last }) => last > 0)
    if (live.length === 0) return undefined
    const { snapshot } = ground.state
    const where = all(liveRows(live), ...this.#keyBounds(bounds))
    const files = await ground.state.filesFor(0, (file) => mayHold(snapshot, where, file))
    if (files.length === 0) return undefined
    const scan: Relation = {
      kind: 'scan',
      files,
      columns: targetColumns(snapshot),
      locator: undefined,
      deletions: 'drop',
    }
    const name = tableColumn(snapshot, stateColumn.system)?.name ?? stateColumn.system
    return {
      kind: 'project',
      input: { kind: 'filter', input: scan, where },
      columns: [
        ...stateFields(this.#columns, snapshot),
        { name: systemSequence, value: col(`t.${name}`, this.#system.type) },
      ],
    }
  }

  #keyBounds({ leastKey, greatestKey }: BatchBounds): Expr[] {
    const [key] = this.#columns.definition.keys
    if (key === undefined || leastKey === null || greatestKey === null) return []
    const value = col(`t.${key.name}`, key.type)
    return [atLeast(value, lit(leastKey, key.type)), not(less(lit(greatestKey, key.type), value))]
  }

  /** Stored events of the keys of a batch. */
  ofKeys(stored: Relation, events: Relation): Relation {
    const right: Relation = {
      kind: 'aggregate',
      input: events,
      groupBy: this.#columns.definition.keys.map(({ name }, place) => ({
        name: other(keyName(name)),
        value: this.#columns.keys[place] ?? no,
      })),
      aggregates: [],
    }
    return { kind: 'join', join: 'semi', left: stored, right, on: this.#sameKeys() }
  }

  #sameKeys(): Expr {
    const { keys } = this.#columns.definition
    return all(...keys.map(({ name, type }) => equal(col(keyName(name), type), col(other(keyName(name)), type))))
  }

  /** Events of the batch that are news: the state has none that is equal and was known as early. Of equal ones the earliest. */
  fresh(events: Relation, known: Relation | undefined): Relation {
    const names = this.#eventNames()
    const once: Relation = {
      kind: 'aggregate',
      input: events,
      groupBy: names.filter(({ name }) => name !== systemSequence),
      aggregates: [{ name: systemSequence, function: 'min', value: this.#systemOf, type: this.#system.type }],
    }
    if (known === undefined) return once
    const compared = [row.sequence, row.isDelete, ...this.#payloadNames()]
    const renamed: Relation = {
      kind: 'project',
      input: known,
      columns: names.map(({ name, value }) => ({ name: other(name), value })),
    }
    const typeOf = new Map(names.map(({ name, value }) => [name, value.type]))
    const equalIn = compared.map((name) => {
      const type = typeOf.get(name) ?? booleanType
      return name === row.sequence
        ? isSame(col(name, type), col(other(name), type))
        : same(col(name, type), col(other(name), type))
    })
    const asEarly = not(isBefore(this.#systemOf, col(other(systemSequence), this.#system.type)))
    return {
      kind: 'join',
      join: 'anti',
      left: once,
      right: renamed,
      on: all(this.#sameKeys(), ...equalIn, asEarly),
    }
  }

  #payloadNames(): string[] {
    const { definition, partial } = this.#columns
    return [...definition.payload.map(({ name }) => payloadName(name)), ...partial.map(({ name }) => writesName(name))]
  }

  /** Each key with its first new system sequence. */
  keys(fresh: Relation): Relation {
    const { type } = this.#system
    return {
      kind: 'aggregate',
      input: fresh,
      groupBy: this.#columns.keepKeys(),
      aggregates: [{ name: firstOfKey, function: 'min', value: this.#systemOf, type }],
    }
  }

  /** Keys under other names, with further columns under other names too. */
  #renamed(input: Relation, further: readonly NamedValue[]): Relation {
    return {
      kind: 'project',
      input,
      columns: [...this.#columns.keepKeys(), ...further].map(({ name, value }) => ({ name: other(name), value })),
    }
  }

  #firsts(first: Relation): Relation {
    return this.#renamed(first, [{ name: firstOfKey, value: col(firstOfKey, this.#system.type) }])
  }

  /** The system sequences of each key, from its first new one on. */
  moments(all0: Relation, first: Relation): Relation {
    const { type } = this.#system
    const from = col(other(firstOfKey), type)
    const late: Relation = {
      kind: 'join',
      join: 'inner',
      left: all0,
      right: this.#firsts(first),
      on: all(this.#sameKeys(), not(isBefore(this.#systemOf, from))),
    }
    const distinct: Relation = {
      kind: 'aggregate',
      input: late,
      groupBy: [...this.#columns.keepKeys(), { name: moment.at, value: this.#systemOf }],
      aggregates: [],
    }
    return {
      kind: 'window',
      input: distinct,
      partitionBy: this.#columns.keyNames,
      orderBy: [{ value: col(moment.at, type), descending: false }],
      columns: [
        { name: moment.number, call: { function: 'row_number', type: longType, frame: 'so-far' } },
        {
          name: moment.next,
          call: { function: 'lead', value: col(moment.at, type), type, frame: 'partition' },
        },
      ],
    }
  }

  /** Each event once for each moment at which it was known, with the moment as a key. */
  eventsAtMoments(events: Relation, moments: Relation): Relation {
    const { type } = this.#system
    const at = col(other(moment.at), type)
    const joined: Relation = {
      kind: 'join',
      join: 'inner',
      left: events,
      right: this.#renamed(moments, [{ name: moment.at, value: col(moment.at, type) }]),
      on: all(this.#sameKeys(), not(isBefore(at, this.#systemOf))),
    }
    const columns = this.#byMoment
    return {
      kind: 'project',
      input: joined,
      columns: columns.project({
        key: (name, place) => (name === moment.at ? at : (this.#columns.keys[place] ?? no)),
        payload: (column) => columns.payload(column),
        writes: (column) => columns.writes(column),
        shown: (column) => columns.shown(column),
        rest: this.#rest(this.#columns),
      }),
    }
  }

  /** The type 2 rows of each moment, among the other events that the fold keeps. @param rows staged */
  folded(rows: Relation): Relation {
    return foldHistory(this.#byMoment, resolveTies(this.#byMoment, rows))
  }

  /** Rows of the target whose belief reaches the first new system sequence of their key. */
  async reached(ground: BatchGround, bounds: BatchBounds, first: Relation, least: Datum): Promise<Relation> {
    const { snapshot } = ground.target
    const { type, names } = this.#system
    const column = (name: string) => col(`t.${tableColumn(snapshot, name)?.name ?? name}`, type)
    const end = column(names.end)
    const reaches = least === null ? no : any(isNull(end), not(isBefore(end, lit(least, type))))
    const where = all(reaches, ...this.#keyBounds(bounds))
    const files = await ground.target.filesFor(0, (file) => mayHold(snapshot, where, file))
    const scan: Relation = {
      kind: 'scan',
      files,
      columns: targetColumns(snapshot),
      locator: { file: row.file, position: row.position },
      deletions: 'drop',
    }
    const working: Relation = {
      kind: 'project',
      input: { kind: 'filter', input: scan, where },
      columns: this.#storedRow(snapshot),
    }
    const from = col(other(firstOfKey), type)
    const own = this.#names.end
    return {
      kind: 'join',
      join: 'semi',
      left: working,
      right: this.#firsts(first),
      on: all(this.#sameKeys(), any(isNull(own), not(isBefore(own, from)))),
    }
  }

  #storedRow(snapshot: Snapshot): NamedValue[] {
    const { definition } = this.#columns
    const { names, sequenceType } = definition
    const column = (name: string, type: DataType) => col(`t.${tableColumn(snapshot, name)?.name ?? name}`, type)
    const metadata = column(names.metadata, tableColumn(snapshot, names.metadata)?.type ?? { kind: 'void' })
    return [
      ...definition.keys.map(({ name, type }) => ({ name: keyName(name), value: column(name, type) })),
      { name: row.sequence, value: fieldOf(metadata, metadataField.sequence) },
      ...definition.payload.map(({ name, type }) => ({ name: payloadName(name), value: column(name, type) })),
      { name: row.start, value: column(names.start, sequenceType) },
      { name: row.end, value: column(names.end, sequenceType) },
      { name: systemSequence, value: column(this.#system.names.start, this.#system.type) },
      { name: systemEnd, value: column(this.#system.names.end, this.#system.type) },
      { name: row.file, value: col(row.file, integerType) },
      { name: row.position, value: col(row.position, doubleType) },
    ]
  }

  /** What is to be believed of each key from its first new system sequence on, and what was just before and reaches it. */
  beliefs(before: Relation, folded: Relation, moments: Relation, first: Relation): Relation {
    const { type } = this.#system
    const number = col(moment.number, longType)
    const key = [...this.#columns.keyNames, row.sequence]
    const ordered = (input: Relation, calls: Extract<Relation, { kind: 'window' }>['columns']): Relation => ({
      kind: 'window',
      input,
      partitionBy: key,
      orderBy: [{ value: number, descending: false }],
      columns: calls,
    })
    const all0: Relation = {
      kind: 'union',
      inputs: [this.#justBefore(before, first), this.#rowsAtMoments(folded, moments)],
    }
    const compared = [{ name: moment.number, value: number }, ...this.#names.compared()]
    const lag = ({ name, value }: NamedValue) =>
      ({ name: `before.${name}`, call: { function: 'lag', value, type: value.type, frame: 'partition' } }) as const
    const previous = ({ name, value }: NamedValue) => col(`before.${name}`, value.type)
    const goesOn = surely(
      all(
        equal(previous({ name: moment.number, value: number }), call('-', [number, longOf(1)])),
        ...this.#names.compared().map((one) => same(one.value, previous(one))),
      ),
    )
    const marked: Relation = {
      kind: 'project',
      input: ordered(all0, compared.map(lag)),
      columns: [...this.#momentColumns(), { name: step.goesOn, value: goesOn }],
    }
    const since = when(not(bool(step.goesOn)), col(moment.at, type))
    const stretches = ordered(marked, [
      {
        name: step.nextGoesOn,
        call: { function: 'lead', value: bool(step.goesOn), type: booleanType, frame: 'partition' },
      },
      { name: systemSequence, call: { function: 'last', value: since, type, frame: 'so-far' } },
    ])
    return {
      kind: 'project',
      input: { kind: 'filter', input: stretches, where: not(surely(bool(step.nextGoesOn))) },
      columns: [
        ...this.#names.content(),
        { name: systemSequence, value: this.#systemOf },
        { name: systemEnd, value: col(moment.next, type) },
      ],
    }
  }

  #momentColumns(): NamedValue[] {
    const { type } = this.#system
    return [
      ...this.#names.content(),
      { name: moment.at, value: col(moment.at, type) },
      { name: moment.number, value: col(moment.number, longType) },
      { name: moment.next, value: col(moment.next, type) },
    ]
  }

  /** As if of a moment 0. */
  #justBefore(before: Relation, first: Relation): Relation {
    const from = col(other(firstOfKey), this.#system.type)
    const earlier: Relation = {
      kind: 'join',
      join: 'inner',
      left: before,
      right: this.#firsts(first),
      on: all(this.#sameKeys(), isBefore(this.#names.start, from)),
    }
    return {
      kind: 'project',
      input: earlier,
      columns: [
        ...this.#names.content(),
        { name: moment.at, value: this.#names.start },
        { name: moment.number, value: longOf(0) },
        { name: moment.next, value: from },
      ],
    }
  }

  #rowsAtMoments(folded: Relation, moments: Relation): Relation {
    const { definition } = this.#columns
    const { type } = this.#system
    const further = [
      { name: moment.at, value: col(moment.at, type) },
      { name: moment.number, value: col(moment.number, longType) },
      { name: moment.next, value: col(moment.next, type) },
    ]
    const at = col(keyName(moment.at), type)
    const joined: Relation = {
      kind: 'join',
      join: 'inner',
      left: { kind: 'filter', input: folded, where: equal(int(outcome.action), intOf(action.insert)) },
      right: this.#renamed(moments, further),
      on: all(this.#sameKeys(), equal(at, col(other(moment.at), type))),
    }
    return {
      kind: 'project',
      input: joined,
      columns: [
        ...this.#columns.keepKeys(),
        { name: row.sequence, value: this.#columns.sequence },
        ...definition.payload.map(({ name, type: own }) => ({
          name: payloadName(name),
          value: col(finalName(name), own),
        })),
        { name: row.start, value: col(outcome.newStart, definition.sequenceType) },
        { name: row.end, value: col(outcome.newEnd, definition.sequenceType) },
        ...further.map(({ name, value }) => ({ name, value: col(other(name), value.type) })),
      ],
    }
  }

  /** Only what differs from the target's rows is written. */
  outcome(beliefs: Relation, before: Relation, fresh: Relation, folded: Relation, events: Relation): Relation {
    const names = this.#names
    const compared = names.belief().filter(({ name }) => !this.#columns.keyNames.includes(name))
    const lacking = (left: Relation, right: Relation): Relation => ({
      kind: 'join',
      join: 'anti',
      left,
      right: this.#renamed(right, compared),
      on: all(this.#sameKeys(), ...compared.map(({ name, value }) => same(value, col(other(name), value.type)))),
    })
    const part = (kind: number, input: Relation, values: readonly NamedValue[]): Relation => ({
      kind: 'project',
      input,
      columns: names.outcome(kind, values),
    })
    const place = [...this.#columns.keepKeys(), { name: row.sequence, value: this.#columns.sequence }]
    const conflicts: Relation = {
      kind: 'aggregate',
      input: { kind: 'filter', input: folded, where: bool(tie.isConflict) },
      groupBy: place,
      aggregates: [],
    }
    const total: Relation = {
      kind: 'aggregate',
      input: events,
      groupBy: [],
      aggregates: [{ name: eventCount, function: 'count', value: undefined, type: longType }],
    }
    return {
      kind: 'union',
      inputs: [
        part(kindOf.insert, lacking(beliefs, before), names.belief()),
        part(kindOf.remove, lacking(before, beliefs), names.stored()),
        part(kindOf.event, fresh, this.#eventNames()),
        part(kindOf.conflict, conflicts, place),
        part(kindOf.total, total, [{ name: eventCount, value: col(eventCount, longType) }]),
      ],
    }
  }
}

const step = { goesOn: '$goesOn', nextGoesOn: '$nextGoesOn' } as const
