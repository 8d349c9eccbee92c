/** A conflict that explains itself: what was found, who did it, which rows, and what would have avoided it. */
import type { BraidlakeError, ErrorCode } from '../base/errors.ts'
import { failure } from '../base/errors.ts'
import type { Finding, WinnerReport } from '../conflict/verdict.ts'
import { toJs } from '../protocol/js-values.ts'
import type { TransactionState } from './state.ts'
import { targetColumns } from './write-request.ts'

/** Rows shown of the files in question. */
const sampleRows = 3

export async function conflictError(
  state: TransactionState,
  finding: Finding,
  reports: readonly WinnerReport[],
): Promise<BraidlakeError> {
  const sample = await sampleOf(state, finding)
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
        sampleRows: sample,
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

/** A few rows of the files in question. The explanation must not fail the error: without rows it is still one. */
async function sampleOf(state: TransactionState, finding: Finding): Promise<readonly Record<string, unknown>[]> {
  const [path] = finding.files
  if (path === undefined) return []
  try {
    const newest = await state.parts.log.refresh()
    const add = newest.files.get(path) ?? state.snapshot.files.get(path)
    if (add === undefined) return []
    const columns = targetColumns(newest)
    const plane = await state.parts.plane()
    const scan = {
      kind: 'scan',
      files: [await state.scanFile(add)],
      columns,
      locator: undefined,
      deletions: 'drop',
    } as const
    const rows: Record<string, unknown>[] = []
    for await (const batch of plane.query({ kind: 'limit', input: scan, rows: sampleRows })) {
      for (let row = 0; row < batch.rowCount; row++) {
        const values = newest.columns.map(({ name, type }, c) => [name, toJs(batch.columns[c]?.[row] ?? null, type)])
        rows.push(Object.fromEntries(values))
      }
    }
    return rows
  } catch {
    return []
  }
}
