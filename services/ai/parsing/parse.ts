// ParseResult a document: its text, and the chunks of it that are searched. All of it happens in a process of its own, since
// parsers meet what strangers made.
import { open } from 'node:fs/promises'
import { extname } from 'node:path'
import type { ChunkRange, Chunking } from './chunker.ts'
import { ParsingError } from './errors.ts'
import { decodeAnswer, maxAnswerBytes } from './wire-format.ts'
import { runParser } from './sandbox-process.ts'

export { ParsingError, type ParsingErrorCode } from './errors.ts'

/** Offsets are UTF-16 code units into the text of the document, of which `text` is the slice. */
export interface NewChunk extends ChunkRange {
  text: string
}

export interface ParseResult {
  text: string
  /** Where each page begins in the text; null for a document without pages. */
  pages: number[] | null
  chunks: NewChunk[]
  /** Of o200k. */
  tokens: number
  /** A text search configuration of PostgreSQL, such as `english`. */
  language: string
}

export interface ParsingLimits {
  /** From the start of the process to its end. */
  seconds: number
  /** Resident memory of the process. */
  memoryBytes: number
  /** Of the text, as UTF-8. */
  outputBytes: number
  /** Of the document. */
  inputBytes: number
}

export const defaultLimits: Readonly<ParsingLimits> = {
  seconds: 60,
  memoryBytes: 512 * 2 ** 20,
  outputBytes: 20 * 2 ** 20,
  inputBytes: 100 * 2 ** 20,
}

export interface Source {
  /** Of a local file with the bytes. */
  path: string
  /** As found from the bytes; between kinds of text also what was declared. */
  contentType: string
  /** What kind of text it is, may be told by this only. */
  name: string
}

/** Throws ParsingError for a document that cannot be read, and the signal's reason. The process is gone by then. */
export async function parseDocument(
  source: Source,
  chunking: Chunking,
  { caps, signal }: { caps?: Partial<ParsingLimits>; signal?: AbortSignal } = {},
): Promise<ParseResult> {
  const { seconds, memoryBytes, outputBytes, inputBytes } = { ...defaultLimits, ...caps }
  const file = await open(source.path)
  try {
    const { size } = await file.stat()
    if (size === 0) throw new ParsingError('empty')
    if (size > inputBytes) throw new ParsingError('too_large')
    const frame = await runParser(
      file.fd,
      argumentsOf(source, chunking, outputBytes),
      { seconds, memoryBytes, answerBytes: maxAnswerBytes(outputBytes) },
      signal,
    )
    const { text, chunks, ...facts } = decodeAnswer(frame, outputBytes)
    return {
      text,
      ...facts,
      chunks: chunks.map((chunk) => ({ ...chunk, text: text.slice(chunk.start, chunk.end) })),
    }
  } finally {
    await file.close()
  }
}

/** Nothing that was not reduced to plain characters goes into the command line. */
function argumentsOf(
  { contentType, name }: Source,
  { maxTokens, overlapTokens }: Chunking,
  outputBytes: number,
): string[] {
  const type = contentType.split(';')[0].trim().toLowerCase()
  const extension = extname(name).slice(1).toLowerCase()
  return [
    `--type=${/^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : ''}`,
    `--extension=${/^\w{1,12}$/.test(extension) ? extension : ''}`,
    `--tokens=${maxTokens}`,
    `--overlap=${overlapTokens}`,
    `--output=${outputBytes}`,
  ]
}
