/** Options as users give them: on the handle, and over those in each call. Nothing is ambient. */
import { failure } from '../base/errors.ts'
import type { ReconcileSwitches } from '../conflict/reconcile.ts'
import { type Isolation, type OnConflict, type TransactionSettings, defaultSettings } from '../transaction/context.ts'

export interface ConflictOptions {
  /** `repair` (default): a lost race is reconciled, repaired or run again. `rerun`: never repaired. `abort`: commits only if nothing would change. */
  readonly onConflict?: OnConflict | undefined
  /** Default: the table's `delta.isolationLevel`, else Serializable. */
  readonly isolation?: Isolation | undefined
  /** Each switch takes one kind of evidence away: off is stricter, never unsafe. */
  readonly reconcile?: Partial<ReconcileSwitches> | undefined
  /** Distinct source keys up to which MERGE prunes files by the keys themselves; above, by their range. Default 10 000. */
  readonly mergeKeyInSetThreshold?: number | undefined
  /** Bytes of other writers' files opened to judge one race; above, the statement runs again. Default 256 MiB. */
  readonly valueBudgetBytes?: number | undefined
}

export interface SignalOption {
  /** Ends the call: it fails with CANCELLED, and nothing is committed that was not. */
  readonly signal?: AbortSignal | undefined
}

export interface RunOptions extends SignalOption {
  /** Fraction done, 0 to 1. */
  readonly onProgress?: ((fraction: number) => void) | undefined
}

export interface StatementOptions extends ConflictOptions, RunOptions {
  /** Values of `:name` in the expressions, bound as typed literals. */
  readonly params?: Readonly<Record<string, unknown>> | undefined
  /** Application transaction: at a version the table has seen from this appId, or a lower one, the call is a no-op. */
  readonly application?: { readonly appId: string; readonly version: bigint | number } | undefined
}

export function settingsOf(handle: ConflictOptions, call: StatementOptions): TransactionSettings {
  const merged = { ...handle, ...call }
  const settings: TransactionSettings = {
    ...defaultSettings,
    onConflict: merged.onConflict ?? defaultSettings.onConflict,
    isolation: merged.isolation,
    reconcile: { ...defaultSettings.reconcile, ...handle.reconcile, ...call.reconcile },
    mergeKeyInSetThreshold: merged.mergeKeyInSetThreshold ?? defaultSettings.mergeKeyInSetThreshold,
    valueBudgetBytes: merged.valueBudgetBytes ?? defaultSettings.valueBudgetBytes,
    application: call.application === undefined ? undefined : applicationOf(call.application),
    signal: call.signal,
    onProgress: call.onProgress,
  }
  checkSignal(call.signal)
  checkSwitches(settings.reconcile)
  checkCount('mergeKeyInSetThreshold', settings.mergeKeyInSetThreshold)
  checkCount('valueBudgetBytes', settings.valueBudgetBytes)
  oneOf('onConflict', settings.onConflict, ['repair', 'rerun', 'abort'])
  if (settings.isolation !== undefined) oneOf('isolation', settings.isolation, ['Serializable', 'WriteSerializable'])
  return settings
}

/** The pair goes into the log as it is, so one that other engines cannot read would spoil the table for them. */
function applicationOf(application: NonNullable<StatementOptions['application']>): {
  readonly appId: string
  readonly version: bigint
} {
  if (typeof application !== 'object' || application === null) throw badApplication('appId', 'given', application)
  const { appId, version } = application
  const given: unknown = appId
  if (typeof given !== 'string' || given === '')
    throw badApplication(
      'appId',
      `a text that is not empty, not ${given === '' ? 'an empty one' : String(given)}`,
      given,
    )
  if (typeof version !== 'bigint' && !Number.isSafeInteger(version))
    throw badApplication('version', `a whole number or bigint, not ${String(version)}`, version)
  const whole = BigInt(version)
  if (whole !== BigInt.asIntN(64, whole)) throw badApplication('version', `a 64-bit integer, not ${whole}`, version)
  return { appId, version: whole }
}

function badApplication(part: string, wanted: string, value: unknown): Error {
  return failure('INVALID_OPTION', `application.${part} must be ${wanted}`, {
    details: { option: `application.${part}`, value },
  })
}

/** Infinity is a count, too: no limit. */
function checkCount(option: string, value: number): void {
  if (typeof value === 'number' && value >= 0) return
  throw failure('INVALID_OPTION', `${option} must be a number of at least 0, not ${String(value)}`, {
    details: { option, value },
  })
}

function checkSwitches(switches: ReconcileSwitches): void {
  const allowed = Object.keys(defaultSettings.reconcile)
  for (const [name, value] of Object.entries(switches)) {
    const option = `reconcile.${name}`
    if (!allowed.includes(name)) {
      throw failure('INVALID_OPTION', `${option} is no switch: they are ${allowed.join(', ')}`, {
        details: { option, allowed },
      })
    }
    if (typeof value === 'boolean') continue
    throw failure('INVALID_OPTION', `${option} must be true or false, not ${String(value)}`, {
      details: { option, value },
    })
  }
}

function checkSignal(signal: AbortSignal | undefined): void {
  if (signal === undefined || typeof signal.addEventListener === 'function') return
  throw failure('INVALID_OPTION', 'signal must be an AbortSignal: that of an AbortController, or AbortSignal.timeout', {
    details: { option: 'signal' },
  })
}

function oneOf(option: string, value: string, allowed: readonly string[]): void {
  if (allowed.includes(value)) return
  throw failure('INVALID_OPTION', `${option} must be one of ${allowed.join(', ')}, not ${value}`, {
    details: { option, value, allowed },
  })
}
