/** Named parameters of a user's query, bound as typed values. */
import type { DuckDBValue } from '@duckdb/node-api'
import { inferLiteral } from '../../protocol/js-values.ts'
import type { DuckdbApi } from './instance.ts'
import { duckdbValue } from './to-duckdb.ts'

export function parameterValues(
  api: DuckdbApi,
  params: Readonly<Record<string, unknown>> | undefined,
): Record<string, DuckDBValue> | undefined {
  if (params === undefined || Object.keys(params).length === 0) return undefined
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      const { value: datum, type } = inferLiteral(value)
      return [name, duckdbValue(api, datum, type)]
    }),
  )
}
