/**
 * The options of a flow, looked over where the flow is made: programs in JavaScript have no compiler that tells a member misspelt, which
 * would otherwise be an option not given. What the options mean together, and with the columns of the source, is checked by definition.ts.
 */
import { failure } from '../base/errors.ts'
import { nearest } from '../base/nearest.ts'
import {
  type Check,
  type Members,
  checkMembers,
  isMembers,
  oneOf,
  selection,
  text,
  textOrTexts,
  textRecord,
  texts,
} from '../base/member-checks.ts'

const startAndEnd: Check = (value) => isMembers(value) && text(value['start']) && text(value['end'])

/** Members of a flow, in a file and in a program alike. */
export const flowChecks: Readonly<Record<string, Check>> = {
  target: text,
  flow: text,
  keys: texts,
  sequenceBy: textOrTexts,
  applyAsDeleteWhen: text,
  applyAsTruncateWhen: text,
  columns: texts,
  exceptColumns: texts,
  ignoreNullUpdates: (value) => value === true || selection(value),
  columnsToUpdate: text,
  storedAs: oneOf('bitemporal'),
  systemSequenceBy: text,
  systemColumns: startAndEnd,
  partitionBy: texts,
  storedAsScdType: (value) => value === 1 || value === 2,
  trackHistory: selection,
  onSequenceConflict: oneOf('deterministic', 'error', 'quarantine'),
  onBadRow: oneOf('fail', 'quarantine'),
  intervalColumns: startAndEnd,
  metadataColumn: text,
  schema: (value) => text(value) || isMembers(value),
  properties: textRecord,
  source: isMembers,
}

const isList: Check = (value) => Array.isArray(value) && value.every((one) => typeof one === 'string')
const isMethods =
  (...names: readonly string[]): Check =>
  (value) =>
    typeof value === 'object' && value !== null && names.every((name) => typeof Reflect.get(value, name) === 'function')

/** In a program lists may be empty, which the definition tells by its own names, and storage may be given. */
const programChecks: Readonly<Record<string, Check>> = {
  ...flowChecks,
  keys: isList,
  sequenceBy: (value) => typeof value === 'string' || isList(value),
  columns: isList,
  exceptColumns: isList,
  partitionBy: isList,
  ignoreNullUpdates: (value) => typeof value === 'boolean' || selection(value),
  source: isMethods('read', 'acknowledge', 'lag', 'close'),
  store: isMethods('get', 'list'),
  stateStore: isMethods('get', 'list'),
  quarantineStore: isMethods('get', 'list'),
  plane: isMembers,
  telemetry: isMembers,
  checkpoints: oneOf('beside', 'wait'),
}

const snapshotChecks: Readonly<Record<string, Check>> = {
  versionType: text,
  maxDeleteFraction: (value) => typeof value === 'number',
}
const ofEventsAlone = [
  'source',
  'sequenceBy',
  'applyAsDeleteWhen',
  'applyAsTruncateWhen',
  'ignoreNullUpdates',
  'columnsToUpdate',
  'storedAs',
  'systemSequenceBy',
  'systemColumns',
]

/** @throws AUTOCDC_INVALID_DEFINITION for a member that is missing, unknown, or of another kind */
export function requireFlowOptions(options: object, fedBy: 'events' | 'snapshots'): void {
  const checks =
    fedBy === 'events'
      ? programChecks
      : {
          ...Object.fromEntries(Object.entries(programChecks).filter(([name]) => !ofEventsAlone.includes(name))),
          ...snapshotChecks,
        }
  const given = Object.fromEntries(
    Object.entries(isMembers(options) ? options : {}).filter(([, value]) => value !== undefined),
  )
  checkMembers(given as Members, checks, ['target', 'flow', 'keys'], (problem, member) =>
    failure(
      'AUTOCDC_INVALID_DEFINITION',
      `the options of the flow cannot be used: ${problem}.${suggestion(member, checks)}`,
      { details: { option: member }, advice: `A flow has ${Object.keys(checks).join(', ')}.` },
    ),
  )
}

/** ` Did you mean ...?` for a member that is none; otherwise nothing. */
export function suggestion(member: string, checks: Readonly<Record<string, Check>> = flowChecks): string {
  if (Object.hasOwn(checks, member)) return ''
  const names = Object.keys(checks).map((name) => ({ name }))
  const [close] = nearest(member, names)
  return close === undefined ? '' : ` Did you mean ${close.name}?`
}
