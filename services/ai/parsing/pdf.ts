// Extracts the text of a PDF, page by page and line by line. Lines in larger type become headings. No script
// or action in the PDF is run.
import { getDocument, OPS, PasswordException } from 'unpdf/pdfjs'
import { cleanText } from './charset.ts'
import { ParsingError } from './errors.ts'
import { CMapFiles, collectNotes, type PdfNotes } from './pdfjs-environment.ts'
import { maxWarningPages, type DocumentWarning, type WarningCode } from './warnings.ts'
import { toTitle, TextBuilder, type Heading, type ParsedDocument } from './parsed-document.ts'

interface Line {
  text: string
  /** Font size, in points. */
  size: number
  /** Distance from the bottom of the page, in points. */
  y: number
  /** Whether a new paragraph starts with this line. */
  startsParagraph: boolean
}

const maxPages = 10_000
/** A heading's font size, as a multiple of the body's, and its maximum length. */
const headingScale = 1.15
const maxHeading = 150
/** Unreadable pages in a row after which the remaining pages are skipped. */
const maxBrokenPages = 50

/** Pages without text that are examined for images. */
const maxExaminedPages = 200

/**
 * `limit`: UTF-16 code units of the text. Throws `encrypted`, `too_large`, and `damaged` if no page is
 * readable; an unreadable page among readable ones is empty. The warnings name the pages that were not read.
 */
export async function parsePdf(bytes: Uint8Array, limit: number): Promise<ParsedDocument> {
  return await collectNotes((notes) => new PdfReader(notes, limit).read(bytes))
}

class PdfReader {
  #notes: PdfNotes
  #limit: number
  #warnings = new Map<WarningCode, number[]>()
  #examined = 0

  constructor(notes: PdfNotes, limit: number) {
    this.#notes = notes
    this.#limit = limit
  }

