/**
 * The few functions that SQL cannot say as Spark means them, run in JavaScript by the very code that the expression evaluator uses. They
 * are slow (a call a row, on the main thread), so printing avoids them wherever plain SQL gives the same.
 */
import type { DuckDBConnection, DuckDBType, DuckDBValue } from '@duckdb/node-api'
import { castFunction } from '../../expr/cast.ts'
import { divideHalfUp, powerOfTen } from '../../expr/decimals.ts'
import {
  formatDateText,
  formatDecimalText,
  formatDoubleText,
  formatTimestampText,
  parseDecimalText,
} from '../../expr/text-values.ts'
import { Decimal, type Datum } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import type { DuckdbApi } from './instance.ts'

interface JsFunction {
  readonly name: string
  readonly parameters: readonly ('text' | 'double' | 'long' | 'integer' | 'boolean')[]
  /** NULL in gives NULL out without a call. undefined: NULL. */
  run(args: readonly DuckDBValue[]): string | undefined
}

const decimalOf = (value: DuckDBValue): Decimal => {
  const decimal = parseDecimalText(String(value))
  if (decimal === undefined) throw new Error(`not a decimal: ${String(value)}`)
  return decimal
}

function divided([a = null, b = null, scale = null]: readonly DuckDBValue[]): string {
  const [left, right, digits] = [decimalOf(a), decimalOf(b), Number(scale)]
  const shift = digits + right.scale - left.scale
  const dividend = shift >= 0 ? left.unscaled * powerOfTen(shift) : left.unscaled
  const divisor = shift >= 0 ? right.unscaled : right.unscaled * powerOfTen(-shift)
  return formatDecimalText(new Decimal(divideHalfUp(dividend, divisor), digits))
}

function quotient([a = null, b = null]: readonly DuckDBValue[]): string {
  const [left, right] = [decimalOf(a), decimalOf(b)]
  const scale = Math.max(left.scale, right.scale)
  return String((left.unscaled * powerOfTen(scale - left.scale)) / (right.unscaled * powerOfTen(scale - right.scale)))
}

function product([a = null, b = null, scale = null]: readonly DuckDBValue[]): string {
  const [left, right, digits] = [decimalOf(a), decimalOf(b), Number(scale)]
  return formatDecimalText(atScale(left.unscaled * right.unscaled, left.scale + right.scale, digits))
}

function rounded([a = null, digits = null]: readonly DuckDBValue[]): string {
  const value = decimalOf(a)
  const wanted = Number(digits)
  const scale = Math.max(0, wanted)
  const cut = atScale(value.unscaled, value.scale, wanted < 0 ? 0 : scale)
  if (wanted >= 0) return formatDecimalText(cut)
  const unit = powerOfTen(-wanted)
  return formatDecimalText(new Decimal(divideHalfUp(value.unscaled, unit * powerOfTen(value.scale)) * unit, 0))
}

function atScale(unscaled: bigint, from: number, to: number): Decimal {
  if (to >= from) return new Decimal(unscaled * powerOfTen(to - from), to)
  return new Decimal(divideHalfUp(unscaled, powerOfTen(from - to)), to)
}

/** Text as a value of the kind, printed so that DuckDB reads it back exactly: days, microseconds, digits. */
function readText([text = null, kind = null, tries = null]: readonly DuckDBValue[]): string | undefined {
  const type = String(kind)
  const value = type === 'decimal' ? parseDecimalText(String(text)) : cast(String(text), type)
  if (value !== undefined) return plainText(value)
  if (tries === true) return undefined
  throw new Error(`'${String(text)}' cannot be cast to ${type.toUpperCase()}`)
}

const casts = new Map<string, (value: Datum) => Datum | undefined>()

function cast(text: string, kind: string): Datum | undefined {
  let known = casts.get(kind)
  if (known === undefined) {
    known = castFunction({ kind: 'string' }, { kind } as DataType)
    casts.set(kind, known)
  }
  return known(text)
}

function plainText(value: Datum): string | undefined {
  if (value === null) return undefined
  return value instanceof Decimal ? formatDecimalText(value) : String(value)
}

const functions: readonly JsFunction[] = [
  { name: 'braid_divide', parameters: ['text', 'text', 'integer'], run: divided },
  { name: 'braid_quotient', parameters: ['text', 'text'], run: quotient },
  { name: 'braid_multiply', parameters: ['text', 'text', 'integer'], run: product },
  { name: 'braid_round', parameters: ['text', 'integer'], run: rounded },
  { name: 'braid_upper', parameters: ['text'], run: ([text = null]) => String(text).toUpperCase() },
  { name: 'braid_lower', parameters: ['text'], run: ([text = null]) => String(text).toLowerCase() },
  {
    name: 'braid_double_text',
    parameters: ['double', 'text'],
    run: ([value = null, kind = null]) => formatDoubleText(Number(value), kind === 'float' ? 'float' : 'double'),
  },
  { name: 'braid_date_text', parameters: ['long'], run: ([days = null]) => formatDateText(Number(days)) },
  {
    name: 'braid_timestamp_text',
    parameters: ['long'],
    run: ([micros = null]) => formatTimestampText(BigInt(String(micros))),
  },
  { name: 'braid_read_text', parameters: ['text', 'text', 'boolean'], run: readText },
]

/** Registers them for every connection of the instance. */
export function registerFunctions(api: DuckdbApi, connection: DuckDBConnection): void {
  const types: Readonly<Record<JsFunction['parameters'][number], DuckDBType>> = {
    text: api.VARCHAR,
    double: api.DOUBLE,
    long: api.BIGINT,
    integer: api.INTEGER,
    boolean: api.BOOLEAN,
  }
  for (const { name, parameters, run } of functions) {
    connection.registerScalarFunction(
      api.DuckDBScalarFunction.create({
        name,
        returnType: api.VARCHAR,
        parameterTypes: parameters.map((parameter) => types[parameter]),
        mainFunction: (_info, input, output) => {
          for (let row = 0; row < input.rowCount; row++) {
            const args = input.getRowValues(row)
            output.setItem(row, args.includes(null) ? null : (run(args) ?? null))
          }
          output.flush()
        },
      }),
    )
  }
}
