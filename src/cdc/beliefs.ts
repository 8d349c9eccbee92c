/**
 * What a batch of a bitemporal target comes to, once staged: rows that the target gets and loses, events for the state, and counts. One
 * relation holds them all, told apart by `$kind`.
 *
 *   k.<key> $seq p.<payload> $start $end   a row of type 2, as believed; or an event, without an interval
 *   $system $systemEnd                     since when, and until when, it is believed; of an event its system sequence
 *   $file $position                        of rows of the target
 */
import type { Expr } from '../expr/tree.ts'
import { call, col } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import type { SystemAxis } from './definition.ts'
import { metadataField, stateColumn } from './layout.ts'
import { columnsApart, writtenFlags } from './leaves.ts'
import { type OutcomeRows, countNames, malformedCount } from './outcome-rows.ts'
import {
  type NamedValue,
  all,
  bool,
  equal,
  int,
  intOf,
  isNull,
  longOf,
  longType,
  no,
  not,
  nothing,
  stringOf,
  structOf,
  when,
  yes,
} from './terms.ts'
import { stagedRelation } from './staged-relation.ts'
import { type WorkingColumns, keyName, payloadName, row, systemSequence, writesName } from './working-rows.ts'

export const systemEnd = '$systemEnd'
export const beliefKind = '$kind'
export const eventCount = '$events'

export const kindOf = { insert: 0, remove: 1, event: 2, conflict: 3, total: 4 } as const

/** What `BatchRun` asks of an outcome. */
export type BatchOutcomeRows = Pick<OutcomeRows, 'targetRows' | 'removed' | 'stateRows' | 'counts' | 'malformed'>

export class BeliefColumns {
  readonly columns: WorkingColumns
  readonly system: SystemAxis
  readonly start: Expr
  readonly end: Expr

  constructor(columns: WorkingColumns, system: SystemAxis) {
    this.columns = columns
    this.system = system
    this.start = col(systemSequence, system.type)
    this.end = col(systemEnd, system.type)
  }

  /** The row of type 2. */
  content(): NamedValue[] {
    const { columns } = this
    return [...columns.keepKeys(), { name: row.sequence, value: columns.sequence }, ...this.compared()]
  }

  /** What a row of one key and record start may differ in. */
  compared(): NamedValue[] {
    const { columns } = this
    return [
      ...columns.leaves.map((column) => ({
        name: payloadName(column.name),
        value: columns.payload(column),
      })),
      { name: row.start, value: columns.start },
      { name: row.end, value: columns.end },
    ]
  }

  belief(): NamedValue[] {
    return [...this.content(), { name: systemSequence, value: this.start }, { name: systemEnd, value: this.end }]
  }

  /** A row of the target. */
  stored(): NamedValue[] {
    const { file, position } = this.columns
    return [...this.belief(), { name: row.file, value: file }, { name: row.position, value: position }]
  }

  /** Every column of the outcome, NULL where `values` has none. */
  outcome(kind: number, values: readonly NamedValue[]): NamedValue[] {
    const given = new Map(values.map(({ name, value }) => [name, value]))
    const flags = [row.isDelete, ...this.columns.partial.map(({ name }) => writesName(name))]
    const expected: NamedValue[] = [
      ...this.stored(),
      ...flags.map((name) => ({ name, value: bool(name) })),
      { name: eventCount, value: col(eventCount, longType) },
    ]
    return [
      ...expected.map(({ name, value }) => ({ name, value: given.get(name) ?? nothing(value.type) })),
      { name: beliefKind, value: intOf(kind) },
    ]
  }

