// Runs one postmaster: starts it, waits until it answers, and stops it with a fast shutdown. It runs in a
// session of its own, so that Ctrl-C does not stop it before the server has drained its requests.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { closeSync, copyFileSync, openSync, readSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from '../database/client.ts'
import type { Account } from './account.ts'
import { type Address, addressSettings, databaseUrl, prepareAddress } from './address.ts'
import type { PostgresBinaries } from './binaries.ts'
import { ADMINISTRATOR, type Cluster, damaged, postgresEnvironment } from './cluster.ts'
import { codeOf, EmbeddedPostgresError, reasonOf } from './errors.ts'
import { recordedPid } from './orphan-processes.ts'

export interface PostmasterOptions {
  binaries: PostgresBinaries
  account: Account
  cluster: Cluster
  logFile: string
  address: Address
  throwaway: boolean
}

export interface Postmaster {
  /** Resolves with a description when the process has exited. */
  exited: Promise<string>
  stop(): Promise<void>
  /** Requests a fast shutdown without waiting, for a process that is exiting itself. */
  abandon(): void
}

/** The postmaster exited before it answered. `complaint` is its last error message. */
export class PostmasterExit extends Error {
  readonly complaint: string
  constructor(complaint: string) {
    super(complaint)
    this.complaint = complaint
  }
}

const LOG_LIMIT_BYTES = 8 * 1024 * 1024
const SILENCE_LIMIT_MS = 60_000
const STOP_TIMEOUTS: [NodeJS.Signals, number][] = [
  ['SIGINT', 30_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
]

const SETTINGS = {
  password_encryption: 'scram-sha-256',
  max_connections: '100',
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  // Limits the write-ahead log that a restart after a crash must replay.
  max_wal_size: '256MB',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Server events are logged; failed statements are not, because they contain personal data.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
}

const THROWAWAY_SETTINGS = {
  // For the servers of all tests that run at a time.
  max_connections: '300',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  io_method: 'sync',
  // In the cluster's folder, which is removed as a whole: a killed server leaves its shared memory behind.
  dynamic_shared_memory_type: 'mmap',
  autovacuum_naptime: '60s',
}

/** Resolves when the postmaster answers; rejects with PostmasterExit when it exits before that. */
export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const { binaries, account, cluster, logFile, address, throwaway } = options
  prepareAddress(address, account)
  limitLog(logFile)
  const log = openSync(logFile, 'a', 0o600)
  const logStart = statSync(logFile).size
  const settings = { ...SETTINGS, ...(throwaway ? THROWAWAY_SETTINGS : {}), ...addressSettings(address) }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const {
    command,
    args,
    options: identity,
  } = account.run(binaries.postgres, ['-D', cluster.folder, ...flags])
  const child = spawn(command, args, {
    ...identity,
    cwd: '/',
    detached: true,
    env: postgresEnvironment(),
    stdio: ['ignore', log, log],
    windowsHide: true,
  })
  closeSync(log)

  let ended: string | undefined
  const exited = new Promise<string>((resolve) => {
    const end = (how: string) => {
      ended = how
      resolve(how)
    }
    child.on('error', (error) => end(reasonOf(error)))
    child.on('exit', (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`))
  })

  const stop = async () => {
    const timeouts = throwaway ? STOP_TIMEOUTS.slice(1) : STOP_TIMEOUTS
    for (const [signal, limit] of timeouts) {
      if (ended !== undefined) return
      if (process.platform === 'win32')
        execFile(binaries.pgCtl, ['stop', '-m', 'fast', '-D', cluster.folder], () => {})
      else child.kill(signal)
      await Promise.race([exited, sleep(limit, undefined, { ref: false })])
    }
  }

  let silentSince = Date.now()
  for (;;) {
    if (ended !== undefined)
      throw new PostmasterExit(complaintOf(logFile, logStart) ?? `it ended with ${ended}`)
    const answer = await ask(address, cluster.password)
    if (answer === 'ready' && isServedBy(child, cluster.folder)) break
    // Crash recovery may take any time, as long as the server reports that it is starting.
    if (answer === 'starting') silentSince = Date.now()
    if (answer instanceof Error || Date.now() - silentSince > SILENCE_LIMIT_MS) {
      await stop()
      throw answer instanceof Error
        ? refusal(answer, cluster.folder)
        : new EmbeddedPostgresError(
            `PostgreSQL does not answer on ${cluster.folder}: look into ${logFile} and start again.`,
          )
    }
    await Promise.race([exited, sleep(25)])
  }

  const trimming = setInterval(() => limitLog(logFile), 60_000)
  trimming.unref()
  void exited.then(() => clearInterval(trimming))
  return {
    exited,
    stop,
    abandon: () => {
      child.kill('SIGINT')
    },
  }
}

/** Whether it is this process that answers, not one that a killed server had started a moment before. */
function isServedBy({ pid }: ChildProcess, folder: string): boolean {
  // There the process is a shell's.
  if (process.platform === 'win32') return true
  return recordedPid(join(folder, 'postmaster.pid')) === pid
}

/** Whether the server accepts its password: the only proof that it is ready and that it is this database. */
async function ask(address: Address, password: string): Promise<'ready' | 'starting' | 'silent' | Error> {
  const connectionString = databaseUrl(address, { role: ADMINISTRATOR, password, database: 'postgres' })
  const client = new Client({ connectionString, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    return 'ready'
  } catch (error) {
    const code = codeOf(error)
    if (code === '57P03') return 'starting'
    if (/^(28|XX|58|3D|42|22)/.test(code)) return error as Error
    return 'silent'
  } finally {
    await client.end().catch(() => {})
  }
}

function refusal(error: Error, folder: string): EmbeddedPostgresError {
  if (!codeOf(error).startsWith('28')) return damaged(folder, reasonOf(error))
  return new EmbeddedPostgresError(
    `The password file beside ${folder} does not open this database: delete that file and start again, ` +
      'and a new password is set.',
  )
}

/**
 * The reason that PostgreSQL wrote to its log after the position `start`. What it answered to a connection
 * during the start is none.
 */
function complaintOf(logFile: string, start: number): string | undefined {
  const file = openSync(logFile, 'r')
  try {
    const text = Buffer.alloc(64 * 1024)
    const lines = text
      .toString('utf8', 0, readSync(file, text, 0, text.length, start))
      .split('\n')
      .filter((line) => line !== '')
    const cause =
      lines.find((line) => /\b(FATAL|PANIC):(?! +the database system is )/.test(line)) ?? lines.at(-1)
    return cause?.replace(/^.*?\b(FATAL|PANIC):\s*/, '')
  } finally {
    closeSync(file)
  }
}

/**
 * Rotates a large log: the text is copied and the file truncated, because the postmaster keeps it open. An
 * error, such as that of a full disk, leaves the log as it is: the next call tries again.
 */
function limitLog(logFile: string): void {
  try {
    if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) <= LOG_LIMIT_BYTES) return
    copyFileSync(logFile, `${logFile}.1`)
    truncateSync(logFile)
  } catch {
    // The log is no reason to end the server, or not to start it.
  }
}
