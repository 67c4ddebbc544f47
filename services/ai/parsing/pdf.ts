// The text of a PDF, page by page: its lines as they are set, larger lines as headings. Nothing in it is run.
import { getDocument, PasswordException } from 'unpdf/pdfjs'
import { clean } from './charset.ts'
import { ParsingError } from './errors.ts'
import { toTitle, TextBuilder, type Heading, type ParsedDocument } from './parsed-document.ts'

interface Line {
  text: string
  /** Of its letters, in points. */
  size: number
  /** Height on the page, upwards. */
  y: number
  /** Whether it is apart from the line before it. */
  apart: boolean
}

const mostPages = 10_000
/** A heading is so much larger than most of the text, and no longer than this. */
const headingSize = 1.15
const longestHeading = 150
/** So many pages in a row that cannot be read are the end of what can. */
const mostBroken = 50

/** At most `limit` UTF-16 code units of text. Throws `encrypted`, `damaged` and `too_large`. A page that is damaged is empty, if others are not. */
export async function parsePdf(bytes: Uint8Array, limit: number): Promise<ParsedDocument> {
  const task = getDocument({
    data: bytes,
    verbosity: 0,
    useSystemFonts: false,
    disableFontFace: true,
    useWorkerFetch: false,
    useWasm: false,
    isImageDecoderSupported: false,
    isOffscreenCanvasSupported: false,
    enableXfa: false,
    stopAtErrors: false,
    disableAutoFetch: true,
    disableStream: true,
  })
  const document = await task.promise.catch((error: unknown) => {
    throw refusal(error)
  })
  if (document.numPages > mostPages) throw new ParsingError('too_large')
  const pages: Line[][] = []
  let length = 0
  let read = 0
  for (let number = 1, broken = 0; number <= document.numPages && broken < mostBroken; number++) {
    const lines = await linesOf(document, number)
    broken = lines === null ? broken + 1 : 0
    if (lines !== null) read++
    pages.push(lines ?? [])
    length += (lines ?? []).reduce((sum, { text }) => sum + text.length, 0)
    if (length > limit) throw new ParsingError('too_large')
  }
  if (read === 0) throw new ParsingError('damaged')
  return structureOf(pages, limit)
}

function refusal(error: unknown): unknown {
  if (error instanceof PasswordException) return new ParsingError('encrypted')
  return error instanceof Error &&
    /^(?:InvalidPDF|Format|Unknown|Response|MissingData|XRef|Parser)/.test(error.name)
    ? new ParsingError('damaged')
    : error
}

type Document = Awaited<ReturnType<typeof getDocument>['promise']>

async function linesOf(document: Document, number: number): Promise<Line[] | null> {
  try {
    const page = await document.getPage(number)
    const { items } = await page.getTextContent({ includeMarkedContent: false })
    page.cleanup()
    return collect(items as Item[])
  } catch (error) {
    if (error instanceof RangeError) throw error
    return null
  }
}

interface Item {
  str: string
  transform: number[]
  height: number
  hasEOL: boolean
}

function collect(items: Item[]): Line[] {
  const lines: Line[] = []
  let parts: string[] = []
  let size = 0
  let y = 0
  const end = (): void => {
    const text = normalise(parts.join(''))
    const before = lines.at(-1)
    if (text !== '')
      lines.push({ text, size, y, apart: before !== undefined && isApart(before, { size, y }) })
    parts = []
    size = 0
  }
  for (const { str, transform, height, hasEOL } of items) {
    if (str.trim() !== '') {
      if (size === 0) y = transform[5]
      size = Math.max(size, Math.round(2 * (height || Math.hypot(transform[2], transform[3]))) / 2)
    }
    parts.push(str)
    if (hasEOL) end()
  }
  end()
  return lines
}

/** A paragraph ends where the gap is wider than between lines, or a column or a size of letters does. */
function isApart(before: { size: number; y: number }, { size, y }: { size: number; y: number }): boolean {
  const gap = before.y - y
  return (
    gap < -before.size ||
    gap > 1.7 * Math.max(before.size, size) ||
    Math.abs(size - before.size) > 0.1 * before.size
  )
}

const ligatures: Record<string, string> = {
  '\ufb00': 'ff',
  '\ufb01': 'fi',
  '\ufb02': 'fl',
  '\ufb03': 'ffi',
  '\ufb04': 'ffl',
  '\ufb05': 'st',
  '\ufb06': 'st',
}

function normalise(text: string): string {
  return clean(text.replace(/[\ufb00-\ufb06]/g, (ligature) => ligatures[ligature]))
    .normalize('NFC')
    .replace(/\s+/g, ' ')
    .trim()
}

function structureOf(source: Line[][], limit: number): ParsedDocument {
  const hyphenated = new Set<string>()
  for (const line of source.flat())
    for (const [word] of line.text.matchAll(/\p{L}{1,40}-\p{Ll}{1,40}/gu)) hyphenated.add(word.toLowerCase())
  const writer = new TextBuilder(limit)
  const headings: Heading[] = []
  const pages: number[] = []
  const levels = levelsOf(source.flat())
  for (const lines of source) {
    if (writer.length > 0) writer.add('\n\n')
    pages.push(writer.length)
    joinWords(lines, hyphenated)
    let before: Line | null = null
    for (const line of lines.filter(({ text }) => text !== '')) {
      if (before !== null) writer.add(line.apart ? '\n\n' : '\n')
      const level = levels.get(line.size)
      if (level !== undefined && line.text.length <= longestHeading && /\p{L}/u.test(line.text)) {
        const last = headings.at(-1)
        // A heading may take two lines.
        if (
          last !== undefined &&
          before !== null &&
          !line.apart &&
          before.size === line.size &&
          levels.has(before.size)
        )
          last.title = toTitle(`${last.title} ${line.text}`)
        else headings.push({ start: writer.length, level, title: toTitle(line.text) })
      }
      writer.add(line.text)
      before = line
    }
  }
  return { text: writer.toString(), headings, rows: [], pages }
}

/** The sizes of letters that are larger than most of the text, the largest first, as levels from 1. */
function levelsOf(lines: Line[]): Map<number, number> {
  const letters = new Map<number, number>()
  for (const { size, text } of lines) letters.set(size, (letters.get(size) ?? 0) + text.length)
  const [body = 0] = [...letters].sort((a, b) => b[1] - a[1])[0] ?? []
  const larger = [...letters.keys()].filter((size) => size > body * headingSize).sort((a, b) => b - a)
  return new Map(larger.map((size, index) => [size, Math.min(6, index + 1)]))
}

/** A word that is divided at the end of a line is whole again; its hyphen stays if the document has it with one elsewhere. */
function joinWords(lines: Line[], hyphenated: Set<string>): void {
  for (let index = 0; index + 1 < lines.length; index++) {
    const [line, next] = [lines[index], lines[index + 1]]
    const first = /(\p{L}{2,40})[-\u00ad\u2010]$/u.exec(line.text)
    const rest = /^\p{Ll}{2,40}[^\s]{0,5}/u.exec(next.text)
    if (first === null || rest === null || next.apart) continue
    const word = /^\p{Ll}+/u.exec(rest[0])![0]
    const hyphen = hyphenated.has(`${first[1]}-${word}`.toLowerCase()) ? '-' : ''
    line.text = line.text.slice(0, -1) + hyphen + rest[0]
    next.text = next.text.slice(rest[0].length).trimStart()
    if (next.text === '' && lines[index + 2] !== undefined) lines[index + 2].apart ||= next.apart
  }
}
