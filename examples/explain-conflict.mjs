// Ask for a conflict instead of a repair, and read why. Run: node examples/explain-conflict.mjs [folder]
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BraidlakeError, DeltaTable } from 'braidlake'

process.chdir(process.argv[2] ?? (await mkdtemp(join(tmpdir(), 'braidlake-'))))

const seats = await DeltaTable.create('./seats', { schema: { seat: 'int', holder: 'string' } })
await seats.append([
  { seat: 1, holder: null },
  { seat: 2, holder: null },
])

// #region explain
const mine = await seats.begin({ onConflict: 'abort' })
await mine.update({ holder: "'ada'" }, { where: 'seat = 1 AND holder IS NULL' })
await seats.update({ holder: "'bob'" }, { where: 'seat = 1' }) // somebody else is faster

try {
  await mine.commit()
} catch (error) {
  if (!(error instanceof BraidlakeError) || error.kind !== 'conflict') throw error
  console.log(error.code) // DELTA_CONCURRENT_DELETE_DELETE
  console.log(error.details.found, 'by version', error.details.winnerVersion, error.details.winnerOperation)
  console.log(error.advice)
}
// #endregion
