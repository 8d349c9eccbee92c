/** The handle of a flow, as its users call it: rows in any form, offsets, stops, warnings, explanations. */
import { describe, expect, test } from 'vitest'
import {
  type AutoCdcOptions,
  type EventSource,
  autoCdc,
  autoCdcFromSnapshots,
  cdcTarget,
  iterableSource,
} from '../../src/index.ts'
import { memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import { DeltaTable } from '../../src/index.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'

let worlds = 0

/** Stores and a plane of their own; `flow` opens another handle on them. */
function world() {
  const name = `memory://handle-${process.pid}-${++worlds}`
  const place = {
    store: memoryStore(`${name}/t`),
    stateStore: memoryStore(`${name}/t__cdc_state`),
    quarantineStore: memoryStore(`${name}/t__cdc_quarantine`),
    plane: memoryPlane(),
  }
  const logged: string[] = []
  const telemetry = { event() {}, log: (_level: string, message: string) => void logged.push(message) }
  const base = { ...place, telemetry, target: 't', flow: 'f', keys: ['id'], sequenceBy: 'seq', exceptColumns: ['seq'] }
  return {
    logged,
    flow: (more: Partial<AutoCdcOptions> = {}) => autoCdc({ ...base, storedAsScdType: 2, ...more }),
    table: () => DeltaTable.open('t', { store: place.store, plane: place.plane }),
    explain: async (key: Readonly<Record<string, unknown>> | readonly unknown[]) =>
      (await cdcTarget('t', place)).explain(key),
  }
}

async function rowsOf(table: Promise<DeltaTable>): Promise<Record<string, unknown>[]> {
  const rows: Record<string, unknown>[] = []
  for await (const { __cdc, ...row } of (await table).rows()) rows.push(row)
  return rows.sort((a, b) => (JSON.stringify(a, print) < JSON.stringify(b, print) ? -1 : 1))
}

const print = (_: string, value: unknown) => (typeof value === 'bigint' ? String(value).padStart(9) : value)

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'no error',
    (error: unknown) => (error as { readonly code: unknown }).code,
  )
}

describe('options that no compiler has looked over', () => {
  test.each<[string, object, RegExp]>([
    ['no keys', { keys: undefined }, /it lacks keys/],
    ['a text for a list', { keys: 'id' }, /keys cannot be "id"/],
    ['a member misspelt', { storedAsScdTyp: 2 }, /unknown member storedAsScdTyp\. Did you mean storedAsScdType\?/],
    ['a type that there is not', { storedAsScdType: 3 }, /storedAsScdType cannot be 3/],
    ['a path for a source', { source: './events' }, /source cannot be ".\/events"/],
    ['a word that there is not', { onBadRow: 'skip' }, /onBadRow cannot be "skip"/],
  ])('%s -> told where the flow is made', (_, more, message) => {
    expect(() => world().flow(more)).toThrow(
      expect.objectContaining({ code: 'AUTOCDC_INVALID_DEFINITION', message: expect.stringMatching(message) }),
    )
  })

  test('options of events for a flow of snapshots -> told', async () => {
    const options = { target: './t', flow: 'f', keys: ['id'], sequenceBy: 'seq' }
    await expect(autoCdcFromSnapshots(options as never)).rejects.toThrow(/unknown member sequenceBy/)
  })
})

