// The readable text of HTML: blocks apart by blank lines, rows of tables on a line each, headings kept; no scripts, no
// forms, and none of what only surrounds the content.
import { Parser } from 'htmlparser2'
import { ParsingError } from './errors.ts'
import { toTitle, TextBuilder, type Heading, type Range, type ParsedDocument } from './parsed-document.ts'

const words = (list: string): Set<string> => new Set(list.split(' '))
const unread = words(
  'title script style noscript template svg math iframe frameset object embed canvas audio video map select datalist button textarea head',
)
const around = words('nav footer aside menu dialog')
const blocks = words(
  'p div section article main header footer aside nav address blockquote figure figcaption details summary fieldset form hr h1 h2 h3 h4 h5 h6 ul ol dl pre table center body',
)
const lines = words('li dt dd tr br caption legend option')
const cells = words('td th')
const longestTitleSource = 1000
/** No page that is meant to be read has so many elements in one another: four times what browsers keep. */
const deepest = 2048

/** At most `limit` UTF-16 code units of text. Throws `damaged` for a page that is nested without end. */
export function parseHtml(html: string, limit: number): ParsedDocument {
  const content = new Page(limit, true).read(html)
  // A page that is all navigation is read as what it is.
  return /\S/.test(content.text) ? content : new Page(limit, false).read(html)
}

class Page {
  #writer: TextBuilder
  #contentOnly: boolean
  #headings: Heading[] = []
  #rows: Range[] = []
  /** Line ends that go before the next text. */
  #breaks = 0
  #blank = false
  /** What goes before the text of an item or a cell. */
  #marker = ''
  /** How many elements that are not read it is in, and so on. */
  #unread = 0
  #tables = 0
  #cells = 0
  #preformatted = 0
  #tableStart = 0
  #heading: { level: number; start: number; title: string } | null = null
  #title: string | null = null
  /** Of each open element, whether it began what is not read. */
  #open: boolean[] = []

  constructor(limit: number, contentOnly: boolean) {
    this.#writer = new TextBuilder(limit)
    this.#contentOnly = contentOnly
  }

  read(html: string): ParsedDocument {
    const named = !/<h1[\s>]/i.test(html)
    const parser = new Parser(
      {
        onopentag: (name, attributes) => this.#enter(name, attributes, named),
        onclosetag: (name) => this.#leave(name, named),
        ontext: (text) => this.#text(text),
      },
      { decodeEntities: true },
    )
    parser.end(html)
    const text = this.#writer.toString().trimEnd()
    return {
      text,
      headings: this.#headings.filter(({ start }) => start < text.length),
      rows: this.#rows,
      pages: null,
    }
  }

  #isUnread(name: string, attributes: Record<string, string>): boolean {
    if (unread.has(name)) return true
    if ('hidden' in attributes || /display\s*:\s*none/i.test(attributes['style']?.slice(0, 500) ?? ''))
      return true
    return (
      this.#contentOnly &&
      (around.has(name) || /^(?:navigation|banner|contentinfo|search)$/.test(attributes['role'] ?? ''))
    )
  }

  #enter(name: string, attributes: Record<string, string>, named: boolean): void {
    if (name === 'title' && named && this.#title === null && this.#writer.length === 0) this.#title = ''
    const starts = this.#isUnread(name, attributes)
    if (this.#open.push(starts) > deepest) throw new ParsingError('damaged')
    if (starts) this.#unread++
    if (this.#unread > 0) return
    if (name === 'table' && this.#tables++ === 0) {
      this.#break(2)
      this.#tableStart = this.#writer.length
    }
    if (name === 'pre') this.#preformatted++
    this.#separate(name)
    if (/^h[1-6]$/.test(name)) this.#heading = { level: Number(name[1]), start: -1, title: '' }
    if (name === 'li' && this.#tables === 0) this.#marker = '- '
    if (cells.has(name) && this.#cells++ > 0) this.#marker += ' | '
  }

  #leave(name: string, named: boolean): void {
    const started = this.#open.pop() === true
    if (name === 'title' && named && this.#title !== null && this.#writer.length === 0)
      this.#nameIt(this.#title)
    if (started) this.#unread--
    if (started || this.#unread > 0) return
    if (/^h[1-6]$/.test(name)) this.#endHeading()
    if (name === 'li' || name === 'tr') this.#marker = ''
    this.#separate(name)
    if (name === 'pre' && this.#preformatted > 0) this.#preformatted--
    if (name === 'tr') this.#cells = 0
    if (name === 'table' && this.#tables > 0 && --this.#tables === 0) this.#endTable()
  }

  #endTable(): void {
    this.#cells = 0
    const end = this.#writer.length
    if (end > this.#tableStart) this.#rows.push({ start: this.#tableStart, end })
    this.#break(2)
  }

  #separate(name: string): void {
    // Within a cell, only rows are apart.
    if (this.#cells > 0 && name !== 'tr') this.#blank ||= blocks.has(name) || lines.has(name)
    else if (blocks.has(name)) this.#break(this.#tables > 0 ? 1 : 2)
    else if (lines.has(name)) this.#break(1)
  }

  #break(breaks: number): void {
    if (this.#marker !== '') return
    if (this.#preformatted > 0 && breaks === 1) this.#writer.add('\n')
    else this.#breaks = Math.max(this.#breaks, breaks)
  }

  #text(text: string): void {
    if (
      this.#title !== null &&
      this.#unread > 0 &&
      this.#writer.length === 0 &&
      this.#title.length < longestTitleSource
    )
      this.#title += text.slice(0, longestTitleSource)
    if (this.#unread > 0) return
    if (this.#preformatted > 0 && this.#tables === 0) return this.#write(text)
    const words = text.replace(/\s+/g, ' ')
    if (words.startsWith(' ')) this.#blank = true
    const trimmed = words.trim()
    if (trimmed !== '') this.#write(trimmed)
    if (trimmed !== '' && words.endsWith(' ')) this.#blank = true
  }

  #write(text: string): void {
    const started = this.#writer.length > 0
    if (started && this.#breaks > 0) this.#writer.add('\n'.repeat(this.#breaks))
    else if (started && this.#blank && this.#marker === '') this.#writer.add(' ')
    if (this.#heading !== null) {
      if (this.#heading.start === -1) this.#heading.start = this.#writer.length
      if (this.#heading.title.length < longestTitleSource)
        this.#heading.title += (this.#blank ? ' ' : '') + text.slice(0, longestTitleSource)
    }
    this.#writer.add(this.#marker + text)
    this.#marker = ''
    this.#breaks = 0
    this.#blank = false
  }

  #endHeading(): void {
    if (this.#heading === null) return
    const { start, level, title } = this.#heading
    if (start !== -1) this.#headings.push({ start, level, title: toTitle(title) })
    this.#heading = null
  }

  /** A page with no first heading has its title for one. */
  #nameIt(source: string): void {
    this.#title = null
    const title = toTitle(source)
    if (title === '') return
    this.#headings.push({ start: this.#writer.length, level: 1, title })
    this.#writer.add(title)
    this.#breaks = 2
  }
}
