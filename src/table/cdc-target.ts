/**
 * A target of AUTO CDC whole: what its flows keep, held to the oracle, repaired, folded anew, and rid of what is no longer needed. Every
 * change of it is one commit, beside running flows: a batch that such a commit overtakes starts again.
 */
import { checkOptions, judgedLater } from '../base/check-options.ts'
import { failure } from '../base/errors.ts'
import { type Check, isMembers, selection, text } from '../base/member-checks.ts'
import type { BatchTables } from '../cdc/batch-tables.ts'
import { type FlowDefinition, defineFlow } from '../cdc/definition.ts'
import { fittedDefinition } from '../cdc/fitted-definition.ts'
import { type AdoptReport, adoptTarget } from '../cdc/maintenance/adopt.ts'
import { type EraseReport, eraseKey } from '../cdc/maintenance/erase.ts'
import { type MaintenanceContext, settingFor } from '../cdc/maintenance/maintenance-context.ts'
import { type RetireReport, retireFlow } from '../cdc/maintenance/retire.ts'
import { eventsFrom } from '../cdc/maintenance/source-events.ts'
import { storedDefinition } from '../cdc/maintenance/stored-definition.ts'
import {
  type MaintenanceReport,
  type RepairReport,
  collectGarbage,
  compactTarget,
  repairTarget,
  retrackTarget,
} from '../cdc/maintenance/verbs.ts'
import type { SourceEvents } from '../cdc/maintenance/source-events.ts'
import type { VerifyReport } from '../cdc/maintenance/verify-report.ts'
import { verifyTarget } from '../cdc/maintenance/verify.ts'
import type { ColumnSelection, FlowOptions } from '../cdc/options.ts'
import { WorkingColumns } from '../cdc/working-rows.ts'
import { type SourceRows, stagedSource } from '../commands/source.ts'
import type { Datum } from '../protocol/datum.ts'
import { fromJs } from '../protocol/js-values.ts'
import type { EventRows } from '../relation/event-source.ts'
import type { TableParts } from '../transaction/context.ts'
import { signalChecks } from './call-options.ts'
import { type KeyHistory, type KeyValues, explainTargetKey } from './cdc-explain.ts'
import { type CdcStatus, cdcStatus } from './cdc-status.ts'
import { atEdge } from './edge.ts'
import { declaredColumns, eventSchema, parseSchemaText } from './flow-schema.ts'
import type { SignalOption } from './options.ts'
import { stageWithSchema } from './source-rows.ts'

export interface CdcTargetSetting {
  readonly tables: BatchTables
  /** Of the state, from the target's folder. */
  readonly statePath: string
  /** A table by path. */
  readonly tableAt?: ((path: string) => TableParts) | undefined
}

/** All events there have been: as values, or as rows of a source with the options of the flow that read them. */
export type VerifyEvents = SourceEvents | { readonly rows: EventRows; readonly flow: FlowOptions }

export interface VerifyRunOptions extends SignalOption {
  /** Version of the target; default: the latest. */
  readonly version?: number | undefined
  readonly against?: VerifyEvents | undefined
}

const verifyChecks = { ...signalChecks, version: judgedLater, against: isAgainst }
const retrackChecks = { ...signalChecks, trackHistory: selection }
const gcChecks = { ...signalChecks, watermark: judgedLater }
const adoptChecks = { ...signalChecks, from: (value: unknown) => text(value) || isMembers(value) }

function isAgainst(value: unknown): boolean {
  return isMembers(value) && ('events' in value || (isMembers(value['rows']) && isMembers(value['flow'])))
}

export class CdcTarget {
  readonly #setting: CdcTargetSetting

  constructor(setting: CdcTargetSetting) {
    this.#setting = setting
  }

  get path(): string {
    return this.#setting.tables.target.log.store.root
  }

  /**
   * Holds every row to what the events give: those that target and state hold, and those of a source where they are given. Reads both
   * tables whole and changes nothing.
   * @throws AUTOCDC_INVALID_STATE where the state is missing, or a version is asked for that is older than the last gc or compact
   */
  verify(options: VerifyRunOptions = {}): Promise<VerifyReport> {
    return this.#run('verify', options, verifyChecks, async (context) => {
      const { version, against } = options
      if (against === undefined || 'events' in against) return verifyTarget(context, { version, against })
      return verifyTarget(context, { version, against: await this.#eventsOf(context, against.rows, against.flow) })
    })
  }

  /**
   * Makes the target anew from its events, in one commit: the cure of AUTOCDC_TARGET_CHANGED, AUTOCDC_MALFORMED_ROW and of a missing state.
   * Its rows are taken as they are now; malformed and repeated ones are dropped and reported.
   */
  repair(options: SignalOption = {}): Promise<RepairReport> {
    return this.#run('repair', options, signalChecks, repairTarget)
  }

