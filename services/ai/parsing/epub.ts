// Parses EPUB books: the chapters in reading order, as HTML. Scripts and fonts are not read.
import { decode, findCharset } from './charset.ts'
import { ParsingError } from './errors.ts'
import { parseHtml } from './html.ts'
import { readXml, resolvePart } from './office-xml.ts'
import { TextBuilder, type Heading, type ParsedDocument, type Range } from './parsed-document.ts'
import type { Archive } from './zip.ts'

const container = 'META-INF/container.xml'
const encryption = 'META-INF/encryption.xml'

/** Throws `encrypted` for a book whose chapters are encrypted. */
export async function parseEpub(archive: Archive, limit: number): Promise<ParsedDocument> {
  const { chapters, isIncomplete } = readChapters(archive)
  const encrypted = archive.has(encryption) ? archive.read(encryption).toString() : ''
  if (chapters.some((part) => encrypted.includes(`URI="${part}"`))) throw new ParsingError('encrypted')
  const builder = new TextBuilder(limit)
  const headings: Heading[] = []
  const rows: Range[] = []
  for (const part of chapters) {
    const bytes = archive.read(part)
    const { name } = await findCharset(bytes)
    const chapter = parseHtml(decode(bytes, name).text, limit)
    if (chapter.text === '') continue
    if (builder.length > 0) builder.add('\n\n')
    const start = builder.length
    builder.add(chapter.text)
    for (const heading of chapter.headings) headings.push({ ...heading, start: heading.start + start })
    for (const range of chapter.rows) rows.push({ start: range.start + start, end: range.end + start })
  }
  const warnings = isIncomplete ? [{ code: 'skipped_part', pages: null } as const] : []
  return { text: builder.toString(), headings, rows, pages: null, warnings }
}

function readChapters(archive: Archive): { chapters: string[]; isIncomplete: boolean } {
  let root = ''
  readXml(archive, container, {
    open(name, attributes) {
      if (name === 'rootfile' && root === '') root = attributes['full-path'] ?? ''
    },
  })
  const folder = root.slice(0, root.lastIndexOf('/') + 1)
  const parts = new Map<string, string>()
  const order: string[] = []
  readXml(archive, root, {
    open(name, { id = '', href = '', properties = '', idref = '', 'media-type': type = '' }) {
      const isChapter = /html/.test(type) && !properties.split(' ').includes('nav')
      if (name === 'item' && isChapter) parts.set(id, resolvePart(folder, decodePath(href)))
      if (name === 'itemref') order.push(idref)
    },
  })
  const named = [...new Set(order)].map((id) => parts.get(id)).filter((part) => part !== undefined)
  const chapters = named.filter((part) => archive.has(part))
  return { chapters, isIncomplete: chapters.length < named.length }
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
