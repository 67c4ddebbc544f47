// Bytes of a document become its text, chunks and language. A parser is loaded only for the kind that needs it.
import type { Chunking } from './chunker.ts'
import { decode, declaredIn } from './charset.ts'
import { ReadingError } from './errors.ts'
import type { ReadText } from './wire-format.ts'
import { kindOf, type Hints, type Kind } from './detect-type.ts'
import type { Structure } from './parsed-document.ts'

export interface Extraction extends Hints {
  /** The most that the text may have as UTF-8. */
  outputBytes: number
  chunking: Chunking
}

/** Throws ReadingError. */
export async function extract(
  bytes: Buffer,
  { outputBytes, chunking, ...hints }: Extraction,
): Promise<ReadText> {
  if (bytes.length === 0) throw new ReadingError('empty')
  const structure = await readers[kindOf(bytes, hints)](bytes, outputBytes)
  const { text, pages } = structure
  if (Buffer.byteLength(text) > outputBytes) throw new ReadingError('too_large')
  if (!/[^\s\p{C}\p{Z}\u115f\u1160\u2800\u3164\uffa0\ufffd]/u.test(text)) throw new ReadingError('empty')
  const [{ chunksOf }, { languageOf }] = await Promise.all([
    import('./chunker.ts'),
    import('./detect-language.ts'),
  ])
  return { text, pages, language: languageOf(text), ...chunksOf(structure, chunking) }
}

type Reader = (bytes: Buffer, limit: number) => Structure | Promise<Structure>

const readers: Record<Kind, Reader> = {
  text: (bytes, limit) => ({ text: source(bytes, limit), headings: [], rows: [], pages: null }),
  markdown: async (bytes, limit) => (await import('./markdown.ts')).readMarkdown(source(bytes, limit)),
  html: async (bytes, limit) => (await import('./html.ts')).readHtml(decode(bytes, declaredIn(bytes)), limit),
  csv: async (bytes, limit) => (await import('./csv.ts')).readCsv(decode(bytes), limit),
  json: async (bytes, limit) => (await import('./json.ts')).readJson(decode(bytes), limit),
  pdf: async (bytes, limit) => (await import('./pdf.ts')).readPdf(new Uint8Array(bytes), limit),
  zip: async (bytes, limit) => (await import('./docx.ts')).readDocx(bytes, limit),
}

/** The text as it is; not even decoded where it cannot but be too long, twice the bytes being the most that an encoding saves. */
function source(bytes: Buffer, limit: number): string {
  if (bytes.length > 2 * limit) throw new ReadingError('too_large')
  return decode(bytes)
}
