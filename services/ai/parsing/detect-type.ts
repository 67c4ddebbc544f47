// Detects the type of a document from its bytes. The file extension and the declared content type only
// distinguish between text formats.
import { isUtf8 } from 'node:buffer'
import { byteOrderMark, decode } from './charset.ts'
import { ParsingError } from './errors.ts'

export type DocumentType = 'text' | 'markdown' | 'html' | 'csv' | 'json' | 'pdf' | 'zip'

export interface TypeHints {
  contentType: string
  /** The file extension, in lower case and without the dot. */
  extension: string
}

const typesByExtension: Record<string, DocumentType> = {
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
const typesByContentType: Record<string, DocumentType> = {
  'text/markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'application/json': 'json',
}
/** Formats that may consist of text characters, but contain no readable text. */
const unsupported = /^(?:image|audio|video|font|model)\/|^application\/(?:rtf|postscript|x-|vnd\.)/

/**
 * Content types, as detected from the bytes of a file, that may be readable. Only parsing shows which ZIP
 * archives are DOCX, which octets are text, and which old Office documents are encrypted.
 */
const maybeReadable =
  /^text\/|^application\/(?:json|xml|xhtml\+xml|yaml|pdf|zip|octet-stream|x-cfb)$|wordprocessingml|ms-word/

/** Whether the content type of a stored file may be parsed. false means that parsing would fail. */
export function isSupportedType(contentType: string): boolean {
  return maybeReadable.test(contentType)
}

const sampleBytes = 64 * 1024

/** Throws `unsupported`, or `encrypted` for an encrypted Office document. */
export function detectType(bytes: Buffer, { contentType, extension }: TypeHints): DocumentType {
  if (bytes.subarray(0, 1024).includes('%PDF-')) return 'pdf'
  if (['504b0304', '504b0506', '504b0708'].includes(bytes.toString('hex', 0, 4))) return 'zip'
  if (bytes.toString('hex', 0, 4) === 'd0cf11e0') {
    const isEncrypted = bytes.includes(Buffer.from('EncryptedPackage', 'utf16le'))
    throw new ParsingError(isEncrypted ? 'encrypted' : 'unsupported')
  }
  if (unsupported.test(contentType) || !isText(bytes)) throw new ParsingError('unsupported')
  return detectTextType(bytes, typesByContentType[contentType], typesByExtension[extension])
}

/** UTF-8 text and text with a byte order mark may contain up to 5 % control characters; other text none. */
function isText(bytes: Buffer): boolean {
  const mark = byteOrderMark(bytes)
  if (mark?.startsWith('utf-16')) return true
  const sample = bytes.subarray(0, sampleBytes)
  let controls = 0
  for (const byte of sample) if (byte < 0x20 && (byte < 0x07 || byte > 0x0d) && byte !== 0x1b) controls++
  return mark !== null || isUtf8(bytes) ? controls * 20 <= sample.length : controls === 0
}

function detectTextType(
  bytes: Buffer,
  byContentType: DocumentType | undefined,
  byExtension: DocumentType | undefined,
): DocumentType {
  const start = decode(bytes.subarray(0, 4096)).trimStart()
  const type = byExtension ?? byContentType ?? 'text'
  // Markdown may start with a tag, so only the start of a whole page overrides the extension.
  const withoutComments = start.replace(/^(?:<\?[^>]*>\s*|<!--[^]*?-->\s*)+/, '')
  if (/^<(?:!doctype\s+html|html|head|body)[\s>]/i.test(withoutComments)) return 'html'
  if (byContentType === 'html' && byExtension !== 'markdown') return 'html'
  if (type === 'json' && !/^(?:[[{"\d-]|true\b|false\b|null\b)/.test(start))
    return byContentType === 'markdown' ? 'markdown' : 'text'
  return type
}

/** Whether each line of the document's parsed text is a record, judged by its file name and content type. */
export function hasRecords(name: string, contentType: string): boolean {
  const extension = /\.(\w+)$/.exec(name)?.[1].toLowerCase() ?? ''
  const type = typesByExtension[extension] ?? typesByContentType[contentType]
  return type === 'csv' || type === 'json'
}
