// Parses PowerPoint presentations: each slide is a page with its title, texts, tables and notes.
import { ParsingError } from './errors.ts'
import { prefixedAttribute, readRelationships, readXml } from './office-xml.ts'
import { TextBuilder, toTitle, type Heading, type ParsedDocument } from './parsed-document.ts'
import type { Archive } from './zip.ts'

const presentation = 'ppt/presentation.xml'
const maxSlides = 10_000
/** Placeholders that repeat on every slide. */
const repeated = new Set(['dt', 'ftr', 'hdr', 'sldNum', 'sldImg'])

export function parsePptx(archive: Archive, limit: number): ParsedDocument {
  const relationships = readRelationships(archive, presentation)
  const slides: string[] = []
  readXml(archive, presentation, {
    open(name, attributes) {
      if (name !== 'sldId') return
      const id = prefixedAttribute(attributes, 'id')
      const part = relationships.find((found) => found.id === id)?.part
      if (part === undefined || !archive.has(part) || slides.length >= maxSlides)
        throw new ParsingError(slides.length >= maxSlides ? 'too_large' : 'damaged')
      slides.push(part)
    },
  })
  const builder = new TextBuilder(limit)
  const headings: Heading[] = []
  const pages: number[] = []
  for (const part of slides) {
    if (builder.length > 0) builder.add('\n\n')
    pages.push(builder.length)
    const { title, blocks } = readSlide(archive, part)
    if (title !== '') headings.push({ start: builder.length, level: 1, title: toTitle(title) })
    const notes = readRelationships(archive, part).find(({ type }) => type === 'notesSlide')?.part
    const noted = notes !== undefined && archive.has(notes) ? readSlide(archive, notes).blocks : []
    builder.add([title, ...blocks, ...noted].filter((block) => block !== '').join('\n\n'))
  }
  return { text: builder.toString(), headings, rows: [], pages }
}

/** A block is the text of a shape, or a table with one line per row. */
function readSlide(archive: Archive, part: string): { title: string; blocks: string[] } {
  let title = ''
  const blocks: string[] = []
  let placeholder = ''
  let lines: string[] = []
  let line = ''
  let cells: string[] | null = null
  let isText = false
  let skipped = 0
  const endShape = (): void => {
    const text = lines.filter((line) => line !== '').join('\n')
    lines = []
    if (/^(?:title|ctrTitle)$/.test(placeholder) && title === '') title = text.replaceAll('\n', ' ')
    else if (text !== '' && !repeated.has(placeholder)) blocks.push(text)
    placeholder = ''
  }
  readXml(archive, part, {
    open(name, attributes) {
      // The copy for old versions has the same text.
      if (name === 'Fallback' || skipped > 0) skipped++
      if (skipped > 0) return
      if (name === 'sp' || name === 'tbl') endShape()
      if (name === 'ph') placeholder = attributes['type'] ?? 'body'
      if (name === 'tr') cells = []
      if (name === 'br') line += ' '
      isText = name === 't'
    },
    close(name) {
      if (skipped > 0) {
        skipped--
        return
      }
      isText = false
      if (name === 'p') {
        lines.push(line.replace(/\s+/g, ' ').trim())
        line = ''
      }
      if (name === 'tc') {
        cells?.push(lines.filter((line) => line !== '').join(' '))
        lines = []
      }
      if (name === 'tr' && cells !== null) {
        blocks.push(cells.join(' | '))
        cells = null
      }
      if (name === 'tbl') joinRows(blocks)
      if (name === 'sp') endShape()
    },
    text(text) {
      if (isText && skipped === 0) line += text
    },
  })
  endShape()
  return { title, blocks }
}

/** Joins the rows of a table, which are the last blocks, into one block. */
function joinRows(blocks: string[]): void {
  let first = blocks.length
  while (first > 0 && blocks[first - 1].includes(' | ')) first--
  blocks.push(blocks.splice(first).join('\n'))
}
