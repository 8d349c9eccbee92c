import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import type { ObjectStore } from '../ports/object-store.ts'
import { createScheduler, randomOrder, scheduledStore, scriptedOrder } from './scheduled-store.ts'
import { seededRandom } from './seeded-random.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

/** An honest commit loop: creates the first free number. */
async function commit(store: ObjectStore, writer: string): Promise<number> {
  for (let version = (await store.list('log/')).length; ; version++) {
    if ((await store.createIfAbsent(`log/${version}`, bytes(writer))) === 'created') return version
  }
}

/** A dishonest one: looks, then overwrites. */
async function commitUnsafely(store: ObjectStore, writer: string): Promise<number> {
  for (let version = 0; ; version++) {
    if ((await store.head(`log/${version}`)) !== undefined) continue
    await store.put(`log/${version}`, bytes(writer))
    return version
  }
}

type Commit = typeof commit

async function race(run: Commit, seed: number) {
  const scheduler = createScheduler(randomOrder(seededRandom(seed)))
  const inner = memoryStore()
  const writer = (name: string) => () => run(scheduledStore(inner, scheduler.turn(name)), name)
  const ends = await scheduler.run({ a: writer('a'), b: writer('b'), c: writer('c') })
  const versions = ends.map((end) => (end.status === 'fulfilled' ? end.value : -1))
  return { versions, trace: scheduler.trace }
}

describe('scheduledStore', () => {
  test('the same seed -> the same trace; over seeds -> many traces and every winner', async () => {
    const traces = new Set<string>()
    const winners = new Set<number>()
    for (let seed = 0; seed < 200; seed++) {
      const { versions, trace } = await race(commit, seed)
      traces.add(trace.join('|'))
      winners.add(versions.indexOf(0))
      expect(versions.toSorted(), `seed ${seed}`).toEqual([0, 1, 2])
      if (seed < 20) expect((await race(commit, seed)).trace).toEqual(trace)
    }
    expect(winners.size).toBe(3)
    expect(traces.size).toBeGreaterThan(50)
  })

  test('a writer that looks and then overwrites -> some schedule loses a commit', async () => {
    let lost = 0
    for (let seed = 0; seed < 50; seed++) if (new Set((await race(commitUnsafely, seed)).versions).size < 3) lost++
    expect(lost).toBeGreaterThan(0)
  })

  test('a script -> a stops at the door of its commit while b ends, and loses', async () => {
    const scheduler = createScheduler(
      scriptedOrder([{ writer: 'a', until: /^createIfAbsent/ }, { writer: 'b' }, { writer: 'a' }]),
    )
    const inner = memoryStore()
    const writer = (name: string) => () => commit(scheduledStore(inner, scheduler.turn(name)), name)
    await scheduler.run({ a: writer('a'), b: writer('b') })
    expect(scheduler.trace).toEqual([
      'a: list log/',
      'b: list log/',
      'b: createIfAbsent log/0',
      'a: createIfAbsent log/0',
      'a: createIfAbsent log/1',
    ])
  })

  test('counted steps -> strict alternation', async () => {
    const steps = ['a', 'b', 'a', 'b'].map((writer) => ({ writer, calls: 1 }))
    const scheduler = createScheduler(scriptedOrder(steps))
    const inner = memoryStore()
    const writer = (name: string) => async () => {
      const store = scheduledStore(inner, scheduler.turn(name))
      await store.put(name, bytes('1'))
      await store.get(name)
    }
    await scheduler.run({ a: writer('a'), b: writer('b') })
    expect(scheduler.trace).toEqual(['a: put a', 'b: put b', 'a: get a', 'b: get b'])
  })

  test('a writer that fails -> its end is told, the others go on', async () => {
    const scheduler = createScheduler(randomOrder(seededRandom(1)))
    const store = scheduledStore(memoryStore(), scheduler.turn('b'))
    const ends = await scheduler.run<unknown>({
      a: () => Promise.reject(new Error('no')),
      b: () => store.put('x', bytes('x')),
    })
    expect(ends.map((end) => end.status)).toEqual(['rejected', 'fulfilled'])
  })

  test('a slow writer -> the others wait for it, so that timing decides nothing', async () => {
    const scheduler = createScheduler(scriptedOrder([{ writer: 'slow' }]))
    const inner = memoryStore()
    await scheduler.run({
      fast: () => scheduledStore(inner, scheduler.turn('fast')).put('f', bytes('f')),
      slow: async () => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        await scheduledStore(inner, scheduler.turn('slow')).put('s', bytes('s'))
      },
    })
    expect(scheduler.trace).toEqual(['slow: put s', 'fast: put f'])
  })

  test("fast-check's scheduler -> drives the same store", async () => {
    const seed = Number(process.env['SEED'] ?? 42)
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), async (scheduler) => {
        const inner = memoryStore()
        const store = scheduledStore(inner, (label, run) => scheduler.schedule(Promise.resolve(), label).then(run))
        const all = Promise.all(['a', 'b', 'c'].map((name) => commit(store, name)))
        await scheduler.waitFor(all)
        expect((await all).toSorted()).toEqual([0, 1, 2])
      }),
      { seed, numRuns: 50 },
    )
  })
})
