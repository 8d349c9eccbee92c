/** Numbers. Integers and decimals are exact or fail; doubles follow IEEE 754, but for division by zero, which fails. */
import { Decimal, type Datum } from '../protocol/datum.ts'
import { divideHalfUp, fitDecimal, powerOfTen, rescaled, roundTo38Digits } from './decimals.ts'
import type { CallSite, Strict } from './call-site.ts'
import { integralBounds, isFloating, isIntegral, sqlTypeName, type DecimalType } from './type-rules.ts'

export function evaluateArithmetic(site: CallSite): Strict | undefined {
  switch (site.expr.name) {
    case '+':
    case '-':
    case '*':
      return addOrMultiply(site, site.expr.name)
    case '/':
      return site.expr.type.kind === 'decimal' ? decimalQuotient(site, site.expr.type) : doubleQuotient(site)
    case '%':
      return remainder(site)
    case 'div':
      return integralQuotient(site)
    case 'negate':
      return signed(
        site,
        (value) => -value,
        (value) => -value,
      )
    case 'abs':
      return signed(site, Math.abs, (value) => (value < 0n ? -value : value))
    case 'ceil':
      return integerPart(site, Math.ceil, 1n)
    case 'floor':
      return integerPart(site, Math.floor, -1n)
    case 'round':
      return round(site)
    case 'sqrt':
      return (a) => Math.sqrt(a as number)
    case 'power':
      return (a, b) => (a as number) ** (b as number)
    default:
      return undefined
  }
}

/** Holds an integer result to its type. */
function bounded(site: CallSite): (value: number) => number {
  const { type } = site.expr
  const [low, high] = isIntegral(type) ? integralBounds[type.kind] : integralBounds.integer
  const [least, greatest] = [Number(low), Number(high)]
  return (value) =>
    value < least || value > greatest ? site.fail(`the result is out of range for ${sqlTypeName(type)}`) : value
}

function boundedLong(site: CallSite): (value: bigint) => bigint {
  return (value) => (BigInt.asIntN(64, value) === value ? value : site.fail('the result is out of range for BIGINT'))
}

function fitted(site: CallSite, type: DecimalType): (unscaled: bigint, scale: number) => Datum {
  return (unscaled, scale) =>
    fitDecimal(unscaled, scale, type) ?? site.fail(`the result is out of range for ${sqlTypeName(type)}`)
}

type Operator = '+' | '-' | '*'

function addOrMultiply(site: CallSite, operator: Operator): Strict {
  const { type } = site.expr
  if (type.kind === 'decimal') return decimalArithmetic(site, operator, type)
  if (type.kind === 'long') {
    const fit = boundedLong(site)
    switch (operator) {
      case '+':
        return (a, b) => fit((a as bigint) + (b as bigint))
      case '-':
        return (a, b) => fit((a as bigint) - (b as bigint))
      case '*':
        return (a, b) => fit((a as bigint) * (b as bigint))
    }
  }
  // The product of two INTs stays below 2^62: a double would round it, but never back into the range of INT.
  const fit = isIntegral(type) ? bounded(site) : type.kind === 'float' ? Math.fround : (value: number): number => value
  const positive = isIntegral(type)
  switch (operator) {
    case '+':
      return (a, b) => fit((a as number) + (b as number))
    case '-':
      return (a, b) => fit((a as number) - (b as number))
    case '*':
      return positive ? (a, b) => fit((a as number) * (b as number) + 0) : (a, b) => fit((a as number) * (b as number))
  }
}

function decimalArithmetic(site: CallSite, operator: Operator, type: DecimalType): Strict {
  const fit = fitted(site, type)
  if (operator === '*') {
    return (a, b) => {
      const left = a as Decimal
      const right = b as Decimal
      const product = roundTo38Digits(left.unscaled * right.unscaled, left.scale + right.scale)
      return fit(product.unscaled, product.scale)
    }
  }
  const sign = operator === '-' ? -1n : 1n
  return (a, b) => {
    const left = a as Decimal
    const right = b as Decimal
    const scale = Math.max(left.scale, right.scale)
    return fit(rescaled(left.unscaled, left.scale, scale) + sign * rescaled(right.unscaled, right.scale, scale), scale)
  }
}

const byZero = 'division by zero'

function doubleQuotient(site: CallSite): Strict {
  return (a, b) => (b === 0 ? site.fail(byZero) : (a as number) / (b as number))
}

/** Spark divides to 38 fraction digits first and rounds to the result's scale then; so does this, rounding twice. */
function decimalQuotient(site: CallSite, type: DecimalType): Strict {
  const fit = fitted(site, type)
  return (a, b) => {
    const left = a as Decimal
    const right = b as Decimal
    if (right.unscaled === 0n) return site.fail(byZero)
    const shift = 38 + right.scale - left.scale
    const quotient =
      shift >= 0
        ? divideHalfUp(left.unscaled * powerOfTen(shift), right.unscaled)
        : divideHalfUp(left.unscaled, right.unscaled * powerOfTen(-shift))
    return fit(quotient, 38)
  }
}

