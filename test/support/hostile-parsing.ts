// Reads nasty documents and tells how each ended, and what was left of it.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readDocument, type Reading, ReadingError } from '../../services/ai/parsing/parse.ts'
import { contentTypeOf, sampleBytes } from '../../services/storage/content-type.ts'
import type { NastyDocument } from './hostile-documents.ts'

const chunking = { maxTokens: 400, overlapTokens: 60 }
const caps = { seconds: 30, memoryBytes: 400 * 2 ** 20, outputBytes: 6 * 2 ** 20 }
const atOnce = 2

type Test = import('tap').Test

/** A test for each. */
export async function readNasty(t: Test, documents: NastyDocument[]): Promise<void> {
  const folder = t.testdir({})
  const waiting = [...documents.entries()]
  const before = process.memoryUsage().rss
  async function work(): Promise<void> {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, document] = next
      const path = join(folder, String(index))
      const contentType = await write(path, document)
      const end = await read(path, document.name, contentType)
      await t.test(document.title, async (t) => check(t, document, end))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  t.same(readers(), [], 'no process is left')
  t.equal(readdirSync(folder).length, documents.length, 'no file is left')
  t.ok(
    process.memoryUsage().rss - before < 400 * 2 ** 20,
    'and none of the memory that they wanted is taken here',
  )
}

async function write(path: string, { make, name }: NastyDocument): Promise<string> {
  const bytes = Buffer.from(make())
  writeFileSync(path, bytes)
  return contentTypeOf(bytes.subarray(0, sampleBytes), {
    isComplete: bytes.length <= sampleBytes,
    declared: null,
    name,
  })
}

async function read(path: string, name: string, contentType: string): Promise<Reading | ReadingError> {
  try {
    return await readDocument({ path, name, contentType }, chunking, { caps })
  } catch (error) {
    if (error instanceof ReadingError) return error
    throw error
  }
}

function check(t: Test, { ends, holds }: NastyDocument, end: Reading | ReadingError): void {
  t.ok(
    ends.includes(end instanceof ReadingError ? end.code : 'ready'),
    end instanceof ReadingError ? end.code : 'ready',
  )
  if (end instanceof ReadingError) return
  const { text, chunks } = end
  t.ok(text.isWellFormed() && !text.includes('\0'), 'its text is one')
  t.ok(
    chunks.length > 0 && chunks.every(({ tokens }) => tokens <= chunking.maxTokens),
    'its chunks are small',
  )
  t.ok(
    chunks.every((chunk) => chunk.text === text.slice(chunk.start, chunk.end)),
    'and lie in the text',
  )
  if (holds !== undefined) t.ok(holds(end), 'and what must be so is')
}

/** The reading processes that this process has, where the system tells. */
export function readers(parent = process.pid): number[] {
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
          readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('reading/child.ts') &&
          readFileSync(`/proc/${id}/status`, 'utf8').includes(`\nPPid:\t${parent}\n`)
        )
      } catch {
        return false
      }
    })
    .map(Number)
}
