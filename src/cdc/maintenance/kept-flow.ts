/**
 * The reserved flow that state rows belong to once their own flows have let go of them: after a compaction, a repair or a retirement. No
 * user's flow can have its name. It reads no source; its pin says which of its attempts live, as any other's.
 */
import { failure } from '../../base/errors.ts'
import type { Datum } from '../../protocol/datum.ts'
import { compareDatums } from '../../protocol/datum-order.ts'
import type { DataType } from '../../protocol/types.ts'
import type { Pin } from '../pins.ts'
import { parseSequence } from '../sequence-text.ts'

export const keptFlow = '~kept'

/** The reserved flow's pin, or its first one. */
export function keptPin(pins: ReadonlyMap<string, Pin>): Pin {
  const known = pins.get(keptFlow)
  if (known !== undefined) return known
  const [some] = pins.values()
  if (some === undefined) {
    throw failure('AUTOCDC_INVALID_STATE', 'the table is no target of AUTO CDC: it has no flow', {
      details: { reason: 'NOT_A_TARGET' },
    })
  }
  return { ...some, flow: keptFlow, last: 0, dead: [], offset: undefined, watermark: undefined, truncates: [] }
}

/** The greatest of the flows' watermarks: no event below it is applied, whose ever. undefined: there is none. */
export function watermarkOf(pins: ReadonlyMap<string, Pin>, type: DataType): Datum | undefined {
  let greatest: Datum | undefined
  for (const { watermark } of pins.values()) {
    if (watermark === undefined) continue
    const value = parseSequence(watermark, type)
    if (greatest === undefined || compareDatums(greatest, value, type) < 0) greatest = value
  }
  return greatest
}

/** Sequences of the flows' truncates that still concern events: those below the watermark have had their effect. */
export function liveTruncates(pins: ReadonlyMap<string, Pin>, type: DataType): Datum[] {
  const watermark = watermarkOf(pins, type)
  const texts = new Set([...pins.values()].flatMap(({ truncates }) => truncates))
  return [...texts]
    .map((text) => parseSequence(text, type))
    .filter((value) => watermark === undefined || compareDatums(value, watermark, type) >= 0)
}
