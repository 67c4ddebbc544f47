// The embedded database: one server at a time runs PostgreSQL on a data folder and restarts it when it
// crashes. A second server refuses to start or attaches to the running database.
import { mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Client } from '../database/client.ts'
import { writePrivateFile } from '../encryption/private-file.ts'
import { accountFor } from './account.ts'
import { type Address, databaseUrl, possibleAddresses, removeAddress } from './address.ts'
import { findBinaries } from './binaries.ts'
import {
  ADMINISTRATOR,
  type Cluster,
  clusterFolder,
  damaged,
  passwordFile,
  prepareCluster,
} from './cluster.ts'
import { codeOf, EmbeddedPostgresError, reasonOf } from './errors.ts'
import { stopOrphanProcesses } from './orphan-processes.ts'
import { lockFolder } from './lock.ts'
import { type Postmaster, PostmasterExit, type PostmasterOptions, startPostmaster } from './postmaster.ts'

export { EmbeddedPostgresError } from './errors.ts'

export interface EmbeddedPostgres {
  /** The URL for the application: its role owns the database `platform` and may create others. */
  url: string
  /** Whether another server runs the database and this one is attached to it. */
  adopted: boolean
  /** Stops the database with a fast shutdown, or only detaches from an adopted one. */
  stop(): Promise<void>
}

export interface EmbeddedOptions {
  dataDir: string
  /** Attaches to a database of this folder that another server already runs, or refuses it. */
  whenRunning: 'attach' | 'refuse'
  onProgress?: (message: string) => void
  /** Trades durability for speed; for tests only. */
  throwaway?: boolean
}

const DATABASE = 'platform'
const ATTACH_LIMIT_MS = 60_000
const START_ATTEMPTS = 3

export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const dataDir = openFolder(options.dataDir)
  const deadline = Date.now() + ATTACH_LIMIT_MS
  for (;;) {
    const release = lockFolder(dataDir)
    if (release !== null) return await serve(dataDir, options, release)
    const running = readRunning(dataDir)
    if (options.whenRunning === 'refuse') {
      throw new EmbeddedPostgresError(
        `Another server${running === undefined ? '' : ` (process ${running.pid})`} uses the data ` +
          `folder ${dataDir}: stop it, or choose another data folder.`,
      )
    }
    const url = running === undefined ? undefined : await attach(dataDir, running)
    if (url !== undefined) return { url, adopted: true, stop: async () => {} }
    if (Date.now() > deadline)
      throw new EmbeddedPostgresError(
        `The server that uses the data folder ${dataDir} has not opened its database within a minute: ` +
          'look at its log, or stop it.',
      )
    await sleep(100)
  }
}

function openFolder(path: string): string {
  try {
    // When root runs the server, PostgreSQL's account only needs to pass through this folder.
    mkdirSync(path, { recursive: true, mode: process.getuid?.() === 0 ? 0o711 : 0o700 })
    return realpathSync(resolve(path))
  } catch (error) {
    throw unwritable(path, error)
  }
}

function unwritable(path: string, error: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `The data folder ${path} cannot be used (${reasonOf(error)}): let this user write there, or choose ` +
      'another data folder.',
  )
}

/** Starts the database under the lock and keeps it alive until stop(). */
async function serve(
  dataDir: string,
  options: EmbeddedOptions,
  release: () => void,
): Promise<EmbeddedPostgres> {
  const { throwaway = false, onProgress = () => {} } = options
  let postmaster: Postmaster | undefined
  const abandon = () => postmaster?.abandon()
  try {
    forgetRunning(dataDir)
    const binaries = findBinaries()
    const folder = clusterFolder(dataDir)
    await stopOrphanProcesses(folder, binaries.postgres, onProgress)
    const account = accountFor(folder, binaries.postgres)
    const cluster = await prepareCluster({ dataDir, binaries, account, throwaway, onProgress })
    const setup = { binaries, account, cluster, throwaway, logFile: join(dataDir, 'postgres.log') }

    const first = await startOnFreeAddress(dataDir, setup, onProgress)
    postmaster = first.postmaster
    process.once('exit', abandon)
    await createDatabase(first.address, cluster)
    writeRunning(dataDir, first.address)

    const stopKeeping = keepAlive(
      { ...setup, address: first.address },
      postmaster,
      (next) => {
        postmaster = next
      },
      onProgress,
    )
    return {
      url: urlAt(first.address, cluster.password),
      adopted: false,
      stop: async () => {
        await stopKeeping()
        process.off('exit', abandon)
        forgetRunning(dataDir)
        release()
      },
    }
  } catch (error) {
    process.off('exit', abandon)
    await postmaster?.stop()
    release()
    if (error instanceof EmbeddedPostgresError) throw error
    if (error instanceof PostmasterExit) throw damaged(clusterFolder(dataDir), error.complaint)
    throw unwritable(dataDir, error)
  }
}

