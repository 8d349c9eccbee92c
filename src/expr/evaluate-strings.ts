/** Text. Characters are Unicode code points, as in Spark, not UTF-16 units. */
import type { Datum } from '../protocol/datum.ts'
import type { CallSite, Strict } from './call-site.ts'
import { likeMatcher, translateRegex } from './pattern.ts'

const literalText = (site: CallSite, place: number): string | undefined => {
  const arg = site.expr.args[place]
  return arg?.kind === 'literal' && typeof arg.value === 'string' ? arg.value : undefined
}

const hasSurrogates = (text: string): boolean => /[\ud800-\udfff]/.test(text)
const charactersOf = (text: string): readonly string[] => (hasSurrogates(text) ? [...text] : text.split(''))
const lengthOf = (text: string): number => (hasSurrogates(text) ? [...text].length : text.length)

export function evaluateString(site: CallSite): Strict | undefined {
  switch (site.expr.name) {
    case '||':
      return (a, b) => (a as string) + (b as string)
    case 'like':
      return like(site)
    case 'rlike': {
      const regex = translateRegex(literalText(site, 1) ?? '')
      return typeof regex === 'string' ? () => site.fail(regex) : (a) => regex.test(a as string)
    }
    case 'upper':
      return (a) => (a as string).toUpperCase()
    case 'lower':
      return (a) => (a as string).toLowerCase()
    case 'length':
      return (a) => (typeof a === 'string' ? lengthOf(a) : (a as Uint8Array).length)
    case 'substring':
      return site.expr.args.length === 2
        ? (a, b) => substring(a as string, b as number, Infinity)
        : (a, b, c) => substring(a as string, b as number, c as number)
    case 'trim':
      return (a) => (a as string).replace(/^ +| +$/g, '')
    case 'ltrim':
      return (a) => (a as string).replace(/^ +/, '')
    case 'rtrim':
      return (a) => (a as string).replace(/ +$/, '')
    case 'replace':
      return (a, b, c) => (b === '' ? a : (a as string).split(b as string).join(c as string))
    case 'startswith':
      return (a, b) => (a as string).startsWith(b as string)
    case 'endswith':
      return (a, b) => (a as string).endsWith(b as string)
    case 'contains':
      return (a, b) => (a as string).includes(b as string)
    case 'lpad':
      return (a, b, c) => pad(a as string, b as number, c as string, true)
    case 'rpad':
      return (a, b, c) => pad(a as string, b as number, c as string, false)
    default:
      return undefined
  }
}

function like(site: CallSite): Strict {
  const escape = literalText(site, 2) ?? '\\'
  const compiled = (pattern: string): ((text: string) => boolean) =>
    likeMatcher(pattern, escape) ??
    (() => site.fail(`the pattern '${pattern}' has an escape before something that needs none`))
  const fixed = literalText(site, 1)
  if (fixed !== undefined) {
    const matches = compiled(fixed)
    return (a: Datum) => matches(a as string)
  }
  return (a, b) => compiled(b as string)(a as string)
}

/** Position 0 means 1; from the end when negative, and what lies before the start is cut off the length. */
function substring(text: string, position: number, length: number): string {
  const characters = charactersOf(text)
  const start = position > 0 ? position - 1 : position < 0 ? characters.length + position : 0
  const end = start + length
  return characters.slice(Math.max(start, 0), Math.max(end, 0)).join('')
}

function pad(text: string, length: number, filler: string, atStart: boolean): string {
  if (length <= 0) return ''
  const characters = charactersOf(text)
  if (characters.length >= length) return characters.slice(0, length).join('')
  if (filler === '') return text
  const fillers = charactersOf(filler)
  const missing = length - characters.length
  const fill = Array.from({ length: missing }, (_, place) => fillers[place % fillers.length] ?? '').join('')
  return atStart ? fill + text : text + fill
}
