// `npm run backup -- TARGET`: writes a backup of the database and its files to a new folder in TARGET.
// Servers may run meanwhile.
//   --keep N   removes older backups than the last N, and the files that only they have
import { parseArgs } from 'node:util'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { explainStartupError } from '../../app/startup-errors.ts'
import { BackupError } from '../../infra/backup/errors.ts'
import { loadEnvFile, readConfig, type Config } from '../../infra/config/config.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { ApiError } from '../../infra/errors.ts'
import { clusterFolder } from '../../infra/postgres/cluster.ts'
import { startEmbedded } from '../../infra/postgres/embedded.ts'
import { writeBackup, type BackupResult } from '../../services/backup/backup.ts'
import { openBlobStore } from '../../services/storage/storage.ts'
import { createProgress } from './progress.ts'
import { answerHelp } from '../../infra/command-help.ts'

const usage = `npm run backup -- TARGET     writes a backup to a new folder in the folder TARGET
  --keep N                   removes older backups than the last N, and the files that only they have`

answerHelp(import.meta, usage)

const { target, keep } = readArguments()
try {
  await main()
} catch (error) {
  const expected = error instanceof BackupError || error instanceof ApiError
  console.error(expected ? error.message : (explainStartupError(error) ?? error))
  process.exitCode = 1
}

function readArguments(): { target: string; keep: number | undefined } {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { keep: { type: 'string' } },
    })
    if (positionals.length !== 1) throw new Error('Name one target.')
    if (values.keep !== undefined && !/^[1-9]\d{0,4}$/.test(values.keep))
      throw new Error('--keep must be an integer of at least 1.')
    return {
      target: resolve(positionals[0]),
      keep: values.keep === undefined ? undefined : Number(values.keep),
    }
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

async function main(): Promise<void> {
  loadEnvFile()
  const config = readConfig()
  const postgres = config.databaseUrl === null ? await startOwn(config) : null
  try {
    const result = await backUp(config, config.databaseDirectUrl ?? config.databaseUrl ?? postgres!.url)
    report(result)
  } finally {
    await postgres?.stop()
  }
}

async function startOwn({ dataDir }: Readonly<Config>) {
  if (!existsSync(clusterFolder(dataDir)))
    throw new BackupError(`There is no database in DATA_DIR ${dataDir}: set DATA_DIR to that of the server.`)
  return await startEmbedded({ dataDir, whenRunning: 'attach' })
}

async function backUp(config: Readonly<Config>, url: string): Promise<BackupResult> {
  const database = openDatabase({ url, name: 'platform backup', poolSize: 1 })
  const store = await openBlobStore(config)
  const progress = createProgress()
  try {
    return await writeBackup({ url, database, store, target, keep, onProgress: progress.report })
  } finally {
    progress.end()
    await store.close()
    await database.close()
  }
}

function report({ folder, manifest, copied, copiedBytes, lost, removed }: BackupResult): void {
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  console.log(
    `${folder}: ${rows} rows in ${manifest.tables.length} tables, ${manifest.jobs.rows} jobs, ` +
      `${manifest.blobs.rows} blobs of ${manifest.blobs.total_bytes} bytes, of which ${copied} of ` +
      `${copiedBytes} bytes are new.`,
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
