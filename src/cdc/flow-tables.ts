/**
 * The tables of a flow: a target, and beside it a state table; each knows the other by id, and the path between them is relative. They are
 * created together with the first flow's pin, in the target's first commit. A missing or unpaired table is an error: made anew in silence
 * it would give wrong rows.
 */
import { failure } from '../base/errors.ts'
import type { Snapshot } from '../log/snapshot.ts'
import type { Action, Metadata } from '../protocol/actions.ts'
import { requiredFeatures } from '../protocol/feature-uses.ts'
import { newProtocol, withFeatures } from '../protocol/features.ts'
import { printSchema, typeName } from '../protocol/schema-json.ts'
import { tableProperties } from '../protocol/table-properties.ts'
import { takeFeatureProperties, validateUserProperties } from '../protocol/user-properties.ts'
import type { RelationColumn } from '../relation/tree.ts'
import type { TableParts } from '../transaction/context.ts'
import { engineInfo } from '../transaction/engine-info.ts'
import type { FlowDefinition } from './definition.ts'
import { requireFitting } from './fitted-definition.ts'
import { requireUntouched } from './foreign-changes.ts'
import { growTables } from './growing-tables.ts'
import { schemaOf, stateColumn, stateColumnsOf, tableColumn, targetColumnsOf } from './layout.ts'
import { type Pin, type PinnedDefinition, pinsOf, printPin } from './pins.ts'
import { cdcOperation, flowCommitInfo } from './target-write.ts'
import type { BatchTables } from './batch.ts'

export const pairProperty = 'braidlake.cdc.target'
const sparkMark = '__spark_autocdc_'

/** Opens or creates the tables, registers the flow, and checks that it goes with them. @throws AUTOCDC_INVALID_STATE, AUTOCDC_FOREIGN_TARGET */
export async function openFlowTables(
  tables: BatchTables,
  statePath: string,
  definition: FlowDefinition,
  properties: Readonly<Record<string, string>>,
): Promise<void> {
  if (!(await tables.target.log.exists())) await createBoth(tables, statePath, definition, properties)
  const snapshot = await tables.target.log.refresh()
  requireOurs(snapshot)
  if (snapshot.properties.appendOnly) throw appendOnly()
  const pins = pinsOf(snapshot)
  const own = pins.get(definition.flow)
  const [known = own] = own === undefined ? pins.values() : [own]
  if (known !== undefined) checkDrift(known.definition, pinnedDefinition(definition), definition.flow, snapshot)
  // Before anything is written: what does not fit leaves no trace.
  requireFitting(definition, snapshot)
  if (own === undefined) await registerFlow(tables, statePath, definition)
  await checkPaired(tables, await tables.target.log.refresh(), definition)
  await growTables(tables, definition)
}

function pinnedDefinition(definition: FlowDefinition): PinnedDefinition {
  const { scdType, names, system } = definition
  return {
    scdType,
    keys: Object.fromEntries(definition.keys.map(({ name, type }) => [name, typeName(type)])),
    sequenceType: typeName(definition.sequenceType),
    tracked:
      scdType === 1
        ? []
        : definition.payload
            .filter(({ isTracked }) => isTracked)
            .map(({ name }) => name)
            .sort(),
    metadataColumn: names.metadata,
    intervalColumns: scdType === 1 ? undefined : [names.start, names.end],
    ...(system === undefined
      ? {}
      : { systemType: typeName(system.type), systemColumns: [system.names.start, system.names.end] as const }),
  }
}

function firstPin(definition: FlowDefinition, stateId: string, statePath: string): Pin {
  return {
    flow: definition.flow,
    last: 0,
    dead: [],
    offset: undefined,
    watermark: undefined,
    truncates: [],
    definition: pinnedDefinition(definition),
    state: { id: stateId, path: statePath },
  }
}

