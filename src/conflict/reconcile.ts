/**
 * Reconcile: what would our statements, run now, do differently? The answer is found by running each statement's own evaluator on the
 * rows the winners changed, and on nothing else. No difference: clear. A difference: that is the repair.
 *
 * The steps: metadata (1), carry over rearrangements (2), narrow the added files (3), evaluate (4), compare (5). Re-stamping (6) is
 * what encoding does with the newest version. Statements of one transaction are judged in order; the change of a statement's own output
 * is part of the change the next one sees.
 *
 * Invariant: on `clear` and `repaired` every footprint is true of the newest version. After any other verdict the footprints are
 * spent: the next rung starts from none. Every failure to prove goes down the ladder, never to a commit.
 */
import { must } from '../base/assert.ts'
import type { Effects, StatementChange } from './evaluate.ts'
import { carryFootprint } from './evaluate.ts'
import type { AddedRows, ChangedRows, Evidence, OwnChange } from './evidence.ts'
import type { Footprint } from './footprint.ts'
import { noPositions } from '../protocol/row-positions.ts'
import type { NetChange, TouchedFile, Winner } from './net-change.ts'
import type { TargetRow } from './target-row.ts'
import type { ConflictingRows, Finding, FindingKind, Rung, Verdict, WinnerReport } from './verdict.ts'
import { filesShown, rowsShown } from './verdict.ts'

/** Each switch takes one kind of evidence away: off is stricter, never unsafe. All are true unless said. */
export interface ReconcileSwitches {
  readonly statistics: boolean
  readonly values: boolean
  readonly removedRows: boolean
  readonly mergeKeys: boolean
  readonly sameFile: boolean
  readonly relocation: boolean
}

export interface ReconcileInput {
  readonly footprints: readonly Footprint[]
  readonly changes: readonly NetChange[]
  readonly evidence: Evidence
  readonly switches: ReconcileSwitches
  /** False (`onConflict: 'abort' | 'rerun'`): a difference is a conflict, nothing is repaired. */
  readonly mayRepair: boolean
  /** Removing a row rewrites its file, so a winner that touched the file leaves nothing to build on. */
  readonly copyOnWrite: boolean
  /** Statement by number: it asks the whole table something. */
  readonly asksWholeTable: (statement: number) => boolean
}

export async function reconcile(input: ReconcileInput): Promise<Verdict> {
  const ledger = new Ledger(input.changes.flatMap((change) => change.winners))
  const strict =
    input.footprints.length > 1 && input.footprints.some((f, i) => f.form.kind === 'merge' || input.asksWholeTable(i))
  for (const change of input.changes) {
    const refused = change.kind === 'rearrangement' ? carry(input, change) : await judge(input, change, ledger, strict)
    if (refused !== undefined) return { kind: 'not-provable', finding: refused, reports: ledger.reports() }
  }
  return { kind: ledger.repaired ? 'repaired' : 'clear', reports: ledger.reports() }
}

/** Step 2. No map of where rows went is kept, so a rearrangement passes only if none of the rows it moved is named. */
function carry(input: ReconcileInput, change: NetChange): Finding | undefined {
  for (const [path, touched] of change.touched) {
    const file = input.evidence.fileId(path)
    if (!input.footprints.some((footprint) => footprint.names(file))) continue
    return finding('relocation', touched.winner, [path], `rows that this statement names were moved out of ${path}`)
  }
  return undefined
}

/** Steps 3 to 5 for one net change, statement by statement. */
async function judge(
  input: ReconcileInput,
  change: NetChange,
  ledger: Ledger,
  strict: boolean,
): Promise<Finding | undefined> {
  let own: OwnChange = { removed: new Map(), added: [] }
  for (let statement = 0; statement < input.footprints.length; statement++) {
    const footprint = must(input.footprints[statement], 'a footprint for each statement')
    if (!footprint.form.readsTarget) continue
    const step = await judgeStatement(input, statement, footprint, change, own, ledger, strict)
    if (step.kind === 'refused') return step.finding
    own = { removed: new Map([...own.removed, ...step.own.removed]), added: [...own.added, ...step.own.added] }
  }
  return undefined
}

type Step =
  | { readonly kind: 'refused'; readonly finding: Finding }
  | { readonly kind: 'passed'; readonly own: OwnChange }