  async read(bytes: Uint8Array): Promise<ParsedDocument> {
    const document = await open(bytes)
    if (document.numPages > maxPages) throw new ParsingError('too_large')
    const pages: Line[][] = []
    let length = 0
    let readable = 0
    for (let number = 1, broken = 0; number <= document.numPages && broken < maxBrokenPages; number++) {
      const lines = await this.#readLines(document, number)
      broken = lines === null ? broken + 1 : 0
      if (lines === null) this.#warn('unreadable_page', number)
      else readable++
      pages.push(lines ?? [])
      length += (lines ?? []).reduce((sum, { text }) => sum + text.length, 0)
      if (length > this.#limit) throw new ParsingError('too_large')
    }
    if (readable === 0) throw new ParsingError('damaged')
    return { ...toDocument(pages, this.#limit), warnings: this.#listWarnings() }
  }

  /** The lines of a page, or null if the page is unreadable. */
  async #readLines(document: Document, number: number): Promise<Line[] | null> {
    try {
      const page = await document.getPage(number)
      const { items } = await page.getTextContent({ includeMarkedContent: false })
      const lines = toLines(items as TextItem[])
      const isReadable = hasReadableCharacters(lines)
      if (!isReadable) this.#warn('unreadable_font', number)
      else if (lines.length === 0 || this.#notes.hasUnreadableFont) await this.#examine(page, number, lines)
      page.cleanup()
      return isReadable ? lines : []
    } catch (error) {
      if (error instanceof RangeError) throw error
      return null
    }
  }

  /** Finds out whether the page has images, or text in a font that could not be loaded. */
  async #examine(page: Page, number: number, lines: Line[]): Promise<void> {
    if (this.#examined++ >= maxExaminedPages) return
    this.#notes.hasImage = false
    const { fnArray, argsArray } = await page.getOperatorList()
    const fonts = fnArray.flatMap((operator, index) =>
      operator === OPS.setFont ? [argsArray[index]![0] as string] : [],
    )
    // The data of a font that could not be loaded is an error message.
    if (fonts.some((font) => page.commonObjs.has(font) && typeof page.commonObjs.get(font) === 'string'))
      this.#warn('unreadable_font', number)
    else if (lines.length === 0 && this.#notes.hasImage) this.#warn('image_without_text', number)
  }

  #warn(code: WarningCode, page: number): void {
    const pages = this.#warnings.get(code) ?? []
    if (pages.length < maxWarningPages) pages.push(page)
    this.#warnings.set(code, pages)
  }

  #listWarnings(): DocumentWarning[] {
    return [...this.#warnings].map(([code, pages]) => ({ code, pages }))
  }
}

/** Whether most characters are more than numbers in a font without a table of its characters. */
function hasReadableCharacters(lines: Line[]): boolean {
  let unknown = 0
  let all = 0
  for (const { text } of lines) {
    all += text.length
    unknown += text.match(/[\p{Co}\p{Cn}\ufffd]/gu)?.length ?? 0
  }
  return all === 0 || unknown * 2 < all
}

type Document = Awaited<ReturnType<typeof getDocument>['promise']>
type Page = Awaited<ReturnType<Document['getPage']>>

async function open(bytes: Uint8Array): Promise<Document> {
  const task = getDocument({
    data: bytes,
    // The warnings of pdf.js name the fonts and images that it skips.
    verbosity: 1,
    BinaryDataFactory: CMapFiles,
    cMapUrl: 'cmaps/',
    cMapPacked: true,
    // Images are never decoded.
    maxImageSize: 1,
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
  return await task.promise.catch((error: unknown) => {
    throw toParsingError(error)
  })
}

function toParsingError(error: unknown): unknown {
  if (error instanceof PasswordException) return new ParsingError('encrypted')
  return error instanceof Error &&
    /^(?:InvalidPDF|Format|Unknown|Response|MissingData|XRef|Parser)/.test(error.name)
    ? new ParsingError('damaged')
    : error
}

interface TextItem {
  str: string
  transform: number[]
  height: number
  hasEOL: boolean
}

function toLines(items: TextItem[]): Line[] {
  const lines: Line[] = []
  let parts: string[] = []
  let size = 0
  let y = 0
  const endLine = (): void => {
    const text = normalize(parts.join(''))
    const previous = lines.at(-1)
    if (text !== '')
      lines.push({
        text,
        size,
        y,
        startsParagraph: previous !== undefined && isParagraphBreak(previous, { size, y }),
      })
    parts = []
    size = 0
  }
  for (const { str, transform, height, hasEOL } of items) {
    if (str.trim() !== '') {
      if (size === 0) y = transform[5]
      size = Math.max(size, Math.round(2 * (height || Math.hypot(transform[2], transform[3]))) / 2)
    }
    parts.push(str)
    if (hasEOL) endLine()
  }
  endLine()
  return lines
}

/** A paragraph ends at a wide gap, at the end of a column, or where the font size changes. */
function isParagraphBreak(
  previous: { size: number; y: number },
  { size, y }: { size: number; y: number },
): boolean {
  const gap = previous.y - y
  return (
    gap < -previous.size ||
    gap > 1.7 * Math.max(previous.size, size) ||
    Math.abs(size - previous.size) > 0.1 * previous.size
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

function normalize(text: string): string {
  return cleanText(text.replace(/[\ufb00-\ufb06]/g, (ligature) => ligatures[ligature]))
    .normalize('NFC')
    .replace(/\s+/g, ' ')
    .trim()
}

function toDocument(source: Line[][], limit: number): ParsedDocument {
  const lines = source.flat()
  const builder = new DocumentBuilder(headingLevels(lines), hyphenatedWords(lines), limit)
  for (const page of source) builder.addPage(page)
  return builder.build()
}

class DocumentBuilder {
  #text: TextBuilder
  #headings: Heading[] = []
  #pages: number[] = []
  #levels: Map<number, number>
  #hyphenated: Set<string>

  constructor(levels: Map<number, number>, hyphenated: Set<string>, limit: number) {
    this.#text = new TextBuilder(limit)
    this.#levels = levels
    this.#hyphenated = hyphenated
  }

  addPage(lines: Line[]): void {
    if (this.#text.length > 0) this.#text.add('\n\n')
    this.#pages.push(this.#text.length)
    joinDividedWords(lines, this.#hyphenated)
    let previous: Line | null = null
    for (const line of lines.filter(({ text }) => text !== '')) {
      if (previous !== null) this.#text.add(line.startsParagraph ? '\n\n' : '\n')
      this.#addHeading(line, previous)
      this.#text.add(line.text)
      previous = line
    }
  }

  #addHeading(line: Line, previous: Line | null): void {
    const level = this.#levels.get(line.size)
    if (level === undefined || line.text.length > maxHeading || !/\p{L}/u.test(line.text)) return
    const last = this.#headings.at(-1)
    // The second line of a heading.
    if (
      last !== undefined &&
      previous !== null &&
      !line.startsParagraph &&
      previous.size === line.size &&
      this.#levels.has(previous.size)
    )
      last.title = toTitle(`${last.title} ${line.text}`)
    else this.#headings.push({ start: this.#text.length, level, title: toTitle(line.text) })
  }

  build(): ParsedDocument {
    return { text: this.#text.toString(), headings: this.#headings, rows: [], pages: this.#pages }
  }
}

/** Heading levels by font size: sizes larger than the body's, the largest being level 1. */
function headingLevels(lines: Line[]): Map<number, number> {
  const lengths = new Map<number, number>()
  for (const { size, text } of lines) lengths.set(size, (lengths.get(size) ?? 0) + text.length)
  const [bodySize = 0] = [...lengths].sort((a, b) => b[1] - a[1])[0] ?? []
  const larger = [...lengths.keys()].filter((size) => size > bodySize * headingScale).sort((a, b) => b - a)
  return new Map(larger.map((size, index) => [size, Math.min(6, index + 1)]))
}

/** The words that the document writes with a hyphen within a line. */
function hyphenatedWords(lines: Line[]): Set<string> {
  const words = new Set<string>()
  for (const line of lines)
    for (const [word] of line.text.matchAll(/\p{L}{1,40}-\p{Ll}{1,40}/gu)) words.add(word.toLowerCase())
  return words
}

/**
 * Joins words that are divided at the end of a line. A word keeps its hyphen if the document also writes it
 * with a hyphen within a line.
 */
function joinDividedWords(lines: Line[], hyphenated: Set<string>): void {
  for (let index = 0; index + 1 < lines.length; index++) {
    const [line, next] = [lines[index], lines[index + 1]]
    const first = /(\p{L}{2,40})[-\u00ad\u2010]$/u.exec(line.text)
    const rest = /^\p{Ll}{2,40}[^\s]{0,5}/u.exec(next.text)
    if (first === null || rest === null || next.startsParagraph) continue
    const word = /^\p{Ll}+/u.exec(rest[0])![0]
    const hyphen = hyphenated.has(`${first[1]}-${word}`.toLowerCase()) ? '-' : ''
    line.text = line.text.slice(0, -1) + hyphen + rest[0]
    next.text = next.text.slice(rest[0].length).trimStart()
    if (next.text === '' && lines[index + 2] !== undefined)
      lines[index + 2].startsParagraph ||= next.startsParagraph
  }
}
