// `npm run backup -- TARGET`: writes a backup of the database and its files to a new folder in TARGET, which
// is a folder or s3://bucket/prefix. Servers may run meanwhile.
//   --keep N   removes older backups of the database than the last N, and the files that only they have
import { parseArgs } from 'node:util'
import { answerHelp } from '../../infra/command-help.ts'
import { loadEnvFile, readConfig, type Config } from '../../infra/config/config.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { writeBackup, type BackupResult } from '../../services/backup/backup.ts'
import { openTarget } from '../../services/backup/open-target.ts'
import { openBlobStore } from '../../services/storage/storage.ts'
import { createProgress } from '../command/progress.ts'
import { readArguments, runCommand } from '../command/run-command.ts'
import { withPostgres } from '../command/with-database.ts'

const usage = `npm run backup -- TARGET     writes a backup to a new folder in TARGET
  TARGET                     a folder, or s3://bucket/prefix
  --keep N                   removes older backups of the database than the last N, and their files`

answerHelp(import.meta, usage)

const { address, keep } = readArguments(usage, () => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { keep: { type: 'string' } } })
  if (positionals.length !== 1) throw new Error('Name one target.')
  if (values.keep !== undefined && !/^[1-9]\d{0,4}$/.test(values.keep))
    throw new Error('--keep must be an integer of at least 1.')
  return { address: positionals[0], keep: values.keep === undefined ? undefined : Number(values.keep) }
})

await runCommand(async () => {
  loadEnvFile()
  const config = readConfig()
  report(await withPostgres(config, { mustExist: true }, (url) => backUp(config, url)))
})

async function backUp(config: Readonly<Config>, url: string): Promise<BackupResult> {
  const target = await openTarget(address, { scratchFolder: config.storageDir })
  const database = openDatabase({ url, name: 'platform backup', poolSize: 1 })
  const store = await openBlobStore(config)
  const progress = createProgress()
  try {
    return await writeBackup({ url, database, store, target, keep, onProgress: progress.report })
  } finally {
    progress.end()
    await store.close()
    await database.close()
    await target.close()
  }
}

function report({ folder, manifest, copied, copiedBytes, lost, removed }: BackupResult): void {
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  console.log(
    `${folder}: ${rows} rows in ${manifest.tables.length} tables, ${manifest.blobs.rows} blobs of ` +
      `${manifest.blobs.total_bytes} bytes, of which ${copied} of ${copiedBytes} bytes are new.`,
  )
  if (removed !== null)
    console.log(
      `Removed ${removed.backups} old backups, and ${removed.blobs} blobs of ${removed.bytes} bytes.`,
    )
  console.log('The backup has no SECRET_KEY: keep it (or DATA_DIR/secret-key) in another place.')
  if (lost.length === 0) return
  process.exitCode = 1
  console.error(
    `The backup is complete except for ${lost.length} blobs that the file store has lost or damaged, the ` +
      `first of them ${lost[0]}: see \`npm run verify -- --hash\`.`,
  )
}
