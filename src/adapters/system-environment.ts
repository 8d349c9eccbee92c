import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { failure } from '../base/errors.ts'
import type { Environment } from '../ports/environment.ts'

/** The machine's own clock, timers and randomness. */
export function systemEnvironment(): Environment {
  return {
    nowMs: () => Date.now(),
    uuid: () => randomUUID(),
    random: () => Math.random(),
    sha256: (bytes) => createHash('sha256').update(bytes).digest('hex'),
    sleep: async (ms, signal) => {
      try {
        await delay(ms, undefined, signal === undefined ? {} : { signal })
      } catch (error) {
        throw failure('CANCELLED', 'the call was cancelled while it waited', { cause: error })
      }
    },
  }
}
