/** Exit codes are a contract with scripts: 3 may be run again, 4 must be looked up first. */
import { BraidlakeError } from '../base/errors.ts'

export const exitCodes = { ok: 0, failed: 1, usage: 2, conflict: 3, unknown: 4 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** A wrong call of the command line itself. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof UsageError) return exitCodes.usage
  if (!(error instanceof BraidlakeError)) return exitCodes.failed
  switch (error.kind) {
    case 'conflict':
      return exitCodes.conflict
    case 'unknown':
      return exitCodes.unknown
    default:
      return exitCodes.failed
  }
}
