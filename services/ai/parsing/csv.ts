// Parses CSV. Each row becomes one line that names its columns: `Name: Ada; Born: 1815`. Rows above the
// table, such as a title, become lines of their own.
import { CsvError, parse } from 'csv-parse/sync'
import { ParsingError } from './errors.ts'
import { TextBuilder, type ParsedDocument } from './parsed-document.ts'

const delimiters = [',', ';', '\t', '|', '^', '~']
/** The first line of a file of Excel may name the delimiter. */
const delimiterHint = /^"?sep=(.)"?(?:\n|$)/i

/**
 * `limit`: UTF-16 code units of the text. Throws `damaged` for an unclosed quote, `too_large` over the limit.
 */
export function parseCsv(source: string, limit: number): ParsedDocument {
  const hint = delimiterHint.exec(source)
  const csv = hint === null ? source : source.slice(hint[0].length)
  const writer = new RowWriter(limit)
  try {
    parse(csv, {
      delimiter: hint?.[1] ?? detectDelimiter(csv),
      on_record: (record: string[]): null => {
        writer.add(record.map((value) => value.replace(/\s+/g, ' ').trim()))
        return null
      },
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      bom: true,
    })
  } catch (error) {
    throw error instanceof CsvError ? new ParsingError('damaged') : error
  }
  return writer.end()
}

/** How many rows are read before it is decided which one is the header. */
const headRows = 20
/** A longer value is no name of a column. */
const maxColumnName = 100

/** Writes rows as lines that name their columns. */
export class RowWriter {
  #builder: TextBuilder
  #head: string[][] | null = []
  #columns: string[] | null = null

  /** `builder`: where the lines are added, for a table within a document. */
  constructor(limit: number, builder = new TextBuilder(limit)) {
    this.#builder = builder
  }

  add(row: string[]): void {
    if (this.#head === null) return this.#write(row, this.#columns)
    this.#head.push(row)
    if (this.#head.length === headRows) this.#decide()
  }

  #decide(): void {
    const rows = (this.#head ?? []).filter((row) => row.some((value) => value !== ''))
    this.#head = null
    const width = Math.max(0, ...rows.map(countValues))
    // Rows with one value above a wider table are a title or a remark.
    const above = width > 1 ? rows.findIndex((row) => countValues(row) > 1) : 0
    for (const row of rows.slice(0, above)) this.#write(row, null)
    const [first = [], ...others] = rows.slice(above)
    const isFirstHeader = isHeader(first, others)
    if (isFirstHeader) this.#columns = first
    // A file with a header row only: the header is its text.
    if (!isFirstHeader || others.length === 0) this.#write(first, null)
    for (const row of others) this.#write(row, this.#columns)
  }

  #write(values: string[], columns: string[] | null): void {
    let separator = this.#builder.length > 0 ? '\n' : ''
    values.forEach((value, index) => {
      if (value === '') return
      const column = columns?.[index]
      this.#builder.add(separator + (column === undefined ? value : `${column}: ${value}`))
      separator = '; '
    })
  }

  end(): ParsedDocument {
    if (this.#head !== null) this.#decide()
    const text = this.#builder.toString()
    return { text, headings: [], rows: [{ start: 0, end: text.length }], records: true, pages: null }
  }
}

function countValues(row: string[]): number {
  return row.reduce((count, value) => (value === '' ? count : count + 1), 0)
}

/**
 * The first row is a header if its values are all present, all different, none is a number, a date, an
 * address or a long text, and none occurs again in its column.
 */
function isHeader(values: string[], others: string[][]): boolean {
  return (
    values.every(
      (value, index) =>
        value !== '' &&
        value.length <= maxColumnName &&
        !/^[-+]?[\d.,:/ -]+%?$|^\S+@\S+\.\w+$|^https?:/.test(value) &&
        !others.some((row) => row[index] === value),
    ) && new Set(values).size === values.length
  )
}

/**
 * The delimiter that splits the first lines into the most columns, preferring an equal number in every line.
 * Quoted values count as empty, also those of several lines.
 */
function detectDelimiter(csv: string): string {
  const lines = csv
    .slice(0, 20_000)
    .replace(/(^|[,;\t|^~\n])"(?:[^"]|"")*"/g, '$1')
    .split('\n')
    .slice(0, 10)
    .filter((line) => line !== '')
  const score = (delimiter: string): number => {
    const counts = lines.map((line) => line.split(delimiter).length - 1)
    return Math.min(...counts) * 1000 + Math.max(...counts)
  }
  return delimiters.reduce((best, delimiter) => (score(delimiter) > score(best) ? delimiter : best))
}
