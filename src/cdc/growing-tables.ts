/**
 * Target and state get the columns that a flow has and they lack, and the fields of structs. Only what is additive is done: old rows have NULL
 * there. The state comes first, in a commit of its own, so that it has every column that rows of the target may come to need: a crash
 * between the two leaves a state with a column that no row uses, and the next run of the flow goes on from there. A commit of this kind
 * changes no rows; batches of other flows that are under way start again with the columns that the target has then.
 *
 * It retries a lost race from the newest versions: another flow may have brought the same columns.
 *
 * See docs/decisions/0020-columns-that-grow.md.
 */
import { failure } from '../base/errors.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Action } from '../protocol/actions.ts'
import { withMappedFields } from '../protocol/column-mapping.ts'
import { requiredFeatures } from '../protocol/feature-uses.ts'
import { requireWritable, withFeatures } from '../protocol/features.ts'
import { printSchema, typeName } from '../protocol/schema-json.ts'
import { type Growth, type NewField, grownSchema } from '../protocol/schema-growth.ts'
import type { DataType } from '../protocol/types.ts'
import type { RelationColumn } from '../relation/tree.ts'
import type { TableParts } from '../transaction/context.ts'
import { afterCommit } from '../transaction/post-commit.ts'
import type { BatchTables } from './batch-tables.ts'
import type { FlowDefinition } from './definition.ts'
import { definitionOver, misfitError, requireFitting, stayingIn, userColumns } from './fitted-definition.ts'
import { metadataType, stateColumn, stateColumnsOf, tableColumn, targetColumnsOf } from './layout.ts'
import { flowCommitInfo } from './target-write.ts'

const maxTries = 1_000

/** @throws AUTOCDC_INVALID_STATE where a column has another type, or events of other flows leave other columns as they were */
export async function growTables(tables: BatchTables, definition: FlowDefinition): Promise<void> {
  for (let tries = 0; tries < maxTries; tries++) {
    const target = await tables.target.log.refresh()
    const state = await tables.state.log.refresh()
    const whole = wholeDefinition(definition, target, state)
    const wanted = growthOf(tables.target, target, targetColumnsOf(whole), definition)
    const hidden = growthOf(tables.state, state, stateColumnsOf(whole), definition)
    if (hidden.added.length > 0 && !(await commitGrowth(tables.state, state, hidden, definition))) continue
    if (wanted.added.length === 0 || (await commitGrowth(tables.target, target, wanted, definition))) return
  }
  throw keptLosing(definition)
}

function keptLosing({ flow }: FlowDefinition): Error {
  return failure('DELTA_MAX_COMMIT_RETRIES_EXCEEDED', `the tables did not get the columns of flow ${flow}`, {
    details: { flow, tries: maxTries },
  })
}

/** The same for another table beside the target. */
export async function growTable(
  parts: TableParts,
  columns: readonly RelationColumn[],
  definition: FlowDefinition,
): Promise<void> {
  for (let tries = 0; tries < maxTries; tries++) {
    const base = await parts.log.refresh()
    const growth = growthOf(parts, base, columns, definition)
    if (growth.added.length === 0 || (await commitGrowth(parts, base, growth, definition))) return
  }
  throw keptLosing(definition)
}

/** Over the columns that the target has, and behind them those that it is to get. */
function wholeDefinition(definition: FlowDefinition, target: Snapshot, state: Snapshot): FlowDefinition {
  const staying = stayingIn(definition, target, state)
  const now = userColumns(definition, target)
  checkStaying(definitionOver(definition, now, target, staying), target, state)
  const fields = now.map(({ name, type }) => ({ name, type, nullable: true, metadata: {} }))
  requireFitting(definition, target)
  const growth = grownSchema({ kind: 'struct', fields }, definition.selected)
  const columns = growth.schema.fields.map(({ name, type }): RelationColumn => ({ name, type }))
  return definitionOver(definition, columns, target, staying)
}

/** Whether its flows leave columns as they were, and which, is part of what the target's rows mean; of a bitemporal one, its state's. */
function checkStaying(fitted: FlowDefinition, target: Snapshot, state: Snapshot): void {
  const { flow, names, system } = fitted
  const ofState = stateColumnsOf(fitted).find(({ name }) => name === stateColumn.written)?.type
  const [stored, now] =
    system === undefined
      ? [tableColumn(target, names.metadata)?.type, metadataType(fitted)]
      : [tableColumn(state, stateColumn.written)?.type, ofState]
  const text = (type: DataType | undefined): string => (type === undefined ? 'none' : typeName(type).toLowerCase())
  if (text(stored) === text(now)) return
  throw failure(
    'AUTOCDC_INVALID_STATE',
    `the target was made for flows that leave other columns as they were than flow ${flow} does`,
    {
      details: { reason: 'PARTIAL_UPDATES_DRIFT', stored: text(stored), now: text(now) },
      advice: 'Give all flows of a target the same ignoreNullUpdates or columnsToUpdate, or start a new target.',
    },
  )
}

function growthOf(
  parts: TableParts,
  snapshot: Snapshot,
  columns: readonly RelationColumn[],
  { flow }: FlowDefinition,
): Growth {
  const growth = grownSchema(snapshot.schema, columns)
  if (growth.misfits.length > 0) throw misfitError(flow, parts.log.store.root, growth.misfits)
  return growth
}

/** @returns false: another commit came first */
async function commitGrowth(
  parts: TableParts,
  base: Snapshot,
  growth: Growth,
  { flow }: FlowDefinition,
): Promise<boolean> {
  const { environment, log } = parts
  const txnId = environment.uuid()
  const { schema, configuration } = withMappedFields(
    growth.schema,
    base.metadata.configuration,
    base.mappingMode,
    () => `col-${environment.uuid()}`,
  )
  const protocol = withFeatures(base.protocol, requiredFeatures(schema, configuration))
  requireWritable(protocol, schema, configuration)
  const actions: Action[] = [
    {
      kind: 'commitInfo',
      commitInfo: flowCommitInfo(environment, base.version, txnId, {
        flow,
        step: 'add columns',
        columns: JSON.stringify(growth.added.map(named)),
      }),
    },
    ...(protocol === base.protocol ? [] : [{ kind: 'protocol', protocol } as const]),
    { kind: 'metaData', metaData: { ...base.metadata, schemaString: printSchema(schema), configuration } },
  ]
  const version = base.version + 1
  const outcome = await log.commit(version, actions, txnId)
  if (outcome === 'unknown') {
    // Whether it is there or not: the next run finds out, and does no more than is left to do.
    throw failure(
      'STORAGE_UNAVAILABLE',
      `storage did not say whether ${log.store.root} got the columns of flow ${flow}; no event is applied`,
      { details: { path: log.store.root, version, txnId } },
    )
  }
  if (outcome === 'committed') await afterCommit(parts, version, base.properties.checkpointInterval, [])
  return outcome === 'committed'
}

const named = ({ path, type }: NewField) => ({ column: path.join('.'), type: typeName(type) })
