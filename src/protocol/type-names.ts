/**
 * Types as people write them: Delta's names and the DDL of Spark SQL, `decimal(10,2)`, `array<int>`, `map<string,long>`,
 * `struct<a: int, b string not null>`. Names ignore case.
 */
import { failure } from '../base/errors.ts'
import type { DataType, PrimitiveKind, StructField } from './types.ts'

const primitives: ReadonlySet<string> = new Set<PrimitiveKind>([
  'string',
  'long',
  'integer',
  'short',
  'byte',
  'float',
  'double',
  'boolean',
  'binary',
  'date',
  'timestamp',
  'timestamp_ntz',
  'void',
])

const aliases: Readonly<Record<string, PrimitiveKind>> = {
  bigint: 'long',
  int: 'integer',
  smallint: 'short',
  tinyint: 'byte',
  real: 'float',
  bool: 'boolean',
  text: 'string',
  timestamp_ltz: 'timestamp',
  null: 'void',
}

const maxPrecision = 38

/** The type a name of the schema JSON stands for, decimals included; undefined when there is none. */
export function primitiveOf(name: string): DataType | undefined {
  if (isPrimitive(name)) return { kind: name }
  const match = /^decimal(?:\(\s*(\d+)\s*,\s*(\d+)\s*\))?$/.exec(name)
  return match === null ? undefined : decimalOf(match[1] ?? '10', match[2] ?? '0')
}

function isPrimitive(name: string): name is PrimitiveKind {
  return primitives.has(name)
}

function decimalOf(precisionText: string, scaleText: string): DataType | undefined {
  const precision = Number(precisionText)
  const scale = Number(scaleText)
  if (precision < 1 || precision > maxPrecision || scale > precision) return undefined
  return { kind: 'decimal', precision, scale }
}

/** @throws INVALID_OPTION when the text is no type. */
export function parseTypeName(text: string): DataType {
  const reader = new TypeReader(text)
  const type = reader.type()
  reader.end()
  return type
}

/** The name of a type; parseTypeName reads it back, but for containsNull of arrays and maps and the metadata of fields. */
export function typeName(type: DataType): string {
  switch (type.kind) {
    case 'decimal':
      return `decimal(${type.precision},${type.scale})`
    case 'array':
      return `array<${typeName(type.element)}>`
    case 'map':
      return `map<${typeName(type.key)},${typeName(type.value)}>`
    case 'struct':
      return `struct<${type.fields.map(fieldText).join(',')}>`
    default:
      return type.kind
  }
}

function fieldText(field: StructField): string {
  const name = /^[A-Za-z_]\w*$/.test(field.name) ? field.name : `\`${field.name.replaceAll('`', '``')}\``
  return `${name}:${typeName(field.type)}${field.nullable ? '' : ' not null'}`
}

/** A word, a quoted name, a number, or one sign. */
const token = /\s*([\p{L}_][\p{L}\p{N}_]*|`(?:[^`]|``)*`|\d+|[<>(),:])/uy

class TypeReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  type(): DataType {
    const name = this.#next().toLowerCase()
    switch (name) {
      case 'array':
        return this.#array()
      case 'map':
        return this.#map()
      case 'struct':
        return this.#struct()
      case 'decimal':
      case 'dec':
      case 'numeric':
        return this.#decimal()
      default:
        return this.#primitive(name)
    }
  }

  end(): void {
    if (this.#text.slice(this.#at).trim() !== '') throw this.#error()
  }

  #error(): Error {
    return failure(
      'INVALID_OPTION',
      `'${this.#text}' is not a type. Write it as in long, decimal(10,2), array<string> or struct<a: int>.`,
      {
        details: { type: this.#text, offset: this.#at },
      },
    )
  }

  /** The next token, '' at the end. */
  #peek(): string {
    token.lastIndex = this.#at
    return token.exec(this.#text)?.[1] ?? ''
  }

  #next(): string {
    const text = this.#peek()
    if (text === '') throw this.#error()
    this.#at = token.lastIndex
    return text
  }

  #accept(text: string): boolean {
    if (this.#peek().toLowerCase() !== text) return false
    this.#at = token.lastIndex
    return true
  }

  #expect(text: string): void {
    if (!this.#accept(text)) throw this.#error()
  }

  #primitive(name: string): DataType {
    const kind = Object.hasOwn(aliases, name) ? aliases[name] : name
    if (kind === undefined || !isPrimitive(kind)) throw this.#error()
    return { kind }
  }

  #decimal(): DataType {
    let precision = '10'
    let scale = '0'
    if (this.#accept('(')) {
      precision = this.#next()
      if (this.#accept(',')) scale = this.#next()
      this.#expect(')')
    }
    const type = /^\d+$/.test(precision) && /^\d+$/.test(scale) ? decimalOf(precision, scale) : undefined
    if (type === undefined) throw this.#error()
    return type
  }

  #array(): DataType {
    this.#expect('<')
    const element = this.type()
    this.#expect('>')
    return { kind: 'array', element, containsNull: true }
  }

  #map(): DataType {
    this.#expect('<')
    const key = this.type()
    this.#expect(',')
    const value = this.type()
    this.#expect('>')
    return { kind: 'map', key, value, valueContainsNull: true }
  }

  #struct(): DataType {
    this.#expect('<')
    const fields: StructField[] = []
    if (this.#accept('>')) return { kind: 'struct', fields }
    do fields.push(this.#field())
    while (this.#accept(','))
    this.#expect('>')
    return { kind: 'struct', fields }
  }

  #field(): StructField {
    const text = this.#next()
    if (/^[\d<>(),:]/.test(text)) throw this.#error()
    const name = text.startsWith('`') ? text.slice(1, -1).replaceAll('``', '`') : text
    this.#accept(':')
    const type = this.type()
    const isRequired = this.#accept('not')
    if (isRequired) this.#expect('null')
    return { name, type, nullable: !isRequired, metadata: {} }
  }
}
