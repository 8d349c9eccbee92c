import { describe, expect, test } from 'vitest'
import { Timestamp } from '../protocol/timestamp.ts'
import { exactJson } from './exact-json.ts'

describe('exactJson', () => {
  test.each<[string, unknown, string]>([
    ['a bigint beyond 2^53', 9007199254740993n, '9007199254740993'],
    ['numbers that JSON lacks', [Number.NaN, -Infinity, -0], '["NaN","-Infinity",0]'],
    ['a decimal text', '12.3400', '"12.3400"'],
    ['a timestamp', new Timestamp(1n), '"1970-01-01T00:00:00.000001Z"'],
    ['bytes', new Uint8Array([1, 255]), '"Af8="'],
    ['a map', new Map([['a', 1n]]), '[{"key":"a","value":1}]'],
    ['nested values', { a: [{ b: null }], c: undefined, d: [undefined] }, '{"a":[{"b":null}],"d":[null]}'],
    ['names and texts that need escapes', { 'a"b': 'line\n' }, '{"a\\"b":"line\\n"}'],
  ])('%s -> exact text', (_, value, text) => {
    expect(exactJson(value)).toBe(text)
  })
})
