/**
 * One transaction: statements run against a pinned snapshot, then one commit. It sees its own writes.
 *
 * The commit loop climbs the ladder: encode on the newest state and create the next version; if winners were first, reconcile with
 * their net change; clear or repaired, try again; not provable, run the statements again (bounded, with jitter); else a conflict that
 * explains itself.
 *
 * It retries because a lost race leaves nothing behind: the log entry is created if absent, under one txnId. An unknown outcome is
 * settled by the log before anything else happens, so no retry can commit twice.
 */
import { throwIfCancelled } from '../base/cancel.ts'
import { BraidlakeError, failure } from '../base/errors.ts'
import { judgeTerms } from '../conflict/metadata.ts'
import { netChanges } from '../conflict/net-change.ts'
import { finding, reconcile } from '../conflict/reconcile.ts'
import type { Verdict, WinnerReport } from '../conflict/verdict.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Action, Metadata, Protocol } from '../protocol/actions.ts'
import type { RunOptions } from '../relation/data-plane.ts'
import { commitInfoOf } from './commit-info.ts'
import { conflictError } from './conflict-error.ts'
import type { Isolation, TableParts, TransactionSettings } from './context.ts'
import { type Encoded, EncodingCache, asActions, encode, usesDeletionVectors } from './encode.ts'
import { countMetrics } from './metrics.ts'
import { type CommitMetrics, type CommitResult, noMetrics, unknownOutcome } from './outcome.ts'
import type { Statement } from './plan.ts'
import { afterCommit } from './post-commit.ts'
import { runStatement } from './run-statement.ts'
import type { ShownReads } from './shown-reads.ts'
import { TransactionState } from './state.ts'
import { TableEvidence } from './table-evidence.ts'

/** Puts tried for one commit before giving up; each lost put means that another writer made progress. */
const maxPuts = 10_000
/** Times a commit catches up with winners before it is tried all the same. */
const maxCatchUps = 16

/** A writer that lost n races waits (n - 1) times this at most, but never longer than the limit; milliseconds, before jitter. */
const standBackMs = 25
const standBackLimitMs = 150

/** New metadata and protocol that the commit carries (create, overwrite, feature upgrade). */
export interface TermsEdit {
  readonly protocol?: Protocol | undefined
  readonly metadata?: Metadata | undefined
}

export class Transaction {
  readonly #parts: TableParts
  readonly #settings: TransactionSettings
  readonly #state: TransactionState
  readonly #txnId: string
  readonly #reports = new Map<number, WinnerReport>()
  readonly #startedMs: number
  readonly #shown: ShownReads | undefined
  #terms: TermsEdit = {}
  #cache = new EncodingCache()
  readonly #synced = new Set<string>()
  /** What these staged is released at the end. */
  readonly #statements = new Set<Statement>()
  #reruns = 0
  #puts = 0
  #ended = false

  constructor(parts: TableParts, settings: TransactionSettings, snapshot: Snapshot, shown?: ShownReads) {
    this.#parts = parts
    this.#settings = settings
    this.#state = new TransactionState(parts, snapshot)
    this.#txnId = parts.environment.uuid()
    this.#startedMs = parts.environment.nowMs()
    this.#shown = shown
  }

  get snapshot(): Snapshot {
    return this.#state.snapshot
  }

  get state(): TransactionState {
    return this.#state
  }

  get txnId(): string {
    return this.#txnId
  }

  editTerms(edit: TermsEdit): void {
    this.#terms = { ...this.#terms, ...edit }
  }

  /** The table has seen this application transaction, so there is nothing to run. */
  isAlreadyApplied(): boolean {
    return this.#alreadyApplied(this.#state.snapshot)
  }

  /** What the statement staged is released with the transaction, also if it never gets to run. */
  hold(statement: Statement): void {
    this.#statements.add(statement)
  }

