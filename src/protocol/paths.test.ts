import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeLogPath, encodeLogPath, hivePartitionDirectory, isAbsolutePath } from './paths.ts'

describe('decodeLogPath', () => {
  test.each([
    ['part-0.parquet', 'part-0.parquet'],
    ['p=a%253Ab/x.parquet', 'p=a%3Ab/x.parquet'],
    ['special%20p@%23h', 'special p@#h'],
    ['letter=%F0%9F%98%88/x', 'letter=😈/x'],
    ['a+b%2Bc', 'a+b+c'],
    ['100%/x', '100%/x'],
    ['bad%zzname', 'bad%zzname'],
    ['latin%E9', 'latin%E9'],
    ['file:/some/x', '/some/x'],
    ['file:///some/x%20y', '/some/x y'],
    ['/some/x', '/some/x'],
    ['s3://bucket/a%20b', 's3://bucket/a b'],
  ])('%s -> %s', (text, path) => {
    expect(decodeLogPath(text)).toBe(path)
  })
})

describe('encodeLogPath', () => {
  test.each([
    [
      'part-00000-3fa07620-1650-4d80-b3b6-8f4a8c7f8e5d-c000.snappy.parquet',
      'part-00000-3fa07620-1650-4d80-b3b6-8f4a8c7f8e5d-c000.snappy.parquet',
    ],
    ['p=a%3Ab/x y', 'p=a%253Ab/x%20y'],
    ['a:b/c', 'a%3Ab/c'],
    ['s3://bucket/a b', 's3://bucket/a%20b'],
    ['/abs/ü', '/abs/%C3%BC'],
    ['100%/x', '100%25/x'],
  ])('%s -> %s', (path, text) => {
    expect(encodeLogPath(path)).toBe(text)
  })

  test('any path -> decoding gives it back', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }).filter((path) => !path.startsWith('file:/')),
        (path) => {
          expect(decodeLogPath(encodeLogPath(path))).toBe(path)
        },
      ),
    )
  })
})

test.each([
  ['/x', true],
  ['s3://b/x', true],
  ['time=10:00/x', false],
  ['x/y', false],
  ['a://b', true],
])('%s is absolute -> %s', (path, answer) => {
  expect(isAbsolutePath(path)).toBe(answer)
})

test.each<[string[], Record<string, string | null>, string]>([
  [[], {}, ''],
  [['a', 'b'], { a: '1', b: null }, 'a=1/b=__HIVE_DEFAULT_PARTITION__'],
  [['p'], { p: '' }, 'p=__HIVE_DEFAULT_PARTITION__'],
  [['p'], {}, 'p=__HIVE_DEFAULT_PARTITION__'],
  [['t'], { t: '2020-01-01 10:00:00' }, 't=2020-01-01 10%3A00%3A00'],
  [['x%20x'], { 'x%20x': 'a/b\u0001^' }, 'x%2520x=a%2Fb%01%5E'],
])('partition folder of %j %j -> %s', (names, values, folder) => {
  expect(hivePartitionDirectory(names, values)).toBe(folder)
})
