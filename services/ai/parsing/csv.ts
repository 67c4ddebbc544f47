// CSV, a line for each row that says what its values are: `Name: Ada; Born: 1815`.
import { CsvError, parse } from 'csv-parse/sync'
import { ParsingError } from './errors.ts'
import { TextBuilder, type ParsedDocument } from './parsed-document.ts'

const delimiters = [',', ';', '\t', '|']

/** At most `limit` UTF-16 code units of text. Throws `damaged` where a quote never ends. */
export function parseCsv(csv: string, limit: number): ParsedDocument {
  const writer = new TextBuilder(limit)
  let columns: string[] | null = null
  let first = true
  const onRecord = (record: string[]): null => {
    const values = record.map((value) => value.replace(/\s+/g, ' ').trim())
    if (first) columns = areNames(values) ? values : null
    if (!first || columns === null) writeRow(writer, values, columns)
    first = false
    return null
  }
  try {
    parse(csv, {
      delimiter: delimiterOf(csv),
      on_record: onRecord,
      relax_column_count: true,
      relax_quotes: true,
      skip_empty_lines: true,
      bom: true,
    })
  } catch (error) {
    throw error instanceof CsvError ? new ParsingError('damaged') : error
  }
  // A file that has nothing but names of columns.
  if (writer.length === 0 && columns !== null) writeRow(writer, columns, null)
  const text = writer.toString()
  return { text, headings: [], rows: [{ start: 0, end: text.length }], records: true, pages: null }
}

function writeRow(writer: TextBuilder, values: string[], columns: string[] | null): void {
  let separator = writer.length > 0 ? '\n' : ''
  values.forEach((value, index) => {
    if (value === '') return
    const name = columns?.[index]
    writer.add(separator + (name === undefined ? value : `${name}: ${value}`))
    separator = '; '
  })
}

/** The first row names the columns if its values could: all there, all different, and none a number or a date. */
function areNames(values: string[]): boolean {
  return (
    values.every((value) => value !== '' && !/^[-+]?[\d.,:/ -]+%?$/.test(value)) &&
    new Set(values).size === values.length
  )
}

/** The one that divides the first lines into most, and equally many, values. */
function delimiterOf(csv: string): string {
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
