/**
 * What can be told of a flow before an event is read. All of it is checked with the first batch anyway, with the columns of the source at
 * hand; but a run that finds nothing new has no batch, and would pass over what is wrong.
 */
import { failure } from '../base/errors.ts'
import type { FlowOptions } from '../cdc/options.ts'
import { pinsOf } from '../cdc/pins.ts'
import { parseExpression } from '../expr/parse.ts'
import type { Snapshot } from '../log/snapshot.ts'

/**
 * @param target undefined: there is none yet
 * @throws EXPRESSION_SYNTAX; AUTOCDC_INVALID_STATE where the target was made with other keys, or of another type
 */
export function checkKnownFlow(options: FlowOptions, target: Snapshot | undefined): void {
  for (const condition of [options.applyAsDeleteWhen, options.applyAsTruncateWhen])
    if (condition !== undefined) parseExpression(condition)
  const pins = target === undefined ? undefined : pinsOf(target)
  const known = (pins?.get(options.flow) ?? pins?.values().next().value)?.definition
  if (known === undefined) return
  const scdType = options.storedAs === 'bitemporal' ? 2 : (options.storedAsScdType ?? 1)
  const keys = namesOf(Object.keys(known.keys))
  const given = namesOf(options.keys)
  const isKey = new Set(options.keys.map((name) => name.toLowerCase()))
  if (keys !== given) throw drift(options.flow, 'KEY_SCHEMA_DRIFT', `keys ${keys}, now ${given}`)
  if (scdType === 2 && options.trackHistory !== undefined && 'on' in options.trackHistory) {
    const [tracked, now] = [
      namesOf(known.tracked),
      namesOf(options.trackHistory.on.filter((name) => !isKey.has(name.toLowerCase()))),
    ]
    if (tracked !== now && known.scdType === 2)
      throw drift(options.flow, 'TRACK_HISTORY_DRIFT', `tracked columns ${tracked}, now ${now}`, retrack)
  }
  if (known.scdType !== scdType)
    throw drift(options.flow, 'SCD_TYPE_DRIFT', `SCD type ${known.scdType}, now ${scdType}`)
}

const namesOf = (names: readonly string[]): string =>
  names
    .map((name) => name.toLowerCase())
    .sort()
    .join(', ')

const retrack =
  'Give the flow the columns that the target tracks, or run `cdc retrack`, which folds the history anew with others.'

function drift(
  flow: string,
  reason: string,
  what: string,
  advice = 'Give the flow what the target was made with, or another target.',
): Error {
  return failure('AUTOCDC_INVALID_STATE', `the target of flow ${flow} was made with ${what}`, {
    details: { reason, flow },
    advice,
  })
}
