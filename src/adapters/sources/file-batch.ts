/** The batch that a source of files is filling: rows, or whole Parquet files, never both. */
import type { EventBatch } from '../../relation/event-source.ts'
import type { ListedFile } from './file-listing.ts'
import type { FileProgress } from './file-progress.ts'
import type { JsonRow } from './json-lines.ts'

/** Rows of a Parquet file are not known before it is read; this many bytes are taken for one. */
const parquetRowBytes = 64

export class FileBatch {
  readonly #maxRows: number
  #rows: JsonRow[] = []
  #files: ListedFile[] = []
  #fileBytes = 0
  #newestMs = 0
  #sinceMs = 0
  #progress: FileProgress | undefined

  constructor(maxRows: number) {
    this.#maxRows = Math.max(1, maxRows)
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0 && this.#files.length === 0
  }

  get holdsFiles(): boolean {
    return this.#files.length > 0
  }

  get isFull(): boolean {
    return this.#rows.length >= this.#maxRows
  }

  /** Milliseconds since its first row. */
  get ageMs(): number {
    return this.isEmpty ? 0 : Date.now() - this.#sinceMs
  }

  /** A batch has at least one file. */
  isFullFor(file: ListedFile): boolean {
    if (this.#rows.length > 0) return true
    return this.holdsFiles && this.#fileBytes + file.sizeBytes > this.#maxRows * parquetRowBytes
  }

  addRow(row: JsonRow, file: ListedFile, progress: FileProgress): void {
    this.#note(file, progress)
    this.#rows.push(row)
  }

  addFile(file: ListedFile, progress: FileProgress): void {
    this.#note(file, progress)
    this.#files.push(file)
    this.#fileBytes += file.sizeBytes
  }

  /** The batch, which begins anew. Its offset is the progress as it is now, so nothing may have been read since the last row. */
  take(): EventBatch {
    const rows: EventBatch['rows'] = this.holdsFiles
      ? { kind: 'files', format: 'parquet', paths: this.#files.map(({ location }) => location) }
      : { kind: 'objects', rows: this.#rows }
    const batch = { rows, offset: this.#progress?.offset() ?? '', newestMs: this.#newestMs }
    this.#rows = []
    this.#files = []
    this.#fileBytes = 0
    this.#newestMs = 0
    return batch
  }

  #note(file: ListedFile, progress: FileProgress): void {
    if (this.isEmpty) this.#sinceMs = Date.now()
    this.#newestMs = Math.max(this.#newestMs, file.modifiedMs)
    this.#progress = progress
  }
}
