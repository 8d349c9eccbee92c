/**
 * Waiting for something new in a folder. The operating system's notices only end a wait early: they are lost on network drives and in
 * folders further down, so a wait always ends after its time.
 */
import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** Writers make many changes at once; one look at the folder should see them all. */
const gatherMs = 20

export class FolderWatch {
  readonly #watcher: FSWatcher | undefined
  #changed = false
  #wake: (() => void) | undefined

  constructor(folder: string) {
    this.#watcher = watcherOf(folder, () => {
      this.#changed = true
      this.#wake?.()
    })
  }

  /** Until something changed, the time is over, or the signal has fired. */
  async wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) return
    if (!this.#changed) await this.#notice(ms, signal)
    if (this.#changed) await sleep(Math.min(gatherMs, ms))
    this.#changed = false
  }

  close(): void {
    this.#watcher?.close()
  }

  #notice(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', end)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal?.addEventListener('abort', end, { once: true })
      this.#wake = end
    })
  }
}

/** Undefined where the system has no notices left to give; the waits then run their time. */
function watcherOf(folder: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed)
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return undefined
  }
}
