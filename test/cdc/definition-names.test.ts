/** Names that would give target, state or quarantine two columns of one name: told before any table is made. */
import { expect, test } from 'vitest'
import { type AutoCdcOptions, autoCdc } from '../../src/index.ts'
import { memoryPlane, memoryStore } from '../../src/testing/index.ts'

const conflict = 'AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT'
const invalid = 'AUTOCDC_INVALID_DEFINITION'
const reserved = [
  '__flow',
  '__attempt',
  '__sequence',
  '__is_delete',
  '__written',
  '__system',
  '__reason',
  '__VERSION',
] as const
const bitemporal = { storedAs: 'bitemporal', systemSequenceBy: 'sys', storedAsScdType: undefined } as const
const schema = 'id: int, p: int, seq: int, sys: int'

const refused: readonly (readonly [string, Partial<AutoCdcOptions>, string, RegExp])[] = [
  ...reserved.map((name) => {
    const more = { schema: `${schema}, ${name}: int` }
    return [`a column ${name}`, more, conflict, new RegExp(`include \`${name}\``)] as const
  }),
  ['a key __sequence', { schema: `${schema}, __sequence: int`, keys: ['__sequence'] }, conflict, /`__sequence`/],
  ['interval columns of one name', { intervalColumns: { start: 'a', end: 'A' } }, invalid, /named `A`/],
  ['metadata as the start', { metadataColumn: '__start_at' }, invalid, /named `__start_at`/],
  [
    'system columns as the interval',
    { ...bitemporal, systemColumns: { start: '__END_AT', end: 'x' } },
    invalid,
    /__END/,
  ],
  ['columns that differ in case alone', { schema: `${schema}, P: int` }, invalid, /two columns `P`/],
  ['a key twice', { keys: ['id', 'ID'] }, invalid, /keys names `ID` twice/],
  ['a sequence twice', { sequenceBy: ['seq', 'seq'] }, invalid, /sequenceBy names `seq` twice/],
  ['a partition column twice', { partitionBy: ['p', 'p'] }, invalid, /partitionBy names `p` twice/],
  ['a tracked column that is left out', { trackHistory: { on: ['p', 'sys'] } }, invalid, /trackHistory names `sys`/],
  [
    'an ignored NULL that is left out',
    { ignoreNullUpdates: { on: ['sys'] } },
    invalid,
    /ignoreNullUpdates names `sys`/,
  ],
]

let worlds = 0

function world(more: Partial<AutoCdcOptions>) {
  const name = `definition-names-${worlds++}`
  const store = memoryStore(`${name}/t`)
  const own = {
    store,
    stateStore: memoryStore(`${name}/s`),
    quarantineStore: memoryStore(`${name}/q`),
    plane: memoryPlane(),
  }
  const flow = autoCdc({
    ...own,
    flow: 'f',
    target: 't',
    keys: ['id'],
    sequenceBy: 'seq',
    schema,
    exceptColumns: ['seq', 'sys'],
    storedAsScdType: 2,
    ...more,
  })
  return { flow, store }
}

test.each(refused)('%s -> refused, and no table is made', async (_, more, code, message) => {
  const { flow, store } = world(more)
  const rows = [{ id: 1, p: 1, seq: 1, sys: 1, __sequence: 1 }]
  await expect(flow.apply(rows)).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  expect(await store.list('_delta_log/')).toEqual([])
})

test.each<[string, Partial<AutoCdcOptions>]>([
  [
    'a reserved name that is left out',
    { schema: `${schema}, __sequence: int`, exceptColumns: ['seq', 'sys', '__sequence'] },
  ],
  ['a column left out twice', { exceptColumns: ['seq', 'sys', 'SEQ'] }],
  ['all but a column that is left out', { trackHistory: { except: ['seq'] }, ignoreNullUpdates: { except: ['sys'] } }],
])('%s -> taken', async (_, more) => {
  const { flow } = world(more)
  expect(await flow.apply([{ id: 1, p: 1, seq: 1, sys: 1, __sequence: 1 }])).toMatchObject({ inserted: 1 })
})
