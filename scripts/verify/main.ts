// `npm run verify`: compares the database with the file store, and exits with 1 if they differ.
// `npm run verify -- BACKUP`: checks a backup, or the last one in a folder or s3://bucket/prefix.
// `npm run verify -- --repair [BACKUP]`: repairs what it finds, with blobs of a backup where it has to.
//   --hash   also reads every blob and compares its SHA-256
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Database } from '../../infra/database/database.ts'
import { loadEnvFile, readConfig, type Config } from '../../infra/config/config.ts'
import { checkBackup, requireBlobs } from '../../services/backup/check-backup.ts'
import { openBackup } from '../../services/backup/open-target.ts'
import { repairBlob, repairUsage } from '../../services/backup/repair.ts'
import { locationOf } from '../../services/backup/target.ts'
import type { BlobStore } from '../../services/storage/blobs/blob-store.ts'
import { readOwnMarker } from '../../services/storage/ownership.ts'
import { openBlobStore } from '../../services/storage/storage.ts'
import { verifyStore, type Difference, type Verification } from '../../services/storage/verify.ts'
import { answerHelp } from '../../infra/command-help.ts'
import { printDifference } from '../command/print-difference.ts'
import { createProgress } from '../command/progress.ts'
import { readArguments, runCommand } from '../command/run-command.ts'
import { withDatabase } from '../command/with-database.ts'

answerHelp(import.meta)

const statementTimeout = 600_000
/** Repeat the command for more. */
const maxRepaired = 10_000

const { hash, repair, address } = readArguments('The arguments are a backup, --hash and --repair.', () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { hash: { type: 'boolean', default: false }, repair: { type: 'boolean', default: false } },
  })
  if (positionals.length > 1) throw new Error('Name one backup, or none.')
  return { ...values, address: positionals[0] as string | undefined }
})

await runCommand(async () => {
  loadEnvFile()
  const config = readConfig()
  if (address !== undefined && !repair) return await verifyBackup(config, address)
  await withDatabase(config, { statementTimeout }, async (db) => {
    const store = await openBlobStore(config)
    const progress = createProgress()
    try {
      await readOwnMarker(db, store)
      const found: Difference[] = []
      const result = await verifyStore(db, store, {
        hash,
        onProgress: progress.report,
        onDifference(difference) {
          progress.end()
          printDifference(difference)
          if (repair && found.length < maxRepaired) found.push(difference)
        },
      })
      progress.end()
      console.log(summaryOf(result, store.location))
      const differences = Object.values(result.differences).reduce((sum, n) => sum + n, 0)
      const repaired = repair ? await repairAll(config, { db, store, found }) : 0
      if (repaired < differences) process.exitCode = 1
    } finally {
      progress.end()
      await store.close()
    }
  })
})

interface Damage {
  db: Database
  store: BlobStore
  found: Difference[]
}

/** Repairs blobs and the usage of workspaces. @returns the number of repaired blobs. */
async function repairAll(config: Readonly<Config>, { db, store, found }: Damage): Promise<number> {
  const tempFolder = join(config.storageDir, 'repair')
  const backup = address === undefined ? null : await openBackup(address, { scratchFolder: tempFolder })
  await mkdir(tempFolder, { recursive: true, mode: 0o700 })
  let repaired = 0
  try {
    for (const difference of found) {
      const isRepaired = await repairBlob(db, difference, {
        store,
        backup: backup?.target.blobs ?? null,
        tempFolder,
      })
      if (isRepaired) repaired++
      console.log(`${isRepaired ? 'repaired' : 'left'.padEnd(8)}    ${difference.key}`)
    }
    for (const workspace of await repairUsage(db)) console.log(`recounted   ${workspace}`)
  } finally {
    await rm(tempFolder, { recursive: true, force: true })
    await backup?.target.close()
  }
  return repaired
}

async function verifyBackup({ storageDir }: Readonly<Config>, address: string): Promise<void> {
  const backup = await openBackup(address, { scratchFolder: storageDir })
  const progress = createProgress()
  try {
    const manifest = await checkBackup(backup)
    await requireBlobs(backup, manifest, { hash, onProgress: progress.report })
    progress.end()
    const { tables, blobs, missing_blobs: missing } = manifest
    console.log(
      `${locationOf(backup)} is complete: ${tables.length} tables, ${blobs.rows} blobs of ` +
        `${blobs.total_bytes} bytes, ${missing.length} of which the file store had lost before.`,
    )
  } finally {
    progress.end()
    await backup.target.close()
  }
}

function summaryOf(
  { blobs, bytes, quarantined, uploading, differences }: Verification,
  location: string,
): string {
  const { missing, unknown, wrong_size: size, wrong_hash: digest } = differences
  return (
    `${location}: ${blobs} blobs, ${bytes} bytes; ` +
    `${quarantined} in quarantine, ${uploading} being uploaded.\n` +
    `${missing} missing, ${unknown} unknown, ${size} of the wrong size` +
    `${hash ? `, ${digest} with the wrong SHA-256` : ''}.`
  )
}
