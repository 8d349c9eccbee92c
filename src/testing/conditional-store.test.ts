import { describe, expect, test } from 'vitest'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import type { PutAnswer } from './conditional-store.ts'
import { conditionalStore } from './conditional-store.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (found: Uint8Array | undefined) => (found === undefined ? undefined : new TextDecoder().decode(found))

describe('conditionalStore', () => {
  test.each<{ answer: PutAnswer; onFree: string; lands: boolean; status: string }>([
    { answer: 'decide', onFree: 'created', lands: true, status: 'a: 200' },
    { answer: 'conflict-409', onFree: 'unknown', lands: false, status: 'a: 409' },
    { answer: 'response-lost', onFree: 'unknown', lands: true, status: 'a: lost' },
    { answer: 'request-lost', onFree: 'unknown', lands: false, status: 'a: lost' },
    { answer: 'retried-412', onFree: 'unknown', lands: true, status: 'a: 412' },
    { answer: 'late', onFree: 'unknown', lands: false, status: 'a: lost' },
  ])(
    'put answered "$answer" on a free name -> $onFree, object there: $lands',
    async ({ answer, onFree, lands, status }) => {
      const store = conditionalStore()
      store.answer(answer)
      expect(await store.createIfAbsent('a', bytes('x'))).toBe(onFree)
      expect(text(await store.get('a'))).toBe(lands ? 'x' : undefined)
      expect(store.puts).toEqual([status])
    },
  )

  test.each<PutAnswer>(['decide', 'conflict-409', 'response-lost', 'request-lost', 'retried-412', 'late'])(
    'put answered "%s" on a taken name -> the object keeps its bytes',
    async (answer) => {
      const store = conditionalStore()
      await store.createIfAbsent('a', bytes('first'))
      store.answer(answer)
      expect(await store.createIfAbsent('a', bytes('second'))).toBe(answer === 'decide' ? 'exists' : 'unknown')
      expect(await store.deliver()).toBe(0)
      expect(text(await store.get('a'))).toBe('first')
    },
  )

  test('a late request on a name still free -> arrives when delivered', async () => {
    const store = conditionalStore()
    store.answer('late')
    await store.createIfAbsent('a', bytes('x'))
    expect(await store.deliver()).toBe(1)
    expect(text(await store.get('a'))).toBe('x')
  })

  test('two clients of one bucket -> one wins, the other sees 412', async () => {
    const bucket = memoryStore()
    const [a, b] = [conditionalStore(bucket), conditionalStore(bucket)]
    expect(await Promise.all([a.createIfAbsent('n', bytes('a')), b.createIfAbsent('n', bytes('b'))])).toEqual([
      'created',
      'exists',
    ])
    expect(text(await b.get('n'))).toBe('a')
  })

  test('refused calls -> reads fail, a conditional put is unknown, and then the bucket answers again', async () => {
    const store = conditionalStore()
    store.refuse('get', 1)
    store.refuse('createIfAbsent', 1)
    await expect(store.get('a')).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    expect(await store.createIfAbsent('a', bytes('x'))).toBe('unknown')
    expect(await store.get('a')).toBeUndefined()
    expect(await store.createIfAbsent('a', bytes('x'))).toBe('created')
  })
})
