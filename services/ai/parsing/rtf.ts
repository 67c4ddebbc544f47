// Extracts the text of RTF: paragraphs, table rows and footnotes. Pictures, objects, fields' instructions,
// styles and hidden text are left out. No well-kept library reads RTF; the format is a list of control words.
import { charsetOf } from './charset.ts'
import { ParsingError } from './errors.ts'
import { TextBuilder, toTitle, type Heading, type ParsedDocument } from './parsed-document.ts'

const token = /\\([a-z]{1,32})(-?\d{1,10})?[ ]?|\\'([0-9a-f]{2})|\\([^a-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)/gis
const maxDepth = 1000
const skippedDestinations = new Set(
  (
    'colortbl stylesheet info pict object themedata' +
    ' listtable listoverridetable generator fldinst nonshppict ' +
    'header headerl headerr headerf footer footerl footerr footerf xmlnstbl rsidtbl mmathPr latentstyles ' +
    'datastore colorschememapping revtbl annotation atnid atnauthor sp bkmkstart bkmkend pntext'
  ).split(' '),
)
/** Destinations that start with `\*` and have text. */
const readDestinations = new Set(['shpinst', 'shptxt', 'footnote'])
const words: Record<string, string> = {
  par: '\n\n',
  sect: '\n\n',
  page: '\n\n',
  line: '\n',
  tab: '\t',
  row: '\n',
  emdash: '—',
  endash: '–',
  bullet: '•',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
}
/** Windows code pages by `\fcharset`. */
const codePages: Record<number, number> = {
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
}
const charsets: Record<number, string> = {
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  65001: 'utf-8',
}

interface Group {
  isSkipped: boolean
  isFontTable: boolean
  isHidden: boolean
  codePage: number
  /** Characters after `\u` that repeat it for old readers. */
  repeats: number
  /** Heading level of the paragraph, from 1; 0 for none. */
  level: number
  isFootnote: boolean
}

export function parseRtf(bytes: Buffer, limit: number): ParsedDocument {
  return new RtfReader(limit).read(bytes.toString('latin1'))
}

class RtfReader {
  #builder: TextBuilder
  #headings: Heading[] = []
  #group: Group = {
    isSkipped: false,
    isFontTable: false,
    isHidden: false,
    codePage: 1252,
    repeats: 1,
    level: 0,
    isFootnote: false,
  }
  #groups: Group[] = []
  #fonts = new Map<number, number>()
  #font = 0
  #defaultPage = 1252
  /** Bytes that are not decoded yet. */
  #pending: string[] = []
  /** Characters to skip after `\u`. */
  #skip = 0
  #isNewDestination = false
  #paragraph = ''
  #paragraphLevel = 0

  constructor(limit: number) {
    this.#builder = new TextBuilder(limit)
  }

  read(rtf: string): ParsedDocument {
    token.lastIndex = 0
    for (let match = token.exec(rtf); match !== null; match = token.exec(rtf)) {
      const [, word, number, hex, symbol, brace, text] = match
      if (brace !== undefined) this.#brace(brace)
      else if (word === 'bin') token.lastIndex += Math.max(0, Number(number ?? 0))
      else if (word !== undefined) this.#word(word, number === undefined ? null : Number(number))
      else if (hex !== undefined) this.#bytes(String.fromCharCode(parseInt(hex, 16)))
      else if (symbol !== undefined) this.#symbol(symbol)
      else if (text !== undefined) this.#bytes(text)
    }
    this.#flush()
    this.#endParagraph()
    return { text: this.#builder.toString().trimEnd(), headings: this.#headings, rows: [], pages: null }
  }

  #brace(brace: string): void {
    this.#flush()
    this.#isNewDestination = false
    if (brace === '{') {
      if (this.#groups.push(this.#group) > maxDepth) throw new ParsingError('damaged')
      this.#group = { ...this.#group }
      return
    }
    const { isFootnote } = this.#group
    this.#group = this.#groups.pop() ?? this.#group
    if (isFootnote && !this.#group.isFootnote) this.#text(')')
  }

  #word(word: string, number: number | null): void {
    const group = this.#group
    const isStarred = this.#isNewDestination
    this.#isNewDestination = false
    if (isStarred && !readDestinations.has(word)) group.isSkipped = true
    if (skippedDestinations.has(word)) group.isSkipped = true
    if (word === 'footnote') {
      this.#text(' (')
      group.isFootnote = true
    }
    if (word === 'fonttbl') group.isFontTable = true
    if (word === 'ansicpg' && number !== null) this.#defaultPage = group.codePage = number
    if (word === 'uc' && number !== null) group.repeats = number
    if (word === 'v') group.isHidden = number !== 0
    if (word === 'plain') group.isHidden = false
    if (word === 'pard') group.level = 0
    if (word === 'outlinelevel' && number !== null && number < 9) group.level = number + 1
    if (word === 'f' && number !== null) this.#useFont(number)
    if (word === 'fcharset' && group.isFontTable && number !== null)
      this.#fonts.set(this.#font, codePages[number] ?? this.#defaultPage)
    if (word === 'u' && number !== null) {
      this.#flush()
      this.#text(String.fromCharCode(number & 0xffff))
      this.#skip = group.repeats
    }
    if (word === 'cell' || word === 'nestcell') this.#text(' | ')
    else if (words[word] !== undefined) this.#text(words[word])
  }

  #useFont(font: number): void {
    this.#flush()
    this.#font = font
    if (!this.#group.isFontTable) this.#group.codePage = this.#fonts.get(font) ?? this.#defaultPage
  }

  #symbol(symbol: string): void {
    if (symbol === '*') this.#isNewDestination = true
    else if (symbol === '~') this.#text(' ')
    else if (symbol === '_') this.#text('-')
    else if (/[\\{}]/.test(symbol)) this.#bytes(symbol)
    else if (/[\r\n]/.test(symbol)) this.#text('\n\n')
  }

  /** Bytes in the code page of the font. */
  #bytes(bytes: string): void {
    const skipped = Math.min(this.#skip, bytes.length)
    this.#skip -= skipped
    if (bytes.length > skipped && this.#isVisible()) this.#pending.push(bytes.slice(skipped))
  }

  #isVisible(): boolean {
    return !this.#group.isSkipped && !this.#group.isFontTable && !this.#group.isHidden
  }

  #flush(): void {
    if (this.#pending.length === 0) return
    const bytes = Buffer.from(this.#pending.join(''), 'latin1')
    this.#pending = []
    const { codePage } = this.#group
    const name = charsets[codePage] ?? charsetOf(`windows-${codePage}`) ?? 'windows-1252'
    this.#add(new TextDecoder(name).decode(bytes))
  }

  #text(text: string): void {
    if (!this.#isVisible()) return
    this.#flush()
    this.#add(text)
  }

  #add(text: string): void {
    if (/^\n+$/.test(text)) {
      this.#paragraphLevel = this.#group.level
      this.#endParagraph()
      this.#builder.add(text)
      return
    }
    this.#paragraph += text
    // Adds long paragraphs in parts, so that the limit holds.
    if (this.#paragraph.length > 100_000) this.#endParagraph()
  }

  #endParagraph(): void {
    const text = this.#paragraph.replace(/(?: \| )+$/, '')
    this.#paragraph = ''
    if (this.#paragraphLevel > 0 && text.trim() !== '')
      this.#headings.push({ start: this.#builder.length, level: this.#paragraphLevel, title: toTitle(text) })
    this.#paragraphLevel = 0
    this.#builder.add(text)
  }
}
