/** `--set "column = expression"`. */
import type { SetList } from '../commands/assignments.ts'
import { UsageError } from './exit-codes.ts'

const form = /^\s*(?:`((?:[^`]|``)+)`|([^\s=`]+))\s*=(?!=)\s*(\S.*)$/s

/** @throws UsageError */
export function assignment(text: string, soFar: SetList): SetList {
  const [, quoted, plain, expression] = form.exec(text) ?? []
  const column = quoted?.replaceAll('``', '`') ?? plain
  if (column === undefined || expression === undefined) {
    throw new UsageError(`--set ${text}: write it as "column = expression"`)
  }
  if (Object.hasOwn(soFar, column)) throw new UsageError(`--set ${column} is given twice`)
  return { ...soFar, [column]: expression.trimEnd() }
}
