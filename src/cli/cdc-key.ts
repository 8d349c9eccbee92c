/** A key of a target as the command line has it: a text for each key column. */
import { BraidlakeError } from '../base/errors.ts'
import type { BatchTables } from '../cdc/batch-tables.ts'
import { storedDefinition } from '../cdc/maintenance/stored-definition.ts'
import { toJs } from '../protocol/js-values.ts'
import { parsePartitionValue } from '../protocol/partition-values.ts'
import { typeName } from '../protocol/schema-json.ts'
import type { DataType } from '../protocol/types.ts'
import type { RelationColumn } from '../relation/tree.ts'
import { UsageError } from './exit-codes.ts'

/** @throws AUTOCDC_INVALID_STATE where the table is no target */
export async function keyColumns({ target }: BatchTables): Promise<readonly RelationColumn[]> {
  return storedDefinition(await target.log.refresh()).keys
}

/** @throws UsageError where texts and key columns do not go together */
export function keyOf(columns: readonly RelationColumn[], texts: readonly string[]): Readonly<Record<string, unknown>> {
  if (columns.length !== texts.length) {
    const names = columns.map(({ name, type }) => `${name} (${typeName(type)})`).join(', ')
    throw new UsageError(`the key of this target is ${names}: give a value for each`)
  }
  return Object.fromEntries(
    columns.map(({ name, type }, place) => [name, valueOf(`key column ${name}`, type, texts[place] ?? '')]),
  )
}

/** A value of a type from its text, as users hand it in. @throws UsageError */
export function valueOf(what: string, type: DataType, text: string): unknown {
  if (type.kind === 'string') return text
  try {
    return toJs(parsePartitionValue(text, type), type)
  } catch (error) {
    if (!(error instanceof BraidlakeError)) throw error
    throw new UsageError(`${what}: '${text}' is no ${typeName(type)}`)
  }
}
