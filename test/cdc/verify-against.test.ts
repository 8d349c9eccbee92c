/** `verify` against a source's objects: they are taken as the flow would take them. */
import { expect, test } from 'vitest'
import { memoryStore } from '../../src/adapters/memory-store/memory-store.ts'
import { type AutoCdcOptions, autoCdc, cdcTarget } from '../../src/index.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

let worlds = 0

/** What `verify` says of a target that was fed with `applied`, held to `given`. */
async function verified(more: Partial<AutoCdcOptions>, applied: Rows, given: Rows) {
  const name = `memory://verify-${process.pid}-${++worlds}`
  const place = {
    store: memoryStore(`${name}/t`),
    stateStore: memoryStore(`${name}/t__cdc_state`),
    quarantineStore: memoryStore(`${name}/t__cdc_quarantine`),
    plane: memoryPlane(),
  }
  const flow: AutoCdcOptions = {
    ...{ ...place, target: 't', flow: 'f', keys: ['id'], sequenceBy: 'seq', exceptColumns: ['seq'] },
    ...{ storedAsScdType: 2, ...more },
  }
  for (const row of applied) await autoCdc(flow).apply([row])
  const target = await cdcTarget('t', place)
  return target.verify({ against: { rows: { kind: 'objects', rows: given }, flow } })
}

const full = { id: 1, name: 'a', city: 'x', seq: 1 }
const nameless = { id: 1, city: 'y', seq: 2 }
const deletes = { applyAsDeleteWhen: 'gone', exceptColumns: ['seq', 'gone'] }

test.each<[string, Partial<AutoCdcOptions>, Rows, Rows]>([
  ['all events', {}, [full, nameless], [full, nameless]],
  ['events of one key, none of which has a column', {}, [full, { ...nameless, id: 2 }], [full, { ...nameless, id: 2 }]],
  ['a column of a condition that no event has', deletes, [full], [full]],
  ['a declared schema, and members beyond it', { schema: 'id: long, name: string, seq: long' }, [full], [full]],
])('%s -> as the flow took them', async (_, more, applied, given) => {
  expect(await verified(more, applied, given)).toMatchObject({ ok: true, given: { keysThatDiffer: 0 } })
})

test('a column of the target that no given event has -> NULL in all of them', async () => {
  const known = [{ ...full, name: null }]
  const schema = { schema: 'id: long, name: string, city: string, seq: long' }
  const { name: _, ...lacking } = full
  for (const one of [{}, schema]) {
    expect(await verified({ ...schema }, known, [lacking])).toMatchObject({ ok: true })
    const report = await verified({ ...one }, [full], [lacking])
    expect(report).toMatchObject({ ok: false, given: { keysThatDiffer: 1, missing: 1, unexpected: 1 } })
    expect(report.given?.samples.map(({ kind, values }) => [kind, values])).toEqual([
      ['missing', { name: null, city: 'x' }],
      ['unexpected', { name: 'a', city: 'x' }],
    ])
  }
})
