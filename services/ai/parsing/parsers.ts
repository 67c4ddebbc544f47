// Bytes of a document become its text, chunks and language. A parser is loaded only for the kind that needs it.
import type { Chunking } from './chunker.ts'
import { decode, declaredCharset } from './charset.ts'
import { ParsingError } from './errors.ts'
import type { ChunkedText } from './wire-format.ts'
import { detectType, type TypeHints, type DocumentType } from './detect-type.ts'
import type { ParsedDocument } from './parsed-document.ts'

export interface Extraction extends TypeHints {
  /** The most that the text may have as UTF-8. */
  outputBytes: number
  chunking: Chunking
}

/** Throws ParsingError. */
export async function extract(
  bytes: Buffer,
  { outputBytes, chunking, ...hints }: Extraction,
): Promise<ChunkedText> {
  if (bytes.length === 0) throw new ParsingError('empty')
  const structure = await readers[detectType(bytes, hints)](bytes, outputBytes)
  const { text, pages } = structure
  if (Buffer.byteLength(text) > outputBytes) throw new ParsingError('too_large')
  if (!/[^\s\p{C}\p{Z}\u115f\u1160\u2800\u3164\uffa0\ufffd]/u.test(text)) throw new ParsingError('empty')
  const [{ chunkDocument }, { detectLanguage }] = await Promise.all([
    import('./chunker.ts'),
    import('./detect-language.ts'),
  ])
  return { text, pages, language: detectLanguage(text), ...chunkDocument(structure, chunking) }
}

type Reader = (bytes: Buffer, limit: number) => ParsedDocument | Promise<ParsedDocument>

const readers: Record<DocumentType, Reader> = {
  text: (bytes, limit) => ({ text: source(bytes, limit), headings: [], rows: [], pages: null }),
  markdown: async (bytes, limit) => (await import('./markdown.ts')).parseMarkdown(source(bytes, limit)),
  html: async (bytes, limit) =>
    (await import('./html.ts')).parseHtml(decode(bytes, declaredCharset(bytes)), limit),
  csv: async (bytes, limit) => (await import('./csv.ts')).parseCsv(decode(bytes), limit),
  json: async (bytes, limit) => (await import('./json.ts')).parseJson(decode(bytes), limit),
  pdf: async (bytes, limit) => (await import('./pdf.ts')).parsePdf(new Uint8Array(bytes), limit),
  zip: async (bytes, limit) => (await import('./docx.ts')).parseDocx(bytes, limit),
}

/** The text as it is; not even decoded where it cannot but be too long, twice the bytes being the most that an encoding saves. */
function source(bytes: Buffer, limit: number): string {
  if (bytes.length > 2 * limit) throw new ParsingError('too_large')
  return decode(bytes)
}
