/**
 * Messages of a stream put together to whole transactions, and these to batches.
 *
 * Invariant: `offset` is behind the last transaction whose commit was seen, and `whole` holds its rows and those before it that were not
 * given out. A batch is cut behind a commit. Only a transaction of more rows than a batch is given out in parts; the parts before the
 * last carry the offset from before the transaction, so that after a crash all of it comes again, with the same positions.
 */
import type { Pgoutput } from 'pg-logical-replication'
import { Timestamp } from '../../../protocol/js-values.ts'
import type { EventBatch } from '../../../relation/event-source.ts'
import { sourceFailure } from '../source-failure.ts'
import { formatLsn, parseLsn } from './lsn.ts'
import type { PostgresRow, TableChange } from './pg-rows.ts'
import { rowsOf } from './pg-rows.ts'
import type { TableShapes } from './table-shapes.ts'

interface OpenTransaction {
  readonly lsn: bigint
  readonly commitTs: Timestamp
  ordinal: number
}

export class Transactions {
  readonly #source: string
  readonly #shapes: TableShapes
  readonly #isWanted: (table: string) => boolean
  #open: OpenTransaction | undefined
  #whole: PostgresRow[] = []
  #part: PostgresRow[] = []
  #newest: Timestamp | undefined
  #offset: bigint

  constructor(source: string, shapes: TableShapes, isWanted: (table: string) => boolean, offset: bigint) {
    this.#source = source
    this.#shapes = shapes
    this.#isWanted = isWanted
    this.#offset = offset
  }

  get offset(): bigint {
    return this.#offset
  }

  /** Inside a transaction. */
  get isOpen(): boolean {
    return this.#open !== undefined
  }

  /** Rows of whole transactions. */
  get ready(): number {
    return this.#whole.length
  }

  /** Rows of a transaction whose commit was not seen. */
  get partial(): number {
    return this.#part.length
  }

  async take(message: Pgoutput.Message): Promise<void> {
    switch (message.tag) {
      case 'begin':
        this.#begin(message)
        return
      case 'commit':
        this.#commit(message)
        return
      case 'insert':
        await this.#add(message.relation, { tag: 'insert', new: message.new })
        return
      case 'update':
        await this.#add(message.relation, {
          tag: 'update',
          before: message.old ?? message.key ?? undefined,
          new: message.new,
        })
        return
      case 'delete':
        await this.#add(message.relation, { tag: 'delete', before: message.old ?? message.key ?? {} })
        return
      case 'truncate':
        for (const relation of message.relations) await this.#add(relation, { tag: 'truncate' })
        return
      case 'relation':
      case 'type':
      case 'origin':
      case 'message':
        return
    }
  }

  #begin({ commitLsn, commitTime }: Pgoutput.MessageBegin): void {
    const commitTs = new Timestamp(BigInt(String(commitTime)))
    this.#open = { lsn: parseLsn(commitLsn ?? '') ?? 0n, commitTs, ordinal: 0 }
  }

  #commit({ commitEndLsn }: Pgoutput.MessageCommit): void {
    this.#offset = parseLsn(commitEndLsn ?? '') ?? this.#offset
    if (this.#part.length > 0) this.#newest = this.#open?.commitTs
    // Pushed one by one: an argument for each would overflow the stack for large transactions.
    if (this.#whole.length === 0) this.#whole = this.#part
    else for (const row of this.#part) this.#whole.push(row)
    this.#part = []
    this.#open = undefined
  }

  /** Events of tables that are not wanted count too, so that a change of the list moves no ordinal. */
  async #add(relation: Pgoutput.MessageRelation, change: TableChange): Promise<void> {
    const open = this.#open
    if (open === undefined) throw sourceFailure(this.#source, `${this.#source} sent a change outside a transaction`)
    const table = await this.#shapes.of(relation)
    const place = { lsn: open.lsn, commitTs: open.commitTs, next: () => open.ordinal++ }
    const rows = rowsOf(table, change, place, () => this.#noKey(table.name))
    if (!this.#isWanted(table.name)) return
    for (const row of rows) this.#part.push(row)
  }

  #noKey(table: string): never {
    throw sourceFailure(
      this.#source,
      `${table} has REPLICA IDENTITY FULL and no primary key, so updates may move rows`,
      {
        details: { table },
        advice: `Say which columns name a row: keys: { '${table}': [...] }.`,
      },
    )
  }

  /** The rows of whole transactions. */
  takeWhole(): EventBatch {
    const rows = this.#whole
    this.#whole = []
    return this.#batch(rows)
  }

  /** Rows of the transaction that has not ended, and the offset before it. */
  takePart(): EventBatch {
    const rows = this.#part
    this.#part = []
    this.#newest = this.#open?.commitTs
    return this.#batch(rows)
  }

  #batch(rows: readonly PostgresRow[]): EventBatch {
    const newestMs = this.#newest === undefined ? undefined : Number(this.#newest.micros / 1000n)
    return { rows: { kind: 'objects', rows }, offset: formatLsn(this.#offset), newestMs }
  }
}
