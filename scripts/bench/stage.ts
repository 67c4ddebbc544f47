// The environment of a benchmark run: a temporary folder, a temporary PostgreSQL and the measured processes.
// Everything is removed at the end of the run.
import { spawn, type ChildProcess } from 'node:child_process'
import { hash, randomUUID } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../infra/postgres/embedded.ts'
import { clusterFolder } from '../../infra/postgres/cluster.ts'
import type { Times } from './packages.ts'

export interface Program {
  pid: number
  /** CPU seconds, user and system, since the start. */
  cpu(): Promise<number>
  /** Records a CPU profile of the work. */
  profile(work: () => Promise<unknown>): Promise<Times>
  /** Sends a message. @returns the property `key` of the first answer that has it. */
  ask<Answer>(message: string, key: string): Promise<Answer>
  /** The first match in the output, past or future. */
  says(pattern: RegExp): Promise<RegExpExecArray>
  /** The total CPU seconds after the process exits by itself. Throws if it fails. */
  ended: Promise<number>
  stop(): Promise<void>
}

export interface Stage {
  folder: string
  /** Starts PostgreSQL on the first call. */
  postgres(): Promise<{ url: string; dataDir: string }>
  /** Runs a program with this Node. Its stdout goes to a file: a pipe would slow a server that logs. */
  run(file: string, args?: string[], env?: Record<string, string>): Program
  close(): Promise<void>
}

/** As `npm start` does, and then the reports. */
const preloads = ['../../app/compile-cache.js', 'cpu.ts'].flatMap((file) => [
  '--import',
  join(import.meta.dirname, file),
])
const app = join(import.meta.dirname, '../../app')

export function openStage(): Stage {
  const folder = mkdtempSync(join(tmpdir(), 'platform-bench-'))
  const programs = new Set<Program>()
  let closing: Promise<void> | undefined
  let database: Promise<{ url: string; dataDir: string; stop: () => Promise<void> }> | undefined
  // In case the process ends without close().
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  return {
    folder,
    postgres: async () => await (database ??= startPostgres(join(folder, 'postgres'))),
    run(file, args = [], env = {}) {
      if (closing !== undefined) throw new Error('the benchmark has ended')
      const program = start(file, args, { ...storeOf(folder, env), ...env }, join(folder, randomUUID()))
      programs.add(program)
      void program.ended.catch(() => {}).finally(() => programs.delete(program))
      return program
    },
    close: () => (closing ??= close()),
  }

  async function close(): Promise<void> {
    await Promise.all([...programs].map((program) => program.stop()))
    await database?.then(
      ({ stop }) => stop(),
      () => {},
    )
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** A folder for the files of each database, because a store belongs to one. */
function storeOf(folder: string, { DATABASE_URL, DATA_DIR }: Record<string, string>): Record<string, string> {
  if (DATABASE_URL === undefined || DATA_DIR !== undefined) return {}
  return { STORAGE_DIR: join(folder, `files-${hash('sha256', DATABASE_URL).slice(0, 16)}`) }
}

async function startPostgres(
  dataDir: string,
): Promise<{ url: string; dataDir: string; stop: () => Promise<void> }> {
  const { url, stop } = await startEmbedded({ dataDir, whenRunning: 'refuse', throwaway: true })
  return { url, dataDir, stop }
}

/** All measured servers of a run share a database. */
const secretKey = 'the-secret-key-of-all-measured-servers'

function start(file: string, args: string[], env: Record<string, string>, stdoutFile: string): Program {
  const stdout = openSync(stdoutFile, 'w')
  // Other servers have Node's default.
  const threads = file.startsWith(app) ? ['--v8-pool-size=1'] : []
  const child = spawn(process.execPath, [...threads, ...preloads, file, ...args], {
    // Its own process group: Ctrl-C reaches only the benchmark, which stops the process.
    detached: true,
    stdio: ['ignore', stdout, 'pipe', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', SECRET_KEY: secretKey, ...env },
  })
  closeSync(stdout)
  let text = ''
  let cpu = 0
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  child.on('message', (message: { ended?: number }) => {
    cpu = message.ended ?? cpu
  })
  const over = new Promise<number | null>((resolve) => {
    child.once('close', (code) => resolve(code))
    child.once('error', () => resolve(null))
  })
  const ended = over.then((code) => {
    if (code !== 0) throw new Error(`${file} exited with ${code}:\n${text.slice(-4000)}`)
    return cpu
  })
  ended.catch(() => {})
  return {
    pid: child.pid!,
    ended,
    cpu: () => ask(child, 'cpu', 'cpu'),
    ask: (message, key) => ask(child, message, key),
    async profile(work) {
      await ask(child, 'start profile', 'profiling')
      await work()
      return await ask(child, 'end profile', 'profile')
    },
    says: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.exec(text + readFileSync(stdoutFile, 'utf8'))
          if (found === null) return
          clearInterval(timer)
          resolve(found)
        }
        const timer = setInterval(look, 5)
        ended.catch(() => {}).finally(() => clearInterval(timer))
        ended.then(
          () => reject(new Error(`${file} exited without ${pattern}:\n${text.slice(-4000)}`)),
          reject,
        )
        look()
      }),
    async stop() {
      child.kill('SIGKILL')
      await over
    },
  }
}

function ask<Answer>(child: ChildProcess, question: string, key: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const hear = (message: object): void => {
      if (!(key in message)) return
      child.off('message', hear)
      resolve((message as Record<string, Answer>)[key])
    }
    child.on('message', hear)
    child.send(question, (error) => {
      if (error !== null) reject(error)
    })
  })
}

/** PostgreSQL's CPU seconds so far; 0 on systems without /proc. */
export function postgresCpu(dataDir: string): number {
  try {
    const postmaster = readFileSync(join(clusterFolder(dataDir), 'postmaster.pid'), 'utf8').split('\n')[0]
    // Fields after the name in brackets: [1] parent, [13] and [14] ticks of exited children.
    const fields = (pid: string): string[] =>
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
    const ofPostmaster = fields(postmaster)
    let seconds = (Number(ofPostmaster[13]) + Number(ofPostmaster[14])) / 100
    for (const pid of readdirSync('/proc')) {
      if (!/^\d+$/.test(pid)) continue
      try {
        // In nanoseconds, where ticks of 10 ms are too coarse for a short round.
        if (pid === postmaster || fields(pid)[1] === postmaster)
          seconds += Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9
      } catch {
        // The process has exited.
      }
    }
    return seconds
  } catch {
    return 0
  }
}
