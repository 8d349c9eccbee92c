/**
 * What the winners did, normalised: rows removed, rows added, and nothing about how. Pure: two states of the file index and the commits
 * between them in, a change out.
 *
 * A path names an immutable file, so rows are positions in paths. Between two versions a path that stayed lost the rows its vector
 * gained; a path that went lost its live rows; a path that came brought its live rows. Commits that only rearrange rows (every action
 * has dataChange false, live rows in and out are equal in number) stand alone, so that what they moved is never taken for a change.
 */
import { must } from '../base/assert.ts'
import type { Commit } from '../log/table-log.ts'
import type { AddFile, RemoveFile } from '../protocol/actions.ts'
import { deletionVectorId } from '../protocol/deletion-vector.ts'

export interface Winner {
  readonly version: number
  readonly operation: string
  readonly txnId: string | undefined
  readonly isBlindAppend: boolean
}

export interface TouchedFile {
  /** The entry before; undefined where the path is new. */
  readonly before: AddFile | undefined
  /** The entry after; undefined where the path is gone. */
  readonly after: AddFile | undefined
  /** The winner that touched it last. */
  readonly winner: Winner
  /** Every winner that touched it, in log order, with the entry it left. */
  readonly steps: readonly { readonly winner: Winner; readonly after: AddFile | undefined }[]
  /** Rows of blind appends that WriteSerializable leaves out while they live. */
  readonly leftOut: boolean
}

/** A run of commits judged at once. */
export interface NetChange {
  readonly kind: 'change' | 'rearrangement'
  readonly winners: readonly Winner[]
  readonly touched: ReadonlyMap<string, TouchedFile>
}

export interface FileStates {
  get(path: string): AddFile | undefined
}

export function winnerOf(commit: Commit): Winner {
  const info = commit.commitInfo
  const onlyAdds = commit.actions.every((action) => action.kind !== 'remove' && action.kind !== 'cdc')
  return {
    version: commit.version,
    operation: info?.operation ?? 'UNKNOWN',
    txnId: info?.txnId,
    isBlindAppend: info?.isBlindAppend === true && onlyAdds,
  }
}

/** Splits the winners into runs, each normalised. `before` is the state that the first commit built on. */
export function netChanges(before: FileStates, commits: readonly Commit[], options: NetOptions): NetChange[] {
  const changes: NetChange[] = []
  const state = new Overlay(before)
  let run: Commit[] = []
  const closeRun = () => {
    if (run.length > 0) changes.push(net('change', state, run, options))
    run = []
  }
  for (const commit of commits) {
    if (!options.relocation || changesData(commit)) {
      run.push(commit)
      continue
    }
    closeRun()
    const kind = rearranges(commit, state) ? 'rearrangement' : 'change'
    changes.push(net(kind, state, [commit], options))
  }
  closeRun()
  return changes
}

export interface NetOptions {
  /** False: a commit that only rearranges is taken as removing and adding every row it rewrote. */
  readonly relocation: boolean
  /** WriteSerializable: rows of blind appends are left out. */
  readonly leaveOutBlindAppends: boolean
}

/** The file states while commits are applied to them. */
class Overlay implements FileStates {
  readonly #base: FileStates
  readonly #changed = new Map<string, AddFile | undefined>()

  constructor(base: FileStates) {
    this.#base = base
  }

  get(path: string): AddFile | undefined {
    return this.#changed.has(path) ? this.#changed.get(path) : this.#base.get(path)
  }

  apply(commit: Commit): string[] {
    const paths: string[] = []
    // Within one commit the order of actions says nothing: removes first, so that a re-added path stays live.
    for (const action of commit.actions) {
      if (action.kind !== 'remove' || !this.#isLive(action.remove)) continue
      this.#changed.set(action.remove.path, undefined)
      paths.push(action.remove.path)
    }
    for (const action of commit.actions) {
      if (action.kind !== 'add') continue
      this.#changed.set(action.add.path, action.add)
      paths.push(action.add.path)
    }
    return paths
  }

  #isLive(remove: RemoveFile): boolean {
    const live = this.get(remove.path)
    return live !== undefined && deletionVectorId(live.deletionVector) === deletionVectorId(remove.deletionVector)
  }
}

function net(kind: NetChange['kind'], state: Overlay, commits: readonly Commit[], options: NetOptions): NetChange {
  const winners: Winner[] = []
  const first = new Map<string, AddFile | undefined>()
  const steps = new Map<string, { winner: Winner; after: AddFile | undefined }[]>()
  const leftOut = new Set<string>()
  for (const commit of commits) {
    const winner = winnerOf(commit)
    winners.push(winner)
    const before = new Map<string, AddFile | undefined>()
    for (const action of commit.actions) {
      const path = action.kind === 'add' ? action.add.path : action.kind === 'remove' ? action.remove.path : undefined
      if (path !== undefined) before.set(path, state.get(path))
    }
    for (const path of state.apply(commit)) {
      if (!first.has(path)) first.set(path, before.get(path))
      const taken = steps.get(path) ?? []
      steps.set(path, taken)
      // A path that a commit removes and adds again is one step.
      if (taken.at(-1)?.winner !== winner) taken.push({ winner, after: state.get(path) })
      if (options.leaveOutBlindAppends && winner.isBlindAppend) leftOut.add(path)
    }
  }
  const touched = new Map<string, TouchedFile>()
  for (const [path, taken] of steps) {
    const { winner } = must(taken.at(-1), 'a touched path has a step')
    const change = { before: first.get(path), after: state.get(path), winner, steps: taken, leftOut: leftOut.has(path) }
    if (change.before !== undefined || change.after !== undefined) touched.set(path, change)
  }
  return { kind, winners, touched }
}

/** Some file action says that data changed, or there is no file action at all. */
function changesData(commit: Commit): boolean {
  let files = 0
  for (const action of commit.actions) {
    if (action.kind === 'add' && action.add.dataChange) return true
    if (action.kind === 'remove' && action.remove.dataChange) return true
    if (action.kind === 'add' || action.kind === 'remove') files++
  }
  return files === 0
}

/** The commit changes no row: it says so on every file action, and its live rows add up. Rows that cannot be counted prove nothing. */
export function rearranges(commit: Commit, before: FileStates): boolean {
  let files = 0
  let balance = 0
  for (const action of commit.actions) {
    if (action.kind !== 'add' && action.kind !== 'remove') continue
    const file = action.kind === 'add' ? action.add : action.remove
    if (file.dataChange) return false
    files++
    const stats = action.kind === 'add' ? file.stats : (before.get(file.path)?.stats ?? file.stats)
    const rows = physicalRows(stats)
    if (rows === undefined) return false
    const live = rows - (file.deletionVector?.cardinality ?? 0)
    balance += action.kind === 'add' ? live : -live
  }
  return files > 0 && balance === 0
}

function physicalRows(stats: string | undefined): number | undefined {
  const found = stats === undefined ? null : /"numRecords"\s*:\s*(\d+)/.exec(stats)
  return found?.[1] === undefined ? undefined : Number(found[1])
}
