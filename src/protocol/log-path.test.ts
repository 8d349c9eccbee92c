import { expect, test } from 'vitest'
import type { LogName } from './log-path.ts'
import { checkpointPath, commitPath, parseLogName, sidecarPath } from './log-path.ts'

const uuid = '80a083e8-7026-4e79-81be-64bd76c43a11'

test.each<[string, LogName]>([
  ['00000000000000000012.json', { kind: 'commit', version: 12 }],
  ['00000000000000000012.crc', { kind: 'crc', version: 12 }],
  ['00000000000000000012.checkpoint.parquet', { kind: 'checkpoint', form: 'classic', version: 12 }],
  [
    '00000000000000000012.checkpoint.0000000002.0000000003.parquet',
    { kind: 'checkpoint', form: 'multipart', version: 12, part: 2, parts: 3 },
  ],
  [
    `00000000000000000012.checkpoint.${uuid}.json`,
    { kind: 'checkpoint', form: 'uuid', version: 12, uuid, format: 'json' },
  ],
  [
    `00000000000000000012.checkpoint.${uuid}.parquet`,
    { kind: 'checkpoint', form: 'uuid', version: 12, uuid, format: 'parquet' },
  ],
  ['00000000000000000004.00000000000000000006.compacted.json', { kind: 'compacted', from: 4, to: 6 }],
])('%s -> known', (name, parsed) => {
  expect(parseLogName(name)).toEqual(parsed)
})

test.each([
  '_last_checkpoint',
  '.00000000000000000012.json.crc',
  '00000000000000000012.json.tmp',
  '0000000000000000012.json',
  '99999999999999999999.json',
  '00000000000000000012.checkpoint.json',
  '00000000000000000012.checkpoint.0000000004.0000000003.parquet',
  '00000000000000000012.checkpoint.1.3.parquet',
  '00000000000000000006.00000000000000000004.compacted.json',
  `00000000000000000012.${uuid}.json`,
  `_commit_${uuid}.json.tmp`,
  '',
])('%s -> other', (name) => {
  expect(parseLogName(name)).toEqual({ kind: 'other' })
})

test('written names -> read as what they are', () => {
  expect(commitPath(7)).toBe('_delta_log/00000000000000000007.json')
  expect(checkpointPath(7)).toBe('_delta_log/00000000000000000007.checkpoint.parquet')
  expect(sidecarPath('a.parquet')).toBe('_delta_log/_sidecars/a.parquet')
})
