/** Random lives of a folder, read by a run that is killed and started again at any batch. */
import fc from 'fast-check'
import { appendFile, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { allBatches } from '../../../test/contract/event-source.contract.ts'
import type { EventBatch } from '../../relation/event-source.ts'
import { debezium } from './debezium.ts'
import { fileSource } from './file-source.ts'

type Step =
  | { readonly kind: 'json' | 'parquet'; readonly name: number; readonly modified: number }
  | { readonly kind: 'append'; readonly which: number; readonly ended: boolean }
  | { readonly kind: 'delete'; readonly which: number }
  /** Reads `batches` batches and dies; what it read last counts only up to the offset that was committed. */
  | { readonly kind: 'read'; readonly maxRows: number; readonly batches: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('json' as const, 'parquet' as const),
    name: fc.nat(30),
    modified: fc.integer({ min: 1, max: 4 }),
  }),
  fc.record({ kind: fc.constant('append' as const), which: fc.nat(9), ended: fc.boolean() }),
  fc.record({ kind: fc.constant('delete' as const), which: fc.nat(9) }),
  fc.record({
    kind: fc.constant('read' as const),
    maxRows: fc.integer({ min: 1, max: 4 }),
    batches: fc.integer({ min: 0, max: 3 }),
  }),
)

const parquet = `PAR1${'.'.repeat(100)}PAR1`

class Life {
  readonly folder: string
  readonly seen: string[] = []
  readonly written: string[] = []
  /** Rows and files that were deleted before they were read may be missing. */
  readonly deleted = new Set<string>()
  readonly #files = new Map<string, { readonly rows: string[]; ended: boolean }>()
  #offset: string | undefined
  #next = 0

  constructor(folder: string) {
    this.folder = folder
  }

  async run(step: Step): Promise<void> {
    switch (step.kind) {
      case 'json':
      case 'parquet':
        return this.#create(step.kind, `${step.name}.${step.kind}`, step.modified)
      case 'append':
        return this.#append(step.which, step.ended)
      case 'delete':
        return this.#delete(step.which)
      case 'read':
        return this.read(step.maxRows, step.batches)
    }
  }

  async read(maxRows: number, batches: number): Promise<void> {
    let left = batches
    const source = fileSource({ path: this.folder })
    const request = { after: this.#offset, follow: false, maxRows, maxWaitMs: 0 }
    for await (const batch of source.read(request)) {
      if (left-- <= 0) return
      this.seen.push(...namesIn(batch))
      this.#offset = batch.offset
    }
  }

  async #create(kind: 'json' | 'parquet', name: string, modified: number): Promise<void> {
    // A name is used once: files stay as they are.
    if (this.#files.has(name) || this.deleted.has(name)) return
    const row = kind === 'json' ? String(this.#next++) : name
    await writeFile(join(this.folder, name), kind === 'json' ? `{"n":${row}}\n` : parquet)
    await utimes(join(this.folder, name), modified, modified)
    this.#files.set(name, { rows: [row], ended: true })
    this.written.push(row)
  }

  async #append(which: number, ended: boolean): Promise<void> {
    const [name, file] = [...this.#files].filter(([each]) => each.endsWith('.json'))[which] ?? []
    if (name === undefined || file === undefined) return
    const row = String(this.#next++)
    await appendFile(join(this.folder, name), `${file.ended ? '' : '\n'}{"n":${row}}${ended ? '\n' : ''}`)
    file.ended = ended
    file.rows.push(row)
    this.written.push(row)
  }

  async #delete(which: number): Promise<void> {
    const [name, file] = [...this.#files][which] ?? []
    if (name === undefined || file === undefined) return
    await rm(join(this.folder, name))
    this.#files.delete(name)
    for (const row of [name, ...file.rows]) this.deleted.add(row)
  }
}

function namesIn({ rows }: EventBatch): string[] {
  if (rows.kind === 'objects') return rows.rows.map((row) => String(row['n']))
  return rows.kind === 'files' ? rows.paths.map((path) => basename(path)) : []
}

test('files appear, grow and vanish, runs die and start again -> each row is read exactly once', async () => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
    const folder = await mkdtemp(join(tmpdir(), 'braidlake life '))
    try {
      const life = new Life(folder)
      for (const each of steps) await life.run(each)
      await life.read(3, Infinity)
      expect(new Set(life.seen).size).toBe(life.seen.length)
      const missing = life.written.filter((row) => !life.seen.includes(row) && !life.deleted.has(row))
      expect(missing).toEqual([])
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
  await fc.assert(property, { numRuns: 150, verbose: 1 })
})

test('Debezium messages in JSON lines -> the rows, and a stop after any batch goes on behind it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'braidlake life '))
  try {
    const message = (n: number): string =>
      JSON.stringify({ op: 'c', before: null, after: { n }, source: { connector: 'postgresql', lsn: n }, ts_ms: 1 })
    await writeFile(join(folder, 'topic.json'), `${[0, 1, 2, 3].map(message).join('\n')}\n`)
    const open = () => debezium(fileSource({ path: folder }))
    const batches = await allBatches(open(), { maxRows: 3 })
    expect(batches.flatMap(namesIn)).toEqual(['0', '1', '2', '3'])
    expect((await allBatches(open(), { after: batches[0]?.offset })).flatMap(namesIn)).toEqual(['3'])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
