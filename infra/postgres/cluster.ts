// The files of the embedded database: creates the folder atomically, stores its password, and detects damage.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Account } from './account.ts'
import type { PostgresBinaries } from './binaries.ts'
import { EmbeddedPostgresError, reasonOf } from './errors.ts'

export interface Cluster {
  /** PostgreSQL's data directory. */
  folder: string
  password: string
}

export interface ClusterOptions {
  dataDir: string
  binaries: PostgresBinaries
  account: Account
  throwaway: boolean
  onProgress: (message: string) => void
}

/** The administrator role. The application connects as `platform`, which owns the application's database. */
export const ADMINISTRATOR = 'postgres'

const UNFINISHED = 'unfinished-'

export function clusterFolder(dataDir: string): string {
  return join(dataDir, 'cluster')
}

export function passwordFile(dataDir: string): string {
  return join(dataDir, 'password')
}

/** The error for a folder that PostgreSQL cannot use. */
export function damaged(folder: string, what: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The database folder ${folder} is damaged (${what}): restore it from a backup, or move it away to ` +
      'start with an empty database.',
  )
}

/**
 * Makes sure that a complete database folder of the right version exists. The caller holds the folder's lock.
 */
export async function prepareCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir, binaries } = options
  removeUnfinished(dataDir)
  const folder = clusterFolder(dataDir)
  const known = readPassword(dataDir)
  if (isAbsent(folder)) {
    const password = known ?? writePassword(dataDir)
    await createCluster(options, folder, password)
    return { folder, password }
  }
  checkVersion(folder, binaries.major)
  if (known !== undefined) return { folder, password: known }
  const password = randomBytes(24).toString('hex')
  await resetPassword(options, folder, password)
  return { folder, password: writePassword(dataDir, password) }
}

function isAbsent(folder: string): boolean {
  try {
    return !existsSync(folder) || readdirSync(folder).length === 0
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The database folder ${folder} cannot be read (${reasonOf(error)}): give it to the user who ` +
        'starts the server, or choose another data folder.',
    )
  }
}

function checkVersion(folder: string, major: string): void {
  let found: string
  try {
    found = readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim()
  } catch {
    throw damaged(folder, 'its PG_VERSION cannot be read')
  }
  if (found === major) return
  if (!/^\d+$/.test(found)) throw damaged(folder, 'its PG_VERSION is unreadable')
  throw new EmbeddedPostgresError(
    `The database folder ${folder} was created by PostgreSQL ${found}, but this server runs PostgreSQL ` +
      `${major}: move the data with pg_dump of version ${found}, or move the folder away to start ` +
      'with an empty database.',
  )
}

/**
 * Deletes the incomplete folders of starts that were killed. What cannot be deleted stays until the next
 * start.
 */
function removeUnfinished(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    if (!name.startsWith(UNFINISHED)) continue
    try {
      rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 3 })
    } catch {
      // Its initdb may still write there. The name is never used again, so the folder does no harm.
    }
  }
}

async function createCluster(options: ClusterOptions, folder: string, password: string): Promise<void> {
  const { dataDir, binaries, account, throwaway, onProgress } = options
  onProgress(`creating an empty database in ${folder}`)
  const unfinished = join(dataDir, UNFINISHED + randomBytes(6).toString('hex'))
  const secret = `${unfinished}.password`
  try {
    mkdirSync(unfinished, { mode: 0o700 })
    account.own(unfinished)
    writeFileSync(secret, password, { mode: 0o600, flag: 'wx' })
    account.own(secret)
    await runToEnd(account, binaries.initdb, [
      `--pgdata=${unfinished}`,
      `--username=${ADMINISTRATOR}`,
      `--pwfile=${secret}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
      // A password for one iteration: the tests open thousands of connections, and it protects nothing.
      ...(throwaway ? ['--no-sync', '--set=scram_iterations=1'] : []),
    ])
    rmSync(secret)
    renameSync(unfinished, folder)
    syncFolder(dataDir)
  } catch (error) {
    rmSync(secret, { force: true })
    rmSync(unfinished, { recursive: true, force: true, maxRetries: 3 })
    if (error instanceof EmbeddedPostgresError) throw error
    throw new EmbeddedPostgresError(
      `The database could not be created in ${dataDir} (${reasonOf(error)}): make room and let this ` +
        'user write there, or choose another data folder.',
    )
  }
}

function readPassword(dataDir: string): string | undefined {
  const path = passwordFile(dataDir)
  if (!existsSync(path)) return undefined
  try {
    return readFileSync(path, 'utf8').trim() || undefined
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The database password ${path} cannot be read (${reasonOf(error)}): start the server as the user ` +
        'who owns it.',
    )
  }
}

/** Writes the password file atomically. */
function writePassword(dataDir: string, password = randomBytes(24).toString('hex')): string {
  const unfinished = join(dataDir, UNFINISHED + randomBytes(6).toString('hex'))
  const file = openSync(unfinished, 'wx', 0o600)
  writeFileSync(file, password)
  fsyncSync(file)
  closeSync(file)
  renameSync(unfinished, passwordFile(dataDir))
  syncFolder(dataDir)
  return password
}

/** After the password file was deleted, sets a new password in PostgreSQL's single-user mode. */
async function resetPassword(
  { account, binaries, onProgress }: ClusterOptions,
  folder: string,
  password: string,
): Promise<void> {
  onProgress('the database password is missing: setting a new one')
  const statements = [ADMINISTRATOR, 'platform'].map((role) => `ALTER ROLE ${role} PASSWORD '${password}'\n`)
  try {
    await runToEnd(
      account,
      binaries.postgres,
      ['--single', '-D', folder, '-c', 'password_encryption=scram-sha-256', 'postgres'],
      statements.join(''),
    )
  } catch (error) {
    throw damaged(folder, reasonOf(error))
  }
}

function runToEnd(account: Account, binary: string, args: string[], input = ''): Promise<void> {
  const { command, args: all, options } = account.run(binary, args)
  return new Promise((resolve, reject) => {
    const child = spawn(command, all, {
      ...options,
      cwd: '/',
      env: postgresEnvironment(),
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    let complaint = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-4000)
    })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (code === 0) return resolve()
      const line =
        complaint
          .split('\n')
          .filter((text) => /error|FATAL|PANIC/i.test(text))
          .at(-1) ?? complaint.trim()
      reject(new Error(line.replace(/^.*?(error|FATAL|PANIC):\s*/i, '') || `it ended with ${signal ?? code}`))
    })
  })
}

/** PostgreSQL inherits no settings and no secrets from the server's environment. */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  const { PATH, SystemRoot, TEMP, TMPDIR } = process.env
  return { PATH, SystemRoot, TEMP, TMPDIR, LC_ALL: 'C', TZ: 'UTC' }
}

export function syncFolder(folder: string): void {
  // Windows cannot open a folder; its file systems journal renames themselves.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  fsyncSync(handle)
  closeSync(handle)
}
