/** DuckDB's errors are plain text; this is the only place that looks at it. */
import { failure, BraidlakeError } from '../../base/errors.ts'

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A value that a check of a write refused; the marker leads the message DuckDB hands back. */
const checkMarker = 'BRAIDLAKE_CHECK:'

export const checkMessage = (index: number): string => `${checkMarker}${index}:`

/** Which check failed, if the error comes from one. */
export function failedCheck(error: unknown): number | undefined {
  const found = /BRAIDLAKE_CHECK:(\d+):/.exec(textOf(error))
  return found ? Number(found[1]) : undefined
}

/** Bytes that were to become a text are not UTF-8. */
export const isUndecodable = (error: unknown): boolean =>
  error instanceof BraidlakeError && /Failure in decode/.test(textOf(error.cause))

const pathIn = (text: string): string | undefined => /(?:that match the pattern|file) ["']([^"']+)["']/i.exec(text)?.[1]

const isMissingFile = (text: string): boolean =>
  /No files found that match|No such file or directory|does not exist on disk/i.test(text)

const isFull = (text: string): boolean =>
  /No space left on device|disk (?:is )?full|quota exceeded|File too large/i.test(text)

const isDenied = (text: string): boolean =>
  text.startsWith('IO Error') &&
  /Permission denied|Operation not permitted|Read-only file system|Not a directory|Is a directory/.test(text)

const isCorrupt = (text: string): boolean =>
  /No magic bytes|too small to be a Parquet|Invalid Parquet|TProtocolException|Failed to read Parquet|Snappy decompression|ZSTD Decompression|Page .*checksum|footer length/i.test(
    text,
  )

const isEvaluation = (text: string): boolean =>
  /^(?:Conversion Error|Out of Range Error|Invalid Input Error)/.test(text) || /Division by zero/i.test(text)

/** A failed statement as one of our errors. */
export function classified(error: unknown, signal: AbortSignal | undefined): BraidlakeError {
  if (error instanceof BraidlakeError) return error
  const text = textOf(error)
  if (text.startsWith('INTERRUPT') || text.includes('Interrupted!')) {
    if (signal?.aborted === true) return cancelled(signal)
    return failure('ENGINE_FAILED', 'The query was interrupted; run the statement again.', { cause: error })
  }
  const file = pathIn(text)
  const details = file === undefined ? {} : { file }
  if (isFull(text))
    return failure('STORAGE_FULL', 'Storage filled up while the query ran; free some space and run it again.', {
      cause: error,
      details,
    })
  if (isMissingFile(text)) {
    return failure(
      'DELTA_DATA_FILE_MISSING',
      `The data file ${file ?? '(see the cause)'} is not in storage; restore it.`,
      { cause: error, details },
    )
  }
  if (isDenied(text)) {
    return failure('STORAGE_UNAVAILABLE', `Storage refused ${file ?? 'a file'}: ${firstLine(text)}`, {
      cause: error,
      details,
      advice: 'Give this process the right to the file or folder that is named, or choose another path.',
    })
  }
  if (isCorrupt(text)) {
    return failure(
      'DELTA_DATA_FILE_CORRUPT',
      `The data file ${file ?? '(see the cause)'} cannot be decoded; restore it.`,
      { cause: error, details },
    )
  }
  if (text.startsWith('Out of Memory Error')) {
    return failure('ENGINE_FAILED', 'DuckDB ran out of memory; raise memoryLimitBytes or free spill space.', {
      cause: error,
    })
  }
  if (isEvaluation(text))
    return failure('EXPRESSION_EVALUATION', `An expression fails on a row: ${firstLine(text)}`, { cause: error })
  return failure('ENGINE_FAILED', `DuckDB failed: ${firstLine(text)}`, { cause: error })
}

/** What DuckDB refuses in a query that the caller wrote is the caller's to mend, not the engine's failure. */
export function ofQuery(error: unknown, tables: readonly string[]): unknown {
  if (!(error instanceof BraidlakeError) || error.cause === undefined) return error
  const text = textOf(error.cause)
  if (!/^(?:Binder|Catalog|Parser) Error|prepared statement parameters/.test(text)) return error
  const message = `The query was refused: ${
    text
      .replace(/^[A-Z][A-Za-z ]+ Error: /, '')
      .split(/\n\n|\n?\tCandidate functions/, 1)[0]
      ?.replaceAll(/\s+/g, ' ')
      .slice(0, 400) ?? ''
  }`
  const options = { cause: error.cause }
  if (text.startsWith('Catalog Error: Table')) {
    return failure('EXPRESSION_UNSUPPORTED', message, {
      ...options,
      advice: `The query may read ${tables.join(', ')}.`,
      details: { tables },
    })
  }
  if (/^Binder Error: .*column .*not found|does not have a column/.test(text))
    return failure('EXPRESSION_UNKNOWN_COLUMN', message, options)
  if (/^Catalog Error: .*Function/.test(text)) {
    return failure('EXPRESSION_UNKNOWN_FUNCTION', message, { ...options, advice: "Use a function of DuckDB's SQL." })
  }
  if (/prepared statement parameters/.test(text)) return failure('EXPRESSION_PARAMETER', message, options)
  if (/No function matches|Cannot compare/.test(text)) return failure('EXPRESSION_TYPE', message, options)
  return failure('EXPRESSION_SYNTAX', message, { ...options, advice: "Correct the query; it is DuckDB's SQL." })
}

export function cancelled(signal: AbortSignal): BraidlakeError {
  return failure('CANCELLED', 'The signal fired while the query ran; nothing was kept.', { cause: signal.reason })
}

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0] ?? ''
  return line.replace(/^[A-Z][A-Za-z ]+ Error: /, '').slice(0, 300)
}
