/**
 * Runs a planned statement: find what it meets, note it in the footprint, write what it emits. Only positions are kept of what it
 * removes; vectors are encoded at commit. Nothing here touches the log.
 */
import { failure } from '../base/errors.ts'
import { none } from '../conflict/act-log.ts'
import type { Found } from '../conflict/evidence.ts'
import { Footprint } from '../conflict/footprint.ts'
import { severalActs } from '../conflict/evaluate.ts'
import type { Datum } from '../protocol/datum.ts'
import { type RowPositions, allPositions, rowPositions } from '../protocol/row-positions.ts'
import type { RunOptions } from '../relation/data-plane.ts'
import type { ScanFile } from '../relation/tree.ts'
import { type StatementPlan, found as foundColumns, type Statement } from './plan.ts'
import type { ExecutedStatement, TransactionState } from './state.ts'
import { allEmissions, writeEmissions, writeOutput } from './write-output.ts'

export async function runStatement(
  state: TransactionState,
  statement: Statement,
  options: RunOptions,
): Promise<ExecutedStatement> {
  const number = state.executed.length
  const view = { snapshot: state.snapshot, wholeTable: () => state.filesFor(number, () => true) }
  const plan = await statement.plan(view)
  requireRemovable(state, statement, plan)
  const footprint = new Footprint(plan.form)
  const executed: ExecutedStatement = { statement, plan, footprint, outputs: [], nextOrdinal: 0 }
  try {
    if (plan.form.readsTarget) await findAll(state, number, plan, footprint, options)
    if (plan.form.insertsUnmatched) await decideInserts(state, plan, footprint, options)
    if (plan.output !== undefined) await writeOutput(state, executed, plan.output, options)
    await writeEmissions(state, executed, allEmissions(footprint), options)
  } catch (error) {
    // A statement that failed has no part in the transaction, so its files must not be committed with it.
    for (const batch of executed.outputs) for (const own of batch.files) state.dropOwnFile(own)
    throw error
  }
  state.executed.push(executed)
  return executed
}

/** Decided by what the statement may do, not by what it finds, so that whether it is allowed does not hang on the rows there. */
function requireRemovable(state: TransactionState, statement: Statement, plan: StatementPlan): void {
  if (!state.snapshot.properties.appendOnly || !plan.form.clauses.some(({ removes }) => removes)) return
  throw failure(
    'DELTA_CANNOT_MODIFY_APPEND_ONLY',
    `${statement.operation} may remove rows, and the table is append-only: append, or unset delta.appendOnly`,
    { details: { operation: statement.operation } },
  )
}

async function findAll(
  state: TransactionState,
  number: number,
  plan: StatementPlan,
  footprint: Footprint,
  options: RunOptions,
): Promise<void> {
  const candidates = await state.filesFor(number, (add) => plan.mayFind(add))
  const opened: ScanFile[] = []
  for (const file of candidates) {
    const add = state.snapshot.files.get(state.pathOf(file.id))
    if (add !== undefined && file.rowCount !== undefined && plan.coversWhole(add)) {
      const live = allPositions(file.rowCount)
      footprint.bare.set(file.id, file.deleted === undefined ? live : live.minus(file.deleted))
    } else {
      opened.push(file)
    }
  }
  if (opened.length === 0) return
  const rows = await collectFound(state, plan, opened, false, options)
  const clash = severalActs(footprint, rows)
  if (clash !== undefined) throw await cardinalityError(plan, opened, clash)
  note(footprint, rows)
}

/** Puts what was found into an empty footprint. */
function note(footprint: Footprint, rows: Found): void {
  if (footprint.form.kind === 'delete') {
    const byFile = new Map<number, number[]>()
    for (let row = 0; row < rows.rowCount; row++) {
      const file = rows.file[row] ?? none
      const list = byFile.get(file)
      if (list === undefined) byFile.set(file, [rows.position[row] ?? none])
      else list.push(rows.position[row] ?? none)
    }
    for (const [file, positions] of byFile) footprint.bare.set(file, rowPositions(positions))
    return
  }
  footprint.acts.reserve(rows.rowCount)
  for (let row = 0; row < rows.rowCount; row++) {
    const source = rows.source[row] ?? none
    footprint.record(rows.file[row] ?? none, rows.position[row] ?? none, source, rows.clause[row] ?? none)
    if (source !== none && footprint.matchCounts.length > 0) {
      footprint.matchCounts[source] = (footprint.matchCounts[source] ?? 0) + 1
    }
  }
}

