/**
 * A store that fails on purpose, for sweeps of the kind: fault at call 1, 2, 3 ... until a run meets no fault; after each, open the table
 * anew on the inner store and check that it is whole.
 */
import type { BraidlakeError } from '../base/errors.ts'
import { failure } from '../base/errors.ts'
import { unreachable } from '../base/assert.ts'
import type { CreateOutcome, ObjectStore } from '../ports/object-store.ts'
import type { StoreCall, StoreMethod } from './store-call.ts'
import { interceptedStore } from './store-call.ts'

export type Fault =
  /** The call fails with this code, before or after it took effect. */
  | {
      readonly kind: 'fail'
      readonly effect: 'before' | 'after'
      readonly code?: 'STORAGE_UNAVAILABLE' | 'STORAGE_FULL' | undefined
    }
  /** The process dies before or after the call's effect: this call and every later one throw ProcessKilled and do nothing. */
  | { readonly kind: 'kill'; readonly effect: 'before' | 'after' }
  /** createIfAbsent answers `unknown`, with the effect or without; other calls fail with STORAGE_UNAVAILABLE. */
  | { readonly kind: 'unknown'; readonly effect: boolean }
  /** The call waits for this before it runs. */
  | { readonly kind: 'delay'; readonly until: () => Promise<unknown> }
  /** A read gives other bytes than are there: torn, flipped. Calls that give no bytes are left alone. */
  | { readonly kind: 'corrupt'; readonly change: (bytes: Uint8Array) => Uint8Array }

export interface FaultyCall extends StoreCall {
  /** 1 for the first call of the store. */
  readonly number: number
  /** 1 for the first call of this method. */
  readonly numberOfMethod: number
}

export type FaultRule = (call: FaultyCall) => Fault | undefined

export interface FaultyStore extends ObjectStore {
  /** Calls so far, in order; after a kill no more are noted. */
  readonly calls: readonly FaultyCall[]
  /** How many of them met a fault. */
  readonly faults: number
  readonly isKilled: boolean
}

/** What a killed process sees of its storage: nothing. Not a BraidlakeError, because no caller is there to handle it. */
export class ProcessKilled extends Error {
  override readonly name = 'ProcessKilled'
  constructor() {
    super('the process was killed at a storage call')
  }
}

export function faultyStore(inner: ObjectStore, rule: FaultRule): FaultyStore {
  const calls: FaultyCall[] = []
  const byMethod = new Map<StoreMethod, number>()
  let faults = 0
  let killed = false
  const store = interceptedStore(inner, async <T>(call: StoreCall, run: () => Promise<T>): Promise<T> => {
    if (killed) throw new ProcessKilled()
    const numberOfMethod = (byMethod.get(call.method) ?? 0) + 1
    byMethod.set(call.method, numberOfMethod)
    const noted: FaultyCall = { ...call, number: calls.length + 1, numberOfMethod }
    calls.push(noted)
    const fault = rule(noted)
    if (fault === undefined) return run()
    faults++
    if (fault.kind === 'kill') {
      killed = true
      if (fault.effect === 'after') await run()
      throw new ProcessKilled()
    }
    return meet(fault, noted, run)
  })
  return {
    ...store,
    calls,
    get faults() {
      return faults
    },
    get isKilled() {
      return killed
    },
  }
}

async function meet<T>(fault: Exclude<Fault, { kind: 'kill' }>, call: FaultyCall, run: () => Promise<T>): Promise<T> {
  switch (fault.kind) {
    case 'fail':
      if (fault.effect === 'after') await run()
      throw broken(call, fault.code ?? 'STORAGE_UNAVAILABLE')
    case 'unknown': {
      if (fault.effect) await run()
      if (call.method !== 'createIfAbsent') throw broken(call, 'STORAGE_UNAVAILABLE')
      const answer: CreateOutcome = 'unknown'
      return answer as T
    }
    case 'delay':
      await fault.until()
      return run()
    case 'corrupt': {
      const answer = await run()
      return answer instanceof Uint8Array ? (fault.change(answer) as typeof answer) : answer
    }
    default:
      return unreachable(fault)
  }
}

function broken(call: FaultyCall, code: 'STORAGE_UNAVAILABLE' | 'STORAGE_FULL'): BraidlakeError {
  return failure(code, `Cannot ${call.method} ${call.path}: a fault was injected.`, {
    details: { path: call.path, call: call.number },
  })
}

/** The fault at the k-th call, counted from 1; with a method, at the k-th call of that method. */
export function atCall(k: number, fault: Fault, method?: StoreMethod): FaultRule {
  return (call) =>
    (method === undefined ? call.number : call.method === method ? call.numberOfMethod : 0) === k ? fault : undefined
}

/** The fault at every call that the predicate names. */
export function whenever(isMet: (call: FaultyCall) => boolean, fault: Fault): FaultRule {
  return (call) => (isMet(call) ? fault : undefined)
}

/** The first rule that has a fault for the call. */
export function firstOf(...rules: readonly FaultRule[]): FaultRule {
  return (call) => {
    for (const rule of rules) {
      const fault = rule(call)
      if (fault !== undefined) return fault
    }
    return undefined
  }
}

/** A read that ends early: the part of the bytes before the cut. */
export function torn(fraction: number): Fault {
  return { kind: 'corrupt', change: (bytes) => bytes.slice(0, Math.floor(bytes.length * fraction)) }
}

/** A read with one bit turned, in the byte at that index from the start. */
export function flipped(index: number): Fault {
  return {
    kind: 'corrupt',
    change: (bytes) => bytes.map((byte, place) => (place === index ? byte ^ 1 : byte)),
  }
}
