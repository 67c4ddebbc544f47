// JSON as lines that each say where in the whole they are: `plans › 2: name: Team; price: 20`. So a passage is found by the
// names above it, and a small record stays together; what an object has in it beside plain values is on lines of its own.
import { ParsingError } from './errors.ts'
import { TextBuilder, type ParsedDocument } from './parsed-document.ts'

/** A record or list of plain values that is no longer is one line. */
const longestRecord = 1000
/** Of a path, that many last names are told. */
const pathLength = 8
const longestName = 200

interface Path {
  name: string
  depth: number
  above: Path | null
}
type Plain = string | number | boolean | null

/** At most `limit` UTF-16 code units of text. Throws `damaged` for what is no JSON. */
export function parseJson(json: string, limit: number): ParsedDocument {
  const writer = new TextBuilder(limit)
  const waiting: { value: unknown; path: Path | null }[] = [{ value: parse(json), path: null }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, path } = next
    const line = recordOf(value)
    if (line !== null) {
      if (line !== '') write(writer, path, line)
      continue
    }
    for (const { name, inner } of partsOf(value as object).reverse()) {
      waiting.push({
        value: inner,
        path:
          name === null
            ? path
            : {
                name: oneLine(name).slice(0, longestName).toWellFormed(),
                depth: (path?.depth ?? 0) + 1,
                above: path,
              },
      })
    }
  }
  const text = writer.toString()
  return { text, headings: [], rows: [{ start: 0, end: text.length }], records: true, pages: null }
}

interface Part {
  /** None for what is the object's own. */ name: string | null
  inner: unknown
}

/** The items of a list; of an object its values, the plain ones as one record, where the first of them is, unless that is too long. */
function partsOf(value: object): Part[] {
  if (Array.isArray(value)) return value.map((inner, index) => ({ name: String(index + 1), inner }))
  const entries = Object.entries(value)
  const isField = ([, inner]: [string, unknown]): boolean =>
    isPlain(inner) || (Array.isArray(inner) && listOf(inner) !== null)
  const own = Object.fromEntries(entries.filter(isField))
  const first = recordOf(own) === null ? undefined : entries.find(isField)
  return entries.flatMap((entry): Part[] => {
    if (entry === first) return [{ name: null, inner: own }]
    return first !== undefined && isField(entry) ? [] : [{ name: entry[0], inner: entry[1] }]
  })
}

function write(writer: TextBuilder, path: Path | null, line: string): void {
  const names: string[] = []
  for (let at = path; at !== null && names.length < pathLength; at = at.above) names.unshift(at.name)
  if (path !== null && path.depth > pathLength) names.unshift('…')
  writer.add(`${writer.length > 0 ? '\n' : ''}${names.join(' › ')}${names.length > 0 ? ': ' : ''}${line}`)
}

/** The value on one line, if it is plain, or a short record or list of plain ones. */
function recordOf(value: unknown): string | null {
  if (isPlain(value)) return plain(value)
  const record = Array.isArray(value) ? listOf(value) : fieldsOf(value as Record<string, unknown>)
  return record !== null && record.length <= longestRecord ? record : null
}

function listOf(values: unknown[]): string | null {
  if (values.length > longestRecord || !values.every(isPlain)) return null
  return values.map(plain).join(', ')
}

function fieldsOf(record: Record<string, unknown>): string | null {
  const fields = Object.entries(record)
  if (fields.length > longestRecord) return null
  const parts: string[] = []
  for (const [key, value] of fields) {
    const text = isPlain(value) ? plain(value) : Array.isArray(value) ? listOf(value) : null
    if (text === null) return null
    if (text !== '') parts.push(`${oneLine(key)}: ${text}`)
  }
  return parts.join('; ')
}

function isPlain(value: unknown): value is Plain {
  return typeof value !== 'object' || value === null
}

function plain(value: Plain): string {
  return typeof value === 'string' ? oneLine(value) : String(value)
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function parse(json: string): unknown {
  try {
    return JSON.parse(keepNumbers(json))
  } catch (error) {
    throw error instanceof SyntaxError ? new ParsingError('damaged') : error
  }
}

const numbers = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g

/** Numbers that reading would change, such as 1.50 and those of many digits, become strings, so that they stay as they are written. */
function keepNumbers(json: string): string {
  const kept: string[] = []
  let from = 0
  for (const { start, end } of outsideStrings(json)) {
    const between = json.slice(start, end)
    const quoted = between.replace(numbers, (written) =>
      /^-?0\d/.test(written) || (written.length <= 15 && String(Number(written)) === written)
        ? written
        : `"${written}"`,
    )
    if (quoted === between) continue
    kept.push(json.slice(from, start), quoted)
    from = end
  }
  return kept.join('') + json.slice(from)
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
  let slashes = 0
  while (json[at - 1 - slashes] === '\\') slashes++
  return slashes % 2 === 1
}
