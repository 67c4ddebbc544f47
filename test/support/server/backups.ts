// Backups in tests: the commands, and a comparison of databases that does not use their code.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { format } from 'node:util'
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

/** The command has ended the process. */
class Exit extends Error {
  readonly code: number

  constructor(code: number) {
    super()
    this.code = code
  }
}

/**
 * Runs the command in this process, which has loaded its modules: a process of its own takes half a second of
 * CPU for that. test/backup/embedded.test.ts and test/docs/operator-commands.test.ts start processes.
 */
export async function command(
  script: 'backup' | 'restore' | 'verify' | 'admin' | 'migrate',
  args: string[],
  env: Settings,
): Promise<{ code: number; out: string; err: string }> {
  const path = join(import.meta.dirname, '../../../scripts', script, 'main.ts')
  let [out, err] = ['', '']
  const replaced: Array<() => void> = []
  const replace = (object: object, name: string, value: unknown): void => {
    const before = Object.getOwnPropertyDescriptor(object, name)!
    Object.defineProperty(object, name, { value, configurable: true, writable: true, enumerable: true })
    replaced.unshift(() => Object.defineProperty(object, name, before))
  }
  replace(process, 'env', { ...inheritedEnvironment(), SECRET_KEY: testSecretKey, ...env })
  replace(process, 'argv', [process.execPath, path, ...args])
  replace(process, 'exit', (code: number) => {
    throw new Exit(code)
  })
  replace(process, 'stderr', { on() {}, write: (text: string) => (err += text) })
  replace(console, 'log', (...values: unknown[]) => (out += `${format(...values)}\n`))
  replace(console, 'error', (...values: unknown[]) => (err += `${format(...values)}\n`))
  const { exitCode } = process
  const folder = process.cwd()
  // It may have a file .env.
  process.chdir(tmpdir())
  try {
    process.exitCode = 0
    // A module runs once; another address makes it another one.
    await import(`${pathToFileURL(path)}?run=${randomUUID()}`)
    return { code: Number(process.exitCode), out, err }
  } catch (error) {
    if (error instanceof Exit) return { code: error.code, out, err }
    throw error
  } finally {
    process.exitCode = exitCode
    process.chdir(folder)
    for (const restore of replaced) restore()
  }
}

/** Runs the command in a process of its own, as an operator does. */
export async function commandProcess(
  script: 'backup' | 'restore',
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
  const hashes = tables.map(
    ({ name }) =>
      `SELECT '${name}' AS name, count(*) || ' ' ||
         md5(coalesce(string_agg(md5(t::text), '' ORDER BY md5(t::text)), '')) AS hash
       FROM "${name}" t`,
  )
  const rows = await query(url, hashes.join(' UNION ALL '))
  return Object.fromEntries(rows.map(({ name, hash }) => [name, hash]))
}
