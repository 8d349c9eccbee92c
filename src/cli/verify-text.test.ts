import { describe, expect, test } from 'vitest'
import type { VerifyReport } from '../cdc/maintenance/verify-report.ts'
import { verifyText } from './verify-text.ts'

const none = { keysThatDiffer: 0, missing: 0, unexpected: 0, stateMissing: 0, samples: [] }
const right: VerifyReport = {
  version: 7,
  ok: true,
  keys: 2,
  rows: 1,
  stateRows: 0,
  watermark: undefined,
  changedBy: undefined,
  malformed: { count: 0, inState: 0, samples: [] },
  broken: {},
  own: none,
  given: undefined,
}
const row = { key: { id: 1n }, recordStart: '10', start: '10', end: null, values: { city: 'Rome' } }

describe('a report of verify as text', () => {
  test.each<[string, Partial<VerifyReport>, string]>([
    ['nothing wrong', {}, 'Right: 2 keys, 1 row and 0 state rows at version 7'],
    ['a watermark', { watermark: '40' }, 'Right: 2 keys, 1 row and 0 state rows at version 7; settled below 40'],
  ])('%s -> one line', (_, more, line) => {
    expect(verifyText({ ...right, ...more })).toEqual([line])
  })

  test.each<[string, Partial<VerifyReport>, readonly string[]]>([
    ['a foreign commit', { changedBy: 'version 6' }, ['  rows were changed by other means: version 6']],
    [
      'a malformed row of the target',
      { malformed: { count: 1, inState: 0, samples: [{ key: { id: 1n }, recordStart: '10', start: null, end: '5' }] } },
      ['  1 malformed row', '    {"id":1}: record start 10, start NULL, end 5'],
    ],
    [
      'malformed rows of the state',
      { malformed: { count: 0, inState: 2, samples: [] } },
      ['  2 malformed rows of the state: without key, sequence or kind'],
    ],
    [
      'broken keys',
      { broken: { I7: 1, I1: 2 } },
      ['  2 keys with several rows of one event (I1)', '  1 key whose open row is not the current one (I7)'],
    ],
    [
      'rows that differ from their events',
      { own: { ...none, keysThatDiffer: 1, samples: [{ ...row, kind: 'missing' }] } },
      [
        '  1 key differs from the events that target and state hold',
        '    {"id":1}, from 10 on: missing {"city":"Rome"}',
      ],
    ],
    [
      'rows that differ from events given',
      { given: { ...none, keysThatDiffer: 2, samples: [{ ...row, end: '20', kind: 'unexpected' }] } },
      ['  2 keys differ from the events given', '    {"id":1}, from 10 to 20: unexpected {"city":"Rome"}'],
    ],
    [
      'a row of type 1',
      { own: { ...none, keysThatDiffer: 1, samples: [{ ...row, start: null, kind: 'missing' }] } },
      ['  1 key differs from the events that target and state hold', '    {"id":1}: missing {"city":"Rome"}'],
    ],
  ])('%s -> said, with the cure', (_, more, lines) => {
    expect(verifyText({ ...right, ok: false, ...more })).toEqual([
      'Wrong: 2 keys, 1 row and 0 state rows at version 7',
      ...lines,
      'Run `braid cdc repair`, which makes the target anew from its events.',
    ])
  })
})
