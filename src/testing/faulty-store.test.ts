import { describe, expect, test } from 'vitest'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import type { Fault } from './faulty-store.ts'
import { atCall, faultyStore, firstOf, flipped, ProcessKilled, torn, whenever } from './faulty-store.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const text = (found: Uint8Array | undefined) => (found === undefined ? undefined : new TextDecoder().decode(found))

describe('faultyStore', () => {
  test.each<{ name: string; fault: Fault; error: object; lands: boolean }>([
    {
      name: 'fails before',
      fault: { kind: 'fail', effect: 'before' },
      error: { code: 'STORAGE_UNAVAILABLE' },
      lands: false,
    },
    {
      name: 'fails after',
      fault: { kind: 'fail', effect: 'after' },
      error: { code: 'STORAGE_UNAVAILABLE' },
      lands: true,
    },
    {
      name: 'is full',
      fault: { kind: 'fail', effect: 'before', code: 'STORAGE_FULL' },
      error: { code: 'STORAGE_FULL' },
      lands: false,
    },
    {
      name: 'is killed before',
      fault: { kind: 'kill', effect: 'before' },
      error: { name: 'ProcessKilled' },
      lands: false,
    },
    {
      name: 'is killed after',
      fault: { kind: 'kill', effect: 'after' },
      error: { name: 'ProcessKilled' },
      lands: true,
    },
  ])('a put that $name -> error, object there: $lands', async ({ fault, error, lands }) => {
    const inner = memoryStore()
    const store = faultyStore(inner, atCall(1, fault))
    await expect(store.put('a', bytes('x'))).rejects.toMatchObject(error)
    expect(text(await inner.get('a'))).toBe(lands ? 'x' : undefined)
    expect(store.faults).toBe(1)
  })

  test('after a kill -> every call fails, none has an effect, none is counted', async () => {
    const inner = memoryStore()
    await inner.put('a', bytes('x'))
    const store = faultyStore(inner, atCall(2, { kind: 'kill', effect: 'before' }))
    await store.head('a')
    await expect(store.get('a')).rejects.toThrow(ProcessKilled)
    await expect(store.delete(['a'])).rejects.toThrow(ProcessKilled)
    expect(store.isKilled).toBe(true)
    expect(store.calls.map((call) => call.method)).toEqual(['head', 'get'])
    expect(text(await inner.get('a'))).toBe('x')
  })

  test.each([true, false])('createIfAbsent answers unknown, effect %s', async (effect) => {
    const inner = memoryStore()
    const store = faultyStore(inner, atCall(1, { kind: 'unknown', effect }, 'createIfAbsent'))
    await store.put('b', bytes('y'))
    expect(await store.createIfAbsent('a', bytes('x'))).toBe('unknown')
    expect(text(await inner.get('a'))).toBe(effect ? 'x' : undefined)
    expect(await store.createIfAbsent('a', bytes('z'))).toBe(effect ? 'exists' : 'created')
  })

  test('a rule by method -> counts only calls of that method', async () => {
    const store = faultyStore(memoryStore(), atCall(2, { kind: 'fail', effect: 'before' }, 'put'))
    await store.put('a', bytes('1'))
    await store.get('a')
    await expect(store.put('b', bytes('2'))).rejects.toMatchObject({ code: 'STORAGE_UNAVAILABLE' })
    await store.put('c', bytes('3'))
  })

  test.each<{ name: string; fault: Fault; read: string }>([
    { name: 'torn', fault: torn(0.5), read: 'ab' },
    { name: 'flipped', fault: flipped(1), read: 'accd' },
  ])('a $name read -> other bytes, the object itself untouched', async ({ fault, read }) => {
    const inner = memoryStore()
    await inner.put('a', bytes('abcd'))
    const store = faultyStore(
      inner,
      whenever((call) => call.method === 'get', fault),
    )
    expect(text(await store.get('a'))).toBe(read)
    expect(text(await inner.get('a'))).toBe('abcd')
    expect(await store.head('a')).toMatchObject({ sizeBytes: 4 })
  })

  test('a delayed call -> runs only when let go', async () => {
    const inner = memoryStore()
    let go = () => {}
    const gate = new Promise<void>((resolve) => (go = resolve))
    const store = faultyStore(inner, atCall(1, { kind: 'delay', until: () => gate }))
    const put = store.put('a', bytes('x'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(await inner.get('a')).toBeUndefined()
    go()
    await put
    expect(text(await inner.get('a'))).toBe('x')
  })

  test('several rules -> the first that applies', async () => {
    const store = faultyStore(
      memoryStore(),
      firstOf(
        atCall(1, { kind: 'fail', effect: 'before', code: 'STORAGE_FULL' }),
        atCall(1, { kind: 'kill', effect: 'before' }),
      ),
    )
    await expect(store.put('a', bytes('x'))).rejects.toMatchObject({ code: 'STORAGE_FULL' })
    expect(store.isKilled).toBe(false)
  })
})
