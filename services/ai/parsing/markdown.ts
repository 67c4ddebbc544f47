// Markdown stays as it is written; only its headings are found, and where its code and tables are, line by line.
import { toTitle, type Heading, type Range, type ParsedDocument } from './parsed-document.ts'

const atx = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/
const fence = /^ {0,3}(`{3,}|~{3,})/
const underline = /^ {0,3}(=+|-+)[ \t]*$/
/** What cannot be the text of a heading that is underlined. */
const otherBlock = /^(?: {4}|\t| {0,3}(?:[>#|]|[-*+][ \t]|\d{1,9}[.)][ \t]))/
const longestHeading = 1000

export function parseMarkdown(text: string): ParsedDocument {
  const headings: Heading[] = []
  const rows: Range[] = []
  let open: { mark: string; start: number } | null = null
  let before = { line: '', start: 0 }
  let at = frontMatterEnd(text)
  while (at < text.length) {
    const found = text.indexOf('\n', at)
    const end = found === -1 ? text.length : found
    const start = at
    const line = text.slice(start, Math.min(end, start + longestHeading))
    at = end + 1
    if (open !== null) {
      if (!closes(line, open.mark)) continue
      rows.push({ start: open.start, end })
      open = null
      continue
    }
    const mark = fence.exec(line)?.[1]
    const level = atx.exec(line)
    const title = underline.exec(line)
    if (mark !== undefined) open = { mark, start }
    else if (level !== null)
      headings.push({
        start,
        level: level[1].length,
        title: plainTitle((level[2] ?? '').replace(/[ \t]#+[ \t]*$/, '')),
      })
    else if (title !== null && before.line.trim() !== '' && !otherBlock.test(before.line))
      headings.push({
        start: before.start,
        level: title[1][0] === '=' ? 1 : 2,
        title: plainTitle(before.line),
      })
    else if (line.trimStart().startsWith('|')) addRow(rows, start, end)
    before = open !== null || level !== null || title !== null ? { line: '', start } : { line, start }
  }
  if (open !== null) rows.push({ start: open.start, end: text.length })
  return { text, headings, rows, pages: null }
}

function closes(line: string, mark: string): boolean {
  const closing = line.trim()
  return closing.length >= mark.length && closing[0] === mark[0] && /^(`+|~+)$/.test(closing)
}

/** The rows of a table are one range. */
function addRow(rows: Range[], start: number, end: number): void {
  const last = rows.at(-1)
  if (last?.end === start - 1) last.end = end
  else rows.push({ start, end })
}

/** Settings at the beginning, between two lines of `---`, have no headings. */
function frontMatterEnd(text: string): number {
  if (!text.startsWith('---\n')) return 0
  const end = text.slice(0, 20_000).indexOf('\n---\n', 3)
  return end === -1 ? 0 : end + 5
}

/** Without the marks of links, emphasis and code. */
function plainTitle(title: string): string {
  return toTitle(
    title
      .slice(0, longestHeading)
      .replace(/!?\[([^[\]]{0,300})\](?:\([^()]{0,300}\)|\[[^[\]]{0,100}\])/g, '$1')
      .replace(/<[^<>]{1,200}>/g, '')
      .replace(/[*`~]+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, '')
      .replace(/\\([!-/:-@[-`{-~])/g, '$1'),
  )
}
