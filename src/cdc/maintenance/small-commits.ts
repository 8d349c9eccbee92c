/** A commit of the target by one of the verbs that fold nothing: pins, the ledger, and rows that go by key. */
import { throwIfCancelled } from '../../base/cancel.ts'
import type { Snapshot } from '../../log/snapshot.ts'
import type { DomainMetadata } from '../../protocol/actions.ts'
import type { Json } from '../../base/json.ts'
import { requireUntouched } from '../foreign-changes.ts'
import { TargetWrite } from '../target-write.ts'
import { WorkingColumns } from '../working-rows.ts'
import { type MaintenanceContext, maxStarts, overtaken, standBack, unknownOutcome } from './maintenance-context.ts'
import { storedDefinition } from './stored-definition.ts'

export interface SmallCommit {
  readonly domains: readonly DomainMetadata[]
  readonly parameters: Readonly<Record<string, Json>>
}

/**
 * Makes one commit on the newest version, again from the beginning where another came first.
 * @param work what to commit on `base`; undefined: nothing is left to do. Rows it takes out of the target go with the commit
 * @returns the version, or that of the base where nothing was to be done
 */
export async function commitSmall(
  context: MaintenanceContext,
  step: string,
  work: (base: Snapshot, write: TargetWrite, columns: WorkingColumns) => Promise<SmallCommit | undefined>,
): Promise<number> {
  const { target } = context.tables
  for (let starts = 1; starts <= maxStarts; starts++) {
    throwIfCancelled(context.options.signal)
    const base = await target.log.refresh()
    await requireUntouched(target.log, base.version)
    const columns = new WorkingColumns(storedDefinition(base))
    const write = new TargetWrite(target, columns, base)
    const commit = await work(base, write, columns)
    if (commit === undefined) return base.version
    const put = await write.put(commit.domains, { step, ...commit.parameters }, {}, context.options)
    if (put.kind === 'committed') return put.version
    if (put.kind === 'unknown') throw unknownOutcome(base.version + 1, write.txnId)
    await write.discard()
    await standBack(context, starts)
  }
  throw overtaken(step)
}
