// Parses hostile documents, and checks the outcome of each and that nothing is left behind. Starting a parser
// process costs more CPU than most of them do, so the short form parses in this process what must not exceed
// a limit. `npm run faults` parses all in the sandbox.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  parseDocument,
  type DocumentSource,
  type ParseResult,
  ParsingError,
} from '../../../services/ai/parsing/parse.ts'
import { contentTypeOf, sampleBytes } from '../../../services/storage/content-type.ts'
import { parseInProcess } from './document-worker.ts'
import type { HostileDocument } from './hostile-documents.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const chunking = { maxTokens: 400, overlapTokens: 60 }
const limits = { seconds: 30, memoryBytes: 400 * 2 ** 20, outputBytes: 6 * 2 ** 20 }
const concurrency = 2

type Test = import('tap').Test

/** Runs one subtest per document. */
export async function testHostileDocuments(
  t: Test,
  all: HostileDocument[],
  { isLongForm }: { isLongForm: boolean },
): Promise<void> {
  const documents = all.filter(({ longForm = false }) => isLongForm || !longForm)
  const folder = t.testdir({})
  const queue = [...documents.entries()]
  const memoryBefore = memoryInUse()
  async function work(): Promise<void> {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [index, document] = next
      const path = join(folder, String(index))
      const source = await write(path, document)
      const result = await parse(source, document, isLongForm)
      await t.test(document.title, async (t) => check(t, document, result))
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  t.same(parserProcesses(), [], 'no parser process is left')
  t.equal(readdirSync(folder).length, documents.length, 'no file is left')
  t.ok(memoryInUse() - memoryBefore < 64 * 2 ** 20, 'the documents do not take memory of this process')
}

/** Bytes, without the garbage that the making of the documents leaves. */
function memoryInUse(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function write(path: string, { make, name }: HostileDocument): Promise<DocumentSource> {
  const bytes = Buffer.from(make())
  writeFileSync(path, bytes)
  const contentType = await contentTypeOf(bytes.subarray(0, sampleBytes), {
    isComplete: bytes.length <= sampleBytes,
    declared: null,
    name,
  })
  return { path, name, contentType }
}

async function parse(
  source: DocumentSource,
  { outcomes, sandboxed = outcomes.some((outcome) => outcome.startsWith('too_')) }: HostileDocument,
  isLongForm: boolean,
): Promise<ParseResult | ParsingError> {
  try {
    return await (isLongForm || sandboxed ? parseDocument : parseInProcess)(source, chunking, {
      limits,
    })
  } catch (error) {
    if (error instanceof ParsingError) return error
    throw error
  }
}

function check(t: Test, { outcomes, isExpected }: HostileDocument, result: ParseResult | ParsingError): void {
  const outcome = result instanceof ParsingError ? result.code : 'ready'
  t.ok(outcomes.includes(outcome), outcome)
  if (result instanceof ParsingError) return
  const { text, chunks } = result
  t.ok(text.isWellFormed() && !text.includes('\0'), 'the text is well-formed')
  t.ok(
    chunks.length > 0 && chunks.every(({ tokens }) => tokens <= chunking.maxTokens),
    'no chunk exceeds its tokens',
  )
  t.ok(
    chunks.every((chunk) => chunk.text === text.slice(chunk.start, chunk.end)),
    'each chunk is a slice of the text',
  )
  if (isExpected !== undefined) t.ok(isExpected(result), 'the result is as expected')
}

/** Ids of the parser processes that `parent` started; none on a system without /proc. */
export function parserProcesses(parent = process.pid): number[] {
  let ids: string[]
  try {
    ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
  return ids
    .filter((id) => {
      try {
        return (
          readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('parsing/sandbox-child.ts') &&
          readFileSync(`/proc/${id}/status`, 'utf8').includes(`\nPPid:\t${parent}\n`)
        )
      } catch {
        return false
      }
    })
    .map(Number)
}
