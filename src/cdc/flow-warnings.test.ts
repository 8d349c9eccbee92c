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

const batch = (leastSequence: Datum, late = 0, events = 10) => ({ events, late, leastSequence, takenMs: nowMs })

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
  const now = BigInt(nowMs) * 1000n
  const saysSo = (type: DataType, batches: readonly ReturnType<typeof batch>[]) => {
    const warnings = new FlowWarnings()
    const all = batches.flatMap((one) => warnings.after(definition(1, type), ['seq'], one))
    return all.filter(({ kind }) => kind === 'sequence-looks-like-load-time').length
  }

  test.each<[string, DataType, readonly ReturnType<typeof batch>[], number]>([
    ['four batches of this second', micros, [batch(now), batch(now), batch(now - 9_000_000n), batch(now)], 1],
    ['two batches', micros, [batch(now), batch(now)], 0],
    ['an old event in between', micros, [batch(now), batch(now), batch(now - 11_000_000n), batch(now)], 0],
    ['a late event in between', micros, [batch(now), batch(now), batch(now, 1), batch(now)], 0],
    ['a batch without events in between', micros, [batch(now), batch(now), batch(null, 0, 0), batch(now)], 1],
    ['milliseconds as long', { kind: 'long' }, [1, 2, 3].map(() => batch(BigInt(nowMs))), 1],
    ['seconds as long', { kind: 'long' }, [1, 2, 3].map(() => batch(BigInt(nowMs / 1000))), 1],
    ['a counter', { kind: 'long' }, [1n, 2n, 3n].map((n) => batch(n)), 0],
    ['text', { kind: 'string' }, [1, 2, 3].map(() => batch(String(nowMs))), 0],
    ['a sequence of several parts', { kind: 'struct', fields: [] }, [1, 2, 3].map(() => batch(null)), 0],
  ])('%s -> %#', (_, type, batches, count) => {
    expect(saysSo(type, batches)).toBe(count)
  })
})
