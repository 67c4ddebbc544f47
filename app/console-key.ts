// The key in the address of the console that `npm start` prints on a terminal. A private file keeps it, so
// that a restart, as after each change in development, does not make another key.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../infra/config/config.ts'
import type { Database } from '../infra/database/database.ts'
import { ApiError } from '../infra/errors.ts'
import { createConsoleKey, isConsoleKeyFresh } from '../services/users/console-key.ts'
import { writePrivateFile } from '../infra/encryption/private-file.ts'

/**
 * @returns a key that is valid for 12 to 24 hours; null without an active admin, or if the admin can have no
 * more keys.
 */
export async function consoleKey(
  db: Database,
  { dataDir, keyMode }: Pick<Config, 'dataDir' | 'keyMode'>,
): Promise<string | null> {
  const file = join(dataDir, 'console-key')
  const kept = readKept(file)
  if (kept !== null && (await isConsoleKeyFresh(db, kept))) return kept
  const secret = await createConsoleKey(db, keyMode).catch(nullAtLimit)
  if (secret !== null) writePrivateFile(file, `${secret}\n`)
  return secret
}

function nullAtLimit(error: unknown): null {
  if (error instanceof ApiError && error.details.limit !== undefined) return null
  throw error
}

function readKept(file: string): string | null {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return null
  }
}
