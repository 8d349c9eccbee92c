/**
 * LIKE patterns and regular expressions. Patterns become matchers once where they are literals. Regular expressions are admitted only in
 * the subset that Java, RE2 and JavaScript read alike once `.`, `$` and `\s` are spelled out.
 */
import { failure } from '../base/errors.ts'
import type { Expr } from './tree.ts'

type LikePart = { readonly kind: 'text'; readonly text: string } | { readonly kind: 'one' } | { readonly kind: 'any' }

/** undefined: the escape stands before something it cannot escape, or at the end. */
export function parseLike(pattern: string, escape: string): readonly LikePart[] | undefined {
  const parts: LikePart[] = []
  let text = ''
  const flush = (): void => {
    if (text !== '') parts.push({ kind: 'text', text })
    text = ''
  }
  const characters = [...pattern]
  for (let place = 0; place < characters.length; place += 1) {
    const character = characters[place] ?? ''
    if (character === escape) {
      place += 1
      const next = characters[place]
      if (next === undefined || (next !== '%' && next !== '_' && next !== escape)) return undefined
      text += next
    } else if (character === '%' || character === '_') {
      flush()
      parts.push({ kind: character === '%' ? 'any' : 'one' })
    } else {
      text += character
    }
  }
  flush()
  return parts
}

const quoteRegex = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/** undefined: not a pattern. */
export function likeMatcher(pattern: string, escape: string): ((text: string) => boolean) | undefined {
  const parts = parseLike(pattern, escape)
  if (parts === undefined) return undefined
  const [first, second] = parts
  if (first === undefined) return (text) => text === ''
  if (first.kind === 'text' && second === undefined) return (text) => text === first.text
  if (first.kind === 'text' && second?.kind === 'any' && parts.length === 2)
    return (text) => text.startsWith(first.text)
  const source = parts
    .map((part) => (part.kind === 'text' ? quoteRegex(part.text) : part.kind === 'one' ? '.' : '.*'))
    .join('')
  const regex = new RegExp(`^${source}$`, 'su')
  return (text) => regex.test(text)
}

/** What every match begins with, and whether beginning so is enough. undefined: not a pattern. */
export function likePrefix(
  pattern: string,
  escape: string,
): { readonly prefix: string; readonly isWhole: boolean } | undefined {
  const parts = parseLike(pattern, escape)
  if (parts === undefined) return undefined
  const [first, second] = parts
  const prefix = first?.kind === 'text' ? first.text : ''
  const rest = prefix === '' ? parts : parts.slice(1)
  return { prefix, isWhole: rest.length === 1 && (prefix === '' ? first : second)?.kind === 'any' }
}

const refusals: readonly (readonly [RegExp, string])[] = [
  [/\(\?(?!:)/, 'look-around, named groups and inline flags'],
  [/\\[1-9kgQEGzZAbBXRpPNhHvV]/, 'back-references, boundaries and classes by name'],
  [/[*+?}]\+/, 'possessive quantifiers'],
  [/&&|\[\[|\[:/, 'class set operations'],
]

const newlines = '\\n\\r\\u0085\\u2028\\u2029'

/** A regular expression of the common subset as JavaScript's; a string says why it is not admitted. */
export function translateRegex(pattern: string): RegExp | string {
  const literalSafe = pattern.replaceAll(/\\\\/g, '')
  for (const [construct, name] of refusals) if (construct.test(literalSafe)) return `${name} are not supported`
  let source = ''
  let inClass = false
  for (let place = 0; place < pattern.length; place += 1) {
    const character = pattern[place] ?? ''
    if (character === '\\') {
      place += 1
      const next = pattern[place] ?? ''
      source +=
        next === 's'
          ? inClass
            ? ' \\t\\n\\v\\f\\r'
            : '[ \\t\\n\\v\\f\\r]'
          : next === 'S' && !inClass
            ? '[^ \\t\\n\\v\\f\\r]'
            : `\\${next}`
    } else if (inClass) {
      inClass = character !== ']'
      source += character
    } else if (character === '.') {
      source += `[^${newlines}]`
    } else if (character === '$') {
      source += `(?=(?:\\r\\n|[${newlines}])?$)`
    } else {
      inClass = character === '['
      source += character
    }
  }
  try {
    return new RegExp(source, 'u')
  } catch {
    return 'it is not a regular expression'
  }
}

/** Patterns of LIKE and RLIKE that are literals are judged at once. @throws EXPRESSION_UNSUPPORTED, EXPRESSION_TYPE */
export function checkPattern(name: 'like' | 'rlike', args: readonly Expr[]): void {
  const [, pattern, escape] = args
  if (name === 'like') {
    const isCharacter = escape?.kind === 'literal' && typeof escape.value === 'string' && [...escape.value].length === 1
    if (!isCharacter) throw failure('EXPRESSION_TYPE', 'ESCAPE takes a literal of one character.')
    return
  }
  if (pattern?.kind !== 'literal') throw failure('EXPRESSION_UNSUPPORTED', 'RLIKE takes a literal pattern.')
  if (typeof pattern.value !== 'string') return
  const regex = translateRegex(pattern.value)
  if (typeof regex === 'string') {
    throw failure('EXPRESSION_UNSUPPORTED', `The pattern '${pattern.value}' of RLIKE is not supported: ${regex}.`, {
      details: { pattern: pattern.value },
    })
  }
}
