// What the reading process says, as bytes: that it has startedByte, then once what it read or why it could not. Who receives it
// trusts none of it: a document may have taken the process over.
import type { ChunkRange } from './chunker.ts'
import { searchConfigurations } from './search-languages.ts'
import { ParsingError, parsingErrorCodes, type ParsingErrorCode } from './errors.ts'

/** The first byte. */
export const startedByte = 0x52

export interface ChunkedText {
  text: string
  pages: number[] | null
  chunks: ChunkRange[]
  tokens: number
  language: string
}
type Answer = (Omit<ChunkedText, 'text'> & { headings: string[] }) | { error: ParsingErrorCode }

/** The longest that a frame may be, for a text of at most so many bytes of UTF-8. */
export function maxAnswerBytes(textBytes: number): number {
  return 2 * textBytes + (1 << 20)
}

/** Lengths of both parts, facts as JSON, the text as UTF-8. */
export function encode(result: ChunkedText | ParsingErrorCode): Buffer {
  if (typeof result === 'string') return frame({ error: result }, '')
  const { text, chunks, pages, tokens, language } = result
  const headings = [...new Set(chunks.map(({ heading }) => heading ?? ''))]
  const indexes = new Map(headings.map((heading, index) => [heading, index]))
  const short = chunks.map(({ start, end, page, heading, tokens }) => [
    start,
    end,
    page,
    indexes.get(heading ?? ''),
    tokens,
  ])
  return frame({ pages, tokens, language, headings, chunks: short } as never, text)
}

function frame(answer: Answer, text: string): Buffer {
  const [facts, bytes] = [Buffer.from(JSON.stringify(answer)), Buffer.from(text)]
  const lengths = Buffer.alloc(8)
  lengths.writeUInt32LE(facts.length, 0)
  lengths.writeUInt32LE(bytes.length, 4)
  return Buffer.concat([lengths, facts, bytes])
}

/** Throws the error that it tells, and `damaged` for what no reading process says. `textBytes` is what the text may have at most. */
export function decodeAnswer(bytes: Buffer, textBytes: number): ChunkedText {
  const { answer, text } = parts(bytes)
  if (parsingErrorCodes.includes(answer.error)) throw new ParsingError(answer.error)
  if (Buffer.byteLength(text) > textBytes) throw new ParsingError('too_large')
  const { pages, tokens, language, headings, chunks } = answer
  const valid =
    Object.hasOwn(names, String(language)) &&
    isCount(tokens) &&
    !text.includes('\0') &&
    arePages(pages, text.length) &&
    areStrings(headings) &&
    Array.isArray(chunks) &&
    chunks.every((chunk) => isChunk(chunk, text.length, pages, headings))
  if (!valid) throw new ParsingError('damaged')
  return {
    text,
    pages,
    tokens,
    language,
    chunks: chunks.map(([start, end, page, heading, tokens]: number[]) => ({
      start,
      end,
      page: page as number | null,
      heading: headings[heading] || null,
      tokens,
    })),
  }
}

const names = Object.fromEntries(
  ['simple', ...Object.values(searchConfigurations)].map((name) => [name, true]),
)

// oxlint-disable-next-line no-explicit-any
function parts(bytes: Buffer): { answer: any; text: string } {
  if (bytes.length < 8) throw new ParsingError('damaged')
  const middle = 8 + bytes.readUInt32LE(0)
  if (bytes.length !== middle + bytes.readUInt32LE(4)) throw new ParsingError('damaged')
  try {
    const answer: unknown = JSON.parse(bytes.toString('utf8', 8, middle))
    if (typeof answer === 'object' && answer !== null) return { answer, text: bytes.toString('utf8', middle) }
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

function areStrings(values: unknown): boolean {
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
