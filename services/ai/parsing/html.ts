// Extracts the readable text of HTML: blocks separated by blank lines, one line per table row, headings kept.
// Scripts, forms, hidden elements and page navigation are left out.
import { Parser } from 'htmlparser2'
import { ParsingError } from './errors.ts'
import { toTitle, TextBuilder, type Heading, type ParsedDocument, type Range } from './parsed-document.ts'
import { truncateText } from '../../../infra/text.ts'

const names = (list: string): Set<string> => new Set(list.split(/\s+/))
const skippedElements = names(
  `title script style noscript template svg math iframe frameset object embed canvas audio video map select
   datalist button textarea head`,
)
const navigationElements = names('nav footer aside menu dialog')
const navigationRole = /^(?:navigation|banner|contentinfo|search)$/
const blockElements = names(
  `p div section article main header footer aside nav address blockquote figure figcaption details summary
   fieldset form hr h1 h2 h3 h4 h5 h6 ul ol dl pre table center body`,
)
const lineElements = names('li dt dd tr br caption legend option')
const cellElements = names('td th')
const headingElement = /^h[1-6]$/
const maxTitleSource = 1000
/** Rows and columns that a cell spans, and the length of a text that is repeated in each row. */
const maxRowSpan = 200
const maxColumnSpan = 1000
const maxSpanText = 200
/** Nesting depth that no readable page reaches: four times the limit of browsers. */
const maxDepth = 2048

/** `limit`: UTF-16 code units of the text. Throws `damaged` for HTML that is nested too deeply. */
export function parseHtml(html: string, limit: number): ParsedDocument {
  const content = new TextExtractor(limit, { skipNavigation: true }).extract(html)
  if (/\S/.test(content.text)) return content
  // A page without any other content: its navigation is the text.
  return new TextExtractor(limit, { skipNavigation: false }).extract(html)
}

class TextExtractor {
  #builder: TextBuilder
  #skipNavigation: boolean
  #headings: Heading[] = []
  #rows: Range[] = []
  /** Line breaks to write before the next text. */
  #breaks = 0
  /** Whether to write a space before the next text. */
  #space = false
  /** The list bullet or cell separator to write before the next text. */
  #marker = ''
  /** Depth of open elements, by kind. */
  #skipped = 0
  #tables = 0
  #preformatted = 0
  /** Cells so far of the current row. */
  #cells = 0
  /** Columns so far of the current row: a cell may span several. */
  #columns = 0
  /** Cells of earlier rows that span the next ones, by column; their text is repeated. */
  #spans = new Map<number, { rows: number; text: string }>()
  /** The cell that is open, if it spans rows. */
  #spanning: { column: number; rows: number; text: string } | null = null
  #tableStart = 0
  #heading: { level: number; start: number; title: string } | null = null
  #title: string | null = null
  /** For each open element, whether its content is skipped because of it. */
  #open: boolean[] = []

  constructor(limit: number, { skipNavigation }: { skipNavigation: boolean }) {
    this.#builder = new TextBuilder(limit)
    this.#skipNavigation = skipNavigation
  }

  extract(html: string): ParsedDocument {
    const useTitle = !/<h1[\s>]/i.test(html)
    const parser = new Parser(
      {
        onopentag: (name, attributes) => this.#openElement(name, attributes, useTitle),
        onclosetag: (name) => this.#closeElement(name, useTitle),
        ontext: (text) => this.#addText(text),
      },
      { decodeEntities: true },
    )
    parser.end(html)
    const text = this.#builder.toString().trimEnd()
    return {
      text,
      headings: this.#headings.filter(({ start }) => start < text.length),
      rows: this.#rows,
      pages: null,
    }
  }

