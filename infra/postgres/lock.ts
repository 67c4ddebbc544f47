// The lock of a data folder: a file lock of the operating system, taken by SQLite. It ends with the process,
// however the process ends, and does not depend on process ids.
import { chmodSync, closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { EmbeddedPostgresError, reasonOf } from './errors.ts'

const SQLITE_BUSY = 5

/** Referenced here, so that the garbage collector never closes a lock that is in use. */
const held = new Set<DatabaseSync>()

/** Takes the lock. @returns a function that releases it, or null when another server holds the lock. */
export function lockFolder(folder: string): (() => void) | null {
  const path = join(folder, 'lock')
  let lock: DatabaseSync | undefined
  try {
    makePrivate(path)
    lock = new DatabaseSync(path)
    // IMMEDIATE, because two deferred transactions could each hold the read lock that the other one waits
    // for.
    lock.exec('BEGIN IMMEDIATE')
  } catch (error) {
    lock?.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return null
    throw new EmbeddedPostgresError(
      `The lock ${path} cannot be taken (${reasonOf(error)}): let this user write in that folder, or ` +
        'choose another data folder.',
    )
  }
  const taken = lock
  held.add(taken)
  return () => {
    if (held.delete(taken)) taken.close()
  }
}

/** A user who may read a file may lock it, too. */
function makePrivate(path: string): void {
  closeSync(openSync(path, 'a', 0o600))
  if (process.platform !== 'win32') chmodSync(path, 0o600)
}
