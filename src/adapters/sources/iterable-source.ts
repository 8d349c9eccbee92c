/**
 * Events from an iterable of rows: an array, a generator, a client's stream.
 *
 * The offset is the count of rows seen since the beginning, or the position that `offsetOf` gives of the last row. How a run goes on
 * from an offset depends on what was given:
 *
 *   a factory                       it is called with the offset, and gives the rows behind it
 *   an iterable that begins anew    the rows up to the offset are pulled and passed over
 *   an iterator, which runs once    goes on where it stands; an offset it has passed already is refused
 *
 * A row is pulled only while a batch is being asked for, but for the one that a batch did not wait for any longer: it begins the next.
 */
import { throwIfCancelled } from '../../base/cancel.ts'
import { type ChecksOf, checkOptions, checkValue, method } from '../../base/check-options.ts'
import { text } from '../../base/member-checks.ts'
import type { EventBatch, EventSource, ReadEvents } from '../../relation/event-source.ts'
import { RowPuller } from './row-puller.ts'
import { asSourceFailure, foreignOffset, sourceFailure } from './source-failure.ts'

export type EventRow = Readonly<Record<string, unknown>>
export type RowsOf = Iterable<EventRow> | AsyncIterable<EventRow>

export interface IterableSourceOptions {
  /** The row's own position: a text that no other row has. Default: how many rows came before, and this one. */
  readonly offsetOf?: ((row: EventRow) => string) | undefined
  /** Rows up to this offset are no longer needed. */
  readonly acknowledge?: ((offset: string) => void | Promise<void>) | undefined
}

const checks: ChecksOf<IterableSourceOptions> = { offsetOf: method, acknowledge: method }

const givesRows = (value: unknown): boolean =>
  method(value) ||
  (typeof value === 'object' &&
    value !== null &&
    [Symbol.iterator, Symbol.asyncIterator].some((name) => method(Reflect.get(value, name))))

/**
 * @param rows a factory gets the offset to begin behind; undefined: from the beginning
 */
export function iterableSource(
  name: string,
  rows: RowsOf | ((after: string | undefined) => RowsOf),
  options: IterableSourceOptions = {},
): EventSource {
  checkValue('iterableSource', 'name', name, text, 'a text, before the rows')
  checkValue('iterableSource', 'rows', rows, givesRows, 'an iterable of rows, or a function that gives one')
  checkOptions('iterableSource', options, checks)
  const given = new GivenRows(name, rows, options.offsetOf)
  return {
    name,
    read: (request) => readRows(given, request),
    acknowledge: async (offset) => {
      await options.acknowledge?.(offset)
    },
    lag: async () => undefined,
    close: () => given.close(),
  }
}

/** Rows with the offset of each. */
class GivenRows {
  readonly name: string
  readonly #rows: RowsOf | ((after: string | undefined) => RowsOf)
  readonly #offsetOf: ((row: EventRow) => string) | undefined
  /** An iterator that cannot begin anew, and the offset it stands behind. */
  #once: { readonly puller: RowPuller<EventRow>; at: string | undefined } | undefined

  constructor(
    name: string,
    rows: RowsOf | ((after: string | undefined) => RowsOf),
    offsetOf: ((row: EventRow) => string) | undefined,
  ) {
    this.name = name
    this.#rows = rows
    this.#offsetOf = offsetOf
  }

