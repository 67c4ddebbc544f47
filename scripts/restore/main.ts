// `npm run restore -- BACKUP`: restores a backup into an empty database and an empty file store.
//   --keep-files   the file store has survived: its files are kept and only missing ones are copied
import { parseArgs } from 'node:util'
import { answerHelp } from '../../infra/command-help.ts'
import { loadEnvFile, readConfig, type Config } from '../../infra/config/config.ts'
import { openBackup } from '../../services/backup/open-target.ts'
import { restoreBackup, type RestoreResult } from '../../services/backup/restore.ts'
import { openBlobStore } from '../../services/storage/storage.ts'
import { printDifference } from '../command/print-difference.ts'
import { createProgress } from '../command/progress.ts'
import { CommandError, readArguments, runCommand } from '../command/run-command.ts'
import { withPostgres } from '../command/with-database.ts'

const usage = `npm run restore -- BACKUP       restores a backup, or the last one of a place
  BACKUP                        a folder, or s3://bucket/prefix
  --keep-files                  keeps the files of a store that has survived`

answerHelp(import.meta, usage)

const { address, keepFiles } = readArguments(usage, () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'keep-files': { type: 'boolean', default: false } },
  })
  if (positionals.length !== 1) throw new Error('Name one backup.')
  return { address: positionals[0], keepFiles: values['keep-files'] }
})

await runCommand(async () => {
  loadEnvFile()
  const config = readConfig()
  if (config.storageSecond !== null)
    throw new CommandError('Files are restored to one store: unset STORAGE_SECOND.')
  report(await withPostgres(config, { whenRunning: 'refuse' }, (url) => restore(config, url)))
})

async function restore(config: Readonly<Config>, url: string): Promise<RestoreResult> {
  const backup = await openBackup(address, { scratchFolder: config.storageDir })
  const store = await openBlobStore(config)
  const progress = createProgress()
  try {
    return await restoreBackup({
      backup,
      url,
      store,
      tempFolder: config.storageDir,
      keepFiles,
      onProgress: progress.report,
      onDifference: printDifference,
    })
  } finally {
    progress.end()
    await store.close()
    await backup.target.close()
  }
}

function report({ folder, manifest, verification }: RestoreResult): void {
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  const { missing, unknown, wrong_size: size } = verification.differences
  console.log(
    `Restored ${folder}, the state of ${manifest.created_at}: ${rows} rows, ` +
      `${verification.blobs} blobs of ${verification.bytes} bytes; ${missing} missing, ${unknown} unknown, ` +
      `${size} of the wrong size.`,
  )
  console.log(
    'Give the servers the SECRET_KEY of the original. They serve, but send no webhooks and charge nothing ' +
      'until `npm run admin -- confirm-restore`.',
  )
  if (missing + size > 0) process.exitCode = 1
}
