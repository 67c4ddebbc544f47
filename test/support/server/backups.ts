// Backups in tests: the commands as processes, and a comparison of databases that does not use their code.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { readConfig } from '../../../infra/config/config.ts'
import { openDatabase } from '../../../infra/database/database.ts'
import { writeBackup, type BackupResult } from '../../../services/backup/backup.ts'
import { openBackup, openTarget } from '../../../services/backup/open-target.ts'
import { restoreBackup, type RestoreResult } from '../../../services/backup/restore.ts'
import { openBlobStore } from '../../../services/storage/storage.ts'
import { testSecretKey } from '../database/database.ts'
import { inheritedEnvironment } from './process.ts'

export type Settings = Record<string, string>

export function newFolder(t: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'backup-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export async function command(
  script: 'backup' | 'restore' | 'verify' | 'admin',
  args: string[],
  env: Settings,
): Promise<{ code: number; out: string; err: string }> {
  return await new Promise((resolve) => {
    execFile(
      process.execPath,
      [join(import.meta.dirname, '../../../scripts', script, 'main.ts'), ...args],
      { env: { ...inheritedEnvironment(), SECRET_KEY: testSecretKey, ...env }, cwd: tmpdir() },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    )
  })
}

/** Backs up the database and the store of these settings in this process. */
export async function backUp(env: Settings, target: string): Promise<BackupResult> {
  const config = readConfig({ SECRET_KEY: testSecretKey, ...env })
  const url = config.databaseUrl!
  const [database, store] = [openDatabase({ url, poolSize: 1 }), await openBlobStore(config)]
  const opened = await openTarget(target, { scratchFolder: config.storageDir })
  try {
    return await writeBackup({ url, database, store, target: opened })
  } finally {
    await opened.close()
    await store.close()
    await database.close()
  }
}

export async function restore(
  address: string,
  env: Settings,
  onProgress?: (message: string) => void,
): Promise<RestoreResult> {
  const config = readConfig({ SECRET_KEY: testSecretKey, ...env })
  const store = await openBlobStore(config)
  const url = config.databaseUrl!
  const tempFolder = config.storageDir
  const backup = await openBackup(address, { scratchFolder: tempFolder })
  try {
    return await restoreBackup({ backup, url, store, tempFolder, onProgress })
  } finally {
    await backup.target.close()
    await store.close()
  }
}

export async function query(url: string, text: string, values: unknown[] = []): Promise<any[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows
  } finally {
    await client.end()
  }
}

/** The number and a hash of the rows of each table. */
export async function contentsOf(url: string): Promise<Record<string, string>> {
  const tables = await query(
    url,
    `SELECT relname AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
       AND NOT relispartition AND relname NOT IN ('_prisma_migrations', 'restored_copy')`,
  )
  const contents: Record<string, string> = {}
  for (const { name } of tables) {
    const [row] = await query(
      url,
      `SELECT count(*) || ' ' || md5(coalesce(string_agg(md5(t::text), '' ORDER BY md5(t::text)), '')) AS hash
       FROM "${name}" t`,
    )
    contents[name] = row.hash
  }
  return contents
}
