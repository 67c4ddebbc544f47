// Parses Excel workbooks: the stored values of the visible sheets, one line per row with the names of its
// columns. No formula is computed.
import { RowWriter } from './csv.ts'
import { ParsingError } from './errors.ts'
import { prefixedAttribute, readRelationships, readXml } from './office-xml.ts'
import { TextBuilder, toTitle, type Heading, type ParsedDocument, type Range } from './parsed-document.ts'
import type { Archive } from './zip.ts'

const workbook = 'xl/workbook.xml'
const maxColumns = 4096
const millisecondsPerDay = 86_400_000

export function parseXlsx(archive: Archive, limit: number): ParsedDocument {
  const book = readWorkbook(archive)
  const builder = new TextBuilder(limit)
  const headings: Heading[] = []
  const rows: Range[] = []
  for (const { name, part } of book.sheets) {
    if (!archive.has(part)) throw new ParsingError('damaged')
    if (builder.length > 0) builder.add('\n\n')
    const start = builder.length
    builder.add(name)
    const sheet = new TextBuilder(limit)
    const writer = new RowWriter(limit, sheet)
    readSheet(archive, part, book, (row) => writer.add(row))
    const { text } = writer.end()
    if (text === '') continue
    headings.push({ start, level: 1, title: toTitle(name) })
    builder.add('\n\n')
    const first = builder.length
    builder.add(text)
    rows.push({ start: first, end: builder.length })
  }
  const isEmpty = rows.length === 0
  return { text: isEmpty ? '' : builder.toString(), headings, rows, records: true, pages: null }
}

type Format = 'date' | 'percent' | null

interface Workbook {
  sheets: { name: string; part: string }[]
  strings: string[]
  /** The format of each cell style. */
  formats: Format[]
  /** Day 0 in milliseconds since 1970. */
  epoch: number
}

function readWorkbook(archive: Archive): Workbook {
  const relationships = readRelationships(archive, workbook)
  const partOf = (type: string): string | undefined =>
    relationships.find((found) => found.type === type)?.part
  const sheets: Workbook['sheets'] = []
  let epoch = Date.UTC(1899, 11, 30)
  readXml(archive, workbook, {
    open(element, attributes) {
      if (element === 'workbookPr' && /^(?:1|true)$/.test(attributes['date1904'] ?? ''))
        epoch = Date.UTC(1904, 0, 1)
      if (element !== 'sheet' || /hidden/i.test(attributes['state'] ?? '')) return
      const id = prefixedAttribute(attributes, 'id')
      const found = relationships.find((relationship) => relationship.id === id)
      // Other sheets have a chart, or a dialog.
      if (found?.type === 'worksheet') sheets.push({ name: attributes['name'] ?? '', part: found.part })
    },
  })
  const [strings, styles] = [partOf('sharedStrings'), partOf('styles')]
  return {
    sheets,
    strings: strings === undefined ? [] : readStrings(archive, strings),
    formats: styles === undefined ? [] : readFormats(archive, styles),
    epoch,
  }
}

function readStrings(archive: Archive, part: string): string[] {
  const strings: string[] = []
  let text = ''
  let isText = false
  let phonetic = 0
  readXml(archive, part, {
    open(name) {
      if (name === 'si') text = ''
      if (name === 'rPh') phonetic++
      isText = name === 't' && phonetic === 0
    },
    close(name) {
      if (name === 'si') strings.push(text)
      if (name === 'rPh') phonetic--
      if (name === 't') isText = false
    },
    text(part) {
      if (isText) text += part
    },
  })
  return strings
}

/** Built-in number formats of dates and times. */
const isDateFormat = (id: number): boolean =>
  (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 47) || (id >= 50 && id <= 58)

function readFormats(archive: Archive, part: string): Format[] {
  const formats: Format[] = []
  const codes = new Map<number, string>()
  let isCellStyle = false
  readXml(archive, part, {
    open(name, attributes) {
      const id = Number(attributes['numFmtId'])
      if (name === 'numFmt') codes.set(id, attributes['formatCode'] ?? '')
      if (name === 'cellXfs') isCellStyle = true
      if (name === 'xf' && isCellStyle) formats.push(formatOf(id, codes.get(id)))
    },
    close(name) {
      if (name === 'cellXfs') isCellStyle = false
    },
  })
  return formats
}

function formatOf(id: number, code: string | undefined): Format {
  if (code === undefined) return isDateFormat(id) ? 'date' : id === 9 || id === 10 ? 'percent' : null
  const symbols = code.replace(/"[^"]*"|\\.|\[(?!h|m|s)[^\]]*\]/gi, '')
  return /[ymdhs]/i.test(symbols.replace(/general/gi, '')) ? 'date' : symbols.includes('%') ? 'percent' : null
}

function readSheet(archive: Archive, part: string, book: Workbook, add: (row: string[]) => void): void {
  let row: string[] = []
  let cell = { column: 0, type: '', style: 0 }
  let value = ''
  let isValue = false
  let phonetic = 0
  readXml(archive, part, {
    open(name, attributes) {
      if (name === 'row') row = []
      if (name === 'rPh') phonetic++
      if (name === 'c') {
        const column = columnOf(attributes['r']) ?? row.length
        if (column >= maxColumns) throw new ParsingError('too_large')
        cell = { column, type: attributes['t'] ?? 'n', style: Number(attributes['s'] ?? 0) }
        value = ''
      }
      isValue = (name === 'v' || name === 't') && phonetic === 0
    },
    close(name) {
      isValue = false
      if (name === 'rPh') phonetic--
      if (name === 'row') add(row)
      if (name !== 'c') return
      while (row.length < cell.column) row.push('')
      row[cell.column] = cellText(value, cell, book).replace(/\s+/g, ' ').trim()
    },
    text(part) {
      if (isValue) value += part
    },
  })
}

/** The column, from 0, of a reference such as `AB12`. */
function columnOf(reference: string | undefined): number | null {
  const letters = /^([A-Z]{1,4})\d/.exec(reference ?? '')?.[1]
  if (letters === undefined) return null
  return [...letters].reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0) - 1
}

function cellText(value: string, cell: { type: string; style: number }, book: Workbook): string {
  if (cell.type === 's') return book.strings[Number(value)] ?? ''
  if (cell.type === 'b') return value === '1' ? 'true' : value === '0' ? 'false' : value
  if (cell.type !== 'n' || value === '') return value
  const number = Number(value)
  const format = book.formats[cell.style] ?? null
  if (!Number.isFinite(number)) return value
  if (format === 'date') return dateText(number, book.epoch) ?? value
  if (format === 'percent') return `${Number((number * 100).toPrecision(12))}%`
  // Excel stores 0.1 + 0.2 with 17 digits and shows at most 15.
  return /\d{16}/.test(value.replace('.', '')) ? String(Number(number.toPrecision(15))) : value
}

function dateText(days: number, epoch: number): string | null {
  const date = new Date(epoch + Math.round((days * millisecondsPerDay) / 1000) * 1000)
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999 || days < 0) return null
  const text = date.toISOString()
  const time = text.slice(11, 19).replace(/:00$/, '')
  if (days < 1) return time
  return Number.isInteger(days) ? text.slice(0, 10) : `${text.slice(0, 10)} ${time}`
}