describe('rows whose members come and go', () => {
  test('a member that only deletes have -> upserts before and after it are upserts', async () => {
    const { flow, table } = world()
    const handle = flow({ applyAsDeleteWhen: 'gone', exceptColumns: ['seq', 'gone'] })
    await handle.apply([{ id: 1, name: 'a', seq: 1 }])
    await handle.apply([{ id: 1, seq: 2, gone: true }])
    await handle.apply([{ id: 1, name: 'b', seq: 3 }])
    expect(await rowsOf(table())).toEqual([
      { id: 1n, name: 'a', __START_AT: 1n, __END_AT: 2n },
      { id: 1n, name: 'b', __START_AT: 3n, __END_AT: null },
    ])
  })

  test('a source that gets a column while it is followed -> the table gets it before that batch, and the next run has it', async () => {
    const { flow, table } = world()
    const events = [
      { id: 1, name: 'a', seq: 1 },
      { id: 2, name: 'b', seq: 2, city: 'Rome' },
      { id: 1, name: 'c', seq: 3 },
    ]
    const options = { storedAsScdType: 1, source: iterableSource('list', events) } as const
    const done = await flow(options).run({ maxRows: 1 })
    expect(done).toMatchObject({ batches: 3, events: 3 })
    expect(await rowsOf(table())).toEqual([
      { id: 1n, name: 'c', city: null },
      { id: 2n, name: 'b', city: 'Rome' },
    ])
    await flow({ storedAsScdType: 1 }).apply([{ id: 2, city: 'Oslo', seq: 4 }])
    expect(await rowsOf(table())).toContainEqual({ id: 2n, name: null, city: 'Oslo' })
  })

  test('a column that a batch lacks -> NULL', async () => {
    const { flow, table } = world()
    await flow().apply([{ id: 1, name: 'a', city: 'x', seq: 1 }])
    await flow().apply([{ id: 1, name: 'a', seq: 2 }])
    expect(await rowsOf(table())).toMatchObject([{ city: 'x' }, { city: null, name: 'a' }])
  })

  test('a first batch with a column of NULLs -> its type is asked for, and nothing is made', async () => {
    const { flow, table } = world()
    expect(await codeOf(flow().apply([{ id: 1, name: null, seq: 1 }]))).toBe('AUTOCDC_INVALID_DEFINITION')
    expect(await codeOf(table())).toBe('DELTA_TABLE_NOT_FOUND')
  })

  test('a declared schema -> its columns and no others, also those that no row has', async () => {
    const { flow, table } = world()
    const handle = flow({ schema: 'id: int, name: string, born: date, seq: long' })
    await handle.apply([{ id: 1, name: null, seq: 1, extra: {} }])
    expect(await rowsOf(table())).toEqual([{ id: 1, name: null, born: null, __START_AT: 1n, __END_AT: null }])
  })
})

describe('a declared schema without the columns that order and judge events', () => {
  const schema = 'id: long, name: string'
  const judging = { schema, applyAsDeleteWhen: 'gone', exceptColumns: ['seq', 'gone'] }

  test('a source that adds its own -> they are read, and whatever else it has is not', async () => {
    const { flow, table } = world()
    await flow(judging).apply([{ id: 1, name: 'a', seq: 1, gone: false, extra: 'x' }])
    await flow(judging).apply([{ ID: 1, SEQ: 2, gone: true }])
    await flow({ ...judging, sequenceBy: ['seq'] }).apply([{ id: 1, name: 'b', seq: 3n }]) // none is gone here
    expect(await rowsOf(table())).toEqual([
      { id: 1n, name: 'a', __START_AT: 1n, __END_AT: 2n },
      { id: 1n, name: 'b', __START_AT: 3n, __END_AT: null },
    ])
  })

  test('one that is declared -> of the type declared', async () => {
    const { flow, table } = world()
    await flow({ schema: `${schema}, seq: int` }).apply([{ id: 1, name: 'a', seq: 1 }])
    expect(await rowsOf(table())).toMatchObject([{ __START_AT: 1 }])
  })

  test.each<[string, Partial<AutoCdcOptions>]>([
    ['a sequence', { sequenceBy: 'misspelt' }],
    ['a column of a condition', { applyAsDeleteWhen: "misspelt = 'x'" }],
    ['a column to leave out', { exceptColumns: ['seq', 'gone', 'misspelt'] }],
  ])('%s that neither it nor a row of the first batch has -> said by its name', async (_, more) => {
    const { flow, table } = world()
    const failed = flow({ ...judging, ...more }).apply([{ id: 1, name: 'a', seq: 1, gone: false }])
    await expect(failed).rejects.toMatchObject({ message: expect.stringContaining('misspelt') })
    expect(await codeOf(table())).toBe('DELTA_TABLE_NOT_FOUND')
  })

  test.each([
    ['id: long, city: strnig', /at 'strnig': id: long, city: strnig/],
    ['id long; name string', /schema cannot be read/],
    ['id', /schema cannot be read/],
  ])('a schema %j -> said where it cannot be read', async (text, message) => {
    const failed = world()
      .flow({ schema: text })
      .apply([{ id: 1, seq: 1 }])
    await expect(failed).rejects.toMatchObject({
      code: 'AUTOCDC_INVALID_DEFINITION',
      message: expect.stringMatching(message),
    })
  })
})

