/** SQL text to syntax. The grammar is grammar.peggy; this file gives its failures our error. */
import { failure } from '../base/errors.ts'
import { parse, SyntaxError as GrammarError } from './parser.generated.ts'
import { isSubquery, selectExpressions, syntaxChildren } from './syntax-walk.ts'
import type { SqlAssignment, SqlExpr, SqlSelect } from './syntax.ts'

type StartRule = 'ExpressionText' | 'SelectText' | 'AssignmentsText'

/** Levels of an expression at most: what walks it recurses, and data planes have a limit of their own. Chains of AND or OR are one level. */
export const maxLevels = 500

/** One Spark SQL expression. @throws EXPRESSION_SYNTAX with `position` (0-based, UTF-16) in the details */
export function parseExpression(text: string): SqlExpr {
  const syntax = run(text, 'ExpressionText') as SqlExpr
  checkLevels(text, [syntax])
  return syntax
}

/** `SELECT items FROM table [WHERE ...] [GROUP BY ...]`. @throws EXPRESSION_SYNTAX */
export function parseSelect(text: string): SqlSelect {
  const select = run(text, 'SelectText') as SqlSelect
  checkLevels(text, selectExpressions(select))
  return select
}

/** `a = 1, t.b = s.b`: the SET list of an UPDATE. @throws EXPRESSION_SYNTAX */
export function parseAssignments(text: string): readonly SqlAssignment[] {
  const assignments = run(text, 'AssignmentsText') as readonly SqlAssignment[]
  checkLevels(
    text,
    assignments.map(({ value }) => value),
  )
  return assignments
}

function checkLevels(text: string, roots: readonly SqlExpr[]): void {
  let level = roots
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === maxLevels) throw tooDeep(text)
    level = level.flatMap((syntax) =>
      isSubquery(syntax) ? [...syntaxChildren(syntax), ...selectExpressions(syntax.query)] : syntaxChildren(syntax),
    )
  }
}

function tooDeep(text: string): Error {
  return failure('EXPRESSION_SYNTAX', 'The expression is nested too deeply to parse; flatten it.', {
    details: { length: text.length, maxLevels },
  })
}

function run(text: string, startRule: StartRule): unknown {
  requireText(text)
  try {
    return parse(text, { startRule })
  } catch (cause) {
    if (cause instanceof GrammarError) throw syntaxError(text, cause as unknown as Complaint)
    // The generated parser recurses; the engine's own stack is its bound on nesting.
    if (cause instanceof RangeError) throw tooDeep(text)
    throw cause
  }
}

/** Callers without types may pass a number or nothing where SQL is wanted. */
function requireText(text: unknown): void {
  if (typeof text === 'string') return
  const given = text === null ? 'null' : typeof text
  throw failure('EXPRESSION_SYNTAX', `An expression is SQL in a string, not ${given}: write '5', or a :parameter.`, {
    details: { given },
  })
}

interface Complaint {
  readonly message: string
  readonly location: { readonly start: { readonly offset: number; readonly line: number; readonly column: number } }
  readonly found: string | null | undefined
  readonly expected: readonly unknown[] | null
}

function syntaxError(text: string, cause: Complaint): Error {
  const { offset, line, column } = cause.location.start
  const place = `line ${line}, column ${column}`
  const shown = excerpt(text, offset)
  const said =
    cause.expected === null
      ? cause.message
      : offset >= text.length
        ? 'it ends too early'
        : `unexpected \`${wordAt(text, offset)}\``
  return failure('EXPRESSION_SYNTAX', `Cannot parse the expression: ${said} at ${place}: ${shown}`, {
    details: { position: offset, line, column, text: text.length > 2000 ? shown : text },
  })
}

const wordAt = (text: string, offset: number): string =>
  /^(?:[A-Za-z0-9_]+|[\s\S])/u.exec(text.slice(offset, offset + 40))?.[0] ?? ''

/** Some text around the offset, the place marked. */
function excerpt(text: string, offset: number): string {
  const before = text.slice(Math.max(0, offset - 30), offset)
  const after = text.slice(offset, offset + 30)
  return `${offset > 30 ? '...' : ''}${before} >>>${after}${offset + 30 < text.length ? '...' : ''}`
}
