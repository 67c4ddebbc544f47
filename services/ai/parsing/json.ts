// Parses JSON into lines that start with their path: `plans › 2: name: Team; price: 20`. A search then
// finds a value by the names above it. A small record stays on one line; nested objects get their own lines.
import { ParsingError } from './errors.ts'
import { TextBuilder, type ParsedDocument } from './parsed-document.ts'
import { truncateText } from '../../../infra/text.ts'

/** UTF-16 code units of a record, or of a list of plain values, that is written on one line. */
const maxRecord = 1000
/** Names of a path that are written; longer paths lose their first names. */
const maxPathNames = 8
const maxName = 200

interface Path {
  name: string
  depth: number
  parent: Path | null
}
type Plain = string | number | boolean | null

/** `limit`: UTF-16 code units of the text. Throws `damaged` for invalid JSON. */
export function parseJson(json: string, limit: number): ParsedDocument {
  const builder = new TextBuilder(limit)
  const stack: { value: unknown; path: Path | null }[] = [{ value: parseValue(json), path: null }]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { value, path } = next
    const line = toLine(value)
    if (line !== null) {
      if (line !== '') addLine(builder, path, line)
      continue
    }
    for (const { name, inner } of partsOf(value as object).reverse())
      stack.push({ value: inner, path: name === null ? path : childPath(path, name) })
  }
  const text = builder.toString()
  return { text, headings: [], rows: [{ start: 0, end: text.length }], records: true, pages: null }
}

function childPath(parent: Path | null, name: string): Path {
  return {
    name: truncateText(toOneLine(name), maxName),
    depth: (parent?.depth ?? 0) + 1,
    parent,
  }
}

interface Part {
  /** Null for the plain fields of the object itself. */
  name: string | null
  inner: unknown
}

/**
 * The items of a list, or the fields of an object. An object's plain fields form one record, at the position
 * of the first of them, unless that record is too long.
 */
function partsOf(value: object): Part[] {
  if (Array.isArray(value)) return value.map((inner, index) => ({ name: String(index + 1), inner }))
  const entries = Object.entries(value)
  const isPlainField = ([, inner]: [string, unknown]): boolean =>
    isPlain(inner) || (Array.isArray(inner) && listToLine(inner) !== null)
  const plainFields = Object.fromEntries(entries.filter(isPlainField))
  const first = toLine(plainFields) === null ? undefined : entries.find(isPlainField)
  return entries.flatMap((entry): Part[] => {
    if (entry === first) return [{ name: null, inner: plainFields }]
    return first !== undefined && isPlainField(entry) ? [] : [{ name: entry[0], inner: entry[1] }]
  })
}

function addLine(builder: TextBuilder, path: Path | null, line: string): void {
  const names: string[] = []
  for (let at = path; at !== null && names.length < maxPathNames; at = at.parent) names.unshift(at.name)
  if (path !== null && path.depth > maxPathNames) names.unshift('…')
  builder.add(`${builder.length > 0 ? '\n' : ''}${names.join(' › ')}${names.length > 0 ? ': ' : ''}${line}`)
}

/** The value on one line, or null unless it is plain or a short record or list of plain values. */
function toLine(value: unknown): string | null {
  if (isPlain(value)) return plainToLine(value)
  const line = Array.isArray(value) ? listToLine(value) : recordToLine(value as Record<string, unknown>)
  return line !== null && line.length <= maxRecord ? line : null
}

function listToLine(values: unknown[]): string | null {
  if (values.length > maxRecord || !values.every(isPlain)) return null
  return values.map(plainToLine).join(', ')
}

function recordToLine(record: Record<string, unknown>): string | null {
  const fields = Object.entries(record)
  if (fields.length > maxRecord) return null
  const parts: string[] = []
  for (const [key, value] of fields) {
    const text = isPlain(value) ? plainToLine(value) : Array.isArray(value) ? listToLine(value) : null
    if (text === null) return null
    if (text !== '') parts.push(`${toOneLine(key)}: ${text}`)
  }
  return parts.join('; ')
}

function isPlain(value: unknown): value is Plain {
  return typeof value !== 'object' || value === null
}

function plainToLine(value: Plain): string {
  return typeof value === 'string' ? toOneLine(value) : String(value)
}

function toOneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function parseValue(json: string): unknown {
  try {
    return JSON.parse(quoteInexactNumbers(json))
  } catch (error) {
    throw error instanceof SyntaxError ? new ParsingError('damaged') : error
  }
}

const numbers = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g

/** Turns numbers that JSON.parse would change, such as 1.50 or a 20-digit id, into strings. */
function quoteInexactNumbers(json: string): string {
  const parts: string[] = []
  let from = 0
  for (const { start, end } of outsideStrings(json)) {
    const between = json.slice(start, end)
    const quoted = between.replace(numbers, (written) =>
      /^-?0\d/.test(written) || (written.length <= 15 && String(Number(written)) === written)
        ? written
        : `"${written}"`,
    )
    if (quoted === between) continue
    parts.push(json.slice(from, start), quoted)
    from = end
  }
  return parts.join('') + json.slice(from)
}

function* outsideStrings(json: string): Generator<{ start: number; end: number }> {
  let start = 0
  for (;;) {
    const open = json.indexOf('"', start)
    yield { start, end: open === -1 ? json.length : open }
    if (open === -1) return
    let close = json.indexOf('"', open + 1)
    while (close !== -1 && isEscaped(json, close)) close = json.indexOf('"', close + 1)
    if (close === -1) return
    start = close + 1
  }
}

function isEscaped(json: string, at: number): boolean {
  let backslashes = 0
  while (json[at - 1 - backslashes] === '\\') backslashes++
  return backslashes % 2 === 1
}
