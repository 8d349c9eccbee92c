import { expect, test } from 'vitest'
import type { SourceLag } from '../../relation/event-source.ts'
import { lagText } from './cdc-run.ts'

test.each<[SourceLag | undefined, string]>([
  [undefined, ''],
  [{}, ''],
  [{ events: 0, files: 0, bytes: 0, milliseconds: 0 }, ', nothing waits'],
  [{ files: 0, bytes: 0 }, ', nothing waits'],
  [{ events: 1 }, ', 1 event behind'],
  [{ files: 2, bytes: 2048, milliseconds: 1500 }, ', 2 files, 2.0 KiB, 1.5 s behind'],
])('a lag of %o -> %j', (lag, text) => {
  expect(lagText(lag)).toBe(text)
})
