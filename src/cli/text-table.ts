/** Rows as text in columns. Numbers stand at the right. */

export type Align = 'left' | 'right'

export interface TextColumn {
  readonly title: string
  readonly align?: Align | undefined
  /** Shown whole, however long. */
  readonly whole?: boolean | undefined
}

/** Characters shown of one value; the rest is cut, marked by `…`. */
const widest = 60

export function textTable(columns: readonly TextColumn[], rows: readonly (readonly string[])[]): string {
  const layout = new TableLayout(columns, rows)
  return [layout.header(), ...rows.map((row) => layout.row(row))].map((line) => `${line}\n`).join('')
}

/** Widths taken from some rows, for rows that come later. */
export class TableLayout {
  readonly #columns: readonly TextColumn[]
  readonly #widths: readonly number[]

  constructor(columns: readonly TextColumn[], sample: readonly (readonly string[])[]) {
    this.#columns = columns
    this.#widths = columns.map((column, c) =>
      sample.reduce((width, row) => Math.max(width, shown(row[c] ?? '', column).length), column.title.length),
    )
  }

  header(): string {
    return `${this.row(this.#columns.map(({ title }) => title))}\n${this.#widths
      .map((width) => '-'.repeat(width))
      .join('  ')
      .trimEnd()}`
  }

  row(values: readonly string[]): string {
    const cells = this.#columns.map((column, c) => {
      const text = shown(values[c] ?? '', column)
      return column.align === 'right' ? text.padStart(this.#widths[c] ?? 0) : text.padEnd(this.#widths[c] ?? 0)
    })
    return cells.join('  ').trimEnd()
  }
}

/** One line, so that a value with line breaks does not look like several rows. */
function shown(text: string, { whole }: TextColumn): string {
  const line = text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, ' ')
  return line.length <= widest || whole === true ? line : `${line.slice(0, widest - 1)}…`
}

/** `1,111,930` */
export function count(value: number | bigint): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let size = value
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit++
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`
}

/** `1 row`, `2 rows`, `2 batches` */
export function plural(value: number | bigint, noun: string, many = `${noun}s`): string {
  return `${count(value)} ${Number(value) === 1 ? noun : many}`
}
