import { readdir, rm } from 'node:fs/promises'
import { duckdbPlane } from '../../src/adapters/duckdb/duckdb-plane.ts'
import { deleteFile, filesIn } from '../../src/testing/memory-plane/data-files.ts'
import { memoryPlane } from '../../src/testing/memory-plane/memory-plane.ts'
import { scratchFolder } from '../scratch/folder.ts'
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

dataPlaneContract({
  name: 'duckdb',
  open: () => duckdbPlane(),
  newDirectory: async () => scratchFolder('contract of planes '),
  removeFile: (location) => rm(location),
  listFiles: async (directory) => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map((entry) => entry.name)
  },
})
