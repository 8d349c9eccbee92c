/** What every source of events throws: SOURCE_FAILED with the source's name among the details. */
import { BraidlakeError, failure } from '../../base/errors.ts'
import type { ErrorOptions } from '../../base/errors.ts'

export function sourceFailure(source: string, message: string, options: ErrorOptions = {}): BraidlakeError {
  return failure('SOURCE_FAILED', message, { ...options, details: { source, ...options.details } })
}

/** A failure of ours as it is; anything else as SOURCE_FAILED. */
export function asSourceFailure(source: string, message: string, error: unknown): BraidlakeError {
  if (error instanceof BraidlakeError) return error
  const why = error instanceof Error ? error.message : String(error)
  return sourceFailure(source, `${message}: ${why}`, { cause: error })
}

export function foreignOffset(source: string, offset: string, cause?: unknown): BraidlakeError {
  return sourceFailure(
    source,
    `${source} cannot go on from the offset '${shorten(offset)}': it is not one of its own`,
    {
      details: { offset },
      advice: 'Give each source of a flow the name and the place it had before, or start a new flow.',
      cause,
    },
  )
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}...` : text
}
