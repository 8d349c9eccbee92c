/**
 * What a flow does as told, and its owner probably does not want. Each warning is given once in the life of a flow's handle.
 *
 * The clock of loading in place of the clock of change cannot be seen in a batch: a feed that is followed live looks the same. It is
 * suspected where several batches in a row hold no event older than some seconds and none was late, and the text says that it is a guess.
 */
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { FlowDefinition } from './definition.ts'

export interface FlowWarning {
  readonly kind: 'sequence-is-tracked' | 'sequence-looks-like-load-time'
  readonly message: string
}

/** What is known of a batch that was applied. */
export interface AppliedBatch {
  readonly events: number
  readonly late: number
  /** NULL: none, or a sequence of several parts. */
  readonly leastSequence: Datum
  /** When the flow took the batch, milliseconds since the epoch. */
  readonly takenMs: number
}

/** Batches in a row, and the age of their oldest event in milliseconds. */
const suspiciousBatches = 3
const freshMs = 10_000

export class FlowWarnings {
  readonly #given = new Set<FlowWarning['kind']>()
  #fresh = 0

  /** The warnings that a batch gives rise to, without those given before. */
  after(definition: FlowDefinition, sequenceBy: readonly string[], batch: AppliedBatch): readonly FlowWarning[] {
    const warnings: FlowWarning[] = []
    const tracked = trackedSequence(definition, sequenceBy)
    if (tracked !== undefined) {
      warnings.push({
        kind: 'sequence-is-tracked',
        message: `\`${tracked}\` orders the events and is tracked too, so that every event opens a row of its own: leave it out with exceptColumns or trackHistory`,
      })
    }
    if (batch.events > 0) this.#fresh = isFresh(definition.sequenceType, batch) ? this.#fresh + 1 : 0
    if (this.#fresh >= suspiciousBatches) {
      warnings.push({
        kind: 'sequence-looks-like-load-time',
        message: `every event of the last ${suspiciousBatches} batches has a sequence within ${freshMs / 1000} seconds of its arrival and none was late: if \`${sequenceBy.join(', ')}\` says when an event was loaded and not when it came about, events out of order go unnoticed`,
      })
    }
    const fresh = warnings.filter(({ kind }) => !this.#given.has(kind))
    for (const { kind } of fresh) this.#given.add(kind)
    return fresh
  }
}

function trackedSequence(definition: FlowDefinition, sequenceBy: readonly string[]): string | undefined {
  if (definition.scdType !== 2) return undefined
  const names = new Set(sequenceBy.map((name) => name.toLowerCase()))
  return definition.payload.find(({ name, isTracked }) => isTracked && names.has(name.toLowerCase()))?.name
}

function isFresh(type: DataType, { late, leastSequence, takenMs }: AppliedBatch): boolean {
  if (late > 0 || leastSequence === null) return false
  return instants(type, leastSequence).some((ms) => ms > takenMs - freshMs && ms < takenMs + freshMs)
}

/** The instants, in milliseconds, that a sequence may stand for: whole numbers are taken for seconds, milli- and microseconds. */
function instants(type: DataType, sequence: Datum): readonly number[] {
  switch (type.kind) {
    case 'timestamp':
    case 'timestamp_ntz':
      return [Number(sequence) / 1000]
    case 'long':
      return [Number(sequence) * 1000, Number(sequence), Number(sequence) / 1000]
    default:
      return []
  }
}
