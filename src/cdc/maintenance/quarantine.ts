/**
 * The quarantine of a target, a Delta table beside it: rows that no event can be made of, events below the watermark, and events that
 * conflict where the flow sets those aside. They are appended before the target's commit, so that none is lost; a batch that starts again,
 * or is tried again after a crash, may append a row twice.
 */
import { failure } from '../../base/errors.ts'
import { appendStatement } from '../../commands/append.ts'
import type { Expr } from '../../expr/tree.ts'
import { col } from '../../expr/walk.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { Datum } from '../../protocol/datum.ts'
import { relationColumns } from '../../relation/columns.ts'
import type { RunOptions } from '../../relation/data-plane.ts'
import type { Relation, RelationColumn } from '../../relation/tree.ts'
import type { TableParts } from '../../transaction/context.ts'
import type { FlowDefinition } from '../definition.ts'
import { createTable } from '../flow-tables.ts'
import { growTable } from '../growing-tables.ts'
import { quarantineColumn } from '../layout.ts'
import { shapedFor, writeBeside } from '../side-writes.ts'
import { sourceOf } from '../state-log.ts'
import { sequenceOf } from '../event-rows.ts'
import { columnsApart } from '../leaves.ts'
import { hasNoSequence, isBad } from '../prepare.ts'
import { booleanType, longOf, no, nothing, stringOf, surely, when, yes } from '../terms.ts'
import { keyName, payloadName, row } from '../working-rows.ts'

export type QuarantineReason = 'NULL_SEQUENCE' | 'NULL_KEY' | 'BELOW_WATERMARK' | 'SEQUENCE_CONFLICT'

function quarantineColumns({ selected, sequenceType }: FlowDefinition): readonly RelationColumn[] {
  return [
    { name: quarantineColumn.flow, type: { kind: 'string' } },
    { name: quarantineColumn.reason, type: { kind: 'string' } },
    { name: quarantineColumn.version, type: { kind: 'long' } },
    { name: quarantineColumn.sequence, type: sequenceType },
    { name: quarantineColumn.isDelete, type: booleanType },
    ...selected,
  ]
}

/** Rows to set aside: all columns of the quarantine but the version, as `s.<name>`. */
export interface AsideRows {
  readonly relation: Relation
  readonly count: number
}

function asideFields(
  definition: FlowDefinition,
  reason: Expr,
  of: { readonly sequence: Expr; readonly isDelete: Expr; readonly value: (column: RelationColumn) => Expr },
) {
  return [
    { name: `s.${quarantineColumn.flow}`, value: stringOf(definition.flow) },
    { name: `s.${quarantineColumn.reason}`, value: reason },
    { name: `s.${quarantineColumn.sequence}`, value: of.sequence },
    { name: `s.${quarantineColumn.isDelete}`, value: of.isDelete },
    ...definition.selected.map((column) => ({ name: `s.${column.name}`, value: of.value(column) })),
  ]
}

/** The rows of a source that no event can be made of. */
export function badSourceRows(definition: FlowDefinition, source: Relation): Relation {
  const { sequence, isDelete } = definition.source
  const reason = when(hasNoSequence(sequence), stringOf('NULL_SEQUENCE'), stringOf('NULL_KEY'))
  const columns = asideFields(definition, reason, {
    sequence: sequenceOf(definition, sequence),
    isDelete: isDelete === undefined ? no : surely(isDelete),
    value: definition.source.value,
  })
  return { kind: 'project', input: { kind: 'filter', input: source, where: isBad(definition) }, columns }
}

/** Events, as working rows. */
export function asideEvents(definition: FlowDefinition, events: Relation, reason: QuarantineReason): Relation {
  const isKey = new Set(definition.keys.map(({ name }) => name))
  const apart = columnsApart(definition.payload, payloadName)
  const columns = asideFields(definition, stringOf(reason), {
    sequence: col(row.sequence, definition.sequenceType),
    isDelete: col(row.isDelete, booleanType),
    value: ({ name, type }) => apart.get(name) ?? col(isKey.has(name) ? keyName(name) : payloadName(name), type),
  })
  return { kind: 'project', input: events, columns }
}

/** Truncates, which have neither key nor values. */
export function asideTruncates(definition: FlowDefinition, sequences: readonly Datum[]): Relation {
  const name = '$truncate'
  const input: Relation = {
    kind: 'rows',
    columns: [{ name, type: definition.sequenceType }],
    values: [sequences],
    rowCount: sequences.length,
  }
  const columns = asideFields(definition, stringOf('BELOW_WATERMARK'), {
    sequence: col(name, definition.sequenceType),
    isDelete: yes,
    value: ({ type }) => nothing(type),
  })
  return { kind: 'project', input, columns }
}

/** What a batch sets aside; written before each of its commits. */
export class SetAside {
  readonly #parts: TableParts | undefined
  readonly #definition: FlowDefinition
  readonly #options: RunOptions
  #pending: AsideRows[] = []
  /** Rows of the start under way, written ones included. */
  #started = 0
  /** Rows that do not depend on what the batch is computed against. */
  #standing: AsideRows[]
  readonly #standingCount: number

  constructor(
    parts: TableParts | undefined,
    definition: FlowDefinition,
    standing: AsideRows | undefined,
    options: RunOptions,
  ) {
    this.#parts = parts
    this.#definition = definition
    this.#options = options
    this.#standing = standing === undefined ? [] : [standing]
    this.#standingCount = standing?.count ?? 0
  }

  get count(): number {
    return this.#standingCount + this.#started
  }

  restart(): void {
    this.#pending = []
    this.#started = 0
  }

  add(rows: AsideRows): void {
    if (rows.count === 0) return
    this.#pending.push(rows)
    this.#started += rows.count
  }

  /** @param version of the target, that the batch is computed against */
  async write(version: number): Promise<void> {
    const [first, ...others] = [...this.#standing, ...this.#pending]
    if (first === undefined) return
    const inputs = [first, ...others].map(({ relation }): Relation => this.#versioned(relation, version))
    await this.#append({ kind: 'union', inputs })
    this.#standing = []
    this.#pending = []
  }

  #versioned(input: Relation, version: number): Relation {
    const columns = relationColumns(input).map(({ name, type }) => ({ name, value: col(name, type) }))
    return {
      kind: 'project',
      input,
      columns: [...columns, { name: `s.${quarantineColumn.version}`, value: longOf(version) }],
    }
  }

  async #append(relation: Relation): Promise<void> {
    const parts = this.#parts
    if (parts === undefined) {
      throw failure('AUTOCDC_INVALID_STATE', `flow ${this.#definition.flow} has no quarantine to set rows aside in`, {
        details: { reason: 'NO_QUARANTINE', flow: this.#definition.flow },
      })
    }
    if (!(await parts.log.exists())) {
      const properties = { 'delta.enableDeletionVectors': 'true' }
      await createTable(parts, parts.environment.uuid(), quarantineColumns(this.#definition), [], properties, [])
    }
    await growTable(parts, quarantineColumns(this.#definition), this.#definition)
    const append = (snapshot: Snapshot) => appendStatement({ source: sourceOf(shapedFor(snapshot, relation)) })
    await writeBeside(parts, append, this.#options)
  }
}
