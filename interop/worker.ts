/** A process in Python that answers one JSON line for each it is asked: another engine, kept warm for all tests of a file. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** A value of JSON as exact_rows.py prints it. */
export type Exact = null | boolean | number | string | readonly Exact[] | { readonly [name: string]: Exact }
export type ExactRow = Readonly<Record<string, Exact>>

interface Answer {
  readonly id: number
  readonly value?: unknown
  readonly error?: string
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

const here = fileURLToPath(new URL('.', import.meta.url))

export class Worker {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #waiting = new Map<number, Waiting>()
  #asked = 0
  #complaints = ''
  #ended: Error | undefined
  readonly #closed: Promise<void>

  private constructor(script: string) {
    const python = join(here, '../.peers/venv/bin/python')
    this.#child = spawn(python, [join(here, script)], {
      env: { ...process.env, TZ: 'UTC', PYTHONDONTWRITEBYTECODE: '1' },
    })
    this.#child.stderr.on('data', (text: Buffer) => {
      this.#complaints = `${this.#complaints}${text.toString()}`.slice(-4000)
    })
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      // Spark's VACUUM prints what it deleted on its own account.
      if (line.startsWith('{')) this.#answer(JSON.parse(line) as Answer)
    })
    this.#child.once('error', (error) => this.#fail(error))
    this.#child.stdin.on('error', (error) => this.#fail(error))
    this.#closed = new Promise((resolve) => {
      this.#child.once('close', (code) => {
        this.#fail(new Error(`${script} ended with ${code}:\n${this.#complaints}`))
        resolve()
      })
    })
  }

  static start(script: 'spark_worker.py' | 'deltars_worker.py' | 'duckdb_worker.py'): Worker {
    return new Worker(script)
  }

  /** @throws Error with the other engine's message */
  ask(op: string, request: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    const id = ++this.#asked
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#child.stdin.write(`${JSON.stringify({ id, op, ...request })}\n`)
    })
  }

  async rows(request: Readonly<Record<string, unknown>>): Promise<readonly ExactRow[]> {
    return (await this.ask('rows', request)) as readonly ExactRow[]
  }

  async stop(): Promise<void> {
    this.#child.stdin.end()
    await this.#closed
  }

  #answer({ id, value, error }: Answer): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve(value)
    else waiting?.reject(new Error(error))
  }

  #fail(error: Error): void {
    this.#ended = error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
