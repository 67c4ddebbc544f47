// The changes of this project's contract since a git ref, each with its file and line.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { acceptor } from '@platform-api/changes/accepted.ts'
import { located, readIfExists, type LocatedChange } from '@platform-api/changes/located-change.ts'
import { createSpecLocator } from './spec-locator.ts'
import { UsageError } from '@platform-api/changes/usage-error.ts'
import { profile } from '../profiles/changes.ts'
import { acceptedIn } from './accepted.ts'

/**
 * The changes of this project's contract since the git ref. Throws UsageError if git does not know the ref or
 * it has no contract.
 */
export function changesSince(folder: string, ref: string, today = new Date()): LocatedChange[] {
  const before = {
    document: JSON.parse(show(folder, ref, 'generated/openapi.json')!),
    locate: createSpecLocator((file) => show(folder, ref, file, { optional: true })),
  }
  const after = {
    document: JSON.parse(readFileSync(join(folder, 'generated/openapi.json'), 'utf8')),
    locate: createSpecLocator((file) => readIfExists(join(folder, file))),
  }
  const { reasonFor } = acceptor(acceptedIn(folder), today)
  return located(before, after, profile, today).map((change) =>
    change.weight === 'breaking' ? { ...change, accepted: reasonFor(change) } : change,
  )
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
