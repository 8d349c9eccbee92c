import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fitDecimal,
  formatDate,
  formatDecimal,
  formatTimestamp,
  parseDate,
  parseDecimal,
  parseTimestamp,
  rescaleDecimal,
} from './datum-text.ts'
import { Decimal } from './datum.ts'

describe('dates', () => {
  test.each<[string, number]>([
    ['1970-01-01', 0],
    ['1969-12-31', -1],
    ['2000-02-29', 11016],
    ['0001-01-01', -719162],
    ['0000-03-01', -719468],
    ['9999-12-31', 2932896],
    ['-0001-01-01', -719893],
    ['+12345-06-07', 3789548],
  ])('%s <-> %i', (text, days) => {
    expect(parseDate(text)).toBe(days)
    expect(formatDate(days)).toBe(text)
  })

  test.each(['2023-02-29', '1900-02-29', '2023-13-01', '2023-00-01', '2023-01-32', '2023-04-31', '20230101', 'x', ''])(
    '%s -> no date',
    (text) => {
      expect(parseDate(text)).toBeUndefined()
    },
  )

  test('every day within the range of Date -> as Date has it', () => {
    const seed = Date.now()
    console.log(`datum-text seed ${seed}`)
    fc.assert(
      fc.property(fc.integer({ min: -719_000, max: 2_932_896 }), (days) => {
        const text = new Date(days * 86_400_000).toISOString().slice(0, 10)
        expect(formatDate(days)).toBe(text)
        expect(parseDate(text)).toBe(days)
      }),
      { seed, numRuns: 1000 },
    )
  })
})

describe('timestamps', () => {
  test.each<[string, bigint | undefined]>([
    ['1970-01-01T00:00:00Z', 0n],
    ['1970-01-01 00:00:00', 0n],
    ['1970-01-01', 0n],
    ['1970-01-01T00:00Z', 0n],
    ['1969-12-31T23:59:59.999999Z', -1n],
    ['2024-01-01T00:00:00.123456Z', 1704067200123456n],
    ['2024-01-01T00:00:00.123456789Z', 1704067200123456n],
    ['2024-01-01T00:00:00.1-08:00', 1704096000100000n],
    ['2024-01-01T05:30:00+05:30', 1704067200000000n],
    ['2024-01-01T05:30:00+0530', 1704067200000000n],
    ['2024-01-01 00:00:00 UTC', 1704067200000000n],
    ['+48690-07-02T16:55:49.000Z', 1474356617749000000n],
    ['+294247-01-10T04:00:54.775807Z', 9223372036854775807n],
    ['+294247-01-10T04:00:54.775808Z', undefined],
    ['2024-01-01T24:00:00Z', undefined],
    ['2024-01-01T00:60:00Z', undefined],
    ['2024-01-01T00:00:00+19:00', undefined],
    ['2024-01-01T00:00:00Europe/Paris', undefined],
    ['now', undefined],
  ])('%s -> %s', (text, micros) => {
    expect(parseTimestamp(text)).toBe(micros)
  })

  test.each<[bigint, Parameters<typeof formatTimestamp>[1], string]>([
    [0n, undefined, '1970-01-01T00:00:00.000000Z'],
    [-1n, { fraction: 3 }, '1969-12-31T23:59:59.999Z'],
    [1704067200120000n, { fraction: 'short', separator: ' ', zone: '' }, '2024-01-01 00:00:00.12'],
    [1704067200000000n, { fraction: 'short', zone: '' }, '2024-01-01T00:00:00'],
    [9223372036854775807n, undefined, '+294247-01-10T04:00:54.775807Z'],
  ])('%s in style %j -> %s', (micros, style, text) => {
    expect(formatTimestamp(micros, style)).toBe(text)
  })

  test('any 64-bit count -> the same after a round trip', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        (micros) => parseTimestamp(formatTimestamp(micros)) === micros,
      ),
    )
  })
})

describe('decimals', () => {
  test.each<[string, bigint, number, string]>([
    ['1', 1n, 0, '1'],
    ['-1.50', -150n, 2, '-1.50'],
    ['.5', 5n, 1, '0.5'],
    ['-0.05', -5n, 2, '-0.05'],
    ['+7.', 7n, 0, '7'],
    ['1e3', 1000n, 0, '1000'],
    ['1.5E-3', 15n, 4, '0.0015'],
    ['99999999999999999999999999999999999999', 10n ** 38n - 1n, 0, '99999999999999999999999999999999999999'],
  ])('%s -> exact', (text, unscaled, scale, printed) => {
    const decimal = parseDecimal(text)
    expect(decimal).toEqual(new Decimal(unscaled, scale))
    expect(formatDecimal(new Decimal(unscaled, scale))).toBe(printed)
  })

  test.each(['', '.', '-', 'e5', '1,5', 'NaN', '1e99999', '0x1'])('%s -> no decimal', (text) => {
    expect(parseDecimal(text)).toBeUndefined()
  })

  test('another scale -> exact or nothing', () => {
    expect(rescaleDecimal(new Decimal(150n, 2), 1)).toEqual(new Decimal(15n, 1))
    expect(rescaleDecimal(new Decimal(15n, 1), 3)).toEqual(new Decimal(1500n, 3))
    expect(rescaleDecimal(new Decimal(155n, 2), 1)).toBeUndefined()
  })

  test('more digits than the precision -> does not fit', () => {
    expect(fitDecimal(new Decimal(99n, 0), { precision: 4, scale: 2 })).toEqual(new Decimal(9900n, 2))
    expect(fitDecimal(new Decimal(-100n, 0), { precision: 4, scale: 2 })).toBeUndefined()
  })
})
