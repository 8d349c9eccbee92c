/**
 * Writes the rows a statement emits. Each emitted row has an ordinal; a batch written in order puts row i at a known place, so that a
 * repair can withdraw it by position. Batches written in parallel are faster and are written again as a whole if one row must go.
 */
import { none } from '../conflict/act-log.ts'
import type { Emission } from '../conflict/evidence.ts'
import type { Footprint } from '../conflict/footprint.ts'
import type { RunOptions, WriteRequest } from '../relation/data-plane.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import { orderedOutputRows } from './context.ts'
import { keyTagRows, keyTags } from './key-tags.ts'
import { emission, emissionColumns } from './plan.ts'
import type { ExecutedStatement, OutputBatch, TransactionState } from './state.ts'
import { tableWriteRequest } from './write-request.ts'

/** Everything the footprint emits now, in the order of its entries. */
export function allEmissions(footprint: Footprint): Emission[] {
  const emissions: Emission[] = []
  const { acts } = footprint
  for (let entry = 0; entry < acts.length; entry++) {
    if (acts.isLive(entry) && footprint.emits(entry)) emissions.push({ kind: 'act', entry })
  }
  for (let source = 0; source < footprint.matchCounts.length; source++) {
    if (footprint.isInserted(source)) emissions.push({ kind: 'insert', source })
  }
  return emissions
}

/** Writes these emissions as one more batch of the statement's output and gives them ordinals. */
export async function writeEmissions(
  state: TransactionState,
  executed: ExecutedStatement,
  emissions: readonly Emission[],
  options: RunOptions,
): Promise<OutputBatch | undefined> {
  if (emissions.length === 0) return undefined
  const first = executed.nextOrdinal
  const relation = await emissionRelation(state, executed, emissions, first)
  const ordered = state.snapshot.partitionColumns.length === 0 && emissions.length <= orderedOutputRows
  const sorted: Relation = ordered
    ? {
        kind: 'sort',
        input: relation,
        by: [{ value: { kind: 'column', name: emission.ordinal, type: { kind: 'integer' } }, descending: false }],
      }
    : relation
  const batch = await writeBatch(state, executed, sorted, ordered ? 'input' : 'any', options)
  if (ordered) listKeys(state, executed, emissions, batch)
  emissions.forEach((one, index) => {
    if (one.kind === 'act') executed.footprint.acts.setOrdinal(one.entry, first + index)
    else executed.footprint.insertOrdinals[one.source] = first + index
  })
  return batch
}

/** Notes the keys of a small file, so that it need not be opened to know that it holds none of another statement's. */
function listKeys(
  state: TransactionState,
  executed: ExecutedStatement,
  emissions: readonly Emission[],
  batch: OutputBatch,
): void {
  const [file, ...others] = batch.files
  if (file === undefined || others.length > 0 || emissions.length > keyTagRows) return
  const { acts, insertClauses } = executed.footprint
  const keys = executed.plan.emittedKeys?.(
    emissions.map((one) =>
      one.kind === 'act'
        ? { source: acts.source(one.entry), clause: acts.clause(one.entry) }
        : { source: one.source, clause: insertClauses[one.source] ?? none },
    ),
  )
  if (keys !== undefined) file.tags = keyTags(keys, state.snapshot.columns)
}

/** Writes a relation of rows that depend on no target row (append). */
export async function writeOutput(
  state: TransactionState,
  executed: ExecutedStatement,
  output: Relation,
  options: RunOptions,
): Promise<void> {
  await writeBatch(state, executed, output, 'any', options)
}

async function writeBatch(
  state: TransactionState,
  executed: ExecutedStatement,
  input: Relation,
  order: WriteRequest['order'],
  options: RunOptions,
): Promise<OutputBatch> {
  const plane = await state.parts.plane()
  const request = tableWriteRequest(state.snapshot, state.parts.log.store, input, order)
  const written = await plane.write(request, options)
  const rowCount = written.reduce((sum, file) => sum + file.rowCount, 0)
  const batch: OutputBatch = {
    firstOrdinal: executed.nextOrdinal,
    rowCount,
    files: written.map((file) => state.addOwnFile(file)),
    positionsKnown: order === 'input',
  }
  executed.outputs.push(batch)
  executed.nextOrdinal += rowCount
  return batch
}

/** The emitted rows as a relation: ordinal and the table's columns. */
export async function emissionRelation(
  state: TransactionState,
  executed: ExecutedStatement,
  emissions: readonly Emission[],
  firstOrdinal: number,
): Promise<Relation> {
  const { footprint } = executed
  const { acts } = footprint
  const count = emissions.length
  const columns = {
    ordinal: new Int32Array(count),
    file: new Int32Array(count),
    position: new Float64Array(count),
    source: new Int32Array(count),
    clause: new Int32Array(count),
  }
  const named = new Set<number>()
  emissions.forEach((one, row) => {
    const isAct = one.kind === 'act'
    columns.ordinal[row] = firstOrdinal + row
    columns.file[row] = isAct ? acts.file(one.entry) : none
    columns.position[row] = isAct ? acts.position(one.entry) : none
    columns.source[row] = isAct ? acts.source(one.entry) : one.source
    columns.clause[row] = isAct ? acts.clause(one.entry) : (footprint.insertClauses[one.source] ?? none)
    if (isAct) named.add(acts.file(one.entry))
  })
  const { ordinal, file, position, source, clause } = columns
  const rows: Relation = {
    kind: 'rows',
    columns: emissionColumns,
    values: [ordinal, file, position, source, clause],
    rowCount: count,
  }
  return executed.plan.emit(rows, await namedFiles(state, named))
}

/** The files of these numbers, whichever state they come from; the rows wanted are named by position, so no vector is needed. */
async function namedFiles(state: TransactionState, ids: ReadonlySet<number>): Promise<ScanFile[]> {
  return [...ids].map((id) => state.wholeFile(id))
}
