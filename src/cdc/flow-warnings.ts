/**
 * What a flow does as told, and its owner probably does not want. Each warning is given once in the life of a flow's handle.
 *
 * The clock of loading in place of the clock of change cannot be seen in a batch: a feed that is followed live looks the same. So it is only
 * suspected, and the text says so. What speaks for it are batches of many events none of which is older than some seconds; few events, or
 * batches that are close together, say nothing, because changes come in bursts. What speaks against it settles the matter: an event that was
 * older than that, was late, or is yet to come.
 */
import type { Datum } from '../protocol/datum.ts'
import type { DataType } from '../protocol/types.ts'
import type { FlowDefinition } from './definition.ts'

export interface FlowWarning {
  readonly kind: 'sequence-is-tracked' | 'sequence-looks-like-load-time' | 'condition-names-absent-column'
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
  /** Columns that conditions name and no event of the target's first batch has. */
  readonly absent?: readonly string[] | undefined
}

/** Batches that raise the suspicion: how many, of how many events at least, and the time in milliseconds that lies between first and last. */
const suspiciousBatches = 5
const manyEvents = 100
const spreadMs = 600_000
/** The greatest age of an event that is fresh, in milliseconds. */
const freshMs = 10_000

export class FlowWarnings {
  readonly #given = new Set<FlowWarning['kind']>()
  /** When batches of many fresh events were taken; undefined: there were events that no clock of loading gives. */
  #suspicious: readonly number[] | undefined = []

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
    if (batch.absent !== undefined && batch.absent.length > 0) {
      warnings.push({
        kind: 'condition-names-absent-column',
        message: `no event of the first batch has \`${batch.absent.join('`, `')}\`, which a condition of the flow names, so that it held for none: look whether the name is right`,
      })
    }
    this.#suspicious = suspicionAfter(this.#suspicious, definition.sequenceType, batch)
    if (isSuspected(this.#suspicious ?? [])) {
      warnings.push({
        kind: 'sequence-looks-like-load-time',
        message: `none of the events so far was late, or older than ${freshMs / 1000} seconds when it came: if \`${sequenceBy.join(', ')}\` says when an event was loaded and not when it came about, events out of order go unnoticed. This is a guess; where the source is followed live and says when its events came about, nothing is wrong`,
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

function isSuspected(taken: readonly number[]): boolean {
  return taken.length >= suspiciousBatches && (taken.at(-1) ?? 0) - (taken[0] ?? 0) >= spreadMs
}

function suspicionAfter(before: readonly number[] | undefined, type: DataType, batch: AppliedBatch) {
  const { events, late, leastSequence, takenMs } = batch
  if (before === undefined || events === 0) return before
  const isFresh = instants(type, leastSequence).some((ms) => ms > takenMs - freshMs && ms < takenMs + freshMs)
  if (late > 0 || !isFresh) return undefined
  return events < manyEvents ? before : [...before.slice(0, suspiciousBatches - 1), takenMs]
}

/** The instants, in milliseconds, that a sequence may stand for: whole numbers are taken for seconds, milli- and microseconds. */
function instants(type: DataType, sequence: Datum): readonly number[] {
  if (sequence === null) return []
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