async function startOnFreeAddress(
  dataDir: string,
  setup: Omit<PostmasterOptions, 'address'>,
  onProgress: (message: string) => void,
): Promise<{ postmaster: Postmaster; address: Address }> {
  let refused: unknown
  for await (const address of possibleAddresses(dataDir)) {
    try {
      return { postmaster: await startAlone({ ...setup, address }, onProgress), address }
    } catch (error) {
      removeAddress(address, dataDir)
      if (!isRefusedAddress(error)) throw error
      refused = error
    }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL can listen neither in ${dataDir} nor in the folder for temporary files ` +
      `(${reasonOf(refused)}): set TMPDIR to a folder of at most 60 characters that this user may write to.`,
  )
}

/**
 * A server that was killed may have spawned a postmaster that enters the folder after this start has looked
 * for orphans. PostgreSQL's lock file then refuses ours: the late one is stopped, and ours starts.
 */
async function startAlone(
  options: PostmasterOptions,
  onProgress: (message: string) => void,
): Promise<Postmaster> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startPostmaster(options)
    } catch (error) {
      if (attempt === START_ATTEMPTS || !isTakenFolder(error)) throw error
      await stopOrphanProcesses(options.cluster.folder, options.binaries.postgres, onProgress)
    }
  }
}

function isTakenFolder(error: unknown): boolean {
  const refusal = /lock file "postmaster\.pid" already exists|pre-existing shared memory block/
  return error instanceof PostmasterExit && refusal.test(error.complaint)
}

/**
 * Another process took the port in the meantime, the file system has no sockets, or PostgreSQL's account may
 * not pass through a folder above.
 */
function isRefusedAddress(error: unknown): boolean {
  const refusal = /could not (create any (TCP\/IP|Unix-domain) sockets|(create|open) lock file ".*\.s\.PGSQL)/
  return error instanceof PostmasterExit && refusal.test(error.complaint)
}

/** Restarts the postmaster whenever it exits by itself, on the same address so that pools reconnect. */
function keepAlive(
  options: PostmasterOptions,
  first: Postmaster,
  replace: (next: Postmaster) => void,
  onProgress: (message: string) => void,
): () => Promise<void> {
  const stopping = new AbortController()
  const stopped = new Promise<null>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(null), { once: true })
  })
  const keeping = (async () => {
    for (let current = first; ;) {
      const ending = await Promise.race([current.exited, stopped])
      if (ending === null) return current.stop()
      onProgress(`PostgreSQL ended unexpectedly (${ending}): starting it again`)
      const next = await restart(options, stopping.signal, onProgress)
      if (next === undefined) return
      replace(next)
      current = next
      onProgress('PostgreSQL is running again')
    }
  })()
  return () => {
    stopping.abort()
    return keeping
  }
}

async function restart(
  options: PostmasterOptions,
  stopping: AbortSignal,
  onProgress: (message: string) => void,
): Promise<Postmaster | undefined> {
  let lastReason = ''
  for (let pause = 50; !stopping.aborted; pause = Math.min(pause * 2, 2_000)) {
    try {
      await stopOrphanProcesses(options.cluster.folder, options.binaries.postgres, onProgress)
      return await startPostmaster(options)
    } catch (error) {
      const reason = reasonOf(error)
      if (reason !== lastReason) onProgress(`PostgreSQL does not start (${reason}): retrying`)
      lastReason = reason
    }
    await sleep(pause)
  }
  return undefined
}

/** Each step completes what a start that was killed left incomplete. */
async function createDatabase(address: Address, { password, folder }: Cluster): Promise<void> {
  const administrator = new Client({
    connectionString: databaseUrl(address, { role: ADMINISTRATOR, password, database: 'postgres' }),
  })
  administrator.on('error', () => {})
  try {
    await administrator.connect()
    const role = await administrator.query('SELECT FROM pg_roles WHERE rolname = $1', [DATABASE])
    if (role.rowCount === 0)
      await administrator.query(
        `CREATE ROLE ${DATABASE} LOGIN CREATEDB PASSWORD ${pg.escapeLiteral(password)}`,
      )
    const database = await administrator.query('SELECT FROM pg_database WHERE datname = $1', [DATABASE])
    if (database.rowCount === 0) await administrator.query(`CREATE DATABASE ${DATABASE} OWNER ${DATABASE}`)
  } catch (error) {
    throw damaged(folder, reasonOf(error))
  } finally {
    await administrator.end().catch(() => {})
  }
}

function urlAt(address: Address, password: string): string {
  return databaseUrl(address, { role: DATABASE, password, database: DATABASE })
}

/** The URL of the running database, or undefined when it does not answer. */
async function attach(dataDir: string, address: Address): Promise<string | undefined> {
  const url = urlAt(address, passwordToAttach(dataDir))
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return url
  } catch {
    return undefined
  } finally {
    await client.end().catch(() => {})
  }
}

function passwordToAttach(dataDir: string): string {
  try {
    return readFileSync(passwordFile(dataDir), 'utf8').trim()
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The password of the running database cannot be read (${codeOf(error)}): run this as the user ` +
        'who started the server.',
    )
  }
}

function runningFile(dataDir: string): string {
  return join(dataDir, 'running.json')
}

interface RunningServer extends Address {
  pid: number
}

function writeRunning(dataDir: string, address: Address): void {
  writePrivateFile(runningFile(dataDir), JSON.stringify({ pid: process.pid, ...address }))
}

function readRunning(dataDir: string): RunningServer | undefined {
  try {
    return JSON.parse(readFileSync(runningFile(dataDir), 'utf8')) as RunningServer
  } catch {
    return undefined
  }
}

/** Removes what a server that no longer runs recorded. */
function forgetRunning(dataDir: string): void {
  const running = readRunning(dataDir)
  if (running !== undefined) removeAddress(running, dataDir)
  rmSync(runningFile(dataDir), { force: true })
}
