// Parses the bytes of a document into text and chunks, with the parser for its type. Each parser is
// loaded only when it is needed.
import type { ChunkingOptions } from './chunker.ts'
import { decode, findCharset } from './charset.ts'
import { ParsingError, type ParsingErrorCode } from './errors.ts'
import type { ChunkedText, ParsingFailure } from './wire-format.ts'
import {
  detectBinaryType,
  detectTextType,
  requireText,
  type BinaryType,
  type TextType,
  type TypeHints,
} from './detect-type.ts'
import type { ParsedDocument } from './parsed-document.ts'

export interface ParserOptions extends TypeHints {
  /** The charset that was declared with the file, or null. */
  charset: string | null
  /** Maximum UTF-8 bytes of the text. */
  outputBytes: number
  chunking: ChunkingOptions
}

/** Types whose text is the whole document. */
const isWhole = new Set<TextType>(['text', 'markdown', 'code'])
const typeSampleBytes = 16 * 1024

/** A character that is visible: not whitespace, a control, or a filler. */
const visibleCharacter = /[^\s\p{C}\p{Z}\u115f\u1160\u2800\u3164\uffa0\ufffd]/u

/** Throws ParsingError. */
export async function parseBytes(bytes: Buffer, options: ParserOptions): Promise<ChunkedText> {
  const { outputBytes, chunking } = options
  if (bytes.length === 0) throw new ParsingError('empty')
  const { charset, ...document } = await parseDocument(bytes, options)
  const { text, pages, warnings = [] } = document
  if (Buffer.byteLength(text) > outputBytes) throw new ParsingError('too_large')
  if (!visibleCharacter.test(text)) throw new ParsingError('empty', undefined, warnings)
  const { chunkDocument } = await import('./chunker.ts')
  return { text, pages, charset, warnings, ...chunkDocument(document, chunking) }
}

async function parseDocument(
  bytes: Buffer,
  { outputBytes, charset: declared, ...hints }: ParserOptions,
): Promise<ParsedDocument & { charset: string | null }> {
  const binaryType = detectBinaryType(bytes)
  if (binaryType !== null) return { ...(await binaryParsers[binaryType](bytes, outputBytes)), charset: null }
  const { name, isUncertain } = await findCharset(bytes, declared)
  requireText(bytes, name, hints)
  const type = detectTextType(decode(bytes.subarray(0, typeSampleBytes), name).text, hints)
  // Bytes that must exceed the limit are not decoded: no charset needs more than twice the UTF-8 bytes.
  if (isWhole.has(type) && bytes.length > 2 * outputBytes) throw new ParsingError('too_large')
  // The parts of an e-mail have charsets of their own.
  if (type === 'email')
    return { ...(await (await import('./email.ts')).parseEml(bytes, outputBytes)), charset: null }
  const { text, warnings } = decode(bytes, name)
  const document = await textParsers[type](text, outputBytes)
  return {
    ...document,
    charset: name,
    warnings: [
      ...(isUncertain ? [{ code: 'uncertain_charset', pages: null } as const] : []),
      ...warnings,
      ...(document.warnings ?? []),
    ],
  }
}

/** Every error of a parser is attributed to the document, also that it cannot be read. */
export async function parseOrError(
  read: () => Buffer,
  options: ParserOptions,
): Promise<ChunkedText | ParsingFailure> {
  try {
    return await parseBytes(read(), options)
  } catch (error) {
    return { error: errorCodeOf(error), warnings: error instanceof ParsingError ? error.warnings : [] }
  }
}

function errorCodeOf(error: unknown): ParsingErrorCode {
  if (error instanceof ParsingError) return error.code
  const message = error instanceof Error ? error.message : ''
  if (/invalid string length|cannot create a string|file size/i.test(message)) return 'too_large'
  return /allocation failed|invalid (?:typed )?array (?:buffer )?length|out of memory/i.test(message)
    ? 'too_much_memory'
    : 'damaged'
}

type BinaryParser = (bytes: Buffer, limit: number) => Promise<ParsedDocument>

const binaryParsers: Record<BinaryType, BinaryParser> = {
  pdf: async (bytes, limit) => (await import('./pdf.ts')).parsePdf(new Uint8Array(bytes), limit),
  zip: async (bytes, limit) => (await import('./zip-document.ts')).parseZip(bytes, limit),
  cfb: async (bytes, limit) => (await import('./email.ts')).parseMsg(bytes, limit),
  rtf: async (bytes, limit) => (await import('./rtf.ts')).parseRtf(bytes, limit),
}

type TextParser = (text: string, limit: number) => ParsedDocument | Promise<ParsedDocument>

const textParsers: Record<Exclude<TextType, 'email'>, TextParser> = {
  text: (text, limit) => ({ text: within(text, limit), headings: [], rows: [], pages: null }),
  markdown: async (text, limit) => (await import('./markdown.ts')).parseMarkdown(within(text, limit)),
  html: async (text, limit) => (await import('./html.ts')).parseHtml(text, limit),
  csv: async (text, limit) => (await import('./csv.ts')).parseCsv(text, limit),
  json: async (text, limit) => (await import('./json.ts')).parseJson(text, limit),
  'json-lines': async (text, limit) => (await import('./json-lines.ts')).parseJsonLines(text, limit),
  // Each line of source code stands for itself.
  code: (text, limit) => ({
    text: within(text, limit),
    headings: [],
    rows: [{ start: 0, end: text.length }],
    pages: null,
  }),
}

function within(text: string, limit: number): string {
  if (text.length > limit) throw new ParsingError('too_large')
  return text
}
