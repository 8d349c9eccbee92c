/** A conflict that explains itself: what was found, who did it, which rows, and what would have avoided it. */
import type { BraidlakeError, ErrorCode } from '../base/errors.ts'
import { failure } from '../base/errors.ts'
import type { Finding, WinnerReport } from '../conflict/verdict.ts'
import type { Expr } from '../expr/tree.ts'
import { col, lit } from '../expr/walk.ts'
import { toJs } from '../protocol/js-values.ts'
import type { Relation, ScanFile } from '../relation/tree.ts'
import type { TransactionState } from './state.ts'
import { targetColumns } from './write-request.ts'

const place = { file: '$file', position: '$position' } as const

export async function conflictError(
  state: TransactionState,
  finding: Finding,
  reports: readonly WinnerReport[],
): Promise<BraidlakeError> {
  const sampleKeys = await keysOf(state, finding)
  const { winner } = finding
  return failure(
    codeOf(finding),
    `version ${winner.version} (${winner.operation}) came first: ${finding.why}. To avoid it: ${finding.advice}`,
    {
      advice: finding.advice,
      details: {
        found: finding.kind,
        winnerVersion: winner.version,
        winnerOperation: winner.operation,
        files: finding.files,
        sampleKeys,
        readVersion: state.snapshot.version,
        reconciled: reports,
      },
    },
  )
}

function codeOf(finding: Finding): ErrorCode {
  switch (finding.kind) {
    case 'added files':
      return 'DELTA_CONCURRENT_APPEND'
    case 'removed rows':
      return 'DELTA_CONCURRENT_DELETE_READ'
    case 'same row':
      return 'DELTA_CONCURRENT_DELETE_DELETE'
    case 'metadata':
      return 'DELTA_METADATA_CHANGED'
    case 'protocol':
      return 'DELTA_PROTOCOL_CHANGED'
    case 'relocation':
      return 'DELTA_CONCURRENT_WRITE'
  }
}

/** Keys of the rows that conflict. The explanation must not fail the error: without keys it is still one. */
async function keysOf(state: TransactionState, finding: Finding): Promise<readonly Record<string, unknown>[]> {
  const { rows } = finding
  if (rows === undefined) return []
  try {
    const all = targetColumns(state.snapshot)
    const columns = rows.columns.size === 0 ? all : all.filter(({ name }) => rows.columns.has(name))
    const keys: Record<string, unknown>[] = []
    for (const file of new Set(rows.at.map((row) => row.file))) {
      const positions = rows.at.flatMap((row) => (row.file === file ? [row.position] : []))
      keys.push(...(await valuesAt(state, state.wholeFile(file), positions, columns)))
    }
    return keys
  } catch {
    return []
  }
}

async function valuesAt(
  state: TransactionState,
  file: ScanFile,
  positions: readonly number[],
  columns: ReturnType<typeof targetColumns>,
): Promise<Record<string, unknown>[]> {
  const plane = await state.parts.plane()
  const scan: Relation = { kind: 'scan', files: [file], columns, locator: place, deletions: 'keep' }
  const double = { kind: 'double' } as const
  const where: Expr = {
    kind: 'in',
    input: col(place.position, double),
    items: positions.map((position) => lit(position, double)),
    type: { kind: 'boolean' },
  }
  const named = columns.map(({ name, type }) => ({ name, value: col(name, type) }))
  const keys: Record<string, unknown>[] = []
  for await (const batch of plane.query({
    kind: 'project',
    input: { kind: 'filter', input: scan, where },
    columns: named,
  })) {
    for (let row = 0; row < batch.rowCount; row++) {
      const values = columns.map(({ name, type }, c) => [
        name.slice('t.'.length),
        toJs(batch.columns[c]?.[row] ?? null, type),
      ])
      keys.push(Object.fromEntries(values))
    }
  }
  return keys
}
