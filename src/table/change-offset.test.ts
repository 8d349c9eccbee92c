import { expect, test } from 'vitest'
import { type FeedPosition, parseOffset, printOffset } from './change-offset.ts'

test.each<[FeedPosition, string]>([
  [{ kind: 'after', version: 3 }, '{"version":3,"table":"t"}'],
  [{ kind: 'after', version: -1 }, '{"version":-1,"table":"t"}'],
  [{ kind: 'commit', version: 3, place: { part: 1, row: 70 } }, '{"version":3,"part":1,"row":70,"table":"t"}'],
  [{ kind: 'snapshot', version: 3, place: { part: 0, row: 0 } }, '{"snapshot":3,"part":0,"row":0,"table":"t"}'],
])('%o -> %s and back', (position, text) => {
  expect(printOffset('t', position)).toBe(text)
  expect(parseOffset(text, 't')).toEqual(position)
})

test.each([
  '',
  '3',
  'null',
  '[]',
  '{}',
  '{"version":3}',
  '{"version":"3","table":"t"}',
  '{"version":1.5,"table":"t"}',
  '{"version":-2,"table":"t"}',
  '{"version":3,"part":1,"table":"t"}',
  '{"version":3,"part":-1,"row":0,"table":"t"}',
  '{"snapshot":3,"table":"t"}',
])('%s -> refused', (text) => {
  expect(() => parseOffset(text, 't')).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
})

test('an offset of another table -> refused, naming both', () => {
  const offset = printOffset('old', { kind: 'after', version: 3 })
  expect(() => parseOffset(offset, 'new')).toThrow(/table old.*now is new/)
})
