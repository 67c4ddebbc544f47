// Detects the type of a document from its bytes. The file extension and the declared content type only
// distinguish between text formats.
import { isUtf8 } from 'node:buffer'
import { byteOrderMark } from './charset.ts'
import { ParsingError } from './errors.ts'

/** Formats with a signature. */
export type BinaryType = 'pdf' | 'zip' | 'cfb' | 'rtf'
export type TextType = 'text' | 'markdown' | 'html' | 'csv' | 'json' | 'json-lines' | 'code' | 'email'

export interface TypeHints {
  contentType: string
  /** The file extension, in lower case and without the dot. */
  extension: string
}

const codeExtensions = [
  'bash bat c cc clj cljs cmake cpp cs css cxx dart diff dockerfile elm erl ex exs f90 fs go gradle',
  'graphql groovy h hpp hs ini java jl js jsx kt kts less lua m makefile mjs ml mm nim patch php pl',
  'pm proto ps1 py r rb rs sass scala scss sh sol sql svelte swift tcl tf toml ts tsx v vb vhd vue',
  'xml xsd xsl yaml yml zig zsh',
].flatMap((line) => line.split(' '))
const typesByExtension: Record<string, TextType> = {
  md: 'markdown',
  markdown: 'markdown',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  csv: 'csv',
  tsv: 'csv',
  json: 'json',
  geojson: 'json',
  jsonl: 'json-lines',
  ndjson: 'json-lines',
  eml: 'email',
  txt: 'text',
  log: 'text',
  ...Object.fromEntries(codeExtensions.map((extension) => [extension, 'code' as const])),
}
const typesByContentType: Record<string, TextType> = {
  'text/markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'application/json': 'json',
  'application/x-ndjson': 'json-lines',
  'application/jsonl': 'json-lines',
  'message/rfc822': 'email',
  'text/javascript': 'code',
  'text/css': 'code',
  'application/xml': 'code',
  'application/yaml': 'code',
}
/** Formats that may consist of text characters, but contain no readable text. */
const unsupported = /^(?:image|audio|video|font|model)\/|^application\/(?:postscript|x-(?!ndjson$)|vnd\.)/

/**
 * Content types, as detected from the bytes of a file, that may be readable. Only parsing shows which ZIP
 * archives are documents, which octets are text, and which old Office documents are encrypted.
 */
const maybeReadable = new RegExp(
  '^text/|^message/rfc822$|^application/(?:json|x-ndjson|xml|xhtml\\+xml|yaml|pdf|zip|epub\\+zip|rtf|' +
    'octet-stream|x-cfb|vnd\\.ms-outlook)$|wordprocessingml|spreadsheetml|presentationml|ms-word|ms-excel|' +
    'ms-powerpoint|oasis\\.opendocument\\.(?:text|spreadsheet|presentation)',
)

/** Whether the content type of a stored file may be parsed. false means that parsing would fail. */
export function isSupportedType(contentType: string): boolean {
  return maybeReadable.test(contentType)
}

const sampleBytes = 64 * 1024

/** The type of a document with a signature; null for text. */
export function detectBinaryType(bytes: Buffer): BinaryType | null {
  if (bytes.subarray(0, 1024).includes('%PDF-')) return 'pdf'
  if (['504b0304', '504b0506', '504b0708'].includes(bytes.toString('hex', 0, 4))) return 'zip'
  if (bytes.toString('hex', 0, 8) === 'd0cf11e0a1b11ae1') return 'cfb'
  return bytes.toString('latin1', 0, 5) === '{\\rtf' ? 'rtf' : null
}

/** Throws `unsupported` for bytes that are no text in the charset. */
export function requireText(bytes: Buffer, charset: string, { contentType }: TypeHints): void {
  if (unsupported.test(contentType) || !isText(bytes, charset)) throw new ParsingError('unsupported')
}

/** UTF-8 text and text with a byte order mark may contain up to 5 % control characters; other text none. */
function isText(bytes: Buffer, charset: string): boolean {
  if (charset.startsWith('utf-16')) return true
  const sample = bytes.subarray(0, sampleBytes)
  let controls = 0
  for (const byte of sample) if (byte < 0x20 && (byte < 0x07 || byte > 0x0d) && byte !== 0x1b) controls++
  return byteOrderMark(bytes) !== null || isUtf8(bytes) ? controls * 20 <= sample.length : controls === 0
}

/** The type of a text. */
export function detectTextType(text: string, { contentType, extension }: TypeHints): TextType {
  const byContentType = typesByContentType[contentType]
  const byExtension = typesByExtension[extension]
  const start = text.slice(0, 4096).trimStart()
  const type = byExtension ?? byContentType ?? 'text'
  // Markdown may start with a tag, so only the start of a whole page overrides the extension.
  const withoutComments = start.replace(/^(?:<\?[^>]*>\s*|<!--[^]*?-->\s*)+/, '')
  if (/^<(?:!doctype\s+html|html|head|body)[\s>]/i.test(withoutComments)) return 'html'
  if (byContentType === 'html' && byExtension !== 'markdown') return 'html'
  if (type.startsWith('json') && !/^(?:[[{"\d-]|true\b|false\b|null\b)/.test(start))
    return byContentType === 'markdown' ? 'markdown' : 'text'
  if (type === 'email' && !/^[\w-]{1,70}:[ \t]?[^\n]*\n/.test(start)) return 'text'
  return type
}

/** Whether each line of the document's parsed text is a record, judged by its file name and content type. */
export function hasRecords(name: string, contentType: string): boolean {
  const extension = /\.(\w+)$/.exec(name)?.[1].toLowerCase() ?? ''
  const type = typesByExtension[extension] ?? typesByContentType[contentType]
  return type === 'csv' || type === 'json' || type === 'json-lines'
}