async function judgeStatement(
  input: ReconcileInput,
  statement: number,
  footprint: Footprint,
  change: NetChange,
  own: OwnChange,
  ledger: Ledger,
  strict: boolean,
): Promise<Step> {
  if (input.asksWholeTable(statement) && change.touched.size > 0 && !(await input.evidence.answersHold(statement))) {
    const files = [...change.touched]
    const removal = files.find(([, { before }]) => before !== undefined)
    const [path, touched] = must(removal ?? files[0], 'a touched file')
    const kind = removal === undefined ? 'added files' : 'removed rows'
    return refuse(kind, touched.winner, [path], 'a question over the whole table has another answer now')
  }
  const gone = await removedBy(input, statement, footprint, change)
  if (gone.kind === 'refused') return gone
  const came = addedBy(input, statement, footprint, change)
  if (came.kind === 'refused') return came
  const added = [...came.files, ...own.added]
  const found = added.length === 0 ? undefined : await input.evidence.find(statement, added)
  if (added.length > 0 && found === undefined) {
    return refuse('added files', came.winner, namesOf(added), 'the added rows could not be evaluated within the budget')
  }
  for (const path of [...came.files.map((file) => file.path), ...gone.paths]) {
    for (const { winner } of change.touched.get(path)?.steps ?? []) ledger.note(winner, 'L1')
  }
  const statementChange: StatementChange = { removed: new Map([...gone.rows, ...own.removed]), found }
  const carried = carryFootprint(footprint, statementChange)
  if (carried.kind === 'cardinality') {
    const row = {
      at: [{ file: carried.file, position: carried.position }],
      columns: input.evidence.keyColumns(statement),
    }
    return refuse('added files', came.winner, namesOf(added), 'several source rows now match one target row', row)
  }
  return compare(input, statement, change, carried.effects, ledger, { strict, added, gone: gone.paths })
}

/** Step 4, first half: the rows of named files that left. Files that are not named need not be opened. */
async function removedBy(
  input: ReconcileInput,
  statement: number,
  footprint: Footprint,
  change: NetChange,
): Promise<{ kind: 'gone'; rows: Map<number, ChangedRows>; paths: string[] } | (Step & { kind: 'refused' })> {
  const rows = new Map<number, ChangedRows>()
  const paths: string[] = []
  for (const [path, touched] of change.touched) {
    if (touched.before === undefined) continue
    const file = input.evidence.fileId(path)
    const writes = footprint.writes(file)
    if (writes && (input.copyOnWrite || !input.switches.sameFile)) {
      const rows = {
        at: await sameRows(input, footprint, path, touched),
        columns: input.evidence.keyColumns(statement),
      }
      return refuse('same row', touched.winner, [path], `${path} was changed, and this statement rewrites it`, rows)
    }
    const wholeTable = !input.switches.mergeKeys && footprint.form.kind === 'merge'
    if (
      !writes &&
      (!input.switches.removedRows || wholeTable) &&
      (wholeTable || input.evidence.mayFind(statement, touched.before))
    ) {
      return refuse('removed rows', touched.winner, [path], `rows left ${path}, which this statement read`)
    }
    if (!footprint.names(file)) continue
    const left = await input.evidence.removedRows(touched)
    if (left === undefined) {
      return refuse(
        'removed rows',
        touched.winner,
        [path],
        `the deletion vector of ${path} does not build on the one we read`,
      )
    }
    rows.set(file, left)
    paths.push(path)
  }
  return { kind: 'gone', rows, paths }
}

/** Step 3: the winners' new files that could hold a row the statement would treat. */
function addedBy(
  input: ReconcileInput,
  statement: number,
  footprint: Footprint,
  change: NetChange,
): { kind: 'came'; files: AddedRows[]; winner: Winner } | (Step & { kind: 'refused' }) {
  const files: AddedRows[] = []
  let winner = must(change.winners.at(-1), 'a change has a winner')
  for (const [path, touched] of change.touched) {
    if (touched.before !== undefined || touched.after === undefined || touched.leftOut) continue
    const wholeTable = !input.switches.mergeKeys && footprint.form.kind === 'merge'
    if (!wholeTable && input.switches.statistics && !input.evidence.mayFind(statement, touched.after)) continue
    if (!input.switches.values || wholeTable) {
      return refuse(
        'added files',
        touched.winner,
        [path],
        `${path} was added, and may hold rows that this statement reads`,
      )
    }
    winner = touched.winner
    files.push({ file: input.evidence.fileId(path), path, add: touched.after })
  }
  return { kind: 'came', files, winner }
}

interface CompareContext {
  readonly strict: boolean
  readonly added: readonly AddedRows[]
  readonly gone: readonly string[]
}

/** Step 5: clear if the statement adds the same rows and removes the same but for those already gone. */
async function compare(
  input: ReconcileInput,
  statement: number,
  change: NetChange,
  effects: Effects,
  ledger: Ledger,
  context: CompareContext,
): Promise<Step> {
  const nothing: Step = { kind: 'passed', own: { removed: new Map(), added: [] } }
  const touchedAnything = effects.sameRow || effects.removedRow || effects.addedRow
  if (!touchedAnything && effects.newRemovals === 0) return nothing
  const reason = primaryFinding(effects)
  const { path, winner } = await blamed(input, change, effects, reason, context)
  const rows = { at: effects.causes[causeOf[reason]], columns: input.evidence.keyColumns(statement) }
  if (context.strict)
    return refuse(reason, winner, [path], 'a transaction of several statements read rows that changed', rows)
  if (effects.newRemovals === 0 && effects.withdrawn.length === effects.fresh.length) {
    const pairs = await input.evidence.pairEqual(statement, effects.withdrawn, effects.fresh)
    if (pairs !== undefined) return nothing
  }
  if (!input.mayRepair) return refuse(reason, winner, [path], sentence(reason), rows)
  const own = await input.evidence.applyRepair(statement, effects.withdrawn, effects.fresh)
  if (own === undefined)
    return refuse(reason, winner, [path], 'the output of an earlier statement could not be changed in place', rows)
  ledger.repair(winner, reason)
  return { kind: 'passed', own }
}

