/** A line that says how far a statement is: on a terminal only, on standard error, and only once it has taken a moment. */

export interface Progress {
  /** Fraction done, 0 to 1. */
  report(fraction: number): void
  /** Takes the line away. */
  end(): void
}

/** A command that ends before this shows nothing. */
const quietMs = 300
const redrawMs = 100

/** @param label what is under way; a function is asked at each redraw */
export function startProgress(label: string | (() => string)): Progress {
  if (!process.stderr.isTTY) return { report() {}, end() {} }
  return new ProgressLine(typeof label === 'string' ? () => label : label)
}

class ProgressLine implements Progress {
  readonly #label: () => string
  readonly #startedMs = Date.now()
  readonly #timer: NodeJS.Timeout
  #fraction: number | undefined
  #draw: ((text: string) => void) | undefined
  #clear: (() => void) | undefined
  #ended = false

  constructor(label: () => string) {
    this.#label = label
    this.#timer = setTimeout(() => void this.#show(), quietMs)
    this.#timer.unref()
  }

  report(fraction: number): void {
    this.#fraction = Math.min(1, Math.max(0, fraction))
  }

  end(): void {
    this.#ended = true
    clearTimeout(this.#timer)
    this.#clear?.()
  }

  async #show(): Promise<void> {
    const { createLogUpdate } = await import('log-update')
    if (this.#ended) return
    const line = createLogUpdate(process.stderr)
    this.#draw = line
    this.#clear = () => line.clear()
    this.#redraw()
  }

  #redraw(): void {
    if (this.#ended) return
    const seconds = ((Date.now() - this.#startedMs) / 1000).toFixed(1)
    const bar = this.#fraction === undefined ? '' : ` ${progressBar(this.#fraction)}`
    this.#draw?.(`${this.#label()}${bar} (${seconds} s)`)
    setTimeout(() => this.#redraw(), redrawMs).unref()
  }
}

export function progressBar(fraction: number, width = 24): string {
  const full = Math.round(fraction * width)
  return `${'█'.repeat(full)}${'░'.repeat(width - full)} ${Math.round(fraction * 100)} %`
}
