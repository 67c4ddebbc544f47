// `npm run verify`: compares the database with the file store, and exits with 1 if they differ.
// `npm run verify -- BACKUP`: checks a backup, or the last one in a folder or s3://bucket/prefix.
//   --hash   also reads every blob and compares its SHA-256
import { parseArgs } from 'node:util'
import { loadEnvFile, readConfig, type Config } from '../../infra/config/config.ts'
import { checkBackup, requireBlobs } from '../../services/backup/check-backup.ts'
import { openBackup } from '../../services/backup/open-target.ts'
import { locationOf } from '../../services/backup/target.ts'
import { readOwnMarker } from '../../services/storage/ownership.ts'
import { openBlobStore } from '../../services/storage/storage.ts'
import { verifyStore, type Verification } from '../../services/storage/verify.ts'
import { answerHelp } from '../../infra/command-help.ts'
import { printDifference } from '../command/print-difference.ts'
import { createProgress } from '../command/progress.ts'
import { readArguments, runCommand } from '../command/run-command.ts'
import { withDatabase } from '../command/with-database.ts'

answerHelp(import.meta)

const statementTimeout = 600_000

const { hash, address } = readArguments('The arguments are a backup and --hash.', () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { hash: { type: 'boolean', default: false } },
  })
  if (positionals.length > 1) throw new Error('Name one backup, or none.')
  return { hash: values.hash, address: positionals[0] as string | undefined }
})

await runCommand(async () => {
  loadEnvFile()
  const config = readConfig()
  if (address !== undefined) return await verifyBackup(config, address)
  await withDatabase(config, { statementTimeout }, async (db) => {
    const store = await openBlobStore(config)
    const progress = createProgress()
    try {
      await readOwnMarker(db, store)
      const result = await verifyStore(db, store, {
        hash,
        onProgress: progress.report,
        onDifference(difference) {
          progress.end()
          printDifference(difference)
        },
      })
      progress.end()
      console.log(summaryOf(result, store.location))
      if (Object.values(result.differences).some((n) => n > 0)) process.exitCode = 1
    } finally {
      progress.end()
      await store.close()
    }
  })
})

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