async function createBoth(
  tables: BatchTables,
  statePath: string,
  definition: FlowDefinition,
  properties: Readonly<Record<string, string>>,
): Promise<void> {
  const { environment } = tables.target
  const { features, properties: given } = takeFeatureProperties(properties)
  const ofTarget = validateUserProperties({ 'delta.enableDeletionVectors': 'true', ...given })
  if (tableProperties(ofTarget).appendOnly) throw appendOnly()
  // A crash may have left a state without a target; it names the id that its target was to have.
  if (!(await tables.state.log.exists())) {
    const configuration = { 'delta.enableDeletionVectors': 'true', [pairProperty]: environment.uuid() }
    await createTable(
      tables.state,
      environment.uuid(),
      stateColumnsOf(definition),
      [stateColumn.flow],
      configuration,
      [],
    )
  }
  // Read back, for another process may have created it first: its ids count.
  const { metadata, files } = await tables.state.log.refresh()
  if (await tables.target.log.exists()) return
  const targetId = metadata.configuration[pairProperty]
  if (files.count > 0 || targetId === undefined) {
    throw failure('AUTOCDC_INVALID_STATE', `${tables.state.log.store.root} holds the state of a target that is gone`, {
      details: { reason: 'STATE_WITHOUT_TARGET', path: tables.state.log.store.root },
      advice: 'Restore the target, or delete the state with it.',
    })
  }
  const pin = printPin(firstPin(definition, metadata.id, statePath))
  await createTable(
    tables.target,
    targetId,
    targetColumnsOf(definition),
    definition.partitionBy,
    ofTarget,
    [{ kind: 'domainMetadata', domainMetadata: pin }],
    features,
  )
}

/** Decided before any event is there, so that whether a flow runs does not hang on what its events say. */
function appendOnly(): Error {
  return failure(
    'DELTA_CANNOT_MODIFY_APPEND_ONLY',
    'the target is append-only, and a flow changes rows: leave delta.appendOnly out, or unset it',
    { details: { operation: cdcOperation } },
  )
}

/** Version 0 of a table; one that another process has just created is as good. */
export async function createTable(
  parts: TableParts,
  id: string,
  columns: readonly RelationColumn[],
  partitionColumns: readonly string[],
  configuration: Readonly<Record<string, string>>,
  more: readonly Action[],
  features: readonly string[] = [],
): Promise<void> {
  const { environment, log } = parts
  const schema = schemaOf(columns)
  const txnId = environment.uuid()
  const metadata: Metadata = {
    id,
    name: undefined,
    description: undefined,
    format: { provider: 'parquet', options: {} },
    schemaString: printSchema(schema),
    partitionColumns,
    createdTime: environment.nowMs(),
    configuration,
  }
  const protocol = newProtocol([...new Set([...requiredFeatures(schema, configuration), ...features])])
  const actions: Action[] = [
    {
      kind: 'commitInfo',
      commitInfo: {
        timestamp: environment.nowMs(),
        operation: 'CREATE TABLE',
        operationParameters: {},
        isolationLevel: 'Serializable',
        isBlindAppend: true,
        engineInfo,
        txnId,
      },
    },
    { kind: 'protocol', protocol: more.length === 0 ? protocol : withFeatures(protocol, ['domainMetadata']) },
    { kind: 'metaData', metaData: metadata },
    ...more,
  ]
  if ((await log.commit(0, actions, txnId)) !== 'unknown') return
  throw failure('COMMIT_OUTCOME_UNKNOWN', `storage did not say whether ${log.store.root} was created`, {
    details: { version: 0, txnId },
  })
}

function requireOurs(snapshot: Snapshot): void {
  const isSparks =
    snapshot.columns.some(({ name }) => name.startsWith(sparkMark)) ||
    Object.keys(snapshot.metadata.configuration).some((name) => name.startsWith('pipelines.autocdc.'))
  if (isSparks) {
    throw failure('AUTOCDC_FOREIGN_TARGET', "the target belongs to Spark's AUTO CDC", {
      details: { columns: snapshot.columns.map(({ name }) => name) },
    })
  }
  if (pinsOf(snapshot).size > 0) return
  throw failure('AUTOCDC_INVALID_STATE', 'the table is no target of AUTO CDC: no flow is registered in it', {
    details: { reason: 'NOT_A_TARGET' },
    advice: 'Give the flow a path where no table is: it creates its target.',
  })
}