  #isSkipped(name: string, attributes: Record<string, string>): boolean {
    if (skippedElements.has(name)) return true
    if ('hidden' in attributes || /display\s*:\s*none/i.test(attributes['style']?.slice(0, 500) ?? ''))
      return true
    return (
      this.#skipNavigation && (navigationElements.has(name) || navigationRole.test(attributes['role'] ?? ''))
    )
  }

  #openElement(name: string, attributes: Record<string, string>, useTitle: boolean): void {
    if (name === 'title' && useTitle && this.#title === null && this.#builder.length === 0) this.#title = ''
    const isSkipped = this.#isSkipped(name, attributes)
    if (this.#open.push(isSkipped) > maxDepth) throw new ParsingError('damaged')
    if (isSkipped) this.#skipped++
    if (this.#skipped > 0) return
    if (name === 'table' && this.#tables++ === 0) {
      this.#break(2)
      this.#tableStart = this.#builder.length
    }
    if (name === 'pre') this.#preformatted++
    this.#separate(name)
    if (headingElement.test(name)) this.#heading = { level: Number(name[1]), start: -1, title: '' }
    if (name === 'li' && this.#tables === 0) this.#marker = '- '
    if (cellElements.has(name)) this.#openCell(attributes)
  }

  #openCell(attributes: Record<string, string>): void {
    if (this.#tables === 1) this.#repeatCells()
    if (this.#cells++ > 0) this.#marker += ' | '
    if (this.#tables !== 1) return
    const rows = Math.min(Number(attributes['rowspan'] ?? 1) || 1, maxRowSpan)
    this.#spanning = rows > 1 ? { column: this.#columns, rows: rows - 1, text: '' } : null
    this.#columns += Math.min(Number(attributes['colspan'] ?? 1) || 1, maxColumnSpan)
  }

  /** Writes the cells of earlier rows that span this row at the current column. */
  #repeatCells(): void {
    for (let span = this.#spans.get(this.#columns); span !== undefined;) {
      if (--span.rows === 0) this.#spans.delete(this.#columns)
      if (this.#cells++ > 0) this.#marker += ' | '
      if (span.text !== '') this.#write(span.text)
      span = this.#spans.get(++this.#columns)
    }
  }

  #closeCell(): void {
    if (this.#spanning === null || this.#tables !== 1) return
    const { column, rows, text } = this.#spanning
    if (text.length <= maxSpanText) this.#spans.set(column, { rows, text })
    this.#spanning = null
  }

  #closeElement(name: string, useTitle: boolean): void {
    const wasSkipped = this.#open.pop() === true
    if (name === 'title' && useTitle && this.#title !== null && this.#builder.length === 0)
      this.#addTitle(this.#title)
    if (wasSkipped) this.#skipped--
    if (wasSkipped || this.#skipped > 0) return
    if (headingElement.test(name)) this.#endHeading()
    if (name === 'tr' && this.#tables === 1 && this.#cells > 0) this.#repeatCells()
    if (name === 'li' || name === 'tr') this.#marker = ''
    this.#separate(name)
    if (name === 'pre' && this.#preformatted > 0) this.#preformatted--
    if (cellElements.has(name)) this.#closeCell()
    if (name === 'tr') {
      this.#cells = 0
      if (this.#tables === 1) this.#columns = 0
    }
    if (name === 'table' && this.#tables > 0 && --this.#tables === 0) this.#endTable()
  }

  #endTable(): void {
    this.#cells = 0
    this.#columns = 0
    this.#spans.clear()
    this.#spanning = null
    const end = this.#builder.length
    if (end > this.#tableStart) this.#rows.push({ start: this.#tableStart, end })
    this.#break(2)
  }

  #separate(name: string): void {
    // A row stays on one line, so blocks inside a cell are separated by spaces.
    if (this.#cells > 0 && name !== 'tr') this.#space ||= blockElements.has(name) || lineElements.has(name)
    else if (blockElements.has(name)) this.#break(this.#tables > 0 ? 1 : 2)
    else if (lineElements.has(name)) this.#break(1)
  }

  #break(breaks: number): void {
    if (this.#marker !== '') return
    if (this.#preformatted > 0 && breaks === 1) this.#builder.add('\n')
    else this.#breaks = Math.max(this.#breaks, breaks)
  }

  #addText(text: string): void {
    if (
      this.#title !== null &&
      this.#skipped > 0 &&
      this.#builder.length === 0 &&
      this.#title.length < maxTitleSource
    )
      this.#title += truncateText(text, maxTitleSource)
    if (this.#skipped > 0) return
    if (this.#preformatted > 0 && this.#tables === 0) return this.#write(text)
    const words = text.replace(/\s+/g, ' ')
    if (words.startsWith(' ')) this.#space = true
    const trimmed = words.trim()
    if (trimmed !== '') this.#write(trimmed)
    if (trimmed !== '' && words.endsWith(' ')) this.#space = true
  }

  #write(text: string): void {
    const hasText = this.#builder.length > 0
    if (hasText && this.#breaks > 0) this.#builder.add('\n'.repeat(this.#breaks))
    else if (hasText && this.#space && this.#marker === '') this.#builder.add(' ')
    if (this.#heading !== null) {
      if (this.#heading.start === -1) this.#heading.start = this.#builder.length
      if (this.#heading.title.length < maxTitleSource)
        this.#heading.title += (this.#space ? ' ' : '') + truncateText(text, maxTitleSource)
    }
    if (this.#spanning !== null && this.#spanning.text.length <= maxSpanText)
      this.#spanning.text += (this.#spanning.text !== '' && this.#space ? ' ' : '') + text
    this.#builder.add(this.#marker + text)
    this.#marker = ''
    this.#breaks = 0
    this.#space = false
  }

  #endHeading(): void {
    if (this.#heading === null) return
    const { start, level, title } = this.#heading
    if (start !== -1) this.#headings.push({ start, level, title: toTitle(title) })
    this.#heading = null
  }

  /** The `<title>` of a page without an `<h1>` becomes its first heading. */
  #addTitle(source: string): void {
    this.#title = null
    const title = toTitle(source)
    if (title === '') return
    this.#headings.push({ start: this.#builder.length, level: 1, title })
    this.#builder.add(title)
    this.#breaks = 2
  }
}
