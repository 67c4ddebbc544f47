// Parses Markdown. The text stays as written; the parser only finds headings, code blocks and tables.
import { toTitle, type Heading, type ParsedDocument, type Range } from './parsed-document.ts'
import { truncateText } from '../../../infra/text.ts'

const atxHeading = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/
const codeFence = /^ {0,3}(`{3,}|~{3,})/
const setextUnderline = /^ {0,3}(=+|-+)[ \t]*$/
/** Lines that cannot be the text of an underlined heading. */
const otherBlock = /^(?: {4}|\t| {0,3}(?:[>#|]|[-*+][ \t]|\d{1,9}[.)][ \t]))/
const maxHeading = 1000

export function parseMarkdown(text: string): ParsedDocument {
  const headings: Heading[] = []
  const rows: Range[] = []
  let openFence: { mark: string; start: number } | null = null
  let previous = { line: '', start: 0 }
  let at = frontMatterEnd(text)
  while (at < text.length) {
    const lineBreak = text.indexOf('\n', at)
    const end = lineBreak === -1 ? text.length : lineBreak
    const start = at
    const line = text.slice(start, Math.min(end, start + maxHeading))
    at = end + 1
    if (openFence !== null) {
      if (!closesFence(line, openFence.mark)) continue
      rows.push({ start: openFence.start, end })
      openFence = null
      continue
    }
    const mark = codeFence.exec(line)?.[1]
    const atx = atxHeading.exec(line)
    const underline = setextUnderline.exec(line)
    if (mark !== undefined) openFence = { mark, start }
    else if (atx !== null)
      headings.push({
        start,
        level: atx[1].length,
        title: plainTitle((atx[2] ?? '').replace(/[ \t]#+[ \t]*$/, '')),
      })
    else if (underline !== null && previous.line.trim() !== '' && !otherBlock.test(previous.line))
      headings.push({
        start: previous.start,
        level: underline[1][0] === '=' ? 1 : 2,
        title: plainTitle(previous.line),
      })
    else if (line.trimStart().startsWith('|')) addTableRow(rows, start, end)
    previous =
      openFence !== null || atx !== null || underline !== null ? { line: '', start } : { line, start }
  }
  if (openFence !== null) rows.push({ start: openFence.start, end: text.length })
  return { text, headings, rows, pages: null }
}

function closesFence(line: string, mark: string): boolean {
  const closing = line.trim()
  return closing.length >= mark.length && closing[0] === mark[0] && /^(`+|~+)$/.test(closing)
}

/** Consecutive table rows form one range. */
function addTableRow(rows: Range[], start: number, end: number): void {
  const last = rows.at(-1)
  if (last?.end === start - 1) last.end = end
  else rows.push({ start, end })
}

/** The end of the front matter between two `---` lines at the start, which contains no headings. */
function frontMatterEnd(text: string): number {
  if (!text.startsWith('---\n')) return 0
  const end = text.slice(0, 20_000).indexOf('\n---\n', 3)
  return end === -1 ? 0 : end + 5
}

/** Removes the markup of links, HTML tags, emphasis and code. */
function plainTitle(title: string): string {
  return toTitle(
    truncateText(title, maxHeading)
      .replace(/!?\[([^[\]]{0,300})\](?:\([^()]{0,300}\)|\[[^[\]]{0,100}\])/g, '$1')
      .replace(/<[^<>]{1,200}>/g, '')
      .replace(/[*`~]+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, '')
      .replace(/\\([!-/:-@[-`{-~])/g, '$1'),
  )
}
