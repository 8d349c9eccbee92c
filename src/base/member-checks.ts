/** Checks of what a file or a caller says, member by member: a word misspelt would otherwise be an option not given. */

export type Check = (value: unknown) => boolean
export type Members = Readonly<Record<string, unknown>>

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const text: Check = (value) => typeof value === 'string' && value !== ''
export const flag: Check = (value) => typeof value === 'boolean'
export const count: Check = (value) => Number.isSafeInteger(value) && Number(value) >= 0
export const texts: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(text)
export const textOrTexts: Check = (value) => text(value) || texts(value)
export const textRecord: Check = (value) =>
  isMembers(value) && Object.values(value).every((one) => typeof one === 'string')
export const oneOf =
  (...allowed: readonly string[]): Check =>
  (value) =>
    allowed.some((word) => word === value)

/** `{ on: [...] }` or `{ except: [...] }` */
export const selection: Check = (value) => {
  if (!isMembers(value)) return false
  const names = Object.keys(value)
  return (
    names.length === 1 &&
    ['on', 'except'].some((name) => name === names[0]) &&
    Object.values(value).every(isListOfTexts)
  )
}

const isListOfTexts: Check = (value) => Array.isArray(value) && value.every(text)

/** @param problemOf makes the error to throw */
export function checkMembers(
  given: Members,
  checks: Readonly<Record<string, Check>>,
  needed: readonly string[],
  problemOf: (problem: string, member: string) => Error,
): void {
  // A member that lacks is often there under another name, so that one is told first.
  const unknown = Object.keys(given).find((member) => !Object.hasOwn(checks, member))
  if (unknown !== undefined) throw problemOf(`it has an unknown member ${unknown}`, unknown)
  for (const member of needed) {
    if (given[member] === undefined) throw problemOf(`it lacks ${member}`, member)
  }
  for (const [member, value] of Object.entries(given)) {
    if (value !== undefined && checks[member]?.(value) === false)
      throw problemOf(`${member} cannot be ${shown(value)}`, member)
  }
}

function shown(value: unknown): string {
  const isPlain = typeof value === 'string' || Array.isArray(value) || isMembers(value)
  return isPlain
    ? JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? String(one) : one))
    : String(value)
}
