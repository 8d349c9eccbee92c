/** Exact decimal arithmetic. Rounding is half away from zero, as Spark's casts and results round. */
import { Decimal } from '../protocol/datum.ts'

const powers: bigint[] = [1n]

export function powerOfTen(exponent: number): bigint {
  for (let next = powers.length; next <= exponent; next += 1) powers.push((powers[next - 1] ?? 1n) * 10n)
  return powers[exponent] ?? 10n ** BigInt(exponent)
}

/** Quotient rounded half away from zero. */
export function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor
  const rest = dividend % divisor
  const twice = (rest < 0n ? -rest : rest) * 2n
  if (twice < (divisor < 0n ? -divisor : divisor)) return quotient
  return dividend < 0n === divisor < 0n ? quotient + 1n : quotient - 1n
}

/** Unscaled value at another scale. */
export function rescaled(unscaled: bigint, from: number, to: number): bigint {
  return to >= from ? unscaled * powerOfTen(to - from) : divideHalfUp(unscaled, powerOfTen(from - to))
}

/** At the scale of the type; undefined where it has more digits than the precision. */
export function fitDecimal(
  unscaled: bigint,
  scale: number,
  type: { readonly precision: number; readonly scale: number },
): Decimal | undefined {
  const value = rescaled(unscaled, scale, type.scale)
  const limit = powerOfTen(type.precision)
  return value > -limit && value < limit ? new Decimal(value, type.scale) : undefined
}

/** Rounded to 38 significant digits, as Spark's products are before they are fitted to their type. */
export function roundTo38Digits(unscaled: bigint, scale: number): Decimal {
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().length
  if (digits <= 38) return new Decimal(unscaled, scale)
  const dropped = digits - 38
  const rounded = divideHalfUp(unscaled, powerOfTen(dropped))
  return dropped <= scale
    ? new Decimal(rounded, scale - dropped)
    : new Decimal(rounded * powerOfTen(dropped - scale), 0)
}

export function compareDecimals(a: Decimal, b: Decimal): number {
  const [left, right] =
    a.scale === b.scale
      ? [a.unscaled, b.unscaled]
      : a.scale > b.scale
        ? [a.unscaled, b.unscaled * powerOfTen(a.scale - b.scale)]
        : [a.unscaled * powerOfTen(b.scale - a.scale), b.unscaled]
  return left < right ? -1 : left > right ? 1 : 0
}

/** Correctly rounded: the decimal text is read as a double. */
export function decimalToNumber(value: Decimal): number {
  return Number(`${value.unscaled}e-${value.scale}`)
}
