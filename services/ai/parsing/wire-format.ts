// The binary answer of the parser process: one started byte, then the result or an error code. The receiver
// validates everything, because a malicious document may control the parser process.
import type { ChunkRange } from './chunker.ts'
import { ParsingError, parsingErrorCodes, type ParsingErrorCode } from './errors.ts'
import { charsetOf } from './charset.ts'
import { maxWarningPages, warningCodes, type DocumentWarning } from './warnings.ts'

/** The first byte that the process writes, once its modules are loaded. */
export const startedByte = 0x52

export interface ChunkedText {
  text: string
  pages: number[] | null
  chunks: ChunkRange[]
  tokens: number
  /** The charset as which the bytes were read; null for a format that is not text. */
  charset: string | null
  warnings: DocumentWarning[]
}

export interface ParsingFailure {
  error: ParsingErrorCode
  warnings: DocumentWarning[]
}

/**
 * Everything but the text, encoded as JSON. Each chunk is a tuple; headings occur once and chunks use their
 * index.
 */
type Facts =
  | {
      pages: number[] | null
      tokens: number
      charset: string | null
      warnings: DocumentWarning[]
      headings: string[]
      chunks: [start: number, end: number, page: number | null, heading: number, tokens: number][]
    }
  | ParsingFailure

/** Maximum bytes of an answer whose text has at most `textBytes` UTF-8 bytes. */
export function maxAnswerBytes(textBytes: number): number {
  return 2 * textBytes + (1 << 20)
}

export function encodeAnswer(result: ChunkedText | ParsingFailure): Buffer {
  if ('error' in result) return encodeParts(result, '')
  const { text, chunks, pages, tokens, charset, warnings } = result
  const headings = [...new Set(chunks.map(({ heading }) => heading ?? ''))]
  const indexes = new Map(headings.map((heading, index) => [heading, index]))
  const tuples = chunks.map(
    ({ start, end, page, heading, tokens }): [number, number, number | null, number, number] => [
      start,
      end,
      page,
      indexes.get(heading ?? '')!,
      tokens,
    ],
  )
  return encodeParts({ pages, tokens, charset, warnings, headings, chunks: tuples }, text)
}

/** The lengths of both parts as 32-bit integers, the facts as JSON, the text as UTF-8. */
function encodeParts(facts: Facts, text: string): Buffer {
  const [json, bytes] = [Buffer.from(JSON.stringify(facts)), Buffer.from(text)]
  const lengths = Buffer.alloc(8)
  lengths.writeUInt32LE(json.length, 0)
  lengths.writeUInt32LE(bytes.length, 4)
  return Buffer.concat([lengths, json, bytes])
}

/**
 * Throws the ParsingError that the answer contains, `damaged` for an invalid answer, and `too_large` for a
 * text of more than `textBytes` UTF-8 bytes.
 */
export function decodeAnswer(bytes: Buffer, textBytes: number): ChunkedText {
  const { facts, text } = decodeParts(bytes)
  const { error, warnings } = facts
  if (!areWarnings(warnings)) throw new ParsingError('damaged')
  if (parsingErrorCodes.includes(error)) throw new ParsingError(error, undefined, warnings)
  if (Buffer.byteLength(text) > textBytes) throw new ParsingError('too_large')
  const { pages, tokens, charset, headings, chunks } = facts
  const valid =
    isCount(tokens) &&
    (charset === null || (typeof charset === 'string' && charsetOf(charset) === charset)) &&
    !text.includes('\0') &&
    arePages(pages, text.length) &&
    areHeadings(headings) &&
    Array.isArray(chunks) &&
    chunks.every((chunk) => isChunk(chunk, text.length, pages, headings))
  if (!valid) throw new ParsingError('damaged')
  return {
    text,
    pages,
    tokens,
    charset,
    warnings,
    chunks: chunks.map(([start, end, page, heading, tokens]: number[]) => ({
      start,
      end,
      page: page as number | null,
      heading: headings[heading] || null,
      tokens,
    })),
  }
}

/** Whether the bytes have the lengths that they start with. */
export function isWholeAnswer(bytes: Buffer): boolean {
  return bytes.length >= 8 && bytes.length === 8 + bytes.readUInt32LE(0) + bytes.readUInt32LE(4)
}

function decodeParts(bytes: Buffer): { facts: any; text: string } {
  if (!isWholeAnswer(bytes)) throw new ParsingError('damaged')
  const textStart = 8 + bytes.readUInt32LE(0)
  try {
    const facts: unknown = JSON.parse(bytes.toString('utf8', 8, textStart))
    if (typeof facts === 'object' && facts !== null) return { facts, text: bytes.toString('utf8', textStart) }
  } catch {}
  throw new ParsingError('damaged')
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31
}

function arePages(pages: unknown, length: number): boolean {
  if (pages === null) return true
  return (
    Array.isArray(pages) &&
    pages.every(
      (start, index) => isCount(start) && start <= length && (index === 0 || start >= pages[index - 1]),
    )
  )
}

/** Each code at most once. */
function areWarnings(warnings: unknown): warnings is DocumentWarning[] {
  return (
    Array.isArray(warnings) &&
    new Set(warnings.map((warning) => warning?.code)).size === warnings.length &&
    warnings.every(
      ({ code, pages }) =>
        warningCodes.includes(code) &&
        (pages === null ||
          (Array.isArray(pages) &&
            pages.length <= maxWarningPages &&
            pages.every((page) => isCount(page) && page >= 1))),
    )
  )
}

function areHeadings(values: unknown): boolean {
  return (
    Array.isArray(values) &&
    values.every(
      (value) =>
        typeof value === 'string' && value.length <= 1000 && value.isWellFormed() && !value.includes('\0'),
    )
  )
}

function isChunk(chunk: unknown, length: number, pages: number[] | null, headings: string[]): boolean {
  if (!Array.isArray(chunk) || chunk.length !== 5) return false
  const [start, end, page, heading, tokens] = chunk
  return (
    [start, end, heading, tokens].every(isCount) &&
    start < end &&
    end <= length &&
    heading < headings.length &&
    (pages === null ? page === null : isCount(page) && page >= 1 && page <= pages.length)
  )
}
