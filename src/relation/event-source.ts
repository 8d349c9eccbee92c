/**
 * The port to a source of change events. A source gives batches in the order in which it has them, each with the offset that follows it.
 * The flow stores that offset in the target's commit and only then acknowledges it, so a source must be able to go on from any offset it
 * has given that was not acknowledged, and should from older ones.
 *
 * Failures: SOURCE_FAILED (the source cannot go on; `details.source` names it), CANCELLED. A failure in the middle loses nothing: what
 * was not committed is read again.
 */
import type { OutsideSource } from './data-plane.ts'

export interface EventSource {
  /** For messages and reports: a path, a topic, a slot. */
  readonly name: string
  /**
   * Batches after an offset. Ends where a run once has read all there was when it began; one that follows waits for more, and ends when
   * the signal fires. The next batch is not fetched before it is asked for.
   */
  read(request: ReadEvents): AsyncIterable<EventBatch>
  /** The offset is in the target's log; the source may forget what came before. Repeated and late calls are harmless. */
  acknowledge(offset: string): Promise<void>
  /** What is known to wait behind an offset; undefined: not known. */
  lag(offset: string | undefined): Promise<SourceLag | undefined>
  close(): Promise<void>
}

export interface ReadEvents {
  /** As given with the batch before; undefined: from the beginning, or from where the source begins. */
  readonly after: string | undefined
  readonly follow: boolean
  /** Rows of a batch, about: a batch is cut no smaller than the source can go on from. */
  readonly maxRows: number
  /** Milliseconds a batch that is not full may wait for more; only where `follow` is set. */
  readonly maxWaitMs: number
  readonly signal?: AbortSignal | undefined
}

export interface EventBatch {
  readonly rows: EventRows
  /** Where to go on after this batch: text of the source's own, up to a few KiB. */
  readonly offset: string
  /** When the newest event of the batch came about, milliseconds since the epoch; undefined: not known. */
  readonly newestMs?: number | undefined
}

export type EventRows =
  /** Files and columnar batches, as data planes take them. */
  | Extract<OutsideSource, { kind: 'files' | 'batches' }>
  /** Plain objects as JavaScript has them; the flow's schema gives the types. Absent members are NULL. */
  | { readonly kind: 'objects'; readonly rows: readonly Readonly<Record<string, unknown>>[] }

export interface SourceLag {
  readonly events?: number | undefined
  readonly files?: number | undefined
  readonly bytes?: number | undefined
  readonly milliseconds?: number | undefined
}
