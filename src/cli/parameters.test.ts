import { describe, expect, test } from 'vitest'
import { Decimal } from '../protocol/datum.ts'
import { Timestamp } from '../protocol/timestamp.ts'
import { UsageError } from './exit-codes.ts'
import { parameter } from './parameters.ts'

describe('--param', () => {
  test.each<[string, unknown]>([
    ['p=42', 42n],
    ['p=9007199254740993', 9007199254740993n],
    ['p=-1.5', -1.5],
    ['p=1e3', 1000],
    ['p=true', true],
    ['p=null', null],
    ['p=', ''],
    ['p=a=b', 'a=b'],
    ['p=2024-01-31', '2024-01-31'],
    ['p:string=42', '42'],
    ['p:long=7', 7n],
    ['p:int=7', 7],
    ['p:decimal(10,2)=1.50', new Decimal(150n, 2)],
    ['p:date=2024-01-31', '2024-01-31'],
    ['p:timestamp=2024-01-31T00:00:00Z', Timestamp.from('2024-01-31T00:00:00Z')],
  ])('%s -> its value', (text, value) => {
    expect(parameter(text, {})).toEqual({ p: value })
  })

  test.each([['p'], ['=1'], ['p:nothing=1'], ['p:long=x'], ['p:date=soon'], ['p:array<int>=1'], ['p q=1']])(
    '%s -> a usage error',
    (text) => {
      expect(() => parameter(text, {})).toThrow(UsageError)
    },
  )

  test('a name given twice -> a usage error', () => {
    expect(() => parameter('a=2', { a: 1n })).toThrow(UsageError)
  })
})
