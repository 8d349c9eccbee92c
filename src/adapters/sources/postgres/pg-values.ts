/**
 * Postgres' text form of values as JavaScript has them, with nothing rounded. The text form is that of datestyle ISO, timezone UTC,
 * bytea_output hex, which the stream sets.
 *
 *   int8                      bigint                     bytea           Uint8Array
 *   int2, int4, oid           number                     timestamp[tz]   Timestamp, with microseconds
 *   float4, float8            number                     date            text, YYYY-MM-DD
 *   bool                      boolean                    arrays          arrays, nested where they have dimensions
 *   numeric, json, jsonb, uuid, enums, time, interval, ranges, composites and all else: text
 *
 * Domains are what they are over. Values without a counterpart (infinity, years before Christ) stay text.
 */
import { Timestamp } from '../../../protocol/js-values.ts'
import { parseTimestamp } from '../../../protocol/datum-text.ts'

export type Decode = (text: string) => unknown

/** What the catalog says of a type that is a domain or an array. */
export type CatalogType =
  | { readonly kind: 'domain'; readonly base: number }
  | { readonly kind: 'array'; readonly element: number; readonly delimiter: string }

const asText: Decode = (text) => text

const scalars: ReadonlyMap<number, Decode> = new Map<number, Decode>([
  [16, (text) => text === 't'],
  [17, (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex'))],
  [20, BigInt],
  [21, Number],
  [23, Number],
  [26, Number],
  [700, Number],
  [701, Number],
  [1114, (text) => timestamp(text, 'timestamp_ntz')],
  [1184, (text) => timestamp(text, 'timestamp')],
])

function timestamp(text: string, kind: 'timestamp' | 'timestamp_ntz'): unknown {
  const micros = text.endsWith('BC') ? undefined : parseTimestamp(text)
  return micros === undefined ? text : new Timestamp(micros, kind)
}

export function decoderOf(oid: number, types: ReadonlyMap<number, CatalogType>): Decode {
  const type = types.get(oid)
  if (type === undefined) return scalars.get(oid) ?? asText
  if (type.kind === 'domain') return decoderOf(type.base, types)
  const element = decoderOf(type.element, types)
  return (text) => parseArray(text, type.delimiter, element) ?? text
}

/** `{1,NULL,"a \"b\""}`, nested for each dimension; bounds before it (`[0:1]={..}`) are dropped. Undefined when it is none. */
export function parseArray(text: string, delimiter: string, element: Decode): readonly unknown[] | undefined {
  const start = text.startsWith('[') ? text.indexOf('={') + 1 : 0
  let at = start
  const list = (): unknown[] | undefined => {
    if (text[at] !== '{') return undefined
    at++
    const items: unknown[] = []
    if (text[at] === '}') {
      at++
      return items
    }
    for (;;) {
      const item = text[at] === '{' ? list() : value()
      if (item === undefined) return undefined
      items.push(item)
      const end = text[at++]
      if (end === '}') return items
      if (end !== delimiter) return undefined
    }
  }
  const value = (): unknown => {
    if (text[at] === '"') return element(quoted())
    const from = at
    while (at < text.length && text[at] !== delimiter && text[at] !== '}') at++
    const word = text.slice(from, at)
    return word === 'NULL' ? null : element(word)
  }
  const quoted = (): string => {
    let result = ''
    for (at++; at < text.length && text[at] !== '"'; at++) {
      if (text[at] === '\\') at++
      result += text[at] ?? ''
    }
    at++
    return result
  }
  const items = list()
  return at === text.length ? items : undefined
}
