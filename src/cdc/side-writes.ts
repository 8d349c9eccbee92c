/** Writes to the tables beside a target, state and quarantine, which other flows may give more columns at any time. */
import { BraidlakeError } from '../base/errors.ts'
import { col } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { relationColumns } from '../relation/columns.ts'
import type { RunOptions } from '../relation/data-plane.ts'
import type { Relation } from '../relation/tree.ts'
import { type TableParts, defaultSettings } from '../transaction/context.ts'
import type { CommitResult } from '../transaction/outcome.ts'
import type { Statement } from '../transaction/plan.ts'
import { Transaction } from '../transaction/transaction.ts'
import { reshaped } from './reshaped.ts'

/** Times a statement is run again on a table that got other columns. */
const maxTries = 100

/** The statement lost to a commit that gave the table columns, and had better run on those. */
export const isReshaped = (cause: unknown): boolean =>
  cause instanceof BraidlakeError &&
  (cause.code === 'DELTA_METADATA_CHANGED' || cause.code === 'DELTA_PROTOCOL_CHANGED')

/** Rows named `s.<column>`, with structs as the table has them: it may have fields that these rows have no value for. */
export function shapedFor({ columns }: Snapshot, input: Relation): Relation {
  const types = new Map(columns.map(({ name, type }) => [`s.${name}`.toLowerCase(), type]))
  const values = relationColumns(input).map(({ name, type }) => ({
    name,
    value: reshaped(col(name, type), types.get(name.toLowerCase()) ?? type),
  }))
  return values.every(({ value }) => value.kind === 'column') ? input : { kind: 'project', input, columns: values }
}

/** One statement in a commit of its own. It is tried again where the table got other columns meanwhile. */
export async function writeBeside(
  parts: TableParts,
  statementOn: (snapshot: Snapshot) => Statement,
  options: RunOptions,
): Promise<CommitResult> {
  for (let tries = 1; ; tries++) {
    const snapshot = await parts.log.refresh()
    const tx = new Transaction(parts, { ...defaultSettings, signal: options.signal }, snapshot)
    try {
      await tx.execute(statementOn(snapshot))
    } catch (error) {
      await tx.rollback()
      throw error
    }
    try {
      return await tx.commit()
    } catch (error) {
      if (!isReshaped(error) || tries >= maxTries) throw error
    }
  }
}
