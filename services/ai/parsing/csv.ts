// Parses CSV. Each row becomes one line that names its columns: `Name: Ada; Born: 1815`.
import { CsvError, parse } from 'csv-parse/sync'
import { ParsingError } from './errors.ts'
import { TextBuilder, type ParsedDocument } from './parsed-document.ts'

const delimiters = [',', ';', '\t', '|']

/**
 * `limit`: UTF-16 code units of the text. Throws `damaged` for an unclosed quote, `too_large` over the limit.
 */
export function parseCsv(csv: string, limit: number): ParsedDocument {
  const builder = new TextBuilder(limit)
  let columns: string[] | null = null
  let isFirst = true
  const onRecord = (record: string[]): null => {
    const values = record.map((value) => value.replace(/\s+/g, ' ').trim())
    if (isFirst) columns = isHeader(values) ? values : null
    if (!isFirst || columns === null) addRow(builder, values, columns)
    isFirst = false
    return null
  }
  try {
    parse(csv, {
      delimiter: detectDelimiter(csv),
      on_record: onRecord,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      bom: true,
    })
  } catch (error) {
    throw error instanceof CsvError ? new ParsingError('damaged') : error
  }
  // A file with a header row only: the header is its text.
  if (builder.length === 0 && columns !== null) addRow(builder, columns, null)
  const text = builder.toString()
  return { text, headings: [], rows: [{ start: 0, end: text.length }], records: true, pages: null }
}

function addRow(builder: TextBuilder, values: string[], columns: string[] | null): void {
  let separator = builder.length > 0 ? '\n' : ''
  values.forEach((value, index) => {
    if (value === '') return
    const column = columns?.[index]
    builder.add(separator + (column === undefined ? value : `${column}: ${value}`))
    separator = '; '
  })
}

/** The first row is a header if its values are all present, all different, and none is a number or a date. */
function isHeader(values: string[]): boolean {
  return (
    values.every((value) => value !== '' && !/^[-+]?[\d.,:/ -]+%?$/.test(value)) &&
    new Set(values).size === values.length
  )
}

/**
 * The delimiter that splits the first lines into the most columns, preferring an equal number in every line.
 */
function detectDelimiter(csv: string): string {
  const lines = csv
    .slice(0, 20_000)
    .split('\n')
    .slice(0, 10)
    .map((line) => line.replace(/"[^"]*"/g, ''))
    .filter((line) => line !== '')
  const score = (delimiter: string): number => {
    const counts = lines.map((line) => line.split(delimiter).length - 1)
    return Math.min(...counts) * 1000 + Math.max(...counts)
  }
  return delimiters.reduce((best, delimiter) => (score(delimiter) > score(best) ? delimiter : best))
}