describe('apply', () => {
  test('an async iterable -> one commit', async () => {
    async function* rows() {
      yield { id: 1, name: 'a', seq: 1 }
      yield { id: 2, name: 'b', seq: 1 }
    }
    const { flow } = world()
    expect(await flow().apply(rows())).toMatchObject({ version: 1, events: 2, inserted: 2, offset: undefined })
  })

  test('rows that are no objects -> a typed error', async () => {
    expect(
      await codeOf(
        world()
          .flow()
          .apply(['a'] as never),
      ),
    ).toBe('DELTA_TYPE_MISMATCH')
  })

  test('without an offset -> the source goes on where it was', async () => {
    const { flow, table } = world()
    const source = iterableSource('rows', () => [{ id: 1, name: 'a', seq: 1 }])
    const handle = flow({ source })
    await handle.run()
    expect(await handle.apply([{ id: 2, name: 'b', seq: 1 }])).toMatchObject({ offset: '1' })
    expect(await rowsOf(table())).toHaveLength(2)
  })

  test('with an offset that the flow has left -> nothing, and where it is', async () => {
    const { flow, table } = world()
    const handle = flow()
    const first = { after: undefined, offset: 'page 1' }
    expect(await handle.apply([{ id: 1, name: 'a', seq: 1 }], first)).toMatchObject({ offset: 'page 1', events: 1 })
    const again = { after: 'page 0', offset: 'page 1' }
    expect(await flow().apply([{ id: 2, name: 'b', seq: 1 }], again)).toEqual({ superseded: true, offset: 'page 1' })
    expect(await rowsOf(table())).toHaveLength(1)
  })

  test('the same rows again -> counted as duplicates, and the rows as they were', async () => {
    const { flow, table } = world()
    const rows = [{ id: 1, name: 'a', seq: 1 }]
    await flow().apply(rows)
    expect(await flow().apply(rows)).toMatchObject({ duplicate: 1, inserted: 0, updated: 0 })
    expect(await rowsOf(table())).toHaveLength(1)
  })

  test('bad rows, to be set aside -> counted', async () => {
    const { flow } = world()
    const handle = flow({ onBadRow: 'quarantine' })
    const rows = [
      { id: 1, name: 'a', seq: 1 },
      { id: null, name: 'b', seq: 1 },
      { id: 3, name: 'c', seq: null },
    ]
    expect(await handle.apply(rows)).toMatchObject({ events: 1, quarantined: 2 })
  })
})

