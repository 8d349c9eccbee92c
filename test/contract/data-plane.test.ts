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
