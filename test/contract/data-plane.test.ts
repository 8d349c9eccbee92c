import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { deleteFile, filesIn } from '../../src/testing/memory-plane/data-files.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import { dataPlaneContract } from './data-plane.contract.ts'

let directories = 0

dataPlaneContract({
  name: 'memory',
  open: memoryPlane,
  newDirectory: async () => `memory://contract/${++directories}`,
  removeFile: async (location) => {
    deleteFile(location)
  },
  listFiles: async (directory) => filesIn(directory),
})

const folders: string[] = []
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))))

dataPlaneContract({
  name: 'duckdb',
  open: () => duckdbPlane(),
  newDirectory: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'braidlake contract '))
    folders.push(folder)
    return folder
  },
  removeFile: (location) => rm(location),
  listFiles: async (directory) => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
  },
})
