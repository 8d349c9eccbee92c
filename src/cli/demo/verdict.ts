/** What must hold at the end of the demo, each as a check with its reason. */
import type { Comparison } from './compare-rows.ts'
import type { Committed, Finished } from './crew.ts'

export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
}

export interface Outcome {
  readonly startVersion: number
  readonly readVersions: readonly number[]
  readonly finished: readonly Finished[]
  /** Undefined where not every statement committed, so that there is nothing to compare with. */
  readonly rows: Comparison | undefined
}

/** Those that committed, in commit order. */
export function commitOrder(finished: readonly Finished[]): readonly Committed[] {
  return finished.filter((one) => one.kind === 'committed').sort((a, b) => a.result.version - b.result.version)
}

export function checksOf(outcome: Outcome): readonly Check[] {
  const { finished, rows } = outcome
  const committed = commitOrder(finished)
  return [
    sameVersion(outcome),
    allCommitted(finished),
    oneAfterAnother(outcome, committed),
    noReruns(committed),
    oneRepaired(committed),
    sameRows(rows),
  ]
}

function sameVersion({ startVersion, readVersions }: Outcome): Check {
  const others = readVersions.filter((version) => version !== startVersion)
  return {
    name: 'all processes read the same version',
    ok: others.length === 0,
    detail: `version ${[...new Set(readVersions)].join(', ')}`,
  }
}

function allCommitted(finished: readonly Finished[]): Check {
  const failed = finished.filter((one) => one.kind === 'failed')
  const detail = failed
    .map(({ correction, error }) => `process ${correction.number}: ${error.code}: ${error.message}`)
    .join('; ')
  return {
    name: 'every statement was applied',
    ok: failed.length === 0,
    detail: failed.length === 0 ? `${finished.length} of ${finished.length} committed, none aborted` : detail,
  }
}

function oneAfterAnother({ startVersion }: Outcome, committed: readonly Committed[]): Check {
  const versions = committed.map(({ result }) => result.version)
  const ok = versions.every((version, i) => version === startVersion + 1 + i)
  return { name: 'each has a version of its own', ok, detail: `versions ${versions.join(', ')}` }
}

function noReruns(committed: readonly Committed[]): Check {
  const six = committed.filter(({ correction }) => !correction.shared)
  const bad = six.filter(
    ({ result }) => result.reruns > 0 || result.reconciled.some(({ rung }) => rung === 'L2' || rung === 'L3'),
  )
  const detail =
    bad.length === 0
      ? `${six.length} ran once`
      : `not so: ${bad.map(({ correction }) => `process ${correction.number}`).join(', ')}`
  return { name: 'disjoint corrections committed without a re-run or repair', ok: bad.length === 0, detail }
}

function oneRepaired(committed: readonly Committed[]): Check {
  const name = 'of the two for one county, the later was repaired, not re-run'
  const [first, second] = committed.filter(({ correction }) => correction.shared)
  if (first === undefined || second === undefined) return { name, ok: false, detail: 'one of them did not commit' }
  const winner = second.result.reconciled.find(({ version }) => version === first.result.version)
  const ok = winner?.rung === 'L2' && first.result.reruns + second.result.reruns === 0
  const what =
    winner === undefined ? 'the first is not among its winners' : `${winner.rung} (${winner.found.join(', ')})`
  return { name, ok, detail: `process ${second.correction.number} after process ${first.correction.number}: ${what}` }
}

function sameRows(rows: Comparison | undefined): Check {
  const name = 'the table holds what the statements give one after another'
  if (rows === undefined) return { name, ok: false, detail: 'not compared: a statement is missing' }
  const { differences, rowsCompared } = rows
  const compared = `${rowsCompared.toLocaleString('en-US')} rows compared`
  return {
    name,
    ok: differences === 0,
    detail: differences === 0 ? `${compared}, all equal` : `${compared}, ${differences} differ`,
  }
}
