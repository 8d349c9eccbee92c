/**
 * Names that a flow may not have, told where it is defined: tables with two columns of one name would be made, and found broken by the first
 * batch that reads them. Names are compared without case, as everywhere.
 */
import { failure } from '../base/errors.ts'
import type { RelationColumn } from '../relation/tree.ts'
import { quarantineColumn, stateColumn } from './layout.ts'
import type { FlowOptions } from './options.ts'

/** Of columns that the state or the quarantine has beside the user's. */
const beside = new Set<string>([...Object.values(stateColumn), ...Object.values(quarantineColumn)])

/** @throws AUTOCDC_INVALID_DEFINITION where an option names a column twice, in which that says something */
export function checkLists({ keys, sequenceBy, partitionBy }: FlowOptions): void {
  const lists = { keys, sequenceBy: typeof sequenceBy === 'string' ? [] : sequenceBy, partitionBy: partitionBy ?? [] }
  for (const [option, names] of Object.entries(lists)) {
    const [twice] = repeated(names)
    if (twice !== undefined) throw invalid(`${option} names \`${twice}\` twice`, option)
  }
}

/**
 * @param added names of the columns that the target gets besides
 * @throws AUTOCDC_INVALID_DEFINITION, AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT
 */
export function checkNames(selected: readonly RelationColumn[], added: readonly string[]): void {
  const [own] = repeated(added)
  if (own !== undefined)
    throw invalid(
      `two of the columns that the target adds are named \`${own}\``,
      'intervalColumns, metadataColumn, systemColumns',
    )
  const [twice] = repeated(selected.map(({ name }) => name))
  if (twice !== undefined)
    throw invalid(`the source has two columns \`${twice}\`, which a table tells apart by case alone`, 'exceptColumns')
  const taken = selected.map(({ name }) => name).filter((name) => beside.has(name.toLowerCase()))
  if (taken.length === 0) return
  throw failure(
    'AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT',
    `the columns selected include ${taken.map((name) => `\`${name}\``).join(', ')}, which the state or the quarantine has itself`,
    {
      details: { columns: taken, reserved: [...beside] },
      advice: 'Leave such columns out (exceptColumns), or name them otherwise in the source.',
    },
  )
}

/** @throws AUTOCDC_INVALID_DEFINITION where a selection is of columns that the target does not get */
export function checkSelected(
  option: string,
  named: readonly RelationColumn[],
  selected: readonly RelationColumn[],
): void {
  const outside = named.find((column) => !selected.includes(column))
  if (outside !== undefined)
    throw invalid(`${option} names \`${outside.name}\`, which is not among the columns selected`, option)
}

/** Names that are there again, case aside. */
function repeated(names: readonly string[]): string[] {
  const seen = new Set<string>()
  return names.filter((name) => {
    const isThere = seen.has(name.toLowerCase())
    seen.add(name.toLowerCase())
    return isThere
  })
}

function invalid(message: string, option: string): Error {
  return failure('AUTOCDC_INVALID_DEFINITION', message, { details: { option } })
}
