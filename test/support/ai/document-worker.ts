// Indexes documents with the parsers, but in this process: for tests of the index, which need no sandbox. The
// parser process costs half a second of CPU per document; test/ai/parsing.test.ts and
// test/faults/ingestion.test.ts use it.
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { Test } from 'tap'
import type { DocumentParser } from '../../../services/ai/knowledge/index-document.ts'
import { createDocumentWorker } from '../../../services/ai/knowledge/worker.ts'
import { defaultLimits, toParseResult } from '../../../services/ai/parsing/parse.ts'
import { parseBytes } from '../../../services/ai/parsing/parsers.ts'
import type { TestServer } from '../server/server.ts'

/** Indexes the documents of the server until the test ends. */
export function startDocumentWorker(t: Pick<Test, 'teardown'>, { services }: TestServer): void {
  const { config, providers } = services
  const worker = createDocumentWorker({
    ...services,
    embed: providers.embed,
    tokensPerDay: config.aiTokensPerDay,
    maxBytes: config.documentMaxBytes,
    concurrency: config.documentConcurrency,
    interval: 20,
    parse: parseInProcess,
    onError: (error) => {
      throw error
    },
  })
  worker.start()
  t.teardown(() => worker.stop())
}

const parseInProcess: DocumentParser = async ({ path, name, contentType }, chunking) =>
  await toParseResult(
    await parseBytes(await readFile(path), {
      contentType,
      extension: extname(name).slice(1).toLowerCase(),
      outputBytes: defaultLimits.outputBytes,
      chunking,
    }),
  )
