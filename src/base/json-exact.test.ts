import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json } from './json.ts'
import { JsonNumber } from './json.ts'
import { parseJson, parseJsonStream, printJson } from './json-exact.ts'

describe('parseJson', () => {
  test.each<[string, Json]>([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['-9223372036854775808', -9223372036854775808n],
    ['{"a":[9223372036854775807]}', { a: [9223372036854775807n] }],
    ['1e3', 1000],
    ['1e22', 1e22],
    ['0.1', 0.1],
    ['1.0000000000000000000', 1],
    ['0.30000000000000004', 0.30000000000000004],
    ['123456789012.12345678', new JsonNumber('123456789012.12345678')],
    ['-9999999999.9999999999', new JsonNumber('-9999999999.9999999999')],
    ['1e400', new JsonNumber('1e400')],
    ['1.5E+010', 1.5e10],
    ['{"a":1e-400}', { a: new JsonNumber('1e-400') }],
    ['"1234567890123456789"', '1234567890123456789'],
    [
      '{"1234567890123456789":"\\\\\\"", "n":1234567890123456789}',
      { '1234567890123456789': '\\"', n: 1234567890123456789n },
    ],
    ['{"s":"{\\"v\\":0.30000000000000004}","n":7}', { s: '{"v":0.30000000000000004}', n: 7 }],
    ['{"a\\\\":12345678901234567890}', { 'a\\': 12345678901234567890n }],
    ['{"s":"\\"","n": 12345678901234567890}', { s: '"', n: 12345678901234567890n }],
    ['[ true , false,null, [], {} , 1234567890123456789 ]', [true, false, null, [], {}, 1234567890123456789n]],
  ])('%s -> every digit kept', (text, value) => {
    expect(parseJson(text)).toEqual(value)
  })

  test.each([
    ['{"a":1234567890123456789'],
    ['[1234567890123456789,]'],
    ['1234567890123456789 1'],
    ['{"a" 1234567890123456789}'],
    ['[1234567890123456789, tru]'],
    ['[1234567890123456789, "a'],
    ['[-, 1234567890123456789]'],
    ['{1234567890123456789:1}'],
    ['["a\nb", 1234567890123456789]'],
    [''],
  ])('%j is malformed -> SyntaxError', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  })

  test('a member named __proto__ -> an own member on both paths', () => {
    for (const text of ['{"__proto__":1}', '{"__proto__":1,"n":1234567890123456789}']) {
      expect(Object.keys(parseJson(text) as object)[0]).toBe('__proto__')
    }
  })

  test('any JSON -> the exact parser agrees with JSON.parse but for lost digits', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value, null, 2)
        const exact = parseJson(`[1234567890123456789,${text}]`)
        expect(printJson(exact)).toBe(printJson([1234567890123456789n, JSON.parse(text) as Json]))
      }),
    )
  })
})

describe('parseJsonStream', () => {
  test.each<[string, string, Json[]]>([
    ['a value a line', '{"a":1}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
    ['windows line ends and blank lines', '{"a":1}\r\n\r\n{"b":2}', [{ a: 1 }, { b: 2 }]],
    [
      'values over several lines',
      '{\n "a": [1,\n2]\n}\n{\n"b": 9223372036854775807}',
      [{ a: [1, 2] }, { b: 9223372036854775807n }],
    ],
    ['values on one line', '{"a":1}{"b":2} 3', [{ a: 1 }, { b: 2 }, 3]],
    ['no value', ' \n', []],
  ])('%s -> the values in order', (_, text, values) => {
    expect(parseJsonStream(text)).toEqual(values)
  })

  test('a torn last line -> SyntaxError', () => {
    expect(() => parseJsonStream('{"a":1}\n{"b":')).toThrow(SyntaxError)
  })
})

describe('printJson', () => {
  test.each<[Json, string]>([
    [9223372036854775807n, '9223372036854775807'],
    [new JsonNumber('1.2345678901234567890'), '1.2345678901234567890'],
    [{ a: 'x"\n', b: [null, true, -1.5e-7] }, '{"a":"x\\"\\n","b":[null,true,-1.5e-7]}'],
    [-0, '-0.0'],
  ])('%o -> %s', (value, text) => {
    expect(printJson(value)).toBe(text)
  })

  test('an infinity -> TypeError, since readers could not open the log', () => {
    expect(() => printJson({ a: Number.POSITIVE_INFINITY })).toThrow(TypeError)
  })

  test('any bigint or number -> comes back as it was', () => {
    fc.assert(
      fc.property(fc.oneof(fc.bigInt(), fc.double({ noNaN: true, noDefaultInfinity: true })), (value) => {
        const back = parseJson(printJson(value))
        expect(typeof back === 'object' ? back : Number(back)).toBe(Number(value))
        if (typeof value === 'bigint') expect(BigInt(back as number)).toBe(value)
      }),
    )
  })
})
