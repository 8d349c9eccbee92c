import { failure } from './errors.ts'

/** @throws CANCELLED once the signal has fired */
export function throwIfCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return
  throw failure('CANCELLED', 'the call was cancelled before its commit; nothing was committed', {
    cause: signal.reason,
  })
}
