import { appendFile, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { SourceUnderTest } from '../../../test/contract/event-source.contract.ts'
import { eventSourceContract } from '../../../test/contract/event-source.contract.ts'
import type { EventBatch } from '../../relation/event-source.ts'
import { fileSource } from './file-source.ts'
import { iterableSource } from './iterable-source.ts'

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index)

function numbersIn({ rows }: EventBatch): number[] {
  if (rows.kind === 'objects') return rows.rows.map((row) => Number(row['n']))
  return rows.kind === 'files' ? rows.paths.map((path) => Number(/\d+/.exec(basename(path))?.[0])) : []
}

async function inFolder(use: (folder: string) => Promise<SourceUnderTest>): Promise<SourceUnderTest> {
  const folder = await mkdtemp(join(tmpdir(), 'braidlake source '))
  const under = await use(folder)
  return { ...under, dispose: () => rm(folder, { recursive: true, force: true }) }
}

const line = (n: number): string => `{"n":${n}}\n`
const name = (n: number): string => String(n).padStart(3, '0')

eventSourceContract({
  name: 'one JSON file that grows',
  open: (count) =>
    inFolder(async (folder) => {
      const file = join(folder, 'events.jsonl')
      await writeFile(file, range(0, count).map(line).join(''))
      return {
        source: fileSource({ path: folder, pollMs: 20 }),
        numbers: numbersIn,
        append: (numbers) => appendFile(file, numbers.map(line).join('')),
      }
    }),
})

eventSourceContract({
  name: 'many JSON files of one modification time',
  open: (count) =>
    inFolder(async (folder) => {
      const write = async (n: number): Promise<void> => {
        const file = join(folder, `${name(n)}.json`)
        await writeFile(file, line(n))
        await utimes(file, 1_700_000_000, 1_700_000_000)
      }
      for (const n of range(0, count)) await write(n)
      return {
        source: fileSource({ path: folder, pollMs: 20 }),
        numbers: numbersIn,
      }
    }),
})

eventSourceContract({
  name: 'Parquet files',
  open: (count) =>
    inFolder(async (folder) => {
      const write = async (n: number): Promise<void> => {
        // What a file holds is for the data plane; the source looks at its closing mark.
        await writeFile(join(folder, `${name(n)}.parquet`), `PAR1${'.'.repeat(100)}PAR1`)
        await utimes(join(folder, `${name(n)}.parquet`), 1_700_000_000 + n, 1_700_000_000 + n)
      }
      for (const n of range(0, count)) await write(n)
      return {
        source: fileSource({ path: folder, pollMs: 20 }),
        numbers: numbersIn,
        append: async (numbers) => {
          for (const n of numbers) await write(n)
        },
      }
    }),
})

eventSourceContract({
  name: 'an array',
  open: async (count) => ({
    source: iterableSource(
      'rows',
      range(0, count).map((n) => ({ n })),
    ),
    numbers: numbersIn,
  }),
})

eventSourceContract({
  name: 'a factory of endless rows',
  open: async (count) => {
    let pulled = 0
    let end = count
    let wake = (): void => {}
    async function* rows(after: string | undefined): AsyncGenerator<{ readonly n: number }> {
      if (after !== undefined && !/^n\d+$/.test(after)) throw new Error(`no row is at ${after}`)
      for (let n = after === undefined ? 0 : Number(after.slice(1)) + 1; ; n++) {
        pulled++
        if (n >= end && !followed) return
        while (n >= end) await new Promise<void>((resolve) => (wake = resolve))
        yield { n }
      }
    }
    let followed = false
    const source = iterableSource('feed', rows, { offsetOf: (row) => `n${row['n']}` })
    return {
      source: {
        ...source,
        read: (request) => {
          followed = request.follow
          return source.read(request)
        },
      },
      numbers: numbersIn,
      pulled: () => pulled,
      append: async (numbers) => {
        end += numbers.length
        wake()
      },
    }
  },
})
