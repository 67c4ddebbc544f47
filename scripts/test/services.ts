// Starts a temporary PostgreSQL, Redis and S3 for a test run, and removes those of runs that were killed.
import { spawn } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findBinaries } from '../../infra/postgres/binaries.ts'
import { clusterFolder } from '../../infra/postgres/cluster.ts'
import { startEmbedded } from '../../infra/postgres/embedded.ts'
import { stopOrphanProcesses } from '../../infra/postgres/orphan-processes.ts'
import { distribute } from '../../infra/postgres/distribute.ts'
import { lockFolder } from '../../infra/postgres/lock.ts'
import { prepareDatabase } from '../../infra/prepare-database.ts'
import { administer, joinNodes, nodesOf } from './citus.ts'
import { acceptsConnections } from './accepts-connections.ts'
import { offerS3, s3Installed } from './s3-server.ts'
import { freePort } from './free-port.ts'
import { killProcessesOf, type LeftProcess } from './left-processes.ts'

export interface TestServices {
  /** The environment variables for the test files. Temporary files of the tests are in the run's folder. */
  env: Record<string, string>
  /** Ends the services and every other process of the run. @returns the other processes that still ran. */
  stop(): Promise<LeftProcess[]>
}

const PREFIX = 'platform-test-'
const TEMPLATE = 'platform_template'
/** Linux's file system in memory. */
const sharedMemory = '/dev/shm'
/** Bytes. */
const neededMemory = 4 * 2 ** 30

export async function startTestServices(): Promise<TestServices> {
  await clearKilledRuns()
  const folder = mkdtempSync(join(tmpdir(), PREFIX))
  const database = databaseFolder(folder)
  const stops: (() => Promise<void>)[] = []
  const stop = async (): Promise<LeftProcess[]> => {
    for (const one of stops.reverse()) await one()
    const left = killProcessesOf(folder)
    removeFolders(database, folder)
    return left
  }
  const temporary = join(folder, 'tmp')
  mkdirSync(temporary)
  try {
    const nodes = await startDatabase(database, stops)
    const redis = await startRedis(folder)
    if (redis !== undefined) stops.push(redis.stop)
    const s3 = s3Installed() ? await offerS3(folder) : undefined
    if (s3 !== undefined) stops.push(s3.stop)
    return {
      env: {
        TMPDIR: temporary,
        TEST_DATABASE_URL: nodes[0],
        TEST_DATABASE_WORKERS: nodes.slice(1).join(' '),
        ...(redis === undefined ? {} : { TEST_REDIS_URL: redis.url }),
        ...(s3 === undefined ? {} : { TEST_S3_SOCKET: s3.socket }),
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * The folder of the run's PostgreSQL: in memory where there is room, because a disk takes seconds of CPU to
 * create and remove the thousand files of each test's database. Where TMPDIR is set, it is in TMPDIR.
 */
function databaseFolder(runFolder: string): string {
  const memory = join(sharedMemory, basename(runFolder))
  return process.env['TMPDIR'] === undefined && freeBytes(sharedMemory) >= neededMemory
    ? memory
    : join(runFolder, 'postgres')
}

function freeBytes(folder: string): number {
  try {
    accessSync(folder, constants.W_OK)
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    // This system has no such folder.
    return 0
  }
}

function removeFolders(...folders: string[]): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/**
 * Starts a PostgreSQL, or takes the nodes of Citus whose coordinator `CITUS_URL` names.
 * @returns the address of each node, that of the coordinator first.
 */
async function startDatabase(folder: string, stops: (() => Promise<void>)[]): Promise<string[]> {
  const citus = process.env['CITUS_URL']
  if (citus !== undefined) {
    const nodes = await nodesOf(citus)
    stops.push(() => dropTemplate(nodes))
    await createDistributedTemplate(nodes)
    return nodes
  }
  const postgres = await startEmbedded({ dataDir: folder, whenRunning: 'refuse', throwaway: true })
  stops.push(postgres.stop)
  await createTemplate(postgres.url)
  return [postgres.url]
}

/** The template on each node. A copy of all of them is a distributed database of its own. */
async function createDistributedTemplate(nodes: string[]): Promise<void> {
  // A run that was killed left it. So one run at a time uses the nodes.
  await dropTemplate(nodes)
  for (const node of nodes) await administer(node, `CREATE DATABASE ${TEMPLATE}`)
  const template = await joinNodes(nodes, TEMPLATE)
  await prepareDatabase(template)
  await distribute(template, () => {})
  for (const node of nodes) {
    await administer(node, `ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`)
    await administer(
      node,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${TEMPLATE}'`,
    )
  }
}

async function dropTemplate(nodes: string[]): Promise<void> {
  for (const node of nodes) await administer(node, `DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`)
}

/**
 * The template of every test database. It accepts no connections, because a template in use cannot be
 * copied.
 */
async function createTemplate(url: string): Promise<void> {
  await administer(url, `CREATE DATABASE ${TEMPLATE}`)
  const template = new URL(url)
  template.pathname = `/${TEMPLATE}`
  await prepareDatabase(template.href)
  await administer(url, `ALTER DATABASE ${TEMPLATE} ALLOW_CONNECTIONS false`)
}

/** The database folder of a killed run is no longer locked. */
async function clearKilledRuns(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(PREFIX))) {
    const folder = join(tmpdir(), name)
    const database = [join(sharedMemory, name), join(folder, 'postgres')].find((one) =>
      existsSync(join(one, 'lock')),
    )
    // Without a lock file, another run is just starting.
    if (database === undefined) continue
    try {
      const release = lockFolder(database)
      if (release === null) continue
      killProcessesOf(folder)
      await stopOrphanProcesses(clusterFolder(database), findBinaries().postgres, () => {})
      release()
      removeFolders(database, folder)
    } catch {
      // It belongs to another user.
    }
  }
}

async function startRedis(folder: string): Promise<{ url: string; stop: () => Promise<void> } | undefined> {
  const binary = onPath('redis-server')
  if (binary === undefined) return undefined
  const port = await freePort()
  const args = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--appendonly',
    'no',
    '--dir',
    folder,
  ]
  // Detached, so that Ctrl-C does not stop the services before the tests.
  const server = spawn(binary, args, { detached: true, stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => {
    server.on('exit', () => resolve())
    server.on('error', () => resolve())
  })
  const stop = async () => {
    server.kill('SIGKILL')
    await ended
  }
  const deadline = Date.now() + 10_000
  while (!(await acceptsConnections(port))) {
    if (server.exitCode !== null || server.signalCode !== null || Date.now() > deadline) {
      await stop()
      throw new Error(`${binary} does not start. Fix or remove it, and run the tests again.`)
    }
    await sleep(20)
  }
  return { url: `redis://127.0.0.1:${port}`, stop }
}

function onPath(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
}
