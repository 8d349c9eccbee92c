/** Views of a type 2 table as SQL text, for other engines. */
import { unreachable } from '../../base/assert.ts'
import { failure } from '../../base/errors.ts'
import { type Datum, Decimal } from '../../protocol/datum.ts'
import type { DataType } from '../../protocol/types.ts'
import { sqlTypeName } from '../../expr/type-rules.ts'
import { formatDateText, formatDecimalText, formatTimestampText } from '../../expr/text-values.ts'
import { type HistoryShape, sequenceTypeOf, shownColumns } from './history-shape.ts'

export type SqlDialect = 'spark' | 'duckdb'

export interface ViewText {
  readonly dialect: SqlDialect
  /** What stands after FROM: a table's name as the engine knows it. It is not quoted. */
  readonly from: string
  /** Name of the view; undefined: the SELECT alone. It is not quoted. */
  readonly view: string | undefined
}

export function currentViewSql(shape: HistoryShape, text: ViewText): string {
  const quote = quoteIn(text.dialect)
  return created(text, `${selection(shape, text)} WHERE ${quote(shape.end.name)} IS NULL${believed(shape, text)}`)
}

/** The rows that held at a sequence. */
export function asOfViewSql(shape: HistoryShape, text: ViewText, at: Datum): string {
  const type = sequenceTypeOf(shape)
  const quote = quoteIn(text.dialect)
  if (type.kind === 'struct') {
    throw failure('EXPRESSION_UNSUPPORTED', 'a sequence of several parts has no order in the SQL of other engines', {
      details: { type: sqlTypeName(type) },
      advice: 'Read the rows with asOf(), or make a view of current rows.',
    })
  }
  const moment = literal(at, type, text.dialect)
  const [start, end] = [quote(shape.start.name), quote(shape.end.name)]
  return created(
    text,
    `${selection(shape, text)} WHERE ${start} <= ${moment} AND (${end} IS NULL OR ${end} > ${moment})${believed(shape, text)}`,
  )
}

function selection(shape: HistoryShape, { dialect, from }: ViewText): string {
  const quote = quoteIn(dialect)
  return `SELECT ${shownColumns(shape)
    .map(({ name }) => quote(name))
    .join(', ')} FROM ${from}`
}

/** Of a bitemporal table what is believed now. */
const believed = ({ system }: HistoryShape, { dialect }: ViewText): string =>
  system === undefined ? '' : ` AND ${quoteIn(dialect)(system.end.name)} IS NULL`

const created = ({ view }: ViewText, select: string): string =>
  view === undefined ? select : `CREATE OR REPLACE VIEW ${view} AS ${select}`

const quoteIn =
  (dialect: SqlDialect) =>
  (name: string): string =>
    dialect === 'spark' ? `\`${name.replaceAll('`', '``')}\`` : `"${name.replaceAll('"', '""')}"`

/** In words that both dialects read alike, wherever there are any. */
function literal(value: Datum, type: Exclude<DataType, { kind: 'struct' }>, dialect: SqlDialect): string {
  const cast = (text: string, name: string) => `CAST('${text}' AS ${name})`
  switch (type.kind) {
    case 'byte':
    case 'short':
    case 'integer':
    case 'long':
      return String(value)
    case 'float':
    case 'double':
      return cast(String(value), sqlTypeName(type))
    case 'decimal':
      return cast(formatDecimalText(value instanceof Decimal ? value : new Decimal(0n, 0)), sqlTypeName(type))
    case 'string': {
      const escaped = dialect === 'spark' ? String(value).replaceAll('\\', '\\\\') : String(value)
      return `'${escaped.replaceAll("'", dialect === 'spark' ? "\\'" : "''")}'`
    }
    case 'date':
      return cast(formatDateText(Number(value)), 'DATE')
    case 'timestamp':
      return cast(`${formatTimestampText(BigInt(value as bigint))}Z`, dialect === 'spark' ? 'TIMESTAMP' : 'TIMESTAMPTZ')
    case 'timestamp_ntz':
      return cast(formatTimestampText(BigInt(value as bigint)), dialect === 'spark' ? 'TIMESTAMP_NTZ' : 'TIMESTAMP')
    case 'boolean':
    case 'binary':
    case 'array':
    case 'map':
    case 'void':
      throw failure('EXPRESSION_UNSUPPORTED', `${sqlTypeName(type)} orders no events`, { details: { type: type.kind } })
    default:
      return unreachable(type)
  }
}
