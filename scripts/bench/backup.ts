// Benchmark of backups: the time and the size of a backup, its restore and its verification, with a given
// number of files and rows.
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { listBackups, parseManifest, manifestFile } from '../../infra/backup/manifest.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { createDiskBlobStore } from '../../services/storage/blobs/disk.ts'
import { insertFile, newFileId } from '../../services/storage/files.ts'
import { claimStore } from '../../services/storage/ownership.ts'
import { addPeople, addProjects, createDatabase, type Person } from './population.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'

export interface BackupSizes {
  rows: number
  files: number
  /** Bytes of each file, which are random. */
  bytes: number
}

interface Measurement {
  name: string
  seconds: number
  cpu: number
}

export async function benchBackup(stage: Stage, { rows, files, bytes }: BackupSizes): Promise<string> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_backup')
  const [person] = await addPeople(url, ['keeper'])
  // A project has two rows: itself and its owner's membership.
  await addProjects(url, dataDir, person, rows / 2)
  const folder = join(stage.folder, 'backup-files')
  await addStoredFiles(url, folder, person, { files, bytes })

  const target = join(stage.folder, 'backups')
  const original = { DATABASE_URL: url, STORAGE_DIR: folder }
  const copy = { DATABASE_URL: await emptyDatabase(serverUrl), STORAGE_DIR: join(stage.folder, 'restored') }
  const measured: Measurement[] = []
  const measure = async (name: string, script: string, args: string[], env: Record<string, string>) => {
    const started = performance.now()
    const cpu = await stage.run(join(import.meta.dirname, `../${script}/main.ts`), args, env).ended
    measured.push({ name, seconds: (performance.now() - started) / 1000, cpu })
  }
  await measure('first backup', 'backup', [target], original)
  await measure('next backup, of no new file', 'backup', [target], original)
  await measure('restore', 'restore', [target], copy)
  await measure('verify', 'verify', [], copy)
  await measure('verify --hash', 'verify', ['--hash'], copy)

  const [last] = (await listBackups(target)).slice(-1)
  const manifest = parseManifest(readFileSync(join(last, manifestFile), 'utf8'), last)
  const compressed = manifest.tables.reduce((sum, { file_bytes }) => sum + file_bytes, 0)
  const allRows = manifest.tables.reduce((sum, table) => sum + table.rows, 0)
  return [
    `${count(allRows)} rows in ${mebibytes(compressed)} MiB, and ${count(files)} files in ` +
      `${mebibytes(manifest.blobs.total_bytes)} MiB:`,
    '',
    table(
      ['', 'seconds', 'CPU seconds'],
      measured.map(({ name, seconds, cpu }) => [name, seconds.toFixed(1), cpu.toFixed(1)]),
    ),
  ].join('\n')
}

async function addStoredFiles(
  url: string,
  folder: string,
  { id: ownerId }: Person,
  { files, bytes }: Pick<BackupSizes, 'files' | 'bytes'>,
): Promise<void> {
  mkdirSync(folder)
  const store = createDiskBlobStore(folder)
  const database = openDatabase({ url, poolSize: 1 })
  try {
    await claimStore(database, store)
    for (let n = 0; n < files; n++) {
      const [id, content, path] = [newFileId(), randomBytes(bytes), join(folder, 'file')]
      const sha256 = createHash('sha256').update(content).digest('hex')
      writeFileSync(path, content)
      await store.put(id, { path, bytes, sha256 })
      const name = `${n}.bin`
      const contentType = 'application/octet-stream'
      await insertFile(database, id, {
        projectId: null,
        ownerId,
        name,
        contentType,
        declaredContentType: null,
        bytes,
        sha256,
      })
    }
  } finally {
    await database.close()
  }
}

async function emptyDatabase(serverUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  await client.query('CREATE DATABASE bench_restored')
  await client.end()
  const url = new URL(serverUrl)
  url.pathname = '/bench_restored'
  return url.href
}

function mebibytes(bytes: number): string {
  return count(bytes / 2 ** 20)
}
