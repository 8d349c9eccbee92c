/**
 * The registry: every operator and function a typed expression may call, by its one name, with its typing rule. Sugar (BETWEEN, nvl, if,
 * nullif, ...) is gone after analysis, so a plane prints or evaluates these and nothing else. Operands arrive already cast: the operands of
 * a comparison have one type, those of arithmetic the types the signature gives.
 *
 * A function is admitted once both planes agree on its rows in function-cases.ts.
 */
import type { DataType } from '../protocol/types.ts'
import type { ArgumentType, FunctionClass } from './signatures.ts'
import * as rule from './signatures.ts'
import { booleanType, dateType, doubleType, integerType, stringType, timestampType } from './type-rules.ts'

const define = <const T extends Record<string, FunctionClass>>(table: T): T => table

const operator = (usage: string, meaning: string, signature: FunctionClass['signature']): FunctionClass => ({
  form: 'operator',
  usage,
  meaning,
  signature,
})

const named = (usage: string, meaning: string, signature: FunctionClass['signature']): FunctionClass => ({
  form: 'function',
  usage,
  meaning,
  signature,
})

export const functions = define({
  /** Two or more operands; evaluated left to right, and not past the first FALSE. */
  and: operator(
    'a AND b',
    'FALSE if either is FALSE, else NULL if either is NULL. The right side is not evaluated after FALSE.',
    rule.logical,
  ),
  /** Two or more operands; evaluated left to right, and not past the first TRUE. */
  or: operator(
    'a OR b',
    'TRUE if either is TRUE, else NULL if either is NULL. The right side is not evaluated after TRUE.',
    rule.logical,
  ),
  not: operator('NOT a', 'NULL stays NULL.', rule.fixed([booleanType], booleanType)),
  '=': operator('a = b', 'NULL if either is NULL. NaN equals NaN; -0.0 equals 0.0. Also `==`.', rule.equality),
  '<>': operator('a <> b', 'NULL if either is NULL. Also `!=`.', rule.equality),
  '<=>': operator('a <=> b', 'Equality that knows NULL: never NULL. Also `IS NOT DISTINCT FROM`.', rule.equality),
  '<': operator('a < b', 'Strings compare by their UTF-8 bytes; NaN is greater than any number.', rule.ordering),
  '<=': operator('a <= b', 'See `<`.', rule.ordering),
  '>': operator('a > b', 'See `<`.', rule.ordering),
  '>=': operator('a >= b', 'See `<`.', rule.ordering),
  '+': operator(
    'a + b',
    'Integer and decimal overflow is an error. `date + days` is `date_add`.',
    rule.arithmetic('+'),
  ),
  '-': operator(
    'a - b',
    'Integer and decimal overflow is an error. `date - days` is `date_sub`.',
    rule.arithmetic('-'),
  ),
  '*': operator('a * b', 'Integer and decimal overflow is an error.', rule.arithmetic('*')),
  '/': operator('a / b', 'DOUBLE, or DECIMAL if an operand is. Division by zero is an error.', rule.division),
  '%': operator(
    'a % b',
    'Remainder with the sign of `a`. Division by zero is an error. Also `mod(a, b)`.',
    rule.arithmetic('%'),
  ),
  div: operator(
    'a DIV b',
    'Integral quotient, truncated, as BIGINT. Division by zero is an error.',
    rule.integralDivision,
  ),
  negate: operator('-a', 'The smallest integer has no negative: an error.', rule.sameNumeric),
  /** Two operands. */
  '||': operator(
    'a || b',
    'Strings joined; NULL if either is NULL. Also `concat(a, ...)`.',
    rule.fixed([stringType, stringType], stringType),
  ),
  'is null': operator('a IS NULL', 'Never NULL.', rule.anyToBoolean),
  'is not null': operator('a IS NOT NULL', 'Never NULL.', rule.anyToBoolean),
  /** Three operands: input, pattern, and the escape character as a literal of one character. */
  like: operator(
    'a LIKE b [ESCAPE c]',
    '`%` any characters, `_` one; the escape is `\\` unless given.',
    rule.fixed([stringType, stringType, stringType], booleanType),
  ),
  /** The pattern is a literal, already checked to be in the common subset of regular expressions. */
  rlike: operator(
    'a RLIKE b',
    'TRUE if the regular expression finds a match. The pattern is a literal without look-around or back-references.',
    rule.fixed([stringType, stringType], booleanType),
  ),
  /** An array's element by 0-based place, or a map's value by key. */
  index: operator(
    'a[b]',
    'Element of an array, 0-based; outside it is an error. Value of a map by key; NULL where there is none.',
    rule.index,
  ),

  abs: named('abs(a)', 'The smallest integer has no absolute value: an error.', rule.sameNumeric),
  ceil: named(
    'ceil(a)',
    'Least integer not below `a`: BIGINT, or DECIMAL of a decimal. Also `ceiling`.',
    rule.integerPart,
  ),
  floor: named('floor(a)', 'Greatest integer not above `a`: BIGINT, or DECIMAL of a decimal.', rule.integerPart),
  round: named(
    'round(a [, digits])',
    'Half away from zero; `digits` is a literal. A double is rounded by its shortest decimal form.',
    rule.round,
  ),
  sqrt: named('sqrt(a)', 'NaN below zero.', rule.fixed([doubleType], doubleType)),
  power: named('power(a, b)', 'As DOUBLE. Also `pow`.', rule.fixed([doubleType, doubleType], doubleType)),
  isnan: named('isnan(a)', 'TRUE for NaN, FALSE for any other value and for NULL.', rule.isNan),
  greatest: named('greatest(a, b, ...)', 'Greatest of the values that are not NULL; NULL if all are.', rule.extreme),
  least: named('least(a, b, ...)', 'Least of the values that are not NULL; NULL if all are.', rule.extreme),
  coalesce: named(
    'coalesce(a, ...)',
    'First value that is not NULL; later ones are not evaluated. Also `nvl`, `ifnull`.',
    rule.united(1),
  ),

  upper: named('upper(a)', 'Unicode upper case. Also `ucase`.', rule.fixed([stringType], stringType)),
  lower: named('lower(a)', 'Unicode lower case. Also `lcase`.', rule.fixed([stringType], stringType)),
  length: named(
    'length(a)',
    'Characters of a string, bytes of a binary. Also `char_length`, `character_length`, `len`.',
    rule.length,
  ),
  substring: named(
    'substring(a, start [, length])',
    '`start` is 1-based, counted from the end when negative. Also `substr`.',
    rule.substring,
  ),
  trim: named('trim(a)', 'Without spaces at both ends; only U+0020 counts.', rule.fixed([stringType], stringType)),
  ltrim: named('ltrim(a)', 'Without spaces at the start.', rule.fixed([stringType], stringType)),
  rtrim: named('rtrim(a)', 'Without spaces at the end.', rule.fixed([stringType], stringType)),
  replace: named(
    'replace(a, search [, replacement])',
    'Every occurrence; an empty search changes nothing.',
    rule.fixed([stringType, stringType, stringType], stringType),
  ),
  startswith: named(
    'startswith(a, b)',
    'TRUE if `a` begins with `b`.',
    rule.fixed([stringType, stringType], booleanType),
  ),
  endswith: named('endswith(a, b)', 'TRUE if `a` ends with `b`.', rule.fixed([stringType, stringType], booleanType)),
  contains: named(
    'contains(a, b)',
    'TRUE if `b` is somewhere in `a`.',
    rule.fixed([stringType, stringType], booleanType),
  ),
  lpad: named(
    'lpad(a, length [, pad])',
    'Filled, or cut, to that many characters; filled at the start.',
    rule.fixed([stringType, integerType, stringType], stringType),
  ),
  rpad: named(
    'rpad(a, length [, pad])',
    'Filled, or cut, to that many characters; filled at the end.',
    rule.fixed([stringType, integerType, stringType], stringType),
  ),

  year: named('year(a)', 'Of a date or timestamp (UTC).', rule.fixed([dateType], integerType)),
  month: named('month(a)', '1 to 12.', rule.fixed([dateType], integerType)),
  day: named('day(a)', 'Day of the month, from 1. Also `dayofmonth`.', rule.fixed([dateType], integerType)),
  hour: named('hour(a)', '0 to 23, UTC.', rule.clockPart),
  minute: named('minute(a)', '0 to 59.', rule.clockPart),
  second: named('second(a)', '0 to 59.', rule.clockPart),
  date_add: named(
    'date_add(date, days)',
    'The date so many days later.',
    rule.fixed([dateType, integerType], dateType),
  ),
  date_sub: named(
    'date_sub(date, days)',
    'The date so many days earlier.',
    rule.fixed([dateType, integerType], dateType),
  ),
  datediff: named(
    'datediff(end, start)',
    'Days from `start` to `end`. Also `date_diff`.',
    rule.fixed([dateType, dateType], integerType),
  ),
  date_trunc: named(
    'date_trunc(unit, a)',
    'Start of the unit that holds the timestamp (UTC); the unit is a literal.',
    rule.fixed([stringType, timestampType], timestampType),
  ),

  size: named('size(a)', 'Elements of an array or entries of a map; NULL of NULL. Also `cardinality`.', rule.size),
  element_at: named(
    'element_at(a, b)',
    'Element of an array, 1-based, from the end when negative; outside it, and 0, is an error. Value of a map by key, or NULL.',
    rule.elementAt,
  ),
  array_contains: named(
    'array_contains(a, b)',
    'NULL if `b` is NULL, or if it is not found and `a` holds a NULL.',
    rule.arrayContains,
  ),
  array_join: named(
    'array_join(a, b)',
    'The texts of an array with `b` between them; NULL elements are left out.',
    rule.arrayJoin,
  ),
  /** The type holds the fields' names. */
  struct: named("named_struct('name', a, ...)", 'A struct. Also `struct(a, ...)`.', rule.struct),
  array: named('array(a, ...)', 'An array of one type.', rule.array),
  /** Operands are key, value, key, value. */
  map: named('map(key, value, ...)', 'A map; a NULL or repeated key is an error.', rule.map),
})

export type FunctionName = keyof typeof functions

/** The operand types to cast to and the result type; undefined where the function cannot take these. */
export function signatureOf(
  name: FunctionName,
  args: readonly ArgumentType[],
): { readonly args: readonly DataType[]; readonly type: DataType } | undefined {
  return functions[name].signature(args)
}

export const isFunctionName = (name: string): name is FunctionName => Object.hasOwn(functions, name)

/** Other spellings that mean exactly a registered function. */
export const aliases: ReadonlyMap<string, FunctionName> = new Map<string, FunctionName>([
  ['mod', '%'],
  ['negative', 'negate'],
  ['ceiling', 'ceil'],
  ['pow', 'power'],
  ['nvl', 'coalesce'],
  ['ifnull', 'coalesce'],
  ['ucase', 'upper'],
  ['lcase', 'lower'],
  ['char_length', 'length'],
  ['character_length', 'length'],
  ['len', 'length'],
  ['substr', 'substring'],
  ['dayofmonth', 'day'],
  ['dateadd', 'date_add'],
  ['date_diff', 'datediff'],
  ['cardinality', 'size'],
])
