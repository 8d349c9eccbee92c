/** What a batch's outcome, once staged, is read for: rows to write, places to delete, state to keep, and counts. */
import type { Expr } from '../expr/tree.ts'
import { col } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { StagedRows } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import type { FlowDefinition } from './definition.ts'
import { action, finalName, outcome } from './fold.ts'
import { metadataField, stateColumn } from './layout.ts'
import { columnsApart, writtenFlags } from './leaves.ts'
import { tie } from './resolve-ties.ts'
import { stagedRelation } from './staged-relation.ts'
import { isTargetRow } from './shapes.ts'
import {
  all,
  any,
  bool,
  equal,
  int,
  integerType,
  intOf,
  isNull,
  isThere,
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
import { type WorkingColumns, keyName, origin, payloadName, row, writesName } from './working-rows.ts'

export class OutcomeRows {
  readonly #columns: WorkingColumns
  readonly #definition: FlowDefinition
  readonly #staged: Relation
  readonly #events: Relation | undefined

  /** @param events where the rows have no values of their own: the events they refer to */
  constructor(columns: WorkingColumns, rows: StagedRows, events?: Relation) {
    this.#columns = events === undefined ? columns : columns.byReference()
    this.#definition = columns.definition
    this.#staged = stagedRelation(rows)
    this.#events = events
  }

  /** Rows the target gets, as `t.<column>`. Open and closed rows go to files of their own: a closed file is soon left out by its greatest end. */
  targetRows(snapshot: Snapshot, which: 'open' | 'closed'): Relation {
    const { names, scdType, sequenceType, selected, keys } = this.#definition
    const end = col(outcome.newEnd, sequenceType)
    const isOpen = scdType === 1 ? yes : isNull(end)
    const where = all(this.#is(action.insert, action.update), which === 'open' ? isOpen : not(isOpen))
    const values = new Map<string, Expr>()
    const apart = columnsApart(this.#definition.payload, finalName)
    for (const { name, type } of selected) {
      const isKey = keys.some((key) => key.name === name)
      values.set(name.toLowerCase(), apart.get(name) ?? col(isKey ? keyName(name) : finalName(name), type))
    }
    if (scdType === 2) {
      values.set(names.start.toLowerCase(), col(outcome.newStart, sequenceType))
      values.set(names.end.toLowerCase(), end)
    }
    values.set(names.metadata.toLowerCase(), this.#metadata())
    return {
      kind: 'project',
      input: this.#withValues({ kind: 'filter', input: this.#staged, where }),
      columns: snapshot.columns.map(({ name, type }) => ({
        name: `t.${name}`,
        value: values.get(name.toLowerCase()) ?? nothing(type),
      })),
    }
  }

  #withValues(rows: Relation): Relation {
    if (this.#events === undefined) return rows
    const named = 'e.$row'
    const values: Relation = {
      kind: 'project',
      input: this.#events,
      columns: [
        { name: named, value: this.#columns.reference },
        ...this.#definition.payload.map(({ name, type }) => ({
          name: finalName(name),
          value: col(payloadName(name), type),
        })),
      ],
    }
    const on = equal(this.#columns.reference, col(named, integerType))
    return { kind: 'join', join: 'inner', left: rows, right: values, on }
  }

  #metadata(): Expr {
    const sequence = { name: metadataField.sequence, value: col(row.sequence, this.#definition.sequenceType) }
    if (!this.#definition.isPartial) return structOf([sequence])
    return structOf([sequence, { name: metadataField.written, value: this.#written() }])
  }

  #written(): Expr {
    return writtenFlags(this.#definition.payload, writesName)
  }

  /** Places of target rows that go: `row.file`, `row.position`. */
  removed(): Relation {
    return {
      kind: 'project',
      input: { kind: 'filter', input: this.#staged, where: this.#is(action.update, action.delete) },
      columns: [
        { name: row.file, value: this.#columns.file },
        { name: row.position, value: this.#columns.position },
      ],
    }
  }

  /** Events for the state, as `s.<column>` of the state table. */
  stateRows(attempt: number): Relation {
    const { flow, selected, keys, payload, sequenceType, isPartial } = this.#definition
    const apart = columnsApart(payload, payloadName)
    return {
      kind: 'project',
      input: { kind: 'filter', input: this.#staged, where: bool(outcome.keep) },
      columns: [
        { name: `s.${stateColumn.flow}`, value: stringOf(flow) },
        { name: `s.${stateColumn.attempt}`, value: longOf(attempt) },
        { name: `s.${stateColumn.sequence}`, value: col(row.sequence, sequenceType) },
        { name: `s.${stateColumn.isDelete}`, value: bool(row.isDelete) },
        ...selected.map(({ name, type }) => {
          const isKey = keys.some((key) => key.name === name)
          // Where the last event alone counts, the state keeps deletes, which have no values.
          if (!isKey && this.#events !== undefined) return { name: `s.${name}`, value: nothing(type) }
          return { name: `s.${name}`, value: apart.get(name) ?? col(isKey ? keyName(name) : payloadName(name), type) }
        }),
        ...(isPartial ? [{ name: `s.${stateColumn.written}`, value: this.#written() }] : []),
      ],
    }
  }

  #is(...actions: readonly number[]): Expr {
    return any(...actions.map((one) => equal(int(outcome.action), intOf(one))))
  }

  /** One row; columns as `countNames` lists them, all long. */
  counts(): Relation {
    const { sequenceType, scdType } = this.#definition
    const isType2 = scdType === 2
    const wasOpen = all(isThere(this.#columns.file), isNull(col(row.end, sequenceType)))
    const isOpen = isNull(col(outcome.newEnd, sequenceType))
    const fromState = equal(this.#columns.origin, intOf(origin.state))
    const counted: Record<(typeof countNames)[number], Expr> = {
      inserted: this.#is(action.insert),
      updated: this.#is(action.update),
      deleted: this.#is(action.delete),
      kept: bool(outcome.keep),
      closed: isType2 ? all(this.#is(action.update), wasOpen, not(isOpen)) : this.#is(action.delete),
      reopened: isType2 ? all(this.#is(action.update), not(wasOpen), isOpen) : no,
      promoted: all(this.#is(action.insert), fromState),
      demoted: isType2 ? all(this.#is(action.delete), not(bool(row.isDelete))) : no,
      late: bool(outcome.isLate),
      conflicting: bool(tie.isConflict),
    }
    return {
      kind: 'aggregate',
      input: this.#staged,
      groupBy: [],
      aggregates: [
        ...countNames.map((name) => ({
          name,
          function: 'count' as const,
          value: when(counted[name], yes),
          type: longType,
        })),
        { name: 'duplicates', function: 'sum', value: col(tie.duplicates, longType), type: longType },
        { name: malformedCount, function: 'count', value: when(this.#isMalformed(), yes), type: longType },
      ],
    }
  }

  /** A row that target or state had before, and that no event gives. Type 1 keeps no interval that could tell. */
  #isMalformed(): Expr {
    const { scdType, sequenceType } = this.#definition
    const hasNone = any(isNull(col(row.sequence, sequenceType)), this.#refersToNothing())
    if (scdType === 1) return hasNone
    const bounds = { recordStart: row.sequence, start: row.start, end: row.end }
    return any(hasNone, all(isThere(this.#columns.file), not(isTargetRow(bounds, sequenceType))))
  }

  /** The row is to be written, and is no event of the batch: the state, which has deletes alone, was tampered with. */
  #refersToNothing(): Expr {
    if (this.#events === undefined) return no
    return all(this.#is(action.insert, action.update), isNull(this.#columns.reference))
  }

  /** Rows that were there before and that no event gives, as working rows. */
  malformed(): Relation {
    return { kind: 'filter', input: this.#staged, where: this.#isMalformed() }
  }

  /** Some keys and sequences whose events differ. */
  conflicts(rows: number): Relation {
    return {
      kind: 'limit',
      rows,
      input: {
        kind: 'project',
        input: { kind: 'filter', input: this.#staged, where: bool(tie.isConflict) },
        columns: [
          ...this.#columns.keepKeys(),
          { name: row.sequence, value: col(row.sequence, this.#definition.sequenceType) },
        ],
      },
    }
  }
}

/** Name of a count that is no diagnostic but a fault. */
export const malformedCount = 'malformed'

export const countNames = [
  'inserted',
  'updated',
  'deleted',
  'kept',
  'closed',
  'reopened',
  'promoted',
  'demoted',
  'late',
  'conflicting',
] as const