  /** Folds the history anew with other tracked columns, in one commit. Flows must say the same from then on. Type 2 alone. */
  retrack(options: SignalOption & { readonly trackHistory: ColumnSelection }): Promise<MaintenanceReport> {
    return this.#run('retrack', options, retrackChecks, (context) => retrackTarget(context, options.trackHistory), [
      'trackHistory',
    ])
  }

  /**
   * Promises that no event below the watermark is to be applied any more (one that comes goes to the quarantine), and drops the state that
   * only such events would need. Nothing else is lost. A watermark is never lowered.
   * @param options `watermark`: as the source has its sequence; of several columns, a list
   */
  gc(options: SignalOption & { readonly watermark: unknown }): Promise<MaintenanceReport> {
    const work = async (context: MaintenanceContext) => {
      const definition = storedDefinition(await context.tables.target.log.refresh())
      return collectGarbage(context, sequenceFrom(definition, options.watermark))
    }
    return this.#run('gc', options, gcChecks, work, ['watermark'])
  }

  /** Drops state rows that the target shows as well, and dead attempts. */
  compact(options: SignalOption = {}): Promise<MaintenanceReport> {
    return this.#run('compact', options, signalChecks, compactTarget)
  }

  /**
   * Gives a copied or cloned target a state of its own.
   * @param options `from`: folder of the original's state table, where none was copied along
   */
  adopt(options: SignalOption & { readonly from?: string | TableParts | undefined } = {}): Promise<AdoptReport> {
    return this.#run('adopt', options, adoptChecks, (context) =>
      adoptTarget(context, typeof options.from === 'string' ? this.#setting.tableAt?.(options.from) : options.from),
    )
  }

  /** Takes a flow off the target; what it gave stays. @throws AUTOCDC_INVALID_STATE where there is none of that name */
  retire(flow: string, options: SignalOption = {}): Promise<RetireReport> {
    return this.#run('retire', options, signalChecks, (context) => retireFlow(context, flow))
  }

  /** Erases a key for good: its rows go, and its events are dropped from then on. @param key by column */
  erase(key: Readonly<Record<string, unknown>>, options: SignalOption = {}): Promise<EraseReport> {
    return this.#run('erase', options, signalChecks, async (context) => {
      const { keys } = storedDefinition(await context.tables.target.log.refresh())
      if (!isMembers(key)) throw incompleteKey({}, keys)
      const byName = new Map(Object.entries(key).map(([name, value]) => [name.toLowerCase(), value]))
      const values = keys.map(({ name, type }) => fromJs(byName.get(name.toLowerCase()), type, name))
      if (values.includes(null) || byName.size !== keys.length) throw incompleteKey(key, keys)
      return eraseKey(context, values)
    })
  }

  /** What target and state hold and how far each flow has come, without reading rows. */
  status(): Promise<CdcStatus> {
    return this.#run('status', {}, signalChecks, ({ tables }) => cdcStatus(tables))
  }

  /** The events of a key in order, hidden ones included, and why each of its rows is there. @param key by column, or in the order of the keys */
  explain(key: KeyValues, options: SignalOption = {}): Promise<KeyHistory> {
    return this.#run('explain', options, signalChecks, (context) => explainTargetKey(context.tables, key, options))
  }

  /** Waits for checkpoints under way. */
  async close(): Promise<void> {
    const { target, state } = this.#setting.tables
    await target.background.idle()
    await state.background.idle()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #run<T>(
    call: string,
    options: SignalOption,
    checks: Readonly<Record<string, Check>>,
    work: (context: MaintenanceContext) => Promise<T>,
    needed: readonly string[] = [],
  ): Promise<T> {
    return atEdge(async () => {
      checkOptions(call, options, checks, needed)
      const { tables, statePath } = this.#setting
      if (!(await tables.target.log.exists())) {
        throw failure('DELTA_TABLE_NOT_FOUND', `there is no Delta table at ${this.path}`, {
          details: { path: this.path },
        })
      }
      const plane = await tables.target.plane()
      return work({ tables, statePath, plane, options: { signal: options.signal } })
    })
  }

  async #eventsOf(context: MaintenanceContext, rows: EventRows, flow: FlowOptions): Promise<SourceEvents> {
    const source = await this.#stage(context, rows, flow)
    try {
      const columns = source.columns.map(({ name, type }) => ({ name: name.slice(2), type }))
      const setting = { ...settingFor(context.tables.target, context.options), nowMicros: this.#nowMicros() }
      const definition = defineFlow(flow, columns, setting)
      const target = await context.tables.target.log.refresh()
      const fitted = fittedDefinition(definition, target, await context.tables.state.log.refresh())
      return await eventsFrom(context, new WorkingColumns(fitted), storedDefinition(target), source)
    } finally {
      await source.release()
    }
  }

  #nowMicros(): bigint {
    return BigInt(this.#setting.tables.target.environment.nowMs()) * 1000n
  }

  async #stage(context: MaintenanceContext, rows: EventRows, flow: FlowOptions): Promise<SourceRows> {
    const { target } = context.tables
    if (rows.kind !== 'objects') return stagedSource(await context.plane.stage(rows, context.options))
    // As the flow itself takes them: a column that no row has is NULL, not absent.
    const declared = parseSchemaText(flow.schema)
    const schema = eventSchema(rows.rows, flow, declared, await target.log.refresh())
    const taken = declared === undefined ? rows.rows : declaredColumns(rows.rows, schema)
    return stageWithSchema(taken, schema, target.plane, context.options)
  }
}

function sequenceFrom({ sequenceType }: FlowDefinition, value: unknown): Datum {
  const parts =
    sequenceType.kind === 'struct' && Array.isArray(value)
      ? sequenceType.fields.map((field, place) => fromJs(value[place], field.type, `watermark, part ${place + 1}`))
      : fromJs(value, sequenceType, 'watermark')
  if (parts !== null) return parts
  throw failure('INVALID_OPTION', 'gc needs a watermark: the sequence below which no event comes any more', {
    details: { option: 'watermark' },
  })
}

function incompleteKey(key: Readonly<Record<string, unknown>>, keys: FlowDefinition['keys']): Error {
  const names = keys.map(({ name }) => name)
  return failure('INVALID_OPTION', `a key has a value for each of ${names.join(', ')}, and no other`, {
    details: { option: 'key', given: Object.keys(key), wanted: names },
  })
}
