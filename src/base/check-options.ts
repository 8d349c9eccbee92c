/**
 * The options of a call, looked over before anything is done. Programs in JavaScript have no compiler that tells a member misspelt, which
 * would otherwise be an option not given: an update whose condition is not in `where` would change every row. What values mean is checked
 * where they are used; here, that each is of its kind.
 */
import { failure } from './errors.ts'
import { type Check, checkMembers, isMembers } from './member-checks.ts'
import { nearest } from './nearest.ts'

/** A check for every member of these options, and no other. */
export type ChecksOf<Options> = Readonly<Record<keyof Options, Check>>

/** Where the value is used, what it means is told more closely. */
export const judgedLater: Check = () => true
export const listOfTexts: Check = (value) => Array.isArray(value) && value.every((one) => typeof one === 'string')
export const method: Check = (value) => typeof value === 'function'

/**
 * @param call as its caller writes it: `update`
 * @param needed members that must be there
 * @throws INVALID_OPTION for what is no object, and for a member that is missing, unknown, or of another kind
 */
export function checkOptions(
  call: string,
  options: unknown,
  checks: Readonly<Record<string, Check>>,
  needed: readonly string[] = [],
): void {
  if (options === undefined && needed.length === 0) return
  const allowed = Object.keys(checks)
  const refuse = (problem: string, member?: string) =>
    failure('INVALID_OPTION', `the options of ${call} cannot be used: ${problem}`, {
      details: { call, ...(member === undefined ? {} : { option: member }), allowed },
      advice: `${call} takes an object of ${allowed.join(', ')}.`,
    })
  if (!isMembers(options))
    throw refuse(options === undefined ? `${needed.join(', ')} must be given` : 'they are no object')
  checkMembers(membersGiven(options), checks, needed, (problem, member) => {
    const names = allowed.map((name) => ({ name }))
    const [close] = Object.hasOwn(checks, member) ? [] : nearest(member, names)
    return refuse(`${problem}.${close === undefined ? '' : ` Did you mean ${close.name}?`}`, member)
  })
}

/** `undefined` is an option not given. */
function membersGiven(options: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** @throws INVALID_OPTION for a value that does not pass */
export function checkValue(call: string, option: string, value: unknown, check: Check, wanted: string): void {
  if (check(value)) return
  throw failure('INVALID_OPTION', `${option} of ${call} must be ${wanted}, not ${kindOf(value)}`, {
    details: { call, option, value },
    advice: `Give ${wanted}.`,
  })
}

function kindOf(value: unknown): string {
  if (value === '') return 'an empty one'
  if (typeof value === 'number' || typeof value === 'bigint' || value === null || value === undefined)
    return String(value)
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}
