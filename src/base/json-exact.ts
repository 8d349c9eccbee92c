/**
 * JSON that loses no digit. JSON.parse turns every number into a double, so int64 values beyond 2^53 and long decimals would change
 * silently. Texts without such numbers still go through JSON.parse, which is several times faster; only the others are parsed here.
 *
 *   an integer beyond 2^53                                   bigint
 *   a number that its double would print as another decimal  JsonNumber, the text as written
 *   any other number                                         number
 */
import type { Json } from './json.ts'
import { JsonNumber } from './json.ts'

/**
 * Finds what a double might not hold: 16 digits or more in one number, or an exponent of three digits. The leading class keeps
 * hexadecimal names (UUIDs) from matching.
 */
const risky = /(?:^|[\s:,[])-?(?:[\d.]{16}|[\d.]+[eE][+-]?\d{3})/

/** One JSON value. Throws SyntaxError when the text is not exactly one. */
export function parseJson(text: string): Json {
  if (!risky.test(text) || !isRiskyOutsideStrings(text)) return JSON.parse(text) as Json
  const reader = new JsonReader(text)
  const value = reader.value()
  if (!reader.atEnd()) reader.fail('unexpected text after the value')
  return value
}

/** Statistics are JSON inside a string, and often hold long numbers: those are no reason to leave JSON.parse. */
function isRiskyOutsideStrings(text: string): boolean {
  let gap = 0
  for (;;) {
    const open = text.indexOf('"', gap)
    const end = open < 0 ? text.length : open
    if (end - gap >= shortestRisk && risky.test(text.slice(gap, end))) return true
    if (open < 0) return false
    gap = closingQuote(text, open) + 1
    if (gap === 0) return true
  }
}

/** The length of `1e400`. */
const shortestRisk = 5

/** Where the string that opens at `open` ends; -1 where it does not. */
function closingQuote(text: string, open: number): number {
  let end = open
  for (;;) {
    end = text.indexOf('"', end + 1)
    if (end < 0) return -1
    let first = end
    while (first > open + 1 && text.charCodeAt(first - 1) === backslash) first--
    // An even number of backslashes before a quote leaves it unescaped.
    if ((end - first) % 2 === 0) return end
  }
}

const backslash = 0x5c

/** All the JSON values of a text, in order, however they are spread over lines. Throws SyntaxError when it is malformed. */
export function parseJsonStream(text: string): Json[] {
  return parseLines(text) ?? parseSequence(text)
}

/** Compact JSON text. Object members that are undefined are left out; numbers must be finite. */
export function printJson(value: Json): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'number':
      return printNumber(value)
    case 'bigint':
      return value.toString()
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      return value === null ? 'null' : printComposite(value)
    default:
      throw new TypeError(`a ${typeof value} has no JSON form`)
  }
}

function printNumber(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} has no JSON form`)
  return Object.is(value, -0) ? '-0.0' : String(value)
}

function printComposite(value: JsonNumber | readonly Json[] | { readonly [key: string]: Json }): string {
  if (value instanceof JsonNumber) return value.text
  if (isArray(value)) return `[${value.map(printJson).join(',')}]`
  const members: string[] = []
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${printJson(member)}`)
  }
  return `{${members.join(',')}}`
}

function isArray(value: readonly Json[] | { readonly [key: string]: Json }): value is readonly Json[] {
  return Array.isArray(value)
}

/** The usual shape, one value a line; undefined when some line alone is no value. */
function parseLines(text: string): Json[] | undefined {
  const values: Json[] = []
  try {
    for (const line of text.split('\n')) {
      if (line !== '' && line.trim() !== '') values.push(parseJson(line))
    }
  } catch {
    return undefined
  }
  return values
}

function parseSequence(text: string): Json[] {
  const reader = new JsonReader(text)
  const values: Json[] = []
  while (!reader.atEnd()) values.push(reader.value())
  return values
}

const numberPattern = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y

/** Recursive descent over one text. */
class JsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  atEnd(): boolean {
    this.#skipSpace()
    return this.#at >= this.#text.length
  }

  fail(what: string): never {
    throw new SyntaxError(`JSON: ${what} at offset ${this.#at}`)
  }

  value(): Json {
    this.#skipSpace()
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object()
      case '[':
        return this.#array()
      case '"':
        return this.#string()
      case 't':
        return this.#word('true', true)
      case 'f':
        return this.#word('false', false)
      case 'n':
        return this.#word('null', null)
      default:
        return this.#number()
    }
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return
      this.#at++
    }
  }

  #accept(character: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #expect(character: string): void {
    if (!this.#accept(character)) this.fail(`expected '${character}'`)
  }

  #word<T extends Json>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) this.fail('unexpected text')
    this.#at += word.length
    return value
  }

  #object(): Json {
    this.#at++
    const members: [string, Json][] = []
    if (this.#accept('}')) return {}
    do {
      this.#skipSpace()
      if (this.#text[this.#at] !== '"') this.fail('expected a member name')
      const key = this.#string()
      this.#expect(':')
      members.push([key, this.value()])
    } while (this.#accept(','))
    this.#expect('}')
    // fromEntries defines own members, also one named __proto__.
    return Object.fromEntries(members)
  }

  #array(): Json {
    this.#at++
    const elements: Json[] = []
    if (this.#accept(']')) return elements
    do elements.push(this.value())
    while (this.#accept(','))
    this.#expect(']')
    return elements
  }

  #string(): string {
    const start = this.#at
    const end = closingQuote(this.#text, start)
    if (end < 0) this.fail('unterminated string')
    this.#at = end + 1
    return JSON.parse(this.#text.slice(start, end + 1)) as string
  }

  #number(): Json {
    numberPattern.lastIndex = this.#at
    const match = numberPattern.exec(this.#text)
    if (match === null) this.fail('unexpected text')
    const [text, fraction, exponent] = match
    this.#at += text.length
    return exactNumber(text, fraction === undefined && exponent === undefined)
  }
}

function exactNumber(text: string, isInteger: boolean): Json {
  const double = Number(text)
  if (isInteger) return Number.isSafeInteger(double) ? double : BigInt(text)
  if (Number.isFinite(double) && normalise(text) === normalise(String(double))) return double
  return new JsonNumber(text)
}

/** Sign, significant digits and power of ten: equal for equal decimals. */
function normalise(text: string): string {
  const sign = text.startsWith('-') ? '-' : ''
  const [mantissa = '', exponent = '0'] = text.slice(sign.length).toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return `${sign}0`
  const power = Number(exponent) - fraction.length + (digits.length - significant.length)
  return `${sign}${significant}e${power}`
}
