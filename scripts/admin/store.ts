// `npm run admin -- store`: whose the file store is, and taking it over.
import { readConfig } from '../../infra/config/config.ts'
import type { Database } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import { adoptStore, databaseIdOf, readMarker } from '../../services/storage/ownership.ts'
import { openBlobStore, uploadsFolder } from '../../services/storage/storage.ts'

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
  const store = await openBlobStore(config)
  try {
    const previous = await adoptStore(db, store)
    if (config.s3 !== null) await adoptStore(db, uploadsFolder(config))
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
  }
}
