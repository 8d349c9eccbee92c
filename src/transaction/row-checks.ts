/** What each written row must pass: NOT NULL of top-level columns and of struct fields, and the table's invariants. */
import { failure } from '../base/errors.ts'
import { analyzePredicate } from '../expr/analyze.ts'
import { parseExpression } from '../expr/parse.ts'
import { tableScope } from '../expr/scope.ts'
import type { Expr } from '../expr/tree.ts'
import { call, col, lit } from '../expr/walk.ts'
import type { Snapshot } from '../log/snapshot.ts'
import { columnInvariants } from '../protocol/feature-uses.ts'
import type { DataType, StructField } from '../protocol/types.ts'
import type { RowCheck } from '../relation/data-plane.ts'

/** @throws DELTA_UNSUPPORTED_FEATURES_FOR_WRITE for an invariant that cannot be understood */
export function tableChecks(snapshot: Snapshot): RowCheck[] {
  const checks: RowCheck[] = []
  const partitions = new Set(snapshot.columns.flatMap(({ name, isPartition }) => (isPartition ? [name] : [])))
  for (const field of snapshot.schema.fields) {
    const value = col(`t.${field.name}`, field.type)
    if (partitions.has(field.name) && isText(field.type)) checks.push(...notEmpty(field, value))
    else checks.push(...notNull(field, value, field.name))
  }
  const scope = tableScope(snapshot.columns, ['t'], 't.')
  for (const { column, expression } of columnInvariants(snapshot.schema)) {
    try {
      const frozen = { nowMicros: 0n, timeZone: 'UTC' } as const
      const predicate = analyzePredicate(
        parseExpression(expression),
        scope,
        { frozen },
        `The invariant of ${column.join('.')}`,
      )
      checks.push({ name: expression, kind: 'invariant', predicate })
    } catch (cause) {
      throw failure(
        'DELTA_UNSUPPORTED_FEATURES_FOR_WRITE',
        `the invariant of column \`${column.join('.')}\` cannot be evaluated: ${expression}`,
        {
          cause,
          details: { features: ['invariants'], column, expression },
        },
      )
    }
  }
  return checks
}

const isText = (type: DataType): boolean => type.kind === 'string' || type.kind === 'binary'

/** As a partition value, what is empty is NULL: PROTOCOL.md, "Partition Value Serialization". */
function notEmpty(field: StructField, value: Expr): RowCheck[] {
  if (field.nullable) return []
  const predicate = call('>', [call('length', [value]), lit(0, { kind: 'integer' })])
  return [{ name: field.name, kind: 'not-null', predicate }]
}

/** A field of a struct may be NULL where the struct itself is. */
function notNull(field: StructField, value: Expr, path: string): RowCheck[] {
  const checks: RowCheck[] = []
  if (!field.nullable) checks.push({ name: path, kind: 'not-null', predicate: call('is not null', [value]) })
  if (field.type.kind !== 'struct') return checks
  field.type.fields.forEach((inner, index) => {
    const access: Expr = { kind: 'field', input: value, name: inner.name, index, type: inner.type }
    for (const check of notNull(inner, access, `${path}.${inner.name}`)) {
      checks.push({ ...check, predicate: call('or', [call('is null', [value]), check.predicate]) })
    }
  })
  return checks
}
