/** The public edge: what leaves the package as an error is a BraidlakeError. A failed assertion is a defect of ours and says so. */
import { AssertionFailure } from '../base/assert.ts'
import { failure } from '../base/errors.ts'

export async function atEdge<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw asPublicError(error)
  }
}

export async function* rowsAtEdge<T>(rows: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* rows
  } catch (error) {
    throw asPublicError(error)
  }
}

function asPublicError(error: unknown): unknown {
  if (!(error instanceof AssertionFailure)) return error
  return failure('INTERNAL_ERROR', `a defect of this engine: ${error.message}`, { cause: error })
}
