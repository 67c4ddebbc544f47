// Parses a document into its text and the chunks that searches return. Parsing runs in a separate sandboxed
// process, because documents come from untrusted users.
import { open } from 'node:fs/promises'
import { dirname, extname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SandboxError } from '../../../infra/sandbox/errors.ts'
import { runSandboxed, type Program } from '../../../infra/sandbox/process.ts'
import { charsetParameter } from './charset.ts'
import type { ChunkingOptions, ChunkRange } from './chunker.ts'
import { ParsingError } from './errors.ts'
import { type ChunkedText, decodeResult, maxAnswerBytes } from './wire-format.ts'
import type { DocumentWarning } from './warnings.ts'

export { ParsingError, type ParsingErrorCode } from './errors.ts'

/** Offsets are UTF-16 code units into the text of the document; `text` is that slice. */
export interface NewChunk extends ChunkRange {
  text: string
}

export interface ParseResult {
  text: string
  /** Where each page starts in the text; null for a document without pages. */
  pages: number[] | null
  chunks: NewChunk[]
  /** Number of o200k tokens of the text. */
  tokens: number
  /** A text search configuration of PostgreSQL, such as `english`. */
  language: string
  /** The charset as which the document was read; null for a format that is not text. */
  charset: string | null
  warnings: DocumentWarning[]
}

export interface ParsingLimits {
  /** Wall-clock time of the parser process. */
  seconds: number
  /** Resident memory of the parser process. */
  memoryBytes: number
  /** UTF-8 bytes of the parsed text. */
  outputBytes: number
  /** Bytes of the document. */
  inputBytes: number
}

export const defaultLimits: Readonly<ParsingLimits> = {
  seconds: 60,
  memoryBytes: 512 * 2 ** 20,
  outputBytes: 20 * 2 ** 20,
  inputBytes: 100 * 2 ** 20,
}

const here = dirname(fileURLToPath(import.meta.url))
/** The parser, which reads the modules of this folder. */
export const parserProgram: Program = {
  path: join(here, 'sandbox-child.ts'),
  readable: [`${here}${sep}`, join(here, '../../../infra/text.ts')],
}

export interface DocumentSource {
  /** Path of a local file with the bytes. */
  path: string
  /** The detected content type; the declared one may distinguish between text formats. */
  contentType: string
  /** The file name, whose extension may distinguish between text formats. */
  name: string
  /** The content type that was sent with the file, if any: only its charset counts. */
  declaredType?: string | null
}

/**
 * Throws ParsingError for a document that cannot be parsed, and the signal's reason after an abort. The
 * parser process has ended when this returns or throws.
 */
export async function parseDocument(
  source: DocumentSource,
  chunking: ChunkingOptions,
  { limits, signal }: { limits?: Partial<ParsingLimits>; signal?: AbortSignal } = {},
): Promise<ParseResult> {
  const { seconds, memoryBytes, outputBytes, inputBytes } = { ...defaultLimits, ...limits }
  const file = await open(source.path)
  try {
    const { size } = await file.stat()
    if (size === 0) throw new ParsingError('empty')
    if (size > inputBytes) throw new ParsingError('too_large')
    const answer = await runSandboxed(
      parserProgram,
      file.fd,
      parserArguments(source, chunking, outputBytes),
      { seconds, memoryBytes, answerBytes: maxAnswerBytes(outputBytes) },
      signal,
    )
    return await toParseResult(decodeResult(answer, outputBytes))
  } catch (error) {
    throw error instanceof SandboxError ? new ParsingError(error.code) : error
  } finally {
    await file.close()
  }
}

/** Adds the language of the text and the text of each chunk. */
export async function toParseResult({ text, chunks, ...facts }: ChunkedText): Promise<ParseResult> {
  // Detected here, from a short sample: each parser process would spend 0.2 s of CPU to load the detector.
  const { detectLanguage } = await import('./detect-language.ts')
  return {
    text,
    ...facts,
    language: detectLanguage(text),
    chunks: chunks.map((chunk) => ({ ...chunk, text: text.slice(chunk.start, chunk.end) })),
  }
}

/**
 * The command line of the parser. Content type and extension come from users, so only plain characters pass.
 */
function parserArguments(
  { contentType, name, declaredType }: DocumentSource,
  { maxTokens, overlapTokens }: ChunkingOptions,
  outputBytes: number,
): string[] {
  const type = contentType.split(';')[0].trim().toLowerCase()
  const extension = extname(name).slice(1).toLowerCase()
  const charset = charsetParameter(declaredType)
  return [
    `--type=${/^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : ''}`,
    `--extension=${/^\w{1,12}$/.test(extension) ? extension : ''}`,
    `--charset=${charset ?? ''}`,
    `--tokens=${maxTokens}`,
    `--overlap=${overlapTokens}`,
    `--output=${outputBytes}`,
  ]
}
