/** Collects what a change feed reads into batches of events. Invariant: its rows are those before its offset and after the last batch's. */
import { must } from '../base/assert.ts'
import { mapFields } from '../protocol/schema-walk.ts'
import type { StructType } from '../protocol/types.ts'
import type { Batch } from '../relation/data-plane.ts'
import type { EventBatch } from '../relation/event-source.ts'
import { sliceBatch } from './change-batches.ts'
import { type FeedShape, outputColumns } from './change-relations.ts'

export type FeedStep =
  /** Rows that may not be cut apart follow, about so many. */
  | { readonly kind: 'begin'; readonly rows: number }
  | {
      readonly kind: 'rows'
      readonly shape: FeedShape
      /** Of their commit. */
      readonly timestampMs: number
      readonly batch: Batch
      /** The offset after the first so many rows; undefined: the batch may not be cut. */
      readonly after: ((rows: number) => string) | undefined
    }
  /** Everything before may be given now. */
  | { readonly kind: 'end'; readonly offset: string }

export class PendingBatch {
  readonly #maxRows: number
  #batches: Batch[] = []
  #rows = 0
  #shape: FeedShape | undefined
  #offset: string | undefined
  #newestMs = 0

  constructor(maxRows: number) {
    this.#maxRows = maxRows
  }

  get rows(): number {
    return this.#rows
  }

  /** The batches that are full now. */
  *add(step: FeedStep): Generator<EventBatch> {
    switch (step.kind) {
      case 'begin':
        if (this.#rows > 0 && this.#rows + step.rows > this.#maxRows) yield* this.flush()
        return
      case 'rows':
        // Another version's columns may be others; a batch has one schema.
        if (this.#shape !== step.shape) {
          if (this.#shape !== undefined && this.#shape.snapshot.metadata !== step.shape.snapshot.metadata)
            yield* this.flush()
          this.#shape = step.shape
        }
        this.#newestMs = Math.max(this.#newestMs, step.timestampMs)
        if (step.after === undefined) this.#push(step.batch)
        else yield* this.#cut(step.batch, step.after)
        return
      case 'end':
        this.#offset = step.offset
        if (this.#rows >= this.#maxRows) yield* this.flush()
    }
  }

  /** What there is, if there is any. */
  *flush(): Generator<EventBatch> {
    if (this.#rows === 0) return
    const offset = must(this.#offset, 'a batch ends where the feed can go on')
    const schema = batchSchema(must(this.#shape, 'rows have a shape'))
    const newestMs = this.#newestMs
    const batches = this.#batches
    this.#batches = []
    this.#rows = 0
    this.#newestMs = 0
    yield { rows: { kind: 'batches', schema, batches }, offset, newestMs }
  }

  #push(batch: Batch): void {
    if (batch.rowCount === 0) return
    this.#batches.push(batch)
    this.#rows += batch.rowCount
  }

  *#cut(batch: Batch, after: (rows: number) => string): Generator<EventBatch> {
    for (let from = 0; from < batch.rowCount;) {
      const to = Math.min(batch.rowCount, from + this.#maxRows - this.#rows)
      this.#push(sliceBatch(batch, from, to))
      this.#offset = after(to)
      from = to
      if (this.#rows >= this.#maxRows) yield* this.flush()
    }
  }
}

/** Logical names only: the rows are no longer in the table's files. */
function batchSchema(shape: FeedShape): StructType {
  const fields = outputColumns(shape).map(({ name, type }) => ({
    name,
    type: mapFields(type, (field) => ({ ...field, metadata: {} })),
    nullable: true,
    metadata: {},
  }))
  return { kind: 'struct', fields }
}
