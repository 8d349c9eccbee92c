import { expect, test } from 'vitest'
import { type ErrorCode, failure } from '../base/errors.ts'
import { UsageError, exitCodeOf } from './exit-codes.ts'

test.each<[ErrorCode, number]>([
  ['DELTA_TABLE_NOT_FOUND', 1],
  ['DELTA_CONCURRENT_APPEND', 3],
  ['DELTA_MAX_COMMIT_RETRIES_EXCEEDED', 3],
  ['COMMIT_OUTCOME_UNKNOWN', 4],
  ['CANCELLED', 1],
])('%s -> exit code %i', (code, exitCode) => {
  expect(exitCodeOf(failure(code, 'message'))).toBe(exitCode)
})

test('a wrong call -> 2, anything else thrown -> 1', () => {
  expect(exitCodeOf(new UsageError('wrong'))).toBe(2)
  expect(exitCodeOf(new TypeError('defect'))).toBe(1)
})
