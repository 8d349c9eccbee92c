/** A failure for people (code, message, advice on standard error) or, under `--json`, as a document on standard output. */
import { BraidlakeError, errorClasses } from '../base/errors.ts'
import { exactJson, formatVersion } from './exact-json.ts'
import { type ExitCode, UsageError, exitCodeOf } from './exit-codes.ts'

/** A failure that the command has shown already. */
export class Reported extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode) {
    super('failed')
    this.exitCode = exitCode
  }
}

export interface ReportedError {
  readonly code: string
  readonly kind: string
  readonly retry: string
  readonly message: string
  readonly advice: string
  readonly details: Readonly<Record<string, unknown>>
}

export function reportedError(error: unknown): ReportedError {
  if (error instanceof BraidlakeError) {
    const { code, kind, retry, message, advice, details } = error
    return { code, kind, retry, message, advice, details }
  }
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof UsageError) {
    return {
      code: 'USAGE',
      kind: 'invalid',
      retry: 'never',
      message,
      advice: 'See `braid help` and `braid help <command>`.',
      details: {},
    }
  }
  const { kind, retry, cure } = errorClasses.INTERNAL_ERROR
  const stack = error instanceof Error ? { stack: error.stack } : {}
  return { code: 'INTERNAL_ERROR', kind, retry, message, advice: cure, details: stack }
}

export function reportError(error: unknown, asJson: boolean): void {
  const reported = reportedError(error)
  if (asJson) process.stdout.write(`${exactJson({ formatVersion, exitCode: exitCodeOf(error), error: reported })}\n`)
  else process.stderr.write(errorText(reported))
}

export function errorText({ code, message, advice, details }: ReportedError): string {
  const stack = typeof details['stack'] === 'string' ? [details['stack']] : []
  return [`error: ${code}`, `  ${message}`, `  ${advice}`, ...stack, ...conflictLines(details)]
    .map((line) => `${line}\n`)
    .join('')
}

/** What a conflict names, where the message does not say it. */
function conflictLines(details: ReportedError['details']): string[] {
  const { files, sampleKeys } = details
  const lines: string[] = []
  if (Array.isArray(files) && files.length > 0)
    lines.push('  files in question:', ...files.map((file) => `    ${String(file)}`))
  if (Array.isArray(sampleKeys) && sampleKeys.length > 0) {
    lines.push('  rows in conflict:', ...sampleKeys.map((row) => `    ${exactJson(row)}`))
  }
  return lines
}
