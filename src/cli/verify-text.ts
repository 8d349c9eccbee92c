/** What `braid cdc verify` found, for people. */
import type { Comparison, VerifyReport } from '../cdc/maintenance/verify-report.ts'
import type { Invariant } from '../cdc/maintenance/verify-key.ts'
import { exactJson } from './exact-json.ts'
import { plural } from './text-table.ts'

/** What is wrong with a key, by the name that the report has for it. */
const words: Readonly<Record<Invariant, string>> = {
  I1: 'with several rows of one event',
  I2: 'with rows that overlap, or several that are open',
  I3: 'with rows that do not begin before they end',
  I7: 'whose open row is not the current one',
  I8: 'with rows that end where no event ended them',
}

export function verifyText(report: VerifyReport): string[] {
  const { version, keys, rows, stateRows, watermark, changedBy, malformed, broken, own, given } = report
  const looked = `${plural(keys, 'key')}, ${plural(rows, 'row')} and ${plural(stateRows, 'state row')} at version ${version}`
  if (report.ok) return [`Right: ${looked}${watermark === undefined ? '' : `; settled below ${watermark}`}`]
  const { count, inState, samples } = malformed
  return [
    `Wrong: ${looked}`,
    ...(changedBy === undefined ? [] : [`  rows were changed by other means: ${changedBy}`]),
    ...(count === 0 ? [] : [`  ${plural(count, 'malformed row')}`]),
    ...samples.map(
      ({ key, recordStart, start, end }) =>
        `    ${exactJson(key)}: record start ${recordStart ?? 'NULL'}, start ${start ?? 'NULL'}, end ${end ?? 'NULL'}`,
    ),
    ...(inState === 0 ? [] : [`  ${plural(inState, 'malformed row')} of the state: without key, sequence or kind`]),
    ...Object.entries(words).flatMap(([name, what]) => {
      const found = broken[name as Invariant] ?? 0
      return found === 0 ? [] : [`  ${plural(found, 'key')} ${what} (${name})`]
    }),
    ...differencesText(own, 'the events that target and state hold'),
    ...(given === undefined ? [] : differencesText(given, 'the events given')),
    'Run `braid cdc repair`, which makes the target anew from its events.',
  ]
}

function differencesText({ keysThatDiffer, samples }: Comparison, from: string): string[] {
  if (keysThatDiffer === 0) return []
  const rows = samples.map(({ key, kind, start, end, values }) => {
    const when = start === null ? '' : `, from ${start} ${end === null ? 'on' : `to ${end}`}`
    return `    ${exactJson(key)}${when}: ${kind} ${exactJson(values)}`
  })
  return [`  ${plural(keysThatDiffer, 'key')} ${keysThatDiffer === 1 ? 'differs' : 'differ'} from ${from}`, ...rows]
}
