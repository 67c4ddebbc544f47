// Starts the server and the worker as processes, as in production, which a test can stop and kill.
import { spawn, type ChildProcess } from 'node:child_process'
import { hash } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { readConfig } from '../../../infra/config/config.ts'
import { newSecret } from '../../../infra/encryption/api-key-format.ts'
import { highLimits } from './high-limits.ts'
import { testSecretKey } from '../database/database.ts'

export interface ServerProcess {
  url: string
  /** The output so far, stdout and stderr. */
  output(): string
  child: ChildProcess
  /** Sends the signal and waits until the process exits. */
  end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>
}

export const bootstrapKey = newSecret('test')

const root = join(import.meta.dirname, '../../..')

const settings = {
  PORT: '0',
  BOOTSTRAP_API_KEY: bootstrapKey,
  ...highLimits,
  LOG_LEVEL: 'warn',
  WEBHOOK_ALLOWED_PORTS: '1-65535',
  SECRET_KEY: testSecretKey,
}

/** The variables that a server of a test inherits from this process. Settings are not among them. */
export function inheritedEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, NODE_OPTIONS, TEST_HANDLERS } = process.env
  return { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, NODE_OPTIONS, TEST_HANDLERS }
}

/** A folder for the files of each database: a store belongs to one. The test runner deletes it. */
export function ownStore({ DATABASE_URL, DATA_DIR }: Record<string, string>): Record<string, string> {
  if (DATABASE_URL === undefined || DATA_DIR !== undefined) return {}
  return { STORAGE_DIR: join(tmpdir(), `files-of-${hash('sha256', DATABASE_URL).slice(0, 16)}`) }
}

/**
 * Starts app/main.ts in the project's folder or a copy of it, and waits until it serves.
 * Throws with the output of the process if it exits.
 */
export async function spawnServer(
  t: Pick<Test, 'teardown'>,
  env: Record<string, string>,
  folder = root,
): Promise<ServerProcess> {
  const { ready, ...server } = await spawnScript(t, 'app/main.ts', env, /serving at (http:\/\/\S+)/, folder)
  return { url: ready[1], ...server }
}

/**
 * Starts the same server in this process, which has loaded its modules, for a test that neither kills it nor
 * reads its log.
 */
export async function startServerHere(
  t: Pick<Test, 'teardown'>,
  env: Record<string, string>,
): Promise<{ url: string; progress: string[] }> {
  // Only now: most users of this file load no server.
  const { startServer } = await import('../../../app/server.ts')
  const config = readConfig({ ...settings, LOG_LEVEL: 'fatal', ...ownStore(env), ...env })
  const progress: string[] = []
  const onProgress = (message: string): number => progress.push(message)
  const { url, stop } = await startServer(config, { isTerminal: false, onProgress })
  t.teardown(stop)
  return { url, progress }
}

export type WorkerProcess = Omit<ServerProcess, 'url'>

/** Starts app/worker.ts in the project's folder or a copy of it, and waits until it is ready. */
export async function spawnWorker(
  t: Pick<Test, 'teardown'>,
  env: Record<string, string>,
  folder = root,
): Promise<WorkerProcess> {
  const { ready: _ready, ...worker } = await spawnScript(t, 'app/worker.ts', env, /working;/, folder)
  return worker
}

async function spawnScript(
  t: Pick<Test, 'teardown'>,
  script: string,
  env: Record<string, string>,
  says: RegExp,
  folder = root,
): Promise<WorkerProcess & { ready: RegExpExecArray }> {
  const child = spawn(process.execPath, [script], {
    cwd: folder,
    env: { ...inheritedEnvironment(), ...settings, ...ownStore(env), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await ended
    }
  })
  let output = ''
  const ready = await new Promise<RegExpExecArray>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk
      const found = says.exec(output.replace(/\x1b\[\d+m/g, ''))
      if (found) resolve(found)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    void ended.then(({ code, signal }) =>
      reject(new Error(`${script} exited (${code ?? signal}):\n${output}`)),
    )
  })
  return {
    ready,
    output: () => output,
    child,
    async end(signal) {
      child.kill(signal)
      return await ended
    },
  }
}
