/** Flows with few named events, and the order of their store calls by script. */
import type { CdcEvent } from '../../src/cdc/event.ts'
import type { FlowOptions } from '../../src/cdc/options.ts'
import type { EventSource } from '../../src/relation/event-source.ts'
import type { BatchReport, Flow } from '../../src/table/flow.ts'
import type { CdcHistory } from '../../src/testing/cdc-histories.ts'
import { type Step, createScheduler, scheduledStore, scriptedOrder } from '../../src/testing/scheduled-store.ts'
import { datumText } from './datum-text.ts'
import { type World, flowFor, liveState, rowsOf, tableRows } from './engine-world.ts'
import { nameSchema } from './event-words.ts'
import { type Item, batchOf } from './flow-simulation.ts'

const column = (name: string, kind: 'string' | 'integer') => ({ name, type: { kind }, nullable: true, metadata: {} })

/** Events in the words of event-words.ts: key `k`, sequence `seq`, a tracked `name` and an untracked `detail`. */
export const names: CdcHistory = {
  schema: nameSchema,
  keyFields: [column('k', 'string')],
  sequenceField: column('seq', 'integer'),
  payloadFields: [column('name', 'string'), column('detail', 'string')],
  partialUpdates: 'none',
  batches: [],
}

export const itemsOf = (...events: readonly CdcEvent[]): readonly Item[] => events.map((event) => ({ event }))

export function flowOf(world: World, flow: string, more: Partial<FlowOptions> = {}): Flow {
  return world.flow(flowFor(names, 2, { flow, ...more }))
}

/** Applies these items as the next batch of a flow, behind the offset it has. */
export async function applyNext(world: World, flow: string, items: readonly Item[], offset?: string) {
  const one = flowOf(world, flow)
  const after = (await one.pin())?.offset
  return one.apply(rowsOf(names, batchOf(items)), {
    after,
    offset: offset ?? String(Number(after ?? 0) + items.length),
  })
}

/** The same where it must have been committed. */
export async function mustApply(world: World, flow: string, items: readonly Item[]): Promise<BatchReport> {
  const done = await applyNext(world, flow, items)
  if (done.kind === 'committed') return done.report
  throw new Error(`superseded at ${done.offset}`)
}

/** A source of items whose batches hold this many each, the last number for all that follow. */
export function listSource(items: readonly Item[], sizes: readonly number[]): EventSource {
  return {
    name: 'list',
    async *read({ after }) {
      let at = Number(after ?? 0)
      for (let batch = 0; at < items.length; batch++) {
        const upTo = Math.min(items.length, at + (sizes[batch] ?? sizes.at(-1) ?? 1))
        yield { rows: rowsOf(names, batchOf(items.slice(at, upTo))), offset: String(upTo) }
        at = upTo
      }
    },
    acknowledge: async () => {},
    lag: async () => undefined,
    close: async () => {},
  }
}

/** Another process for each writer; labels of its store calls begin with `target ` or `state `. */
export async function race<T>(
  world: World,
  writers: Readonly<Record<string, (own: World) => Promise<T>>>,
  steps: readonly Step[],
): Promise<readonly T[]> {
  const scheduler = createScheduler(scriptedOrder(steps))
  const runs = Object.entries(writers).map(([name, run]) => {
    const turn = scheduler.turn(name)
    const own = world.again((store) => {
      const table = store.root.endsWith('__cdc_state') ? 'state' : 'target'
      return scheduledStore(store, (label, call) => turn(`${table} ${label}`, call))
    })
    return [name, () => run(own)] as const
  })
  const ends = await scheduler.run(Object.fromEntries(runs))
  return ends.map((end) => {
    if (end.status === 'fulfilled') return end.value
    throw end.reason
  })
}

/** Where a writer's commit of the target waits. */
export const itsCommit = /^target createIfAbsent _delta_log/

/** Both compute from one version; then one commits, and the other behind it. */
export const bothReadThen = (first: string, second: string): readonly Step[] => [
  { writer: first, until: itsCommit },
  { writer: second, until: itsCommit },
  { writer: first },
  { writer: second },
]

/** The target's rows as `k: name/detail [start,end)`. */
export async function timelines(world: World): Promise<readonly string[]> {
  const { names: columns, rows } = await tableRows(world.again().target)
  const at = (name: string) => columns.indexOf(name)
  const text = (row: readonly unknown[], name: string) => datumText((row[at(name)] ?? null) as never)
  return rows
    .map((row) => {
      const end = row[at('__END_AT')] === null ? '∞' : text(row, '__END_AT')
      return `${text(row, 'k')}: ${text(row, 'name')}/${text(row, 'detail')} [${text(row, '__START_AT')},${end})`
    })
    .toSorted()
}

/** Live state as `k: sequence` or `k: sequence deleted`. */
export async function stateLines(world: World): Promise<readonly string[]> {
  const { names: columns, rows } = await liveState(world.again())
  const at = (name: string) => columns.indexOf(name)
  return rows
    .map(
      (row) =>
        `${String(row[at('k')])}: ${String(row[at('__sequence')])}${row[at('__is_delete')] === true ? ' deleted' : ''}`,
    )
    .toSorted()
}
