/**
 * Interleavings of several writers, chosen. Each leaf call of a writer's store waits for its turn; the scheduler lets one call through
 * at a time, and only when every writer that is still running waits for one, so that a choice never depends on timing. The same
 * choices give the same history (with stores, planes and clocks that are deterministic themselves).
 *
 * Only leaf calls are scheduled: one inside another would wait for itself.
 */
import { setImmediate as macrotask } from 'node:timers/promises'
import type { ObjectStore } from '../ports/object-store.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { StoreCall } from './store-call.ts'
import { interceptedStore } from './store-call.ts'

/** Lets `run` happen when it is the caller's turn. fast-check: `(label, run) => scheduler.schedule(Promise.resolve(), label).then(run)`. */
export type Turn = <T>(label: string, run: () => Promise<T>) => Promise<T>

/** The store, each call of which takes a turn. Labels read `method path`. */
export function scheduledStore(inner: ObjectStore, turn: Turn): ObjectStore {
  return interceptedStore(inner, (call: StoreCall, run) => turn(`${call.method} ${call.path}`, run))
}

/** A call that waits for its turn. */
export interface Waiting {
  readonly writer: string
  readonly label: string
}

/** Picks the next call: an index into `waiting`, which is never empty and is ordered by writer, then by arrival. */
export type Choose = (waiting: readonly Waiting[]) => number

export interface Scheduler {
  /** What a writer's calls take their turns with. */
  turn(writer: string): Turn
  /**
   * Runs the writers to their ends, one call at a time. @returns how each ended, in the order given
   */
  run<T>(writers: Readonly<Record<string, () => Promise<T>>>): Promise<readonly PromiseSettledResult<T>[]>
  /** The calls let through, as `writer: label`. */
  readonly trace: readonly string[]
}

interface Parked extends Waiting {
  readonly arrival: number
  readonly release: () => Promise<void>
}

/** How long all others may be idle while a running writer takes no turn, before the choice is made without it; milliseconds. */
const patienceMs = 2000

export function createScheduler(choose: Choose): Scheduler {
  const trace: string[] = []
  const parked: Parked[] = []
  const running = new Set<string>()
  let arrivals = 0

  const turn =
    (writer: string): Turn =>
    <T>(label: string, run: () => Promise<T>): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        const release = () => run().then(resolve, reject)
        parked.push({ writer, label, arrival: arrivals++, release })
      })

  /** Every running writer waits for a turn, or has had time enough. */
  const settle = async (): Promise<void> => {
    const deadline = Date.now() + patienceMs
    for (;;) {
      await macrotask()
      const waiting = new Set(parked.map((call) => call.writer))
      if ([...running].every((writer) => waiting.has(writer))) return
      if (parked.length > 0 && Date.now() > deadline) return
    }
  }

  const run: Scheduler['run'] = async (writers) => {
    const ends = Object.entries(writers).map(([writer, start]) => {
      running.add(writer)
      return start().finally(() => running.delete(writer))
    })
    const all = Promise.allSettled(ends)
    for (;;) {
      await settle()
      if (parked.length === 0) break
      parked.sort((a, b) => (a.writer === b.writer ? a.arrival - b.arrival : a.writer < b.writer ? -1 : 1))
      const [next] = parked.splice(choose(parked), 1)
      if (next === undefined) throw new RangeError('the choice lies outside the waiting calls')
      trace.push(`${next.writer}: ${next.label}`)
      await next.release()
    }
    return all
  }
  return { turn, run, trace }
}

/** Uniform choices from a seed. */
export function randomOrder(random: SeededRandom): Choose {
  return (waiting) => random.integer(0, waiting.length - 1)
}

/** A step of a script: this writer goes on, until it waits with a call whose label matches (or once, or to its end). */
export interface Step {
  readonly writer: string
  readonly until?: RegExp | undefined
  /** Lets only that many calls through. */
  readonly calls?: number | undefined
}

/**
 * An explicit order. A step ends without letting the matching call through, so `{ writer: 'a', until: /^createIfAbsent/ }` leaves `a` at
 * the door of its commit. A step whose writer no longer waits is over; after the last step the writers end one after another.
 */
export function scriptedOrder(steps: readonly Step[]): Choose {
  let place = 0
  let passed = 0
  return (waiting) => {
    for (; place < steps.length; place++, passed = 0) {
      const step = steps[place]
      const index = waiting.findIndex((call) => call.writer === step?.writer)
      const call = waiting[index]
      if (step === undefined || call === undefined) continue
      if (step.until?.test(call.label) === true || passed === step.calls) continue
      passed++
      return index
    }
    return 0
  }
}
