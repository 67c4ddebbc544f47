// What a document is, by its bytes. Name and declared type are asked only where bytes cannot tell: among kinds of text.
import { isUtf8 } from 'node:buffer'
import { decode, byteOrderMark } from './charset.ts'
import { ParsingError } from './errors.ts'

export type DocumentType = 'text' | 'markdown' | 'html' | 'csv' | 'json' | 'pdf' | 'zip'

export interface TypeHints {
  contentType: string
  /** The name's, in lower case, without the dot. */
  extension: string
}

const extensions: Record<string, DocumentType> = {
  md: 'markdown',
  markdown: 'markdown',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  csv: 'csv',
  tsv: 'csv',
  json: 'json',
  geojson: 'json',
  txt: 'text',
  log: 'text',
}
const types: Record<string, DocumentType> = {
  'text/markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'application/json': 'json',
}
/** Forms that are written in characters, but not to be read. */
const unreadable = /^(?:image|audio|video|font|model)\/|^application\/(?:rtf|postscript|x-|vnd\.)/

const sampleBytes = 64 * 1024

/** Throws `unsupported`, or `encrypted` for an Office document that is. */
export function detectType(bytes: Buffer, { contentType, extension }: TypeHints): DocumentType {
  if (bytes.subarray(0, 1024).includes('%PDF-')) return 'pdf'
  if (['504b0304', '504b0506', '504b0708'].includes(bytes.toString('hex', 0, 4))) return 'zip'
  if (bytes.toString('hex', 0, 4) === 'd0cf11e0') {
    throw new ParsingError(
      bytes.includes(Buffer.from('EncryptedPackage', 'utf16le')) ? 'encrypted' : 'unsupported',
    )
  }
  if (unreadable.test(contentType) || !isText(bytes)) throw new ParsingError('unsupported')
  return kindOfText(bytes, types[contentType], extensions[extension])
}

/** A stray control character is no reason to refuse a text, where everything else says that it is one. */
function isText(bytes: Buffer): boolean {
  const mark = byteOrderMark(bytes)
  if (mark?.startsWith('utf-16')) return true
  const sample = bytes.subarray(0, sampleBytes)
  let controls = 0
  for (const byte of sample) if (byte < 0x20 && (byte < 0x07 || byte > 0x0d) && byte !== 0x1b) controls++
  return mark !== null || isUtf8(bytes) ? controls * 20 <= sample.length : controls === 0
}

function kindOfText(
  bytes: Buffer,
  typed: DocumentType | undefined,
  named: DocumentType | undefined,
): DocumentType {
  const start = decode(bytes.subarray(0, 4096)).trimStart()
  const kind = named ?? typed ?? 'text'
  // Markdown may begin with a tag; a whole page is one whatever it is called.
  if (
    /^<(?:!doctype\s+html|html|head|body)[\s>]/i.test(start.replace(/^(?:<\?[^>]*>\s*|<!--[^]*?-->\s*)+/, ''))
  )
    return 'html'
  if (typed === 'html' && named !== 'markdown') return 'html'
  if (kind === 'json' && !/^(?:[[{"\d-]|true\b|false\b|null\b)/.test(start))
    return typed === 'markdown' ? 'markdown' : 'text'
  return kind
}

/** Whether each line of such a document's text is a record, as far as its name and its type tell. */
export function hasRecords(name: string, contentType: string): boolean {
  const kind = extensions[/\.(\w+)$/.exec(name)?.[1].toLowerCase() ?? ''] ?? types[contentType]
  return kind === 'csv' || kind === 'json'
}
