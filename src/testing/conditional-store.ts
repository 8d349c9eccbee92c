/**
 * A bucket that answers as S3 does: `If-None-Match: *` on a put, status codes, and networks that lose requests and responses. The
 * store's mapping is the one a real adapter must have: 200 created, 412 exists, everything else unknown, because a 409 decides
 * nothing and a lost response hides an effect. It never overwrites on createIfAbsent, whoever holds what lock.
 */
import { unreachable } from '../base/assert.ts'
import { failure } from '../base/errors.ts'
import type { CreateOutcome, ObjectStore } from '../ports/object-store.ts'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import type { StoreMethod } from './store-call.ts'
import { interceptedStore } from './store-call.ts'

export type PutAnswer =
  /** The condition decides: 200 or 412. */
  | 'decide'
  /** ConditionalRequestConflict: another request is in flight; nothing was written and nothing decided. */
  | 'conflict-409'
  /** The condition was decided and the object written if it held, but the response was lost. */
  | 'response-lost'
  /** The request never arrived. */
  | 'request-lost'
  /** The caller gave up waiting; the request arrives when `deliver` is called. */
  | 'late'
  /** The first response was lost and the client's own retry was answered 412, after its own success. */
  | 'retried-412'

export interface ConditionalStore extends ObjectStore {
  /** Decides the next conditional puts, in order; then all are decided plainly again. */
  answer(...answers: readonly PutAnswer[]): void
  /** The next calls of a method fail with STORAGE_UNAVAILABLE, as a bucket that answers 503. */
  refuse(method: StoreMethod, times: number): void
  /** Lets requests in flight arrive, oldest first. @returns how many wrote their object */
  deliver(): Promise<number>
  /** Conditional puts as `path: status`; lost ones read `lost`. */
  readonly puts: readonly string[]
}

/** `bucket` holds the objects; several stores on one bucket are several clients. */
export function conditionalStore(bucket: ObjectStore = memoryStore()): ConditionalStore {
  const answers: PutAnswer[] = []
  const refused = new Map<StoreMethod, number>()
  const late: (() => Promise<boolean>)[] = []
  const puts: string[] = []
  const guarded = interceptedStore(bucket, async (call, run) => {
    const left = refused.get(call.method) ?? 0
    if (left === 0) return run()
    refused.set(call.method, left - 1)
    throw failure('STORAGE_UNAVAILABLE', `Cannot ${call.method} ${call.path}: 503 SlowDown.`, {
      details: { status: 503, path: call.path },
    })
  })
  return {
    ...guarded,
    createIfAbsent: async (path, bytes): Promise<CreateOutcome> => {
      const left = refused.get('createIfAbsent') ?? 0
      if (left > 0) {
        // A 503 to a conditional put may come after the object was written: not a failure, but a question.
        refused.set('createIfAbsent', left - 1)
        puts.push(`${path}: 503`)
        return 'unknown'
      }
      const kept = bytes.slice()
      const put = () => bucket.createIfAbsent(path, kept)
      return conditionalPut(answers.shift() ?? 'decide', path, put, late, puts)
    },
    answer: (...kinds) => {
      answers.push(...kinds)
    },
    refuse: (method, times) => {
      refused.set(method, times)
    },
    deliver: async () => {
      let written = 0
      for (let request = late.shift(); request !== undefined; request = late.shift()) if (await request()) written++
      return written
    },
    puts,
  }
}

async function conditionalPut(
  kind: PutAnswer,
  path: string,
  put: () => Promise<CreateOutcome>,
  late: (() => Promise<boolean>)[],
  puts: string[],
): Promise<CreateOutcome> {
  switch (kind) {
    case 'decide': {
      const outcome = await put()
      puts.push(`${path}: ${outcome === 'created' ? 200 : 412}`)
      return outcome
    }
    case 'conflict-409':
      puts.push(`${path}: 409`)
      return 'unknown'
    case 'response-lost':
      await put()
      puts.push(`${path}: lost`)
      return 'unknown'
    case 'request-lost':
      puts.push(`${path}: lost`)
      return 'unknown'
    case 'late':
      late.push(async () => (await put()) === 'created')
      puts.push(`${path}: lost`)
      return 'unknown'
    case 'retried-412':
      await put()
      puts.push(`${path}: 412`)
      // After a retry a 412 may be the answer to our own first request.
      return 'unknown'
    default:
      return unreachable(kind)
  }
}
