/** Eight operating-system processes, a barrier, and what they report. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { CommitResult } from '../../transaction/outcome.ts'
import type { ReportedError } from '../report-error.ts'
import type { Correction } from './corrections.ts'
import type { FromWorker, ToWorker } from './worker-messages.ts'

export interface Committed {
  readonly kind: 'committed'
  readonly correction: Correction
  readonly pid: number
  readonly readVersion: number
  readonly result: CommitResult
  /** Milliseconds after the barrier opened. */
  readonly startedMs: number
  readonly committedMs: number
}

export interface Failed {
  readonly kind: 'failed'
  readonly correction: Correction
  readonly pid: number
  readonly error: ReportedError
}

export type Finished = Committed | Failed

export interface CrewEvents {
  /** All processes have pinned their version; the barrier opens now. */
  onBarrier(readVersions: readonly number[]): Promise<void>
  onFinished(finished: Finished): Promise<void>
}

/** In the order in which they finished. */
export async function runCrew(
  table: string,
  corrections: readonly Correction[],
  events: CrewEvents,
): Promise<readonly Finished[]> {
  const members = corrections.map((correction) => new Member(table, correction))
  try {
    const readVersions = await Promise.all(members.map((member) => member.ready))
    await events.onBarrier(readVersions)
    const openedMs = Date.now()
    for (const member of members) member.go(openedMs)
    return await inOrder(members, events)
  } finally {
    for (const member of members) member.stop()
  }
}

async function inOrder(members: readonly Member[], events: CrewEvents): Promise<readonly Finished[]> {
  const finished: Finished[] = []
  let told = Promise.resolve()
  await Promise.all(
    members.map(async (member) => {
      const one = await member.finished
      finished.push(one)
      told = told.then(() => events.onFinished(one))
    }),
  )
  await told
  return finished
}

const script = fileURLToPath(new URL('./worker.js', import.meta.url))

class Member {
  readonly ready: Promise<number>
  readonly finished: Promise<Finished>
  readonly #correction: Correction
  readonly #child: ChildProcess
  #openedMs = 0
  #readVersion = -1

  constructor(table: string, correction: Correction) {
    this.#correction = correction
    this.#child = fork(script, [], { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.ready = new Promise((resolve, reject) => {
      this.#child.on('message', (message: FromWorker) => {
        if (message.kind === 'failed')
          reject(new Error(`process ${correction.number}: ${message.error.code}: ${message.error.message}`))
        if (message.kind !== 'ready') return
        this.#readVersion = message.readVersion
        resolve(message.readVersion)
      })
      this.#child.once('error', reject)
      this.#child.once('exit', (code, signal) =>
        reject(new Error(`process ${correction.number} ended before it was ready (${code ?? signal})`)),
      )
    })
    this.finished = new Promise((resolve) => {
      this.#child.on('message', (message: FromWorker) => {
        if (message.kind === 'failed') resolve(this.#failed(message.error))
        if (message.kind === 'committed') resolve(this.#committed(message))
      })
      this.#child.once('exit', (code, signal) => resolve(this.#failed(endedEarly(code ?? signal))))
    })
    this.#tell({ kind: 'job', job: { table, correction } })
  }

  go(openedMs: number): void {
    this.#openedMs = openedMs
    this.#tell({ kind: 'go' })
  }

  /** A process that has reported ends by itself. */
  stop(): void {
    if (this.#child.connected) this.#child.kill()
  }

  #tell(message: ToWorker): void {
    this.#child.send(message)
  }

  #failed(error: ReportedError): Failed {
    return { kind: 'failed', correction: this.#correction, pid: this.#child.pid ?? 0, error }
  }

  #committed({ result, startedMs, committedMs }: Extract<FromWorker, { kind: 'committed' }>): Committed {
    return {
      kind: 'committed',
      correction: this.#correction,
      pid: this.#child.pid ?? 0,
      readVersion: this.#readVersion,
      result,
      startedMs: startedMs - this.#openedMs,
      committedMs: committedMs - this.#openedMs,
    }
  }
}

function endedEarly(how: number | string | null): ReportedError {
  return {
    code: 'PROCESS_ENDED',
    kind: 'internal',
    retry: 'never',
    message: `the process ended without a result (${how})`,
    advice: 'Run the demo again.',
    details: {},
  }
}