/** Lost races are tried again: the pin of another flow does not concern ours, and ours may have been registered by a twin. */
async function registerFlow(tables: BatchTables, statePath: string, definition: FlowDefinition): Promise<void> {
  const { log, environment } = tables.target
  for (let tries = 0; tries < maxRegistrations; tries++) {
    const snapshot = await log.refresh()
    const pins = pinsOf(snapshot)
    const [known] = pins.values()
    if (pins.has(definition.flow) || known === undefined) return
    // Flows of one target share its rows, and so what makes them.
    checkDrift(known.definition, pinnedDefinition(definition), definition.flow, snapshot)
    // From now on this commit says that all before it is the flows'.
    await requireUntouched(log, snapshot.version)
    const txnId = environment.uuid()
    const pin = { ...firstPin(definition, known.state.id, statePath), state: known.state }
    const outcome = await log.commit(
      snapshot.version + 1,
      [
        {
          kind: 'commitInfo',
          commitInfo: flowCommitInfo(environment, snapshot.version, txnId, {
            flow: definition.flow,
            step: 'register',
          }),
        },
        { kind: 'domainMetadata', domainMetadata: printPin(pin) },
      ],
      txnId,
    )
    if (outcome === 'committed') return
  }
  throw failure('DELTA_MAX_COMMIT_RETRIES_EXCEEDED', `could not register flow ${definition.flow}`, {
    details: { flow: definition.flow, tries: maxRegistrations },
  })
}

const maxRegistrations = 1_000

async function checkPaired(tables: BatchTables, target: Snapshot, definition: FlowDefinition): Promise<void> {
  const own = pinsOf(target).get(definition.flow)
  if (own === undefined) return
  checkDrift(own.definition, pinnedDefinition(definition), definition.flow, target)
  if (!(await tables.state.log.exists())) {
    throw failure('AUTOCDC_INVALID_STATE', `the state of the target is missing: ${tables.state.log.store.root}`, {
      details: { reason: 'AUXILIARY_TABLE_MISSING', path: tables.state.log.store.root },
      advice: 'Restore it, or run `cdc repair`, which keeps what the target shows and warns of what is lost.',
    })
  }
  const state = await tables.state.log.refresh()
  if (state.metadata.id === own.state.id && state.metadata.configuration[pairProperty] === target.metadata.id) return
  throw failure('AUTOCDC_INVALID_STATE', `${tables.state.log.store.root} is the state of another target`, {
    details: { reason: 'AUXILIARY_TABLE_UNPAIRED', expected: own.state.id, found: state.metadata.id },
    advice: 'A copy of a target needs state of its own: run `cdc adopt`.',
  })
}

const driftReasons = {
  scdType: 'SCD_TYPE_DRIFT',
  keys: 'KEY_SCHEMA_DRIFT',
  sequenceType: 'SEQUENCING_TYPE_DRIFT',
  tracked: 'TRACK_HISTORY_DRIFT',
  metadataColumn: 'METADATA_COLUMN_DRIFT',
  intervalColumns: 'INTERVAL_COLUMNS_DRIFT',
  systemType: 'SCD_TYPE_DRIFT',
  systemColumns: 'INTERVAL_COLUMNS_DRIFT',
} as const

function checkDrift(stored: PinnedDefinition, now: PinnedDefinition, flow: string, target: Snapshot): void {
  for (const part of Object.keys(driftReasons) as (keyof typeof driftReasons)[]) {
    const isSame =
      part === 'tracked' ? sameNames(stored.tracked, now.tracked) : canonical(stored[part]) === canonical(now[part])
    if (isSame) continue
    throw failure(
      'AUTOCDC_INVALID_STATE',
      `flow ${flow} was made with another ${part}: ${canonical(stored[part])}, now ${canonical(now[part])}`,
      {
        details: { reason: driftReasons[part], flow, stored: stored[part], now: now[part] },
        ...(part === 'tracked' ? { advice: trackingAdvice(stored.tracked, now.tracked, target) } : {}),
      },
    )
  }
}

/** A column that the target does not have yet cannot be tracked: it is added first, without a change of the history. */
function trackingAdvice(stored: readonly string[], now: readonly string[], target: Snapshot): string {
  const fresh = now.filter((name) => tableColumn(target, name) === undefined)
  if (fresh.length === 0) return 'Run `cdc retrack`, which folds the history anew with other tracked columns.'
  const list = stored.map((name) => `'${name}'`).join(', ')
  return `New columns (${fresh.join(', ')}) would be tracked. Name those that are: trackHistory: { on: [${list}] }. The new ones are then added untracked, and \`cdc retrack\` tracks them later.`
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  const sorted = (names: readonly string[]) => names.map((name) => name.toLowerCase()).sort()
  return canonical(sorted(a)) === canonical(sorted(b))
}

/** Order and case mean nothing. */
function canonical(value: unknown): string {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const entries = Object.entries(value).map(([name, type]) => [name.toLowerCase(), String(type)])
    return JSON.stringify(entries.sort())
  }
  return JSON.stringify(value ?? null).toLowerCase()
}
