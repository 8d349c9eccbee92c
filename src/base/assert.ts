/** A broken invariant of ours. Never caught by core code; the public edge wraps it as `INTERNAL_ERROR`. */
export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure'
}

/** States what must hold. The message names the invariant (`INV-n`) where docs/invariants.md lists it. */
export function assert(condition: unknown, message: string | (() => string)): asserts condition {
  if (!condition) throw new AssertionFailure(typeof message === 'string' ? message : message())
}

/** The value, which must be there. */
export function must<T>(value: T | undefined | null, message: string): T {
  assert(value !== undefined && value !== null, message)
  return value
}

/** Closes an exhaustive switch. */
export function unreachable(value: never): never {
  throw new AssertionFailure(`unreachable: ${JSON.stringify(value)}`)
}
