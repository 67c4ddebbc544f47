// Parses documents that tests make, in this process.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { ParseResult } from '../../../services/ai/parsing/parse.ts'
import { parseInProcess } from './document-worker.ts'

/** A parser of documents with a name; the media type is unknown. */
export function createTestParser(
  t: Pick<Test, 'testdir'>,
): (name: string, content: Buffer | string, declaredType?: string | null) => Promise<ParseResult> {
  const folder = t.testdir({})
  let count = 0
  return async (name, content, declaredType = null) => {
    const path = join(folder, String(count++))
    writeFileSync(path, content)
    const source = { path, name, contentType: 'application/octet-stream', declaredType }
    return await parseInProcess(source, { maxTokens: 200, overlapTokens: 0 })
  }
}
