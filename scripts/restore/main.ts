// `npm run restore -- BACKUP`: restores a backup into an empty database and an empty file store.
//   --keep-files   the file store has survived: its files are kept and only missing ones are copied
import { parseArgs } from 'node:util'
import { resolve } from 'node:path'
import { explainStartupError } from '../../app/startup-errors.ts'
import { BackupError } from '../../infra/backup/errors.ts'
import { loadEnvFile, readConfig, type Config } from '../../infra/config/config.ts'
import { ApiError } from '../../infra/errors.ts'
import { startEmbedded } from '../../infra/postgres/embedded.ts'
import { restoreBackup, type RestoreResult } from '../../services/backup/restore.ts'
import { jobQueues } from '../../services/services.ts'
import { openBlobStore } from '../../services/storage/storage.ts'
import { createProgress } from '../backup/progress.ts'
import { answerHelp } from '../../infra/command-help.ts'

const usage = `npm run restore -- BACKUP       restores a backup, or the last one in a folder of backups
  --keep-files                  keeps the files of a store that has survived`

answerHelp(import.meta, usage)

const { backup, keepFiles } = readArguments()
try {
  await main()
} catch (error) {
  const expected = error instanceof BackupError || error instanceof ApiError
  console.error(expected ? error.message : (explainStartupError(error) ?? error))
  process.exitCode = 1
}

function readArguments(): { backup: string; keepFiles: boolean } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { 'keep-files': { type: 'boolean', default: false } },
    })
    if (positionals.length === 1) return { backup: resolve(positionals[0]), keepFiles: values['keep-files'] }
    throw new Error('Name one backup.')
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

async function main(): Promise<void> {
  loadEnvFile()
  const config = readConfig()
  const postgres =
    config.databaseUrl === null
      ? await startEmbedded({ dataDir: config.dataDir, whenRunning: 'refuse' })
      : null
  try {
    report(await restore(config, config.databaseDirectUrl ?? config.databaseUrl ?? postgres!.url))
  } finally {
    await postgres?.stop()
  }
}

async function restore(config: Readonly<Config>, url: string): Promise<RestoreResult> {
  const store = await openBlobStore(config)
  const progress = createProgress()
  try {
    return await restoreBackup({
      backup,
      url,
      store,
      tempFolder: config.storageDir,
      queues: jobQueues,
      keepFiles,
      onProgress: progress.report,
      onDifference: ({ kind, key, bytes }) => console.log(`${kind.padEnd(10)}  ${key}  ${bytes} bytes`),
    })
  } finally {
    progress.end()
    await store.close()
  }
}

function report({ folder, manifest, verification }: RestoreResult): void {
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  const { missing, unknown, wrong_size: size } = verification.differences
  console.log(
    `Restored ${folder}, the state of ${manifest.created_at}: ${rows} rows, ${manifest.jobs.rows} jobs, ` +
      `${verification.blobs} blobs of ${verification.bytes} bytes; ${missing} missing, ${unknown} unknown, ` +
      `${size} of the wrong size.`,
  )
  console.log(
    'Give the servers the SECRET_KEY of the original. They serve, but send no webhooks and charge nothing ' +
      'until `npm run admin -- confirm-restore`.',
  )
  if (missing + size > 0) process.exitCode = 1
}
