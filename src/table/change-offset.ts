/**
 * How far a reader of a change feed has come, as text that it can go on from. Names nothing but what the log fixes: versions, the place of
 * a file among those of a commit, and the position of a row in it. So it holds whatever the size of batches was or will be.
 */
import { failure } from '../base/errors.ts'
import { JsonNumber, type Json } from '../base/json.ts'
import { parseJson, printJson } from '../base/json-exact.ts'

/** The next row: which file of the commit, and the physical position in it. Both 0-based. */
export interface Place {
  readonly part: number
  readonly row: number
}

export type FeedPosition =
  /** Everything up to this version, itself included; -1: nothing. */
  | { readonly kind: 'after'; readonly version: number }
  /** In the middle of a version's changes. */
  | { readonly kind: 'commit'; readonly version: number; readonly place: Place }
  /** In the middle of the rows with which the feed begins. */
  | { readonly kind: 'snapshot'; readonly version: number; readonly place: Place }

export const firstPlace: Place = { part: 0, row: 0 }

/** @param tableId of the metadata, so that a table made anew at the same path is not taken for this one */
export function printOffset(tableId: string, position: FeedPosition): string {
  const where = position.kind === 'after' ? {} : { ...position.place }
  const version = position.kind === 'snapshot' ? { snapshot: position.version } : { version: position.version }
  return printJson({ ...version, ...where, table: tableId })
}

/** @throws INVALID_OPTION when the text is none of this source's offsets, or one of another table */
export function parseOffset(text: string, tableId: string): FeedPosition {
  const fields = objectOf(text)
  const count = (name: string, least = 0): number | undefined => {
    const value = fields[name]
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= least ? value : undefined
  }
  const table = fields['table']
  const [version, snapshot, part, row] = [count('version', -1), count('snapshot'), count('part'), count('row')]
  if (typeof table !== 'string') throw notAnOffset(text)
  if (table !== tableId) {
    throw failure('INVALID_OPTION', `the offset belongs to table ${table}, and the table there now is ${tableId}`, {
      details: { offset: text, table: tableId },
      advice: 'The table was made anew: start the feed again, without an offset.',
    })
  }
  const place = part === undefined || row === undefined ? undefined : { part, row }
  if (snapshot !== undefined && place !== undefined) return { kind: 'snapshot', version: snapshot, place }
  if (version !== undefined && place !== undefined) return { kind: 'commit', version, place }
  if (version !== undefined && !('part' in fields)) return { kind: 'after', version }
  throw notAnOffset(text)
}

function objectOf(text: string): { readonly [key: string]: Json } {
  try {
    const json = parseJson(text)
    if (typeof json === 'object' && json !== null && !Array.isArray(json) && !(json instanceof JsonNumber))
      return json as { readonly [key: string]: Json }
  } catch {
    // Said below.
  }
  throw notAnOffset(text)
}

function notAnOffset(text: string): Error {
  return failure('INVALID_OPTION', 'the offset is none of a change feed', {
    details: { offset: text.slice(0, 200) },
    advice: 'Give back an offset as the source gave it.',
  })
}
