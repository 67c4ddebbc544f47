// Parses the bytes of a document into text and chunks, with the parser for its type. Each parser is
// loaded only when it is needed.
import type { ChunkingOptions } from './chunker.ts'
import { decode, declaredCharset } from './charset.ts'
import { ParsingError, type ParsingErrorCode } from './errors.ts'
import type { ChunkedText } from './wire-format.ts'
import { detectType, type DocumentType, type TypeHints } from './detect-type.ts'
import type { ParsedDocument } from './parsed-document.ts'

export interface ParserOptions extends TypeHints {
  /** Maximum UTF-8 bytes of the text. */
  outputBytes: number
  chunking: ChunkingOptions
}

/** A character that is visible: not whitespace, a control, or a filler. */
const visibleCharacter = /[^\s\p{C}\p{Z}\u115f\u1160\u2800\u3164\uffa0\ufffd]/u

/** Throws ParsingError. */
export async function parseBytes(
  bytes: Buffer,
  { outputBytes, chunking, ...hints }: ParserOptions,
): Promise<ChunkedText> {
  if (bytes.length === 0) throw new ParsingError('empty')
  const document = await parsers[detectType(bytes, hints)](bytes, outputBytes)
  const { text, pages } = document
  if (Buffer.byteLength(text) > outputBytes) throw new ParsingError('too_large')
  if (!visibleCharacter.test(text)) throw new ParsingError('empty')
  const { chunkDocument } = await import('./chunker.ts')
  return { text, pages, ...chunkDocument(document, chunking) }
}

/** Every error of a parser is attributed to the document, also that it cannot be read. */
export async function parseOrError(
  read: () => Buffer,
  options: ParserOptions,
): Promise<ChunkedText | ParsingErrorCode> {
  try {
    return await parseBytes(read(), options)
  } catch (error) {
    return errorCodeOf(error)
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

type Parser = (bytes: Buffer, limit: number) => ParsedDocument | Promise<ParsedDocument>

const parsers: Record<DocumentType, Parser> = {
  text: (bytes, limit) => ({ text: decodeWithin(bytes, limit), headings: [], rows: [], pages: null }),
  markdown: async (bytes, limit) => (await import('./markdown.ts')).parseMarkdown(decodeWithin(bytes, limit)),
  html: async (bytes, limit) =>
    (await import('./html.ts')).parseHtml(decode(bytes, declaredCharset(bytes)), limit),
  csv: async (bytes, limit) => (await import('./csv.ts')).parseCsv(decode(bytes), limit),
  json: async (bytes, limit) => (await import('./json.ts')).parseJson(decode(bytes), limit),
  pdf: async (bytes, limit) => (await import('./pdf.ts')).parsePdf(new Uint8Array(bytes), limit),
  zip: async (bytes, limit) => (await import('./docx.ts')).parseDocx(bytes, limit),
}

/**
 * Rejects bytes that must exceed the limit before decoding: no charset needs more than twice the UTF-8 bytes.
 */
function decodeWithin(bytes: Buffer, limit: number): string {
  if (bytes.length > 2 * limit) throw new ParsingError('too_large')
  return decode(bytes)
}
