// `npm run admin -- store`: whose the file store is, and taking it over. `npm run admin -- move-files`: moves
// the files to another store.
import { join } from 'node:path'
import { readConfig } from '../../infra/config/config.ts'
import type { Database } from '../../infra/database/database.ts'
import { moveFiles, type MoveFilesResult } from '../../services/backup/move-files.ts'
import * as sql from '../../generated/sql/storage.ts'
import { adoptStore, claimStores, databaseIdOf, readMarker } from '../../services/storage/ownership.ts'
import { createProgress } from '../command/progress.ts'
import { printDifference } from '../command/print-difference.ts'
import { CommandError } from '../command/run-command.ts'
import { openBlobStore, openStores, uploadsFolder } from '../../services/storage/storage.ts'

/** The id of the database, the owner of the store, and the blobs in quarantine. */
export async function describeStore(db: Database): Promise<void> {
  const store = await openBlobStore(readConfig())
  try {
    const marker = await readMarker(store)
    console.log(`database    ${await databaseIdOf(db)}`)
    console.log(`store       ${store.location}`)
    console.log(`store id    ${marker?.store_id ?? 'none yet'}`)
    console.log(`belongs to  ${marker?.database_id ?? 'no database yet'}`)
    for (const { reason, n, bytes, since } of await sql.summarizeQuarantine(db))
      console.log(`quarantine  ${n} ${reason} blobs, ${bytes} bytes, the first since ${since}`)
  } finally {
    await store.close()
  }
}

/** Makes the store that of this database, with the folder of uploads in progress. */
export async function takeOverStore(db: Database): Promise<void> {
  const config = readConfig()
  const { first: store, second } = await openStores(config)
  try {
    const previous = await adoptStore(db, store)
    if (second !== null) await adoptStore(db, second)
    else if (config.s3 !== null) await adoptStore(db, uploadsFolder(config))
    console.log(
      `The file store ${store.location} now belongs to the database ${await databaseIdOf(db)}` +
        `${previous === null ? '' : `, before to ${previous}`}.`,
    )
    console.error(
      'Servers of another database must no longer use it. Compare the files with `npm run verify` ' +
        'before you start a server: after STORAGE_QUARANTINE_DAYS it removes blobs that this database does ' +
        'not know.',
    )
  } finally {
    await store.close()
    await second?.close()
  }
}

/**
 * Moves the files from STORAGE_SECOND to STORAGE. @returns whether everything is in the target. @throws
 * CommandError unless the settings are those of servers while files move.
 */
export async function moveFilesTo(
  db: Database,
  target: string | undefined,
  { deletesSource }: { deletesSource: boolean },
): Promise<boolean> {
  if (target !== 'disk' && target !== 's3') throw new CommandError('Say `--to s3` or `--to disk`.')
  const config = readConfig()
  const source = target === 's3' ? 'disk' : 's3'
  if (config.storage !== target || config.storageSecond !== source)
    throw new CommandError(
      `Restart all servers with STORAGE=${target} and STORAGE_SECOND=${source} first, as docs/storage.md ` +
        'describes, and run this command with the same settings.',
    )
  const { first: to, second } = await openStores(config)
  const from = second!
  const progress = createProgress()
  try {
    await claimStores(db, [to, from])
    const result = await moveFiles(db, {
      from,
      to,
      // The servers remove what a crash leaves in this folder.
      tempFolder: join(config.storageDir, 'incoming'),
      deletesSource,
      onProgress: progress.report,
      onDifference(difference) {
        progress.end()
        printDifference(difference)
      },
    })
    progress.end()
    console.log(summaryOf(result, from.location, to.location))
    return result.failed === 0 && result.unfinished === 0
  } finally {
    progress.end()
    await to.close()
    await from.close()
  }
}

function summaryOf(
  { copied, copiedBytes, verified, failed, unfinished, deleted, left }: MoveFilesResult,
  from: string,
  to: string,
): string {
  const lines = [
    `${copied} blobs of ${copiedBytes} bytes were copied from ${from} to ${to}.`,
    `${to} has ${verified} blobs, whose SHA-256 was compared.`,
    `${deleted} blobs were deleted from ${from}.`,
  ]
  if (left > 0) lines.push(`${left} blobs that ${to} does not have stay in ${from}.`)
  if (failed > 0)
    lines.push(
      `${failed} blobs are damaged or missing in both stores, so nothing was deleted: repair them with ` +
        '`npm run verify -- --repair BACKUP`, and repeat this command.',
    )
  if (unfinished > 0)
    lines.push(
      `${unfinished} unfinished uploads have bytes in ${from}, so nothing was deleted: repeat this command ` +
        'when they have ended, at the latest after RESUMABLE_UPLOAD_HOURS.',
    )
  return lines.join('\n')
}