  /** Runs one statement on the state so far. A failure leaves the transaction as it was before; what the statement staged is released. */
  async execute(statement: Statement): Promise<CommitMetrics> {
    this.hold(statement)
    try {
      this.checkOpen()
      const executed = await runStatement(this.#state, statement, this.#options())
      return countMetrics([executed], { adds: [], removes: [], vectorFiles: [], rowsCopied: 0 })
    } catch (error) {
      await this.#release(statement)
      throw error
    }
  }

  /** @throws a conflict error, DELTA_MAX_COMMIT_RETRIES_EXCEEDED, COMMIT_OUTCOME_UNKNOWN, or what a re-run of a statement throws */
  async commit(): Promise<CommitResult> {
    this.checkOpen()
    this.#ended = true
    try {
      return await this.#commitLoop()
    } catch (error) {
      if (!(error instanceof BraidlakeError && error.code === 'COMMIT_OUTCOME_UNKNOWN')) await this.#discardAll()
      throw error
    } finally {
      await this.#releaseAll()
    }
  }

  /** Leaves the table as it was; files written are deleted. */
  async rollback(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    await this.#releaseAll()
    await this.#discardAll()
  }

  async #commitLoop(): Promise<CommitResult> {
    if (this.#alreadyApplied(this.#state.snapshot)) return this.#nothingDone(this.#state.snapshot.version, true)
    while (this.#puts < maxPuts) {
      const settled = await this.#catchUpWhole()
      if (settled !== undefined) return settled
      const encoded = await encode(this.#state, this.#state.snapshot, this.#cache, this.#options())
      if (this.#isEmpty(encoded)) return this.#nothingDone(this.#state.snapshot.version, false)
      const result = await this.#put(encoded)
      if (result !== undefined) return result
      await this.#standBack()
    }
    throw failure('DELTA_MAX_COMMIT_RETRIES_EXCEEDED', `lost ${maxPuts} races for the next version of the table`, {
      details: { puts: this.#puts },
    })
  }

  /** Until no version is newer, for to encode behind the newest one is work for nothing; where others are faster for long, it is tried so. */
  async #catchUpWhole(): Promise<CommitResult | undefined> {
    for (let rounds = 0; rounds < maxCatchUps; rounds++) {
      throwIfCancelled(this.#settings.signal)
      const newest = await this.#parts.log.refresh()
      if (newest.version === this.#state.snapshot.version) return undefined
      const settled = await this.#catchUp(newest)
      if (settled !== undefined) return settled
    }
    return undefined
  }

  /** Brings the footprints to the newest version, or runs the statements again there. A result: nothing is left to do. */
  async #catchUp(newest: Snapshot): Promise<CommitResult | undefined> {
    const verdict = await this.#reconcile(newest)
    this.#parts.telemetry.event('braidlake.reconcile', {
      verdict: verdict.kind,
      fromVersion: this.#state.snapshot.version,
      toVersion: newest.version,
    })
    switch (verdict.kind) {
      case 'already-applied':
        return this.#nothingDone(verdict.version, true)
      case 'clear':
      case 'repaired':
        this.#note(verdict.reports)
        this.#state.snapshot = newest
        return undefined
      case 'conflict':
        throw await conflictError(this.#state, verdict.finding, verdict.reports)
      case 'not-provable':
        if (this.#settings.onConflict === 'abort')
          throw await conflictError(this.#state, verdict.finding, verdict.reports)
        this.#note(verdict.reports.map((report) => ({ ...report, rung: 'L3' as const, found: [verdict.finding.kind] })))
        await this.#rerun(newest, verdict)
        return undefined
    }
  }

  async #reconcile(newest: Snapshot): Promise<Verdict> {
    const { snapshot } = this.#state
    const commits = await this.#parts.log.commits(snapshot.version, newest.version)
    const terms = judgeTerms(snapshot, commits, this.#settings.application, new Set())
    if (terms.kind === 'already-applied') return { kind: 'already-applied', version: terms.version }
    if (terms.kind === 'changed') {
      const why = `the ${terms.what} of the table was changed`
      return {
        kind: 'conflict',
        finding: finding(terms.what === 'protocol' ? 'protocol' : 'metadata', terms.winner, [], why),
        reports: [],
      }
    }
    const leaveOut = this.#isolation() === 'WriteSerializable' && this.#terms.metadata === undefined
    const changes = netChanges(snapshot.files, commits, {
      relocation: this.#settings.reconcile.relocation,
      leaveOutBlindAppends: leaveOut,
    })
    for (const change of changes) {
      for (const [path, touched] of change.touched) if (touched.leftOut) this.#state.leftOut.add(path)
    }
    const shown = await this.#shown?.judge(this.#state, changes, this.#options())
    if (shown !== undefined) return { kind: 'conflict', finding: shown, reports: [] }
    const { executed } = this.#state
    return reconcile({
      footprints: executed.map((one) => one.footprint),
      changes,
      evidence: new TableEvidence(this.#state, this.#settings, this.#options(), (n) => this.#answersHold(newest, n)),
      switches: this.#settings.reconcile,
      mayRepair: this.#settings.onConflict === 'repair',
      copyOnWrite: !usesDeletionVectors(snapshot),
      asksWholeTable: (statement) => executed[statement]?.plan.answersHold !== undefined,
    })
  }

  async #answersHold(newest: Snapshot, statement: number): Promise<boolean> {
    const ask = this.#state.executed[statement]?.plan.answersHold
    if (ask === undefined) return true
    if (this.#state.executed.length > 1) return false
    const files = newest.files.prune((add) => !this.#state.leftOut.has(add.path))
    return ask(await Promise.all(files.map((add) => this.#state.scanFile(add))))
  }

  /** The third rung. Every statement is a closed description of itself, so running it on the newest state asks the same thing anew. */
  async #rerun(newest: Snapshot, verdict: Verdict & { kind: 'not-provable' }): Promise<void> {
    if (this.#shown?.isUsed === true) throw await conflictError(this.#state, verdict.finding, verdict.reports)
    this.#reruns++
    const elapsedMs = this.#parts.environment.nowMs() - this.#startedMs
    if (this.#reruns > this.#settings.rerunAttempts && elapsedMs > this.#settings.rerunMs) {
      throw failure(
        'DELTA_MAX_COMMIT_RETRIES_EXCEEDED',
        `ran ${this.#reruns - 1} times again in ${elapsedMs} ms and met a conflict each time: ${verdict.finding.why}`,
        { details: { reruns: this.#reruns - 1, elapsedMs, finding: verdict.finding } },
      )
    }
    this.#parts.telemetry.event('braidlake.rerun', { reruns: this.#reruns, version: newest.version })
    await this.#parts.environment.sleep(
      this.#parts.environment.random() * Math.min(5 * this.#reruns, 100),
      this.#settings.signal,
    )
    const statements = this.#state.restart(await this.#parts.log.refresh())
    this.#cache = new EncodingCache()
    for (const statement of statements) await runStatement(this.#state, statement, this.#options())
  }

  /** One try for the next version. undefined: the race was lost. */
  async #put(encoded: Encoded): Promise<CommitResult | undefined> {
    const { log, environment, telemetry } = this.#parts
    const { snapshot, executed } = this.#state
    const version = snapshot.version + 1
    const metrics = countMetrics(executed, encoded)
    const info = commitInfoOf({
      executed,
      snapshot,
      metrics,
      encoded,
      terms: this.#terms,
      isolation: this.#isolation(),
      readsShown: this.#shown?.isUsed ?? false,
      txnId: this.#txnId,
      nowMs: environment.nowMs(),
    })
    const actions: Action[] = [{ kind: 'commitInfo', commitInfo: info }, ...this.#termsActions(), ...asActions(encoded)]
    const files = encoded.adds.map(({ path }) => path).filter((path) => snapshot.files.get(path) === undefined)
    this.#puts++
    // To sync files for a version that is taken costs more than to look.
    if (await log.isTaken(version)) return undefined
    await this.#syncOnce([...files, ...encoded.vectorFiles])
    throwIfCancelled(this.#settings.signal)
    const outcome = await log.commit(version, actions, this.#txnId)
    telemetry.event('braidlake.commit', { version, outcome, puts: this.#puts })
    if (outcome === 'lost') return undefined
    if (outcome === 'unknown') throw unknownOutcome(version, this.#txnId)
    const warnings = await afterCommit(
      this.#parts,
      version,
      snapshot.properties.checkpointInterval,
      this.#state.discarded,
    )
    return this.#result({ version, committed: true, alreadyApplied: false, metrics, warnings })
  }

  /**
   * After a second lost race on, let others go first for a moment: an attempt costs processor time, and where many writers spend it on
   * attempts that are lost, all of them are slower. The first loss says nothing of a crowd.
   */
  async #standBack(): Promise<void> {
    const { environment } = this.#parts
    const longestMs = Math.min(standBackMs * (this.#puts - 1), standBackLimitMs)
    if (longestMs > 0) await environment.sleep(environment.random() * longestMs, this.#settings.signal)
  }

  /** Files must be durable before the commit that names them, and need be made so only once: a retry syncs its commit alone. */
  async #syncOnce(paths: readonly string[]): Promise<void> {
    const unsynced = paths.filter((path) => !this.#synced.has(path))
    if (unsynced.length > 0) await this.#parts.log.store.sync(unsynced)
    for (const path of unsynced) this.#synced.add(path)
  }

  #termsActions(): Action[] {
    const { application } = this.#settings
    const actions: Action[] = []
    if (this.#terms.protocol !== undefined) actions.push({ kind: 'protocol', protocol: this.#terms.protocol })
    if (this.#terms.metadata !== undefined) actions.push({ kind: 'metaData', metaData: this.#terms.metadata })
    if (application !== undefined) {
      actions.push({ kind: 'txn', txn: { ...application, lastUpdated: this.#parts.environment.nowMs() } })
    }
    return actions
  }

  #isEmpty(encoded: Encoded): boolean {
    const changesTerms = this.#terms.protocol !== undefined || this.#terms.metadata !== undefined
    return (
      encoded.adds.length + encoded.removes.length === 0 && !changesTerms && this.#settings.application === undefined
    )
  }

  #alreadyApplied(snapshot: Snapshot): boolean {
    const { application } = this.#settings
    const seen = application === undefined ? undefined : snapshot.transactions.get(application.appId)
    return application !== undefined && seen !== undefined && seen.version >= application.version
  }

  #isolation(): Isolation {
    return this.#settings.isolation ?? this.#state.snapshot.properties.isolationLevel ?? 'Serializable'
  }

  async #nothingDone(version: number, alreadyApplied: boolean): Promise<CommitResult> {
    await this.#discardAll()
    return this.#result({ version, committed: false, alreadyApplied, metrics: noMetrics, warnings: [] })
  }

  #result(part: Pick<CommitResult, 'version' | 'committed' | 'alreadyApplied' | 'metrics' | 'warnings'>): CommitResult {
    const reconciled = [...this.#reports.values()].sort((a, b) => a.version - b.version)
    return { ...part, attempts: this.#puts, reruns: this.#reruns, reconciled }
  }

  #note(reports: readonly WinnerReport[]): void {
    for (const report of reports) this.#reports.set(report.version, report)
  }

  #options(): RunOptions {
    return { signal: this.#settings.signal, onProgress: this.#settings.onProgress }
  }

  /** @throws CLOSED once it was committed or rolled back */
  checkOpen(): void {
    if (this.#ended) throw failure('CLOSED', 'the transaction was committed or rolled back')
  }

  async #releaseAll(): Promise<void> {
    for (const statement of this.#statements) await this.#release(statement)
  }

  /** What a statement staged is memory of the plane: that it cannot be given back must not make a commit look failed. */
  async #release(statement: Statement): Promise<void> {
    this.#statements.delete(statement)
    await this.#quietly('releasing a staged source', () => statement.release())
  }

  /** Deletes every file this transaction wrote. Only when its commit certainly does not exist. */
  async #discardAll(): Promise<void> {
    const own = [...this.#state.ownFiles()].map((file) => file.written.path)
    const all = [...own, ...this.#state.discarded, ...this.#state.vectorFiles, ...this.#state.rewritten]
    if (all.length > 0) await this.#quietly('deleting unused files', () => this.#parts.log.store.delete(all))
  }

  /** Tidying up: its failure must not hide the outcome. Files left behind are no part of the table. */
  async #quietly(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#parts.telemetry.log('warn', `${what} failed: ${error instanceof Error ? error.message : String(error)}`, {
        txnId: this.#txnId,
      })
    }
  }
}
