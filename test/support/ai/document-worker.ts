// Indexes documents with the parsers, but in this process: for tests of the index, which need no sandbox. The
// parser process costs half a second of CPU per document; test/ai/parsing.test.ts and
// test/faults/ingestion.test.ts use it.
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Test } from 'tap'
import { createDocumentWorker } from '../../../services/ai/knowledge/worker.ts'
import { charsetParameter } from '../../../services/ai/parsing/charset.ts'
import type { ChunkingOptions } from '../../../services/ai/parsing/chunker.ts'
import {
  defaultLimits,
  toParseResult,
  type DocumentSource,
  type ParseResult,
  type ParsingLimits,
} from '../../../services/ai/parsing/parse.ts'
import { parseOrError } from '../../../services/ai/parsing/parsers.ts'
import { decodeResult, encodeResult } from '../../../services/ai/parsing/wire-format.ts'
import type { TestServer } from '../server/server.ts'

/** Indexes the documents of the server until the test ends. An error is thrown, or goes to `onError`. */
export function startDocumentWorker(
  t: Pick<Test, 'teardown'>,
  { services }: TestServer,
  onError = (error: Error): void => {
    throw error
  },
): void {
  const { config, providers } = services
  const worker = createDocumentWorker({
    ...services,
    embed: providers.embed,
    tokensPerDay: config.aiTokensPerDay,
    maxBytes: config.documentMaxBytes,
    concurrency: config.documentConcurrency,
    interval: 20,
    parse: parseInProcess,
    onError,
  })
  worker.start()
  t.teardown(() => worker.stop())
}

/** Parses as the sandboxed process does. */
export async function parseInProcess(
  { path, name, contentType, declaredType }: DocumentSource,
  chunking: ChunkingOptions,
  { limits: { outputBytes = defaultLimits.outputBytes } = {} }: { limits?: Partial<ParsingLimits> } = {},
): Promise<ParseResult> {
  const bytes = await readFile(path)
  const extension = extname(name).slice(1).toLowerCase()
  const charset = charsetParameter(declaredType)
  const answer = await parseOrError(() => bytes, { contentType, extension, charset, outputBytes, chunking })
  return await toParseResult(decodeResult(encodeResult(answer), outputBytes))
}
