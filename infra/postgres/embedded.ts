// The embedded database: one server at a time runs PostgreSQL on a data folder and restarts it when it
// crashes. A second server refuses to start or attaches to the running database.
import { randomInt } from 'node:crypto'
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { accountFor } from './account.ts'
import { findBinaries } from './binaries.ts'
import { ADMINISTRATOR, clusterFolder, damaged, passwordFile, prepareCluster } from './cluster.ts'
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
  /** What to do when another server already runs the database of this folder. */
  whenRunning: 'attach' | 'refuse'
  onProgress?: (message: string) => void
  /** Trades durability for speed; for tests only. */
  throwaway?: boolean
}

const DATABASE = 'platform'
const ATTACH_LIMIT_MS = 60_000
const PORT_ATTEMPTS = 10

/**
 * Below the ports that operating systems use for outgoing connections, so that a restarted database finds its
 * port free.
 */
const PORTS = { from: 20_000, to: 32_000 }

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
    const url = running === undefined ? undefined : await attach(dataDir, running.port)
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
    rmSync(runningFile(dataDir), { force: true })
    const binaries = findBinaries()
    const folder = clusterFolder(dataDir)
    await stopOrphanProcesses(folder, binaries.postgres, onProgress)
    const account = accountFor(folder, binaries.postgres)
    const cluster = await prepareCluster({ dataDir, binaries, account, throwaway, onProgress })
    const setup = { binaries, account, cluster, throwaway, logFile: join(dataDir, 'postgres.log') }

    const first = await startOnFreePort(setup)
    postmaster = first.postmaster
    process.once('exit', abandon)
    await createDatabase(first.port, cluster.password, cluster.folder)
    writeRunning(dataDir, first.port)

    const stopKeeping = keepAlive(
      { ...setup, port: first.port },
      postmaster,
      (next) => {
        postmaster = next
      },
      onProgress,
    )
    return {
      url: databaseUrl(first.port, cluster.password),
      adopted: false,
      stop: async () => {
        await stopKeeping()
        process.off('exit', abandon)
        rmSync(runningFile(dataDir), { force: true })
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

async function startOnFreePort(
  setup: Omit<PostmasterOptions, 'port'>,
): Promise<{ postmaster: Postmaster; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort()
    try {
      return { postmaster: await startPostmaster({ ...setup, port }), port }
    } catch (error) {
      // Another process took the port in the meantime.
      const portTaken =
        error instanceof PostmasterExit && /could not create any TCP\/IP sockets/.test(error.complaint)
      if (!portTaken || attempt === PORT_ATTEMPTS) throw error
    }
  }
}

async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to)
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer()
      probe.once('error', () => resolve(false))
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
    })
    if (free) return port
  }
}

/** Restarts the postmaster whenever it exits by itself, on the same port so that pools reconnect. */
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
async function createDatabase(port: number, password: string, folder: string): Promise<void> {
  const administrator = new pg.Client({
    host: '127.0.0.1',
    port,
    user: ADMINISTRATOR,
    password,
    database: 'postgres',
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

function databaseUrl(port: number, password: string): string {
  return `postgresql://${DATABASE}:${password}@127.0.0.1:${port}/${DATABASE}`
}

/** The URL of the running database, or undefined when it does not answer. */
async function attach(dataDir: string, port: number): Promise<string | undefined> {
  const url = databaseUrl(port, passwordToAttach(dataDir))
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
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

function writeRunning(dataDir: string, port: number): void {
  const unfinished = `${runningFile(dataDir)}.new`
  writeFileSync(unfinished, JSON.stringify({ pid: process.pid, port }))
  renameSync(unfinished, runningFile(dataDir))
}

function readRunning(dataDir: string): { pid: number; port: number } | undefined {
  try {
    return JSON.parse(readFileSync(runningFile(dataDir), 'utf8')) as { pid: number; port: number }
  } catch {
    return undefined
  }
}
