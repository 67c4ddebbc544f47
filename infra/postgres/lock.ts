// Owns the lock of a data folder. SQLite's file lock is the operating system's own: it ends with the process,
// however the process ends, and a reused process id means nothing to it.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { EmbeddedPostgresError, reasonOf } from './errors.ts'

const SQLITE_BUSY = 5

/** Held here, so that the garbage collector never closes a lock that is in use. */
const held = new Set<DatabaseSync>()

/** Takes the lock and returns what releases it, or null where another server holds it. */
export function lockFolder(folder: string): (() => void) | null {
  const path = join(folder, 'lock')
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(path)
    // Exclusive from the start, two that come together could each hold the read lock that the other waits
    // for.
    lock.exec('BEGIN IMMEDIATE')
  } catch (error) {
    lock?.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return null
    throw new EmbeddedPostgresError(
      `The lock ${path} cannot be taken (${reasonOf(error)}): let this user write in that folder, or choose another data folder.`,
    )
  }
  const taken = lock
  held.add(taken)
  return () => {
    if (held.delete(taken)) taken.close()
  }
}
