// Parses OpenDocument files: the XML becomes HTML, and the HTML parser extracts the text.
import { ParsingError } from './errors.ts'
import { parseHtml } from './html.ts'
import { prefixedAttribute, readXml } from './office-xml.ts'
import type { ParsedDocument } from './parsed-document.ts'
import type { Archive } from './zip.ts'

const skippedElements = new Set([
  'annotation',
  'tracked-changes',
  'note-citation',
  'forms',
  'scripts',
  'object',
])
/** HTML elements by element. */
const tags: Record<string, string> = {
  p: 'p',
  list: 'ul',
  'list-item': 'li',
  table: 'table',
  'table-row': 'tr',
  'table-cell': 'td',
}
const maxRepeats = 100

/** Throws `encrypted` for a document with a password. */
export function parseOpenDocument(archive: Archive, limit: number): ParsedDocument {
  const manifest = 'META-INF/manifest.xml'
  if (archive.has(manifest) && archive.read(manifest).includes('encryption-data'))
    throw new ParsingError('encrypted')
  const html: string[] = []
  const open: string[] = []
  let skipped = 0
  let isBody = false
  readXml(archive, 'content.xml', {
    open(name, attributes) {
      if (name === 'body') isBody = true
      if (skipped > 0 || skippedElements.has(name)) {
        skipped++
        return
      }
      const level = Math.min(6, Number(prefixedAttribute(attributes, 'outline-level') ?? 1) || 1)
      const tag = name === 'h' ? `h${level}` : tags[name]
      open.push(tag ?? '')
      if (name === 'note') html.push(' (')
      if (name === 's') html.push(' ')
      if (name === 'tab') html.push(' ')
      if (name === 'line-break') html.push('<br>')
      if (tag === undefined) return
      const columns = prefixedAttribute(attributes, 'number-columns-spanned')
      const rows = prefixedAttribute(attributes, 'number-rows-spanned')
      const repeats = Number(prefixedAttribute(attributes, 'number-columns-repeated') ?? 1)
      // The repeated cells of a spreadsheet are mostly the empty ones at the end.
      if (tag === 'td' && repeats > 1 && repeats <= maxRepeats) html.push('<td></td>'.repeat(repeats - 1))
      html.push(`<${tag}${span('colspan', columns)}${span('rowspan', rows)}>`)
    },
    close(name) {
      if (skipped > 0) {
        skipped--
        return
      }
      const tag = open.pop() ?? ''
      if (name === 'note') html.push(')')
      if (tag !== '') html.push(`</${tag}>`)
    },
    text(text) {
      if (isBody && skipped === 0)
        html.push(text.replace(/[&<]/g, (character) => `&#${character.charCodeAt(0)};`))
    },
  })
  return parseHtml(html.join(''), limit)
}

function span(name: string, value: string | undefined): string {
  return value !== undefined && /^\d{1,4}$/.test(value) ? ` ${name}=${value}` : ''
}
