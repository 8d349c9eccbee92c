/**
 * Erases a key for good: one commit takes its rows out of the target and writes its hash into the ledger; from then on its events are
 * dropped, so that what is left of it in the state is of no account and can be deleted in any order, and a replay does not bring it back.
 * The rows are gone from the tables; from the files they are in, once `VACUUM` has deleted those.
 */
import type { Expr } from '../../expr/tree.ts'
import { sqlTypeName } from '../../expr/type-rules.ts'
import { col, lit } from '../../expr/walk.ts'
import type { Datum } from '../../protocol/datum.ts'
import { toJs } from '../../protocol/js-values.ts'
import type { Relation } from '../../relation/tree.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { TargetWrite } from '../target-write.ts'
import { mayHold } from '../../transaction/file-facts.ts'
import { Transaction } from '../../transaction/transaction.ts'
import { type TableParts, defaultSettings } from '../../transaction/context.ts'
import { deleteStatement } from '../../commands/delete.ts'
import { printPin, pinsOf } from '../pins.ts'
import { rowsOfKeys } from '../rows-of-keys.ts'
import { all, equal } from '../terms.ts'
import type { WorkingColumns } from '../working-rows.ts'
import { erasedHashes, keyHash, keyRows, printErased } from './erased-keys.ts'
import { keptPin } from './kept-flow.ts'
import { type MaintenanceContext, countRows, settingFor } from './maintenance-context.ts'
import { commitSmall } from './small-commits.ts'
import { storedDefinition } from './stored-definition.ts'

export interface EraseReport {
  readonly version: number
  readonly rowsErased: number
  readonly stateRowsErased: number
  readonly quarantineRowsErased: number
  /** Of the key, as it stands in the ledger. */
  readonly hash: string
}

/** @param key values of the key columns, in the target's order. Retries: a key that is erased already is looked for again. */
export async function eraseKey(context: MaintenanceContext, key: readonly Datum[]): Promise<EraseReport> {
  const { tables, plane, options } = context
  let hash = ''
  let rowsErased = 0
  const version = await commitSmall(context, 'erase', async (base, write, columns) => {
    hash = keyHash(columns.definition, key, tables.target.environment)
    const keys = await plane.stage({ kind: 'relation', relation: keyRows(columns.definition, [key]) }, options)
    const remove = async ({ base: on, state }: TargetWrite) => {
      const files = await state.filesFor(0, (file) => mayHold(on, isKey(columns, key), file))
      const places: Relation = rowsOfKeys(columns, on, files, keys)
      rowsErased = files.length === 0 ? 0 : await countRows(context, places)
      if (rowsErased > 0) await write.remove(plane, places, options)
    }
    await remove(write)
    if (rowsErased === 0 && erasedHashes(base).has(hash)) {
      await keys.release()
      return undefined
    }
    const domainsOn = (snapshot: Snapshot) => [
      printErased(new Set([...erasedHashes(snapshot), hash])),
      printPin(keptPin(pinsOf(snapshot))),
    ]
    return { domainsOn, parameters: () => ({ rows: String(rowsErased) }), rows: { keys, remove } }
  })
  return {
    version,
    rowsErased,
    stateRowsErased: await eraseFrom(context, tables.state, key),
    quarantineRowsErased: tables.quarantine === undefined ? 0 : await eraseFrom(context, tables.quarantine, key),
    hash,
  }
}

/** Over `t.*`. */
function isKey({ definition }: WorkingColumns, key: readonly Datum[]): Expr {
  return all(
    ...definition.keys.map(({ name, type }, place) => equal(col(`t.${name}`, type), lit(key[place] ?? null, type))),
  )
}

/** Deletes the key's rows from a table beside the target. */
async function eraseFrom(context: MaintenanceContext, parts: TableParts, key: readonly Datum[]): Promise<number> {
  if (!(await parts.log.exists())) return 0
  const { keys } = storedDefinition(await context.tables.target.log.refresh())
  const params = Object.fromEntries(keys.map(({ type }, place) => [`k${place}`, toJs(key[place] ?? null, type)]))
  const where = keys
    .map(({ name, type }, place) => `\`${name.replaceAll('`', '``')}\` = CAST(:k${place} AS ${sqlTypeName(type)})`)
    .join(' AND ')
  const setting = { ...settingFor(parts, context.options), params }
  const tx = new Transaction(parts, { ...defaultSettings, signal: context.options.signal }, await parts.log.refresh())
  try {
    await tx.execute(deleteStatement({ where }, setting))
  } catch (error) {
    await tx.rollback()
    throw error
  }
  return (await tx.commit()).metrics.rowsDeleted
}