describe('run', () => {
  test.each<[string, Partial<AutoCdcOptions>, string]>([
    ['other keys', { keys: ['id', 'name'] }, 'AUTOCDC_INVALID_STATE'],
    ['another type', { storedAsScdType: 1 }, 'AUTOCDC_INVALID_STATE'],
    ['other tracked columns', { trackHistory: { on: ['city'] } }, 'AUTOCDC_INVALID_STATE'],
    ['the tracked columns by name', { trackHistory: { on: ['NAME'] } }, 'no error'],
    ['a condition that cannot be read', { applyAsDeleteWhen: 'name = = 1' }, 'EXPRESSION_SYNTAX'],
    ['keys in other letters', { keys: ['ID'] }, 'no error'],
  ])('%s, where no event waits -> told all the same', async (_, more, code) => {
    const { flow } = world()
    const source = iterableSource('rows', () => [{ id: 1, name: 'a', seq: 1 }])
    await flow({ source }).run()
    expect(await codeOf(flow({ source, ...more }).run())).toBe(code)
    expect(await codeOf(flow({ source, ...more, flow: 'another' }).run())).toBe(code)
  })

  test('no source -> said', async () => {
    expect(await codeOf(world().flow().run())).toBe('AUTOCDC_INVALID_DEFINITION')
  })

  test('one of two stores -> said', () => {
    expect(() => autoCdc({ target: 't', flow: 'f', keys: ['id'], sequenceBy: 's', store: memoryStore() })).toThrow(
      /store and stateStore/,
    )
  })

  const numbered = (count: number) => Array.from({ length: count }, (_, n) => ({ id: n, name: 'a', seq: 1 }))

  test.each([false, true])('stopped behind the first batch, follow %s -> that batch, in peace', async (follow) => {
    const { flow } = world()
    const stop = new AbortController()
    const handle = flow({ source: iterableSource('rows', numbered(5)) })
    const done = await handle.run({ follow, maxRows: 2, stop: stop.signal, onBatch: () => stop.abort() })
    expect(done).toMatchObject({ batches: 1, events: 2, offset: '2', totals: { inserted: 2 } })
    expect(await handle.run()).toMatchObject({ batches: 1, events: 3, offset: '5' })
  })

  test('stopped while a source that follows has nothing -> it ends', async () => {
    const { flow } = world()
    const stop = new AbortController()
    const handle = flow({ source: waiting() })
    const run = handle.run({ follow: true, stop: stop.signal })
    setTimeout(() => stop.abort(), 20)
    expect(await run).toMatchObject({ batches: 0 })
  })

  test('a condition on a column that no event of the first batch has -> one warning; none behind it', async () => {
    const { flow } = world()
    const handle = flow({ applyAsDeleteWhen: "opp = 'delete'" })
    const kinds = async (seq: number, more: object = {}) => {
      const done = await handle.apply([{ id: 1, name: 'a', op: 'upsert', seq, ...more }])
      return 'warnings' in done ? done.warnings.map(({ kind, message }) => [kind, message.includes('`opp`')]) : []
    }
    expect(await kinds(1)).toEqual([['condition-names-absent-column', true]])
    expect(await kinds(2)).toEqual([])
    const named = world().flow({ applyAsDeleteWhen: "op = 'delete'" })
    expect(await named.apply([{ id: 1, name: 'a', op: 'upsert', seq: 1 }])).toMatchObject({ warnings: [] })
  })

  test('a sequence that is tracked -> one warning in the run, and one in the log', async () => {
    const { flow, logged } = world()
    const handle = flow({ exceptColumns: [], source: iterableSource('rows', numbered(4)) })
    const done = await handle.run({ maxRows: 2 })
    expect(done.warnings.map(({ kind }) => kind)).toEqual(['sequence-is-tracked'])
    expect(logged.filter((line) => line.includes('`seq` orders the events and is tracked too'))).toHaveLength(1)
  })
})

/** Never has anything, and ends when its signal fires. */
function waiting(): EventSource {
  return {
    name: 'waiting',
    // eslint-disable-next-line require-yield
    async *read({ signal }) {
      await new Promise((resolve) => signal?.addEventListener('abort', resolve))
    },
    acknowledge: async () => {},
    lag: async () => ({ events: 0 }),
    close: async () => {},
  }
}

describe('status and lag', () => {
  test('before the first batch -> there is no table', async () => {
    expect(await codeOf(world().flow().status())).toBe('DELTA_TABLE_NOT_FOUND')
  })

  test('two flows -> each with its offset, and the size of the state', async () => {
    const { flow } = world()
    await flow().apply([
      { id: 1, name: 'a', seq: 1 },
      { id: 1, name: 'a', seq: 2 },
    ])
    const other = flow({ flow: 'g', source: waiting() })
    await other.apply([{ id: 2, name: 'a', seq: 1 }], { offset: 'x' })
    expect(await other.status()).toMatchObject({
      state: { rows: 1 },
      target: { rows: 2 },
      flows: [
        { flow: 'f', offset: undefined, attempts: { last: 1, dead: 0 } },
        { flow: 'g', offset: 'x', attempts: { last: 0 } },
      ],
    })
    expect(await other.lag()).toEqual({ events: 0 })
  })
})