  /** The offset behind a row. */
  offset(row: EventRow, before: string | undefined): string {
    if (this.#offsetOf === undefined) return String(countOf(this.name, before) + 1)
    const offset = this.#offsetOf(row)
    if (typeof offset === 'string' && offset !== before) return offset
    throw sourceFailure(this.name, `two rows of ${this.name} have the offset '${offset}'`, {
      details: { offset },
      advice: 'Let offsetOf give each row a text of its own.',
    })
  }

  /** The rows, and the offset behind which they begin. */
  begin(after: string | undefined): { readonly puller: RowPuller<EventRow>; readonly at: string | undefined } {
    if (typeof this.#rows === 'function') return { puller: new RowPuller(iteratorOf(this.#rows(after))), at: after }
    const iterator = this.#once === undefined ? iteratorOf(this.#rows) : undefined
    if (iterator !== undefined && iterator !== (this.#rows as unknown)) {
      return { puller: new RowPuller(iterator), at: undefined }
    }
    if (iterator !== undefined) this.#once = { puller: new RowPuller(iterator), at: undefined }
    const once = this.#once
    if (once === undefined) throw foreignOffset(this.name, after ?? '')
    if (once.at !== undefined && once.at !== after && !this.#isAhead(after, once.at)) throw this.#passed(after, once.at)
    return once
  }

  /** Where an iterator that runs once stands; a row is past as soon as it was pulled. */
  moved(offset: string): void {
    if (this.#once !== undefined) this.#once.at = offset
  }

  /** Whether iterators are this source's to end. */
  get runsOnce(): boolean {
    return this.#once !== undefined
  }

  async close(): Promise<void> {
    await this.#once?.puller.end()
  }

  /** Counts tell; of positions only an equal one is known not to lie behind. */
  #isAhead(after: string | undefined, at: string): boolean {
    return this.#offsetOf === undefined && countOf(this.name, after) > countOf(this.name, at)
  }

  #passed(after: string | undefined, at: string): Error {
    return sourceFailure(
      this.name,
      `${this.name} runs once and stands at '${at}'; it cannot go back to '${after ?? ''}'`,
      {
        details: { offset: after, at },
        advice: 'Give iterableSource a function that makes the rows anew from an offset.',
      },
    )
  }
}

function countOf(source: string, offset: string | undefined): number {
  if (offset === undefined) return 0
  const count = Number(offset)
  if (!/^\d+$/.test(offset) || !Number.isSafeInteger(count)) throw foreignOffset(source, offset)
  return count
}

function iteratorOf(rows: RowsOf): Iterator<EventRow> | AsyncIterator<EventRow> {
  return Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]()
}

async function* readRows(given: GivenRows, request: ReadEvents): AsyncGenerator<EventBatch> {
  const { puller, at } = given.begin(request.after)
  let offset = at
  let rows: EventRow[] = []
  const take = (): EventBatch => {
    const batch: EventBatch = { rows: { kind: 'objects', rows }, offset: offset ?? '0' }
    rows = []
    return batch
  }
  let deadlineMs = Infinity
  try {
    offset = await passOver(given, puller, at, request)
    for (;;) {
      const pulled = await puller.pull(deadlineMs, request.signal)
      if (pulled.kind === 'stopped') {
        if (!request.follow) throwIfCancelled(request.signal)
        return
      }
      if (pulled.kind === 'end') break
      if (pulled.kind === 'row') {
        offset = given.offset(rowIn(given.name, pulled.row), offset)
        given.moved(offset)
        rows.push(pulled.row)
      }
      if (rows.length === 1 && request.follow) deadlineMs = Math.min(deadlineMs, Date.now() + request.maxWaitMs)
      if (pulled.kind === 'row' && rows.length < request.maxRows) continue
      deadlineMs = Infinity
      if (rows.length > 0) yield take()
    }
    if (rows.length > 0) yield take()
  } catch (error) {
    const shown = asSourceFailure(given.name, `${given.name} failed`, error)
    if (shown.code === 'SOURCE_FAILED' && rows.length > 0) yield take()
    throw shown
  } finally {
    if (!given.runsOnce) await puller.end()
  }
}

function rowIn(source: string, row: unknown): EventRow {
  if (typeof row === 'object' && row !== null && !Array.isArray(row)) return row as EventRow
  throw sourceFailure(source, `${source} gave a ${row === null ? 'null' : typeof row} where a row was expected`, {
    advice: 'Give plain objects with a member for each column.',
  })
}

/** Pulls the rows up to the offset asked for. Gives the offset reached. */
async function passOver(
  given: GivenRows,
  puller: RowPuller<EventRow>,
  from: string | undefined,
  request: ReadEvents,
): Promise<string | undefined> {
  let at = from
  while (request.after !== undefined && at !== request.after) {
    const pulled = await puller.pull(Infinity, request.signal)
    if (pulled.kind === 'stopped') {
      if (!request.follow) throwIfCancelled(request.signal)
      return at
    }
    if (pulled.kind !== 'row') {
      throw sourceFailure(given.name, `${given.name} ends before the offset '${request.after}' that was committed`, {
        details: { offset: request.after, at },
        advice: 'Give the rows from the same beginning as before, or a function that makes them from an offset.',
      })
    }
    at = given.offset(rowIn(given.name, pulled.row), at)
    given.moved(at)
  }
  return at
}
