// The changes of a contract, each with its file and line: since a git ref, or between two files.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { acceptor, readAccepted } from './accepted.ts'
import { announcementOf } from './announced.ts'
import type { Change } from './change.ts'
import { compareContracts } from './compare.ts'
import { createLocator } from './source-locations.ts'
import { UsageError } from './usage-error.ts'

type Json = any

export interface LocatedChange extends Change {
  file: string
  line: number
  /** How a breaking change was announced, or null. */
  announced: string | null
  /** Why a breaking change is accepted, or null. */
  accepted: string | null
}

interface Side {
  document: Json
  locate: ReturnType<typeof createLocator>
}

/**
 * The changes of this project's contract since the git ref. Throws UsageError if git does not know the ref or
 * it has no contract.
 */
export function changesSince(folder: string, ref: string, today = new Date()): LocatedChange[] {
  const before = {
    document: JSON.parse(show(folder, ref, 'generated/openapi.json')!),
    locate: createLocator((file) => show(folder, ref, file, { optional: true })),
  }
  const after = {
    document: JSON.parse(readFileSync(join(folder, 'generated/openapi.json'), 'utf8')),
    locate: createLocator((file) => readIfExists(join(folder, file))),
  }
  const { reasonFor } = acceptor(readAccepted(folder), today)
  return located(before, after, today).map((change) =>
    change.weight === 'breaking' ? { ...change, accepted: reasonFor(change) } : change,
  )
}

/**
 * The changes from one OpenAPI document to another, of version 2.0 to 3.2, in one file or several. The paths
 * are relative to `folder`. Throws UsageError if one cannot be read.
 */
export async function changesBetween(
  folder: string,
  [before, after]: [before: string, after: string],
  today = new Date(),
): Promise<LocatedChange[]> {
  const open = async (file: string): Promise<Side> => ({
    document: await readOpenapi(resolve(folder, file)).catch((error: Error) => {
      throw new UsageError(`Cannot read ${file}: ${error.message}`)
    }),
    locate: createLocator((name) => readIfExists(resolve(folder, name)), file),
  })
  return located(await open(before), await open(after), today)
}

function located(before: Side, after: Side, today: Date): LocatedChange[] {
  const sides = { before, after }
  return compareContracts(before.document, after.document).map((change) => ({
    ...change,
    ...sides[change.place.side].locate(change.place.pointer),
    announced: change.weight === 'breaking' ? announcementOf(before.document, change, today) : null,
    accepted: null,
  }))
}

function readIfExists(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null
}

function show(folder: string, ref: string, file: string, { optional = false } = {}): string | null {
  try {
    return execFileSync('git', ['show', `${ref}:./${file}`], {
      cwd: folder,
      encoding: 'utf8',
      maxBuffer: 256 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  } catch (error) {
    if (optional) return null
    throw new UsageError(
      `Cannot read ${file} at ${ref}: ${String((error as { stderr?: string }).stderr).trim()}`,
    )
  }
}
