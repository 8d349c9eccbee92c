/** Pulls one row at a time, and waits no longer than told: a pull that was not waited for is what the next one gets. */

export type Pulled<T> =
  | { readonly kind: 'row'; readonly row: T }
  | { readonly kind: 'end' }
  /** The deadline came first. */
  | { readonly kind: 'late' }
  /** The signal came first. */
  | { readonly kind: 'stopped' }

export class RowPuller<T> {
  readonly #iterator: Iterator<T> | AsyncIterator<T>
  #pending: Promise<IteratorResult<T>> | undefined

  constructor(iterator: Iterator<T> | AsyncIterator<T>) {
    this.#iterator = iterator
  }

  /** @param deadlineMs milliseconds since the epoch; Infinity: none */
  async pull(deadlineMs: number, signal: AbortSignal | undefined): Promise<Pulled<T>> {
    if (signal?.aborted === true) return { kind: 'stopped' }
    if (this.#pending === undefined) {
      const next = this.#iterator.next()
      if (!isPromise(next)) return pulled(next)
      this.#pending = Promise.resolve(next)
    }
    const pending = this.#pending
    const first = await firstOf(pending, deadlineMs, signal)
    if ('kind' in first) return first
    this.#pending = undefined
    return pulled(first)
  }

  /** Lets the iterator free what it holds. One that is waiting for a row cannot be waited for. */
  async end(): Promise<void> {
    const ended = Promise.resolve(this.#iterator.return?.()).then(
      () => {},
      () => {},
    )
    if (this.#pending === undefined) await ended
    else this.#pending.catch(() => {})
  }
}

function pulled<T>(result: IteratorResult<T>): Pulled<T> {
  return result.done === true ? { kind: 'end' } : { kind: 'row', row: result.value }
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value
}

function firstOf<T>(
  pending: Promise<IteratorResult<T>>,
  deadlineMs: number,
  signal: AbortSignal | undefined,
): Promise<IteratorResult<T> | { readonly kind: 'late' | 'stopped' }> {
  if (deadlineMs === Infinity && signal === undefined) return pending
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const settle = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stopped)
    }
    const stopped = (): void => {
      settle()
      resolve({ kind: 'stopped' })
    }
    signal?.addEventListener('abort', stopped, { once: true })
    if (deadlineMs !== Infinity) {
      const late = (): void => {
        settle()
        resolve({ kind: 'late' })
      }
      timer = setTimeout(late, Math.max(0, deadlineMs - Date.now()))
    }
    pending.then(
      (result) => {
        settle()
        resolve(result)
      },
      (error: unknown) => {
        settle()
        reject(error)
      },
    )
  })
}
