import type { Commit } from './commit.ts'

/** How much is kept. Conflict checks ask for the commits that a refresh has just read. */
const maxCommits = 256
const maxActions = 50_000

/** The last commits parsed, the oldest version given up first. A commit never changes once it is there. */
export class RecentCommits {
  readonly #commits = new Map<number, Commit>()
  #actions = 0

  get(version: number): Commit | undefined {
    return this.#commits.get(version)
  }

  add(commit: Commit): void {
    if (this.#commits.has(commit.version)) return
    this.#commits.set(commit.version, commit)
    this.#actions += commit.actions.length
    for (const [version, oldest] of this.#commits) {
      if (this.#commits.size <= maxCommits && this.#actions <= maxActions) break
      this.#commits.delete(version)
      this.#actions -= oldest.actions.length
    }
  }

  clear(): void {
    this.#commits.clear()
    this.#actions = 0
  }
}