function remainder(site: CallSite): Strict {
  const { type } = site.expr
  if (type.kind === 'decimal') {
    const fit = fitted(site, type)
    return (a, b) => {
      const left = a as Decimal
      const right = b as Decimal
      if (right.unscaled === 0n) return site.fail(byZero)
      const scale = Math.max(left.scale, right.scale)
      return fit(rescaled(left.unscaled, left.scale, scale) % rescaled(right.unscaled, right.scale, scale), scale)
    }
  }
  if (type.kind === 'long') return (a, b) => (b === 0n ? site.fail(byZero) : (a as bigint) % (b as bigint))
  if (isFloating(type)) return (a, b) => (b === 0 ? site.fail(byZero) : (a as number) % (b as number))
  return (a, b) => (b === 0 ? site.fail(byZero) : ((a as number) % (b as number)) + 0)
}

function integralQuotient(site: CallSite): Strict {
  const fit = boundedLong(site)
  if (site.expr.args[0]?.type.kind !== 'decimal')
    return (a, b) => (b === 0n ? site.fail(byZero) : fit((a as bigint) / (b as bigint)))
  return (a, b) => {
    const left = a as Decimal
    const right = b as Decimal
    if (right.unscaled === 0n) return site.fail(byZero)
    const scale = Math.max(left.scale, right.scale)
    return fit(rescaled(left.unscaled, left.scale, scale) / rescaled(right.unscaled, right.scale, scale))
  }
}

function signed(site: CallSite, number: (value: number) => number, integer: (value: bigint) => bigint): Strict {
  const { type } = site.expr
  if (type.kind === 'decimal') return (a) => new Decimal(integer((a as Decimal).unscaled), (a as Decimal).scale)
  if (type.kind === 'long') {
    const fit = boundedLong(site)
    return (a) => fit(integer(a as bigint))
  }
  if (isFloating(type)) return (a) => number(a as number)
  const fit = bounded(site)
  return (a) => fit(number(a as number) + 0)
}

/** Doubles beyond BIGINT saturate, and NaN gives 0, as Java's narrowing does. */
function saturatedLong(value: number): bigint {
  if (Number.isNaN(value)) return 0n
  const [low, high] = integralBounds.long
  if (value >= 2 ** 63) return high
  return value <= -(2 ** 63) ? low : BigInt(value)
}

function integerPart(site: CallSite, number: (value: number) => number, direction: bigint): Strict {
  const source = site.expr.args[0]?.type
  if (source?.kind === 'double') return (a) => saturatedLong(number(a as number))
  if (site.expr.type.kind !== 'decimal') return (a) => a
  const fit = fitted(site, site.expr.type)
  return (a) => {
    const { unscaled, scale } = a as Decimal
    const unit = powerOfTen(scale)
    const rest = unscaled % unit
    const moves = rest !== 0n && rest > 0n === direction > 0n
    return fit(unscaled / unit + (moves ? direction : 0n), 0)
  }
}

function round(site: CallSite): Strict {
  const { type } = site.expr
  const digitsArg = site.expr.args[1]
  const digits = digitsArg?.kind === 'literal' && typeof digitsArg.value === 'number' ? digitsArg.value : 0
  const at = (unscaled: bigint, scale: number): bigint => {
    const dropped = scale - digits
    if (dropped <= 0) return unscaled
    if (dropped > 400) return 0n
    return divideHalfUp(unscaled, powerOfTen(dropped)) * powerOfTen(dropped)
  }
  if (type.kind === 'decimal') {
    const fit = fitted(site, type)
    return (a) => fit(at((a as Decimal).unscaled, (a as Decimal).scale), (a as Decimal).scale)
  }
  if (type.kind === 'long') {
    const fit = boundedLong(site)
    return (a) => fit(at(a as bigint, 0))
  }
  if (isFloating(type)) return (a) => roundDouble(a as number, digits, type.kind === 'float')
  const fit = bounded(site)
  return (a) => fit(Number(at(BigInt(a as number), 0)))
}

/** By the shortest decimal form of the number, so that round(2.675, 2) is 2.68. */
function roundDouble(value: number, digits: number, isFloat: boolean): number {
  if (!Number.isFinite(value)) return value
  const [mantissa = '', exponentText = '0'] = value.toExponential().split('e')
  const fraction = mantissa.split('.')[1] ?? ''
  const scale = fraction.length - Number(exponentText)
  const dropped = scale - digits
  if (dropped <= 0) return value
  const unscaled = BigInt(mantissa.replace('.', ''))
  if (dropped > 40) return 0
  const rounded = Number(`${divideHalfUp(unscaled, powerOfTen(dropped))}e${-digits}`)
  return isFloat ? Math.fround(rounded) : rounded
}
