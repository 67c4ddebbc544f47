// The answer of the parser process: the result or an error code. The receiver validates everything, because a
// malicious document may control the parser process.
import { decodeAnswer, encodeAnswer } from '../../../infra/sandbox/answer.ts'
import type { ChunkRange } from './chunker.ts'
import { ParsingError, parsingErrorCodes, type ParsingErrorCode } from './errors.ts'
import { charsetOf } from './charset.ts'
import { maxWarningPages, warningCodes, type DocumentWarning } from './warnings.ts'

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

export function encodeResult(result: ChunkedText | ParsingFailure): Buffer {
  const encode = (facts: Facts, text: string): Buffer => encodeAnswer(facts, Buffer.from(text))
  if ('error' in result) return encode(result, '')
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
  return encode({ pages, tokens, charset, warnings, headings, chunks: tuples }, text)
}

/**
 * Throws the ParsingError that the answer contains, SandboxError or `damaged` for an invalid answer, and
 * `too_large` for a text of more than `textBytes` UTF-8 bytes.
 */
export function decodeResult(bytes: Buffer, textBytes: number): ChunkedText {
  const { facts, content } = decodeAnswer(bytes)
  const text = content.toString()
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
