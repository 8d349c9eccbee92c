/**
 * Simple conditions of a SELECT's WHERE, as text that our own expressions can read: column, comparison, literal, joined by AND, in a query
 * over one table alone. They only prune files; whatever is not understood is left out.
 */
import { quoteText } from './quote.ts'

interface SyntaxNode {
  readonly [key: string]: unknown
}

const operators: Readonly<Record<string, string>> = {
  COMPARE_EQUAL: '=',
  COMPARE_NOTEQUAL: '<>',
  COMPARE_LESSTHAN: '<',
  COMPARE_LESSTHANOREQUALTO: '<=',
  COMPARE_GREATERTHAN: '>',
  COMPARE_GREATERTHANOREQUALTO: '>=',
}

export function conjunctsOf(tree: unknown, table: string): string[] {
  const node = nodeAt(tree, 'statements', 0, 'node')
  const from = nodeAt(node, 'from_table')
  if (from?.['type'] !== 'BASE_TABLE' || String(from['table_name']).toLowerCase() !== table.toLowerCase()) return []
  return conditions(nodeAt(node, 'where_clause'))
}

function conditions(node: SyntaxNode | undefined): string[] {
  if (node === undefined) return []
  if (node['type'] === 'CONJUNCTION_AND') return children(node).flatMap(conditions)
  const operator = operators[String(node['type'])]
  if (operator === undefined) return []
  const column = columnName(nodeAt(node, 'left'))
  const value = literal(nodeAt(node, 'right'))
  return column === undefined || value === undefined ? [] : [`${column} ${operator} ${value}`]
}

function columnName(node: SyntaxNode | undefined): string | undefined {
  const names = node?.['column_names']
  if (node?.['class'] !== 'COLUMN_REF' || !Array.isArray(names)) return undefined
  const name: unknown = names.at(-1)
  // Two parts are a table and its column, or a struct and its field: only one part is certain.
  return names.length === 1 && typeof name === 'string' ? `\`${name.replaceAll('`', '``')}\`` : undefined
}

function literal(node: SyntaxNode | undefined): string | undefined {
  const value = nodeAt(node, 'value')
  if (node?.['class'] !== 'CONSTANT' || value?.['is_null'] !== false) return undefined
  const inner = value['value']
  // Numbers beyond 2^53 have lost digits on their way through JSON.
  if (typeof inner === 'number') return Number.isSafeInteger(inner) && isInteger(value) ? String(inner) : undefined
  return typeof inner === 'string' && nodeAt(value, 'type')?.['id'] === 'VARCHAR'
    ? quoteText(inner).replaceAll('\\', '\\\\')
    : undefined
}

function isInteger(value: SyntaxNode): boolean {
  return ['INTEGER', 'BIGINT', 'SMALLINT', 'TINYINT'].includes(String(nodeAt(value, 'type')?.['id']))
}

function children(node: SyntaxNode): SyntaxNode[] {
  const list = node['children']
  return Array.isArray(list)
    ? list.filter((child): child is SyntaxNode => typeof child === 'object' && child !== null)
    : []
}

function nodeAt(from: unknown, ...path: readonly (string | number)[]): SyntaxNode | undefined {
  let at: unknown = from
  for (const key of path)
    at = typeof at === 'object' && at !== null ? (at as Readonly<Record<string | number, unknown>>)[key] : undefined
  return typeof at === 'object' && at !== null ? (at as SyntaxNode) : undefined
}
