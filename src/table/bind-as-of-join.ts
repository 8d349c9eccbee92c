/** The join of a source with the version of each key that held, as its caller says it and as the plane runs it. */
import { type ChecksOf, judgedLater } from '../base/check-options.ts'
import { failure } from '../base/errors.ts'
import { type HistoryShape, sequenceTypeOf } from '../cdc/reads/history-shape.ts'
import type { AsOfJoin } from '../cdc/reads/joined-as-of.ts'
import { structOf } from '../cdc/terms.ts'
import { columnNamed } from '../commands/assignments.ts'
import { type StatementSetting, bindCondition, bindValue, bothScopes, sourceScope } from '../commands/binding.ts'
import type { SourceRows } from '../commands/source.ts'
import { comparison, typeError } from '../expr/build.ts'
import { castTo, isImplicit } from '../expr/coerce.ts'
import type { Expr } from '../expr/tree.ts'
import { and, col, lit } from '../expr/walk.ts'
import type { LossyForms } from '../protocol/js-values.ts'
import { formChecks, paramsCheck, runChecks, versionChecks } from './call-options.ts'
import type { VersionOptions } from './delta-table.ts'
import type { RunOptions } from './options.ts'

export interface JoinAsOfOptions extends VersionOptions, RunOptions, LossyForms {
  /** The key column, or a list of them, named alike on both sides; or a condition with `s` for the source and `t` for the history. */
  readonly on: string | readonly string[]
  /** The sequence of a source row, an expression over the source; a list for a sequence of several parts. */
  readonly at: string | readonly string[]
  /** Put before the names of the history's columns, where both sides have a name. Default: nothing. */
  readonly prefix?: string | undefined
  readonly params?: Readonly<Record<string, unknown>> | undefined
}

export const joinAsOfChecks: ChecksOf<JoinAsOfOptions> = {
  ...versionChecks,
  ...runChecks,
  ...formChecks,
  ...paramsCheck,
  on: judgedLater,
  at: judgedLater,
  prefix: (value) => typeof value === 'string',
}

/** @throws INVALID_OPTION where keys or parts of the sequence are missing; EXPRESSION_TYPE where `at` is no sequence of the history */
export function bindAsOfJoin(
  shape: HistoryShape,
  staged: SourceRows,
  options: JoinAsOfOptions,
  setting: StatementSetting,
): AsOfJoin {
  const isKey = shape.keys.some(({ name }) => name.toLowerCase() === String(options.on).toLowerCase())
  const on = isKey ? [options.on].flat() : options.on
  return {
    source: staged.relation,
    sourceColumns: staged.columns,
    on: onOf(shape, staged, on, setting),
    at: atOf(shape, staged, options.at, setting),
    sharedKeys: typeof on === 'string' ? [] : on,
    prefix: options.prefix ?? '',
  }
}

function onOf(
  shape: HistoryShape,
  { columns }: SourceRows,
  on: JoinAsOfOptions['on'],
  setting: StatementSetting,
): Expr {
  if (typeof on === 'string') return bindCondition(on, bothScopes(shape.snapshot, setting, columns), setting)
  const missing = shape.keys.filter(({ name }) => !on.some((given) => given.toLowerCase() === name.toLowerCase()))
  if (missing.length > 0) {
    throw failure('INVALID_OPTION', `on leaves out the key ${missing.map(({ name }) => `\`${name}\``).join(', ')}`, {
      details: { option: 'on', missing: missing.map(({ name }) => name) },
      advice: 'Name all key columns of the history, or give a condition.',
    })
  }
  const scope = sourceScope(columns)
  return and(
    on.map((name) => {
      const column = columnNamed(shape.snapshot, name)
      const given = bindValue(`s.\`${name.replaceAll('`', '``')}\``, scope, setting)
      return comparison('=', col(`t.${column.name}`, column.type), given)
    }),
  )
}

function atOf(
  shape: HistoryShape,
  { columns }: SourceRows,
  at: JoinAsOfOptions['at'],
  setting: StatementSetting,
): Expr {
  const type = sequenceTypeOf(shape)
  const texts = typeof at === 'string' ? [at] : at
  const fields = type.kind === 'struct' ? type.fields.map((field) => field.type) : [type]
  if (texts.length !== fields.length) {
    throw failure('INVALID_OPTION', `a sequence of this history has ${fields.length} parts, and at ${texts.length}`, {
      details: { option: 'at', parts: fields.length },
    })
  }
  const values = texts.map((text, place) => {
    const value = bindValue(text, sourceScope(columns), setting)
    const wanted = fields[place] ?? type
    if (!isImplicit(value, wanted)) throw typeError('<=', [value, lit(null, wanted)])
    return castTo(value, wanted)
  })
  const [only] = values
  if (type.kind !== 'struct' && only !== undefined) return only
  return {
    ...structOf(
      values.map((value, place) => ({ name: type.kind === 'struct' ? (type.fields[place]?.name ?? '') : '', value })),
    ),
    type,
  }
}
