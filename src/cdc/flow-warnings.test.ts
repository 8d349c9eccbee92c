import { describe, expect, test } from 'vitest'
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { FlowDefinition } from './definition.ts'
import { FlowWarnings } from './flow-warnings.ts'

const nowMs = 1_700_000_000_000

function definition(scdType: 1 | 2, sequenceType: DataType, tracked: readonly string[] = ['name']): FlowDefinition {
  const payload = tracked.map((name) => ({ name, type: sequenceType, isTracked: true, mayStay: false }))
  return { scdType, sequenceType, payload } as unknown as FlowDefinition
}

const batch = (leastSequence: Datum, late = 0, events = 100) => ({ events, late, leastSequence, takenMs: nowMs })

describe('the sequence column is tracked', () => {
  test.each<[string, 1 | 2, readonly string[], number]>([
    ['type 2, tracked, in another case', 2, ['name', 'SEQ'], 1],
    ['type 2, not tracked', 2, ['name'], 0],
    ['type 1', 1, ['seq'], 0],
  ])('%s -> %i warnings', (_, type, tracked, count) => {
    const warnings = new FlowWarnings()
    const first = warnings.after(definition(type, { kind: 'long' }, tracked), ['seq'], batch(1n))
    expect(first.filter(({ kind }) => kind === 'sequence-is-tracked')).toHaveLength(count)
  })

  test('a second batch -> not said again', () => {
    const warnings = new FlowWarnings()
    warnings.after(definition(2, { kind: 'long' }, ['seq']), ['seq'], batch(1n))
    expect(warnings.after(definition(2, { kind: 'long' }, ['seq']), ['seq'], batch(2n))).toEqual([])
  })
})

describe('the sequence looks like load time', () => {
  const micros = { kind: 'timestamp' } as const
  const long = { kind: 'long' } as const

  interface Taken {
    readonly type?: DataType
    /** Batches, minutes apart; ages of their oldest event in milliseconds. */
    readonly ages?: readonly number[]
    readonly minutes?: number
    readonly events?: readonly number[]
    readonly late?: readonly number[]
    readonly sequence?: (ms: number) => Datum
  }

  const said = ({ type = micros, ages = [0, 0, 0, 0, 0], minutes = 2.5, ...more }: Taken) => {
    const { events = [], late = [], sequence = (ms) => BigInt(ms) * 1000n } = more
    const warnings = new FlowWarnings()
    return ages.flatMap((age, at) => {
      const takenMs = nowMs + at * minutes * 60_000
      const one = { events: events[at] ?? 100, late: late[at] ?? 0, leastSequence: sequence(takenMs - age), takenMs }
      const kinds = warnings.after(definition(1, type), ['seq'], one).map(({ kind }) => kind)
      return kinds.includes('sequence-looks-like-load-time') ? [at] : []
    })
  }

  test.each<[string, Taken, readonly number[]]>([
    ['five batches of many fresh events in ten minutes', {}, [4]],
    ['more of them', { ages: [0, 0, 0, 0, 0, 0, 0] }, [4]],
    ['of every age that is fresh', { ages: [9_999, 0, -9_999, 5_000, 1] }, [4]],
    ['a batch of few fresh events among them', { ages: [0, 0, 0, 0, 0, 0], events: [100, 100, 99] }, [5]],
    ['a batch without events among them', { ages: [0, 0, 99_999, 0, 0, 0], events: [100, 100, 0] }, [5]],
    ['milliseconds as long', { type: long, sequence: (ms) => BigInt(ms) }, [4]],
    ['seconds as long', { type: long, sequence: (ms) => BigInt(Math.trunc(ms / 1000)) }, [4]],
  ])('%s -> suspected, once', (_, taken, batches) => {
    expect(said(taken)).toEqual(batches)
  })

  test.each<[string, Taken]>([
    ['four batches', { ages: [0, 0, 0, 0], minutes: 60 }],
    [
      'one event a batch, as a quiet table gives them live',
      { ages: Array.from({ length: 50 }, () => 0), events: Array.from({ length: 50 }, () => 1) },
    ],
    ['a burst: many batches within some minutes', { ages: Array.from({ length: 50 }, () => 0), minutes: 0.15 }],
    ['an old event before', { ages: [10_000, 0, 0, 0, 0, 0, 0] }],
    ['an old event in a batch of one', { ages: [0, 10_000, 0, 0, 0, 0, 0], events: [100, 1] }],
    ['an old event in between', { ages: [0, 0, 0, 10_000, 0, 0, 0, 0] }],
    ['a late event before', { ages: [0, 0, 0, 0, 0, 0, 0], late: [1] }],
    ['events that are yet to come', { ages: [0, -10_000, 0, 0, 0, 0, 0] }],
    ['a counter', { type: long, sequence: () => 7n }],
    ['text', { type: { kind: 'string' }, sequence: String }],
    ['a sequence of several parts', { type: { kind: 'struct', fields: [] }, sequence: () => null }],
  ])('%s -> not', (_, taken) => {
    expect(said(taken)).toEqual([])
  })
})
