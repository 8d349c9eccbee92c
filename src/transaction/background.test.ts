import { expect, test } from 'vitest'
import { hyparquetCheckpointWriter } from '../adapters/parquet/hyparquet-checkpoint-writer.ts'
import { hyparquetReader } from '../adapters/parquet/hyparquet-reader.ts'
import { memoryStore } from '../adapters/memory-store/memory-store.ts'
import { systemEnvironment } from '../adapters/system-environment.ts'
import { createTable } from '../table/create.ts'
import { DeltaTable } from '../table/delta-table.ts'
import { tableParts } from '../table/parts.ts'
import { memoryPlane } from '../testing/memory-plane/memory-plane.ts'
import { interceptedStore } from '../testing/store-call.ts'
import { Background } from './background.ts'
import type { CheckpointTiming } from './context.ts'

interface Gate {
  readonly opened: Promise<void>
  readonly open: () => void
}

function gate(): Gate {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

/** A piece of work that ends when it is told to. */
function piece(log: string[], name: string) {
  const { opened, open } = gate()
  const work = async (): Promise<void> => {
    log.push(`${name} begins`)
    await opened
    log.push(`${name} ends`)
  }
  return { work, end: open }
}

/** Lets everything that can go on do so. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('one piece at a time; of those that wait only the last is done', async () => {
  const background = new Background()
  const log: string[] = []
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => piece(log, name)) as [Piece, Piece, Piece, Piece]
  background.run(a.work)
  background.run(b.work)
  background.run(c.work)
  await settled()
  expect(log).toEqual(['a begins'])
  a.end()
  await settled()
  expect(log).toEqual(['a begins', 'a ends', 'c begins'])
  background.run(d.work)
  c.end()
  d.end()
  await background.idle()
  expect(log).toEqual(['a begins', 'a ends', 'c begins', 'c ends', 'd begins', 'd ends'])
})

type Piece = ReturnType<typeof piece>

test('idle -> at once where nothing runs; else when the last piece has ended, and work given later is done', async () => {
  const background = new Background()
  await background.idle()
  const log: string[] = []
  const a = piece(log, 'a')
  const b = piece(log, 'b')
  background.run(a.work)
  background.run(b.work)
  let isIdle = false
  const idle = background.idle().then(() => (isIdle = true))
  a.end()
  await settled()
  expect({ isIdle, log }).toEqual({ isIdle: false, log: ['a begins', 'a ends', 'b begins'] })
  b.end()
  await idle
  expect(log.at(-1)).toBe('b ends')
  const c = piece(log, 'c')
  c.end()
  background.run(c.work)
  await background.idle()
  expect(log.at(-1)).toBe('c ends')
})

/** A table that owes a checkpoint at each commit, and whose storage lets none through until the gate is opened. */
async function withGate(checkpointTiming: CheckpointTiming) {
  const { opened, open } = gate()
  const inner = memoryStore()
  const written = async () => {
    const entries = await inner.list('_delta_log/')
    return entries.filter(({ path }) => path.includes('.checkpoint.')).length
  }
  const store = interceptedStore(inner, async ({ method, path }, run) => {
    if (method !== 'list' && path.includes('.checkpoint.')) await opened
    return run()
  })
  const plane = memoryPlane()
  const environment = systemEnvironment()
  const parts = tableParts({
    store,
    parquet: hyparquetReader(),
    checkpoints: hyparquetCheckpointWriter(),
    environment,
    plane: async () => plane,
    checkpointTiming,
  })
  const properties = { 'delta.checkpointInterval': '1' }
  await createTable(parts.log, environment, { schema: { k: 'long' }, properties })
  return { table: new DeltaTable(parts), open, written }
}

test('checkpoints beside -> commits do not wait for one, close does', async () => {
  const { table, open, written } = await withGate('beside')
  await table.append([{ k: 1 }])
  await table.append([{ k: 2 }])
  expect(await written()).toBe(0)
  let isClosed = false
  const closing = table.close().then(() => (isClosed = true))
  await settled()
  expect(isClosed).toBe(false)
  open()
  await closing
  expect(await written()).toBe(2)
})

test('checkpoints waited for -> the commit resolves when it is written', async () => {
  const { table, open, written } = await withGate('wait')
  let isDone = false
  const append = table.append([{ k: 1 }]).then(() => (isDone = true))
  await settled()
  expect(isDone).toBe(false)
  open()
  await append
  expect(await written()).toBe(1)
})