  /** Events as rows of the state. */
  stateRows(events: Relation, attempt: number): Relation {
    const { columns, start } = this
    const { flow, selected, keys, payload, isPartial } = columns.definition
    const apart = columnsApart(payload, payloadName)
    const isKey = new Set(keys.map(({ name }) => name))
    return {
      kind: 'project',
      input: events,
      columns: [
        { name: `s.${stateColumn.flow}`, value: stringOf(flow) },
        { name: `s.${stateColumn.attempt}`, value: longOf(attempt) },
        { name: `s.${stateColumn.sequence}`, value: columns.sequence },
        { name: `s.${stateColumn.isDelete}`, value: columns.isDelete },
        ...selected.map(({ name, type }) => ({
          name: `s.${name}`,
          value: apart.get(name) ?? col(isKey.has(name) ? keyName(name) : payloadName(name), type),
        })),
        { name: `s.${stateColumn.system}`, value: start },
        ...(isPartial ? [{ name: `s.${stateColumn.written}`, value: writtenFlags(payload, writesName) }] : []),
      ],
    }
  }
}

export class BeliefRows implements BatchOutcomeRows {
  readonly #names: BeliefColumns
  readonly #staged: Relation

  constructor(names: BeliefColumns, rows: StagedRows) {
    this.#names = names
    this.#staged = stagedRelation(rows)
  }

  #of(kind: number, ...further: readonly Expr[]): Relation {
    return { kind: 'filter', input: this.#staged, where: all(equal(int(beliefKind), intOf(kind)), ...further) }
  }

  /** Rows that are believed no more go to files of their own, which readers of what is believed now leave out. */
  targetRows(snapshot: Snapshot, which: 'open' | 'closed'): Relation {
    const { columns, system, start, end } = this.#names
    const { definition } = columns
    const { names } = definition
    const isKey = new Set(definition.keys.map(({ name }) => name))
    const apart = columnsApart(definition.payload, payloadName)
    const values = new Map<string, Expr>([
      ...definition.selected.map(
        ({ name, type }) =>
          [
            name.toLowerCase(),
            apart.get(name) ?? col(isKey.has(name) ? keyName(name) : payloadName(name), type),
          ] as const,
      ),
      [names.start.toLowerCase(), columns.start],
      [names.end.toLowerCase(), columns.end],
      [system.names.start.toLowerCase(), start],
      [system.names.end.toLowerCase(), end],
      [names.metadata.toLowerCase(), structOf([{ name: metadataField.sequence, value: columns.sequence }])],
    ])
    return {
      kind: 'project',
      input: this.#of(kindOf.insert, which === 'open' ? isNull(end) : not(isNull(end))),
      columns: snapshot.columns.map(({ name, type }) => ({
        name: `t.${name}`,
        value: values.get(name.toLowerCase()) ?? nothing(type),
      })),
    }
  }

  removed(): Relation {
    const { file, position } = this.#names.columns
    return {
      kind: 'project',
      input: this.#of(kindOf.remove),
      columns: [
        { name: row.file, value: file },
        { name: row.position, value: position },
      ],
    }
  }

  stateRows(attempt: number): Relation {
    return this.#names.stateRows(this.#of(kindOf.event), attempt)
  }

  /** Of the names that make no sense here, the count is 0. */
  counts(): Relation {
    const count = (name: string, kind: number) => ({
      name,
      function: 'count' as const,
      value: when(equal(int(beliefKind), intOf(kind)), yes),
      type: longType,
    })
    const counted: Relation = {
      kind: 'aggregate',
      input: this.#staged,
      groupBy: [],
      aggregates: [
        count('inserted', kindOf.insert),
        count('deleted', kindOf.remove),
        count('kept', kindOf.event),
        count('conflicting', kindOf.conflict),
        { name: 'total', function: 'sum', value: col(eventCount, longType), type: longType },
      ],
    }
    const own = new Set(['inserted', 'deleted', 'kept', 'conflicting'])
    const value = (name: string) => col(name, longType)
    return {
      kind: 'project',
      input: counted,
      columns: [
        ...countNames.map((name) => ({ name, value: own.has(name) ? value(name) : longOf(0) })),
        { name: 'duplicates', value: call('-', [value('total'), value('kept')]) },
        { name: malformedCount, value: longOf(0) },
      ],
    }
  }

  malformed(): Relation {
    return { kind: 'filter', input: this.#staged, where: no }
  }
}