describe('explain', () => {
  test('a run, a gap and a late delete -> every event with its part', async () => {
    const { flow, explain } = world()
    const handle = flow({ applyAsDeleteWhen: "op = 'd'", trackHistory: { on: ['name'] }, exceptColumns: ['seq', 'op'] })
    await handle.apply([
      { id: 1, name: 'a', mail: 'x', seq: 10 },
      { id: 1, name: 'a', mail: 'y', seq: 20 },
      { id: 1, name: 'b', mail: 'y', seq: 30 },
      { id: 1, seq: 40, op: 'd' },
      { id: 1, seq: 5, op: 'd' },
    ])
    const { events, rows, differences } = await explain({ ID: 1 })
    expect(events.map(({ sequence, role, storedIn }) => [sequence, role, ...storedIn])).toEqual([
      ['5', 'tombstone', 'state'],
      ['10', 'hidden', 'state'],
      ['20', 'visible', 'target'],
      ['30', 'visible', 'target'],
      ['40', 'closing', 'end'],
    ])
    expect(rows.map(({ start, end, values }) => [start, end, values])).toEqual([
      ['10', '30', { name: 'a', mail: 'y' }],
      ['30', '40', { name: 'b', mail: 'y' }],
    ])
    expect(rows[0]?.why).toBe(
      'the event at 10 opened it and the one at 20, equal in what is tracked, gave its values; the event at 30 ended it: it changed `name`',
    )
    expect(rows[1]?.why).toBe('the event at 30 opened it; a delete at 40 ended it')
    expect(differences).toEqual([])
  })

  test('a truncate -> it stands among the events of every key', async () => {
    const { flow, explain } = world()
    const handle = flow({ applyAsTruncateWhen: "op = 't'", exceptColumns: ['seq', 'op'] })
    await handle.apply([
      { id: 1, name: 'a', seq: 1 },
      { seq: 2, op: 't' },
    ])
    const { events, rows } = await explain([1])
    expect(events.map(({ role, storedIn }) => [role, storedIn.length])).toEqual([
      ['visible', 1],
      ['truncate', 1],
    ])
    expect(rows).toMatchObject([{ end: '2', why: 'the event at 1 opened it; a truncate at 2 ended it' }])
  })

  test('partial updates -> what each event wrote', async () => {
    const { flow, explain } = world()
    const handle = flow({ ignoreNullUpdates: true })
    await handle.apply([
      { id: 1, name: 'a', city: 'x', seq: 1 },
      { id: 1, city: 'y', seq: 2 },
    ])
    const { events, rows, differences } = await explain([1])
    expect(events.map(({ values }) => values)).toEqual([{ name: 'a', city: 'x' }, { city: 'y' }])
    expect(rows.at(-1)?.values).toEqual({ name: 'a', city: 'y' })
    expect(differences).toEqual([])
  })

  test('type 1 -> the last event has the row', async () => {
    const { flow, explain } = world()
    const handle = flow({ storedAsScdType: 1 })
    await handle.apply([{ id: 1, name: 'a', seq: 1 }])
    await handle.apply([{ id: 1, name: 'b', seq: 2 }])
    const { events, rows, differences } = await explain([1])
    expect(events).toMatchObject([{ sequence: '2', role: 'visible' }])
    expect(rows).toMatchObject([{ values: { name: 'b' }, end: undefined }])
    expect(differences).toEqual([])
  })

  test.each<[string, Readonly<Record<string, unknown>> | readonly unknown[]]>([
    ['no value', []],
    ['too many', [1, 2]],
    ['a column that is no key', { name: 1 }],
    ['NULL', [null]],
  ])('a key with %s -> INVALID_OPTION', async (_, key) => {
    const { flow, explain } = world()
    await flow().apply([{ id: 1, name: 'a', seq: 1 }])
    expect(await codeOf(explain(key))).toBe('INVALID_OPTION')
  })
})