function primaryFinding(effects: Effects): RowFinding {
  if (effects.sameRow) return 'same row'
  // Where rows came back under another path, as after a rewrite, more withdrawn than emitted says that some did not.
  const areFewer = effects.newRemovals === 0 && effects.withdrawn.length > effects.fresh.length
  if (effects.removedRow && areFewer) return 'removed rows'
  return effects.addedRow ? 'added files' : 'removed rows'
}

const causeOf = { 'same row': 'sameRow', 'removed rows': 'removedRow', 'added files': 'addedRow' } as const
type RowFinding = keyof typeof causeOf

/** Rows of a file that this statement removes and a winner removed too. A file that is gone says nothing of single rows. */
async function sameRows(
  input: ReconcileInput,
  footprint: Footprint,
  path: string,
  touched: TouchedFile,
): Promise<TargetRow[]> {
  const left = touched.after === undefined ? undefined : await input.evidence.removedRows(touched)
  if (left === undefined || left === 'all') return []
  const file = input.evidence.fileId(path)
  const ours = footprint.removed().get(file) ?? noPositions
  return [...ours.intersect(left).toArray().slice(0, rowsShown)].map((position) => ({ file, position }))
}

/** The file and the winner to lay a finding to: the one that removed or brought the first row behind it. */
async function blamed(
  input: ReconcileInput,
  change: NetChange,
  effects: Effects,
  reason: RowFinding,
  { added, gone }: CompareContext,
): Promise<{ path: string; winner: Winner }> {
  const [cause] = effects.causes[causeOf[reason]]
  const paths = [...added.map((file) => file.path), ...gone]
  const path = paths.find((candidate) => input.evidence.fileId(candidate) === cause?.file) ?? paths[0] ?? ''
  const touched = change.touched.get(path)
  const winner = touched?.winner ?? must(change.winners.at(-1), 'a change has a winner')
  if (touched === undefined || cause === undefined || touched.steps.length < 2) return { path, winner }
  if (touched.before === undefined) return { path, winner: touched.steps[0]?.winner ?? winner }
  for (const step of touched.steps) {
    const left = await input.evidence.removedRows({ ...touched, after: step.after })
    if (left === 'all' || left?.has(cause.position) === true) return { path, winner: step.winner }
  }
  return { path, winner }
}

function sentence(reason: FindingKind): string {
  switch (reason) {
    case 'same row':
      return 'a row that this statement changes was removed or changed'
    case 'removed rows':
      return 'a row that this statement depends on is gone'
    case 'added files':
      return 'rows were added that this statement treats'
    case 'metadata':
    case 'protocol':
      return 'the table itself was changed'
    case 'relocation':
      return 'rows that this statement names were moved'
  }
}

const advice: Readonly<Record<FindingKind, string>> = {
  'added files': "allow repair (onConflict: 'repair'), or narrow the condition so that the new rows lie outside it",
  'removed rows': "allow repair (onConflict: 'repair'), or run the statement again",
  'same row': "two writers changed one row: allow repair (onConflict: 'repair'), or run the statement again",
  metadata: 'run the statement again on the changed table',
  protocol: 'run the statement again on the changed table',
  relocation: 'run the statement again; compact when no statement is under way, or compact in smaller steps',
}

export function finding(
  kind: FindingKind,
  winner: Winner,
  files: readonly string[],
  why: string,
  rows?: ConflictingRows,
): Finding {
  return { kind, why, winner, files: files.slice(0, filesShown), advice: advice[kind], rows }
}

function refuse(
  kind: FindingKind,
  winner: Winner,
  files: readonly string[],
  why: string,
  rows?: ConflictingRows,
): Step & { kind: 'refused' } {
  return { kind: 'refused', finding: finding(kind, winner, files, why, rows) }
}

function namesOf(added: readonly AddedRows[]): string[] {
  return added.map((file) => file.path)
}

/** How each winner was settled: the highest rung it needed, and what was found. */
class Ledger {
  readonly #rungs = new Map<number, { operation: string; rung: Rung; found: Set<FindingKind> }>()
  repaired = false

  constructor(winners: readonly Winner[]) {
    for (const winner of winners) {
      this.#rungs.set(winner.version, { operation: winner.operation, rung: 'L0', found: new Set() })
    }
  }

  note(winner: Winner, rung: Rung): void {
    const entry = this.#rungs.get(winner.version)
    if (entry !== undefined && rung > entry.rung) entry.rung = rung
  }

  repair(winner: Winner, reason: FindingKind): void {
    this.repaired = true
    this.note(winner, 'L2')
    this.#rungs.get(winner.version)?.found.add(reason)
  }

  reports(): WinnerReport[] {
    return [...this.#rungs].map(([version, { operation, rung, found }]) => ({
      version,
      operation,
      rung,
      found: [...found],
    }))
  }
}
