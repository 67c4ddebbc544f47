// Stops PostgreSQL processes that a killed server left behind in the data folder. A process is recognized as
// a `postgres` that runs in this folder, never by a process id in a file, which may belong to another process
// by now.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf, EmbeddedPostgresError } from './errors.ts'

interface Found {
  pid: number
  binary: string
}

/** Milliseconds that each signal (fast shutdown, immediate shutdown, kill) gets before the next one. */
const SIGNAL_TIMEOUTS: [NodeJS.Signals, number][] = [
  ['SIGINT', 15_000],
  ['SIGQUIT', 5_000],
  ['SIGKILL', 5_000],
]

/** Stops what still runs in the folder, so that a new postmaster can start there. */
export async function stopOrphanProcesses(
  folder: string,
  binary: string,
  onProgress: (message: string) => void,
): Promise<void> {
  const pidFile = join(folder, 'postmaster.pid')
  const recorded = recordedPid(pidFile)
  const found = processesIn(folder, recorded)
  const postmaster = found.find(({ pid }) => pid === recorded)
  if (postmaster !== undefined) {
    if (postmaster.binary !== realpath(binary)) {
      throw new EmbeddedPostgresError(
        `Another PostgreSQL (process ${postmaster.pid}, ${postmaster.binary}) serves the database ` +
          `folder ${folder}: stop it and start again.`,
      )
    }
    onProgress(`stopping the PostgreSQL that an earlier run left behind (process ${postmaster.pid})`)
    await end(postmaster.pid, folder, recorded)
  }
  await endOrphans(folder, recorded)
  // PostgreSQL trusts the file: a process id that another process has by now would prevent its start.
  if (recorded !== undefined && isAlive(recorded)) rmSync(pidFile, { force: true })
}

async function end(pid: number, folder: string, recorded: number | undefined): Promise<void> {
  for (const [signal, timeout] of SIGNAL_TIMEOUTS) {
    send(pid, signal)
    const deadline = Date.now() + timeout
    while (Date.now() < deadline) {
      if (!processesIn(folder, recorded).some((found) => found.pid === pid)) return
      await sleep(20)
    }
  }
  throw new EmbeddedPostgresError(
    `The PostgreSQL that an earlier run left behind (process ${pid}) cannot be stopped: end it by hand ` +
      'and start again.',
  )
}

/**
 * Backends exit when their postmaster is gone. A busy backend is killed; crash recovery repairs its changes.
 */
async function endOrphans(folder: string, recorded: number | undefined): Promise<void> {
  const leaving = Date.now() + 1_000
  for (;;) {
    const orphans = processesIn(folder, recorded)
    if (orphans.length === 0) return
    if (Date.now() > leaving) for (const { pid } of orphans) send(pid, 'SIGKILL')
    if (Date.now() > leaving + 5_000) {
      throw new EmbeddedPostgresError(
        'PostgreSQL processes of an earlier run cannot be ended ' +
          `(${orphans.map(({ pid }) => pid).join(', ')}): end them by hand and start again.`,
      )
    }
    await sleep(20)
  }
}

/** The process that PostgreSQL's lock file names; undefined without a readable one. */
export function recordedPid(pidFile: string): number | undefined {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8').split('\n', 1)[0])
    return Number.isSafeInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

function processesIn(folder: string, recorded: number | undefined): Found[] {
  if (process.platform === 'linux') return fromProc(folder)
  if (recorded === undefined || process.platform === 'win32') return []
  return fromPs(folder, recorded)
}

/** PostgreSQL's processes run in their data folder; /proc shows the folder and the binary of each process. */
function fromProc(folder: string): Found[] {
  const place = realpath(folder)
  const found: Found[] = []
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      if (readlinkSync(`/proc/${name}/cwd`) !== place) continue
      // A reinstalled package leaves the running binary deleted.
      const binary = readlinkSync(`/proc/${name}/exe`).replace(/ \(deleted\)$/, '')
      if (basename(binary) === 'postgres') found.push({ pid: Number(name), binary })
    } catch {
      // It exited in the meantime, or belongs to another user.
    }
  }
  return found
}

function fromPs(folder: string, pid: number): Found[] {
  try {
    const line = execFileSync('ps', ['-o', 'command=', '-p', String(pid)], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
    const [binary, rest] = line.split(' -D ')
    if (binary === undefined || rest === undefined || !rest.startsWith(folder)) return []
    return basename(binary) === 'postgres' ? [{ pid, binary: realpath(binary) }] : []
  } catch {
    return []
  }
}

function realpath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has exited already.
  }
}
