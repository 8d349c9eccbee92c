/**
 * Messages of pgoutput as rows of a flow. Values arrive as texts by column; undefined is a large value (TOAST) that the update left as it
 * was, which the log does not hold: the row then has no such column, and `__columns` does not name it.
 *
 * An update that changes the key is two events: a delete of the old key and an insert of the new one.
 */
import type { Decode } from './pg-values.ts'

export type Texts = Readonly<Record<string, string | null | undefined>>

/** What a relation message and the catalog say of a table. */
export interface TableShape {
  /** `schema.name` */
  readonly name: string
  readonly decoders: ReadonlyMap<string, Decode>
  /** The columns that name a row; undefined: not known. */
  readonly key: readonly string[] | undefined
}

export type TableChange =
  | { readonly tag: 'insert'; readonly new: Texts }
  | { readonly tag: 'update'; readonly before: Texts | undefined; readonly new: Texts }
  | { readonly tag: 'delete'; readonly before: Texts }
  | { readonly tag: 'truncate' }

/** Where an event stands: the commit's position, and its number among the events of the transaction. */
export interface EventPlace {
  readonly lsn: bigint
  readonly commitTs: unknown
  next(): number
}

export type PostgresRow = Readonly<Record<string, unknown>>

/** @param noKey is called for an update of a table whose key is not known */
export function rowsOf(
  table: TableShape,
  change: TableChange,
  place: EventPlace,
  noKey: () => never,
): readonly PostgresRow[] {
  const row = (op: 'insert' | 'update' | 'delete' | 'truncate', texts: Texts): PostgresRow => {
    const columns: string[] = []
    const values: Record<string, unknown> = {}
    for (const [name, text] of Object.entries(texts)) {
      if (text === undefined) continue
      columns.push(name)
      values[name] = text === null ? null : (table.decoders.get(name)?.(text) ?? text)
    }
    return {
      ...values,
      __table: table.name,
      __op: op,
      __lsn: place.lsn,
      __ordinal: place.next(),
      __commit_ts: place.commitTs,
      __columns: columns,
    }
  }
  switch (change.tag) {
    case 'insert':
      return [row('insert', change.new)]
    case 'update':
      return change.before !== undefined && isMoved(change.before, change.new, table.key ?? noKey())
        ? [row('delete', change.before), row('insert', change.new)]
        : [row('update', change.new)]
    case 'delete':
      return [row('delete', change.before)]
    case 'truncate':
      return [row('truncate', {})]
  }
}

/** Texts are equal exactly where the values are, since the server prints both. */
function isMoved(before: Texts, after: Texts, key: readonly string[]): boolean {
  return key.some((name) => after[name] !== undefined && before[name] !== after[name])
}
