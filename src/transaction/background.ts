/**
 * Work that follows a commit without holding up its caller. One piece runs at a time; of those that come meanwhile only the last is
 * kept, for each does what the ones before it would have done. Nothing in it may throw.
 */
export class Background {
  #running: Promise<void> | undefined
  #next: (() => Promise<void>) | undefined

  run(work: () => Promise<void>): void {
    if (this.#running === undefined) this.#running = this.#drain(work)
    else this.#next = work
  }

  /** Resolves when nothing is left to do. */
  async idle(): Promise<void> {
    await this.#running
  }

  async #drain(first: () => Promise<void>): Promise<void> {
    for (let work: (() => Promise<void>) | undefined = first; work !== undefined; work = this.#taken()) await work()
    this.#running = undefined
  }

  #taken(): (() => Promise<void>) | undefined {
    const next = this.#next
    this.#next = undefined
    return next
  }
}