async function decideInserts(
  state: TransactionState,
  plan: StatementPlan,
  footprint: Footprint,
  options: RunOptions,
): Promise<void> {
  if (plan.inserts.kind === 'every-row') footprint.insertClauses.fill(plan.inserts.clause)
  if (plan.inserts.kind !== 'asked') return
  const plane = await state.parts.plane()
  for await (const batch of plane.query(plan.inserts.relation, options)) {
    const [source, clause] = batch.columns
    for (let row = 0; row < batch.rowCount; row++) {
      footprint.insertClauses[Number(source?.[row])] = Number(clause?.[row])
    }
  }
}

/** Runs the statement's evaluator on some files and drops the rows that their vectors hide. */
export async function collectFound(
  state: TransactionState,
  plan: StatementPlan,
  files: readonly ScanFile[],
  withEqual: boolean,
  options: RunOptions,
): Promise<Found> {
  const plane = await state.parts.plane()
  const relation = plan.find(files, withEqual)
  const order = plane.columnsOf(relation).map((column) => column.name)
  const deleted: (RowPositions | undefined)[] = []
  for (const file of files) deleted[file.id] = file.deleted
  const rows = new FoundRows()
  for await (const batch of plane.query(relation, options)) {
    const column = (name: string): ArrayLike<Datum> | undefined => batch.columns[order.indexOf(name)]
    const file = column(foundColumns.file)
    const position = column(foundColumns.position)
    const source = column(foundColumns.source)
    const clause = column(foundColumns.clause)
    const equal = withEqual ? column(foundColumns.equal) : undefined
    for (let row = 0; row < batch.rowCount; row++) {
      const id = Number(file?.[row])
      const at = Number(position?.[row])
      if (deleted[id]?.has(at) === true) continue
      rows.push(id, at, Number(source?.[row] ?? none), Number(clause?.[row] ?? none), equal?.[row] === true)
    }
  }
  return rows
}

/** Found rows as growing columns: 20 bytes a row. */
class FoundRows implements Found {
  rowCount = 0
  file = new Int32Array(64)
  position = new Float64Array(64)
  source = new Int32Array(64)
  clause = new Int32Array(64)
  readonly equal: boolean[] = []

  push(file: number, position: number, source: number, clause: number, equal: boolean): void {
    const row = this.rowCount++
    if (row === this.file.length) this.#grow(row * 2)
    this.file[row] = file
    this.position[row] = position
    this.source[row] = source
    this.clause[row] = clause
    if (equal) this.equal[row] = true
  }

  #grow(capacity: number): void {
    const longer = (from: Int32Array<ArrayBuffer>) => {
      const to = new Int32Array(capacity)
      to.set(from)
      return to
    }
    const positions = new Float64Array(capacity)
    positions.set(this.position)
    this.position = positions
    this.file = longer(this.file)
    this.source = longer(this.source)
    this.clause = longer(this.clause)
  }
}

/** Names the target row and the source rows that want to change it. */
export async function cardinalityError(
  plan: StatementPlan,
  files: readonly ScanFile[],
  clash: { readonly file: number; readonly position: number; readonly sources: readonly number[] },
): Promise<Error> {
  const file = files.find((candidate) => candidate.id === clash.file)
  const details = file === undefined ? {} : await plan.describeMatch(file, clash.position, clash.sources)
  const shown = Object.entries(details).map(([name, value]) => `${name} ${printDetail(value)}`)
  return failure(
    'DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE',
    `several source rows match one target row, so what it becomes is not determined${shown.length > 0 ? `: ${shown.join(', ')}` : ''}`,
    { details },
  )
}

function printDetail(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'bigint' ? String(inner) : inner)) ?? 'null'
}
