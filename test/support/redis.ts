// A Redis server for a test that stops it.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../scripts/test/free-port.ts'
import { acceptsConnections } from './accepts-connections.ts'
import { waitUntil } from './wait.ts'

const binary = ['/usr/bin/redis-server', '/usr/local/bin/redis-server'].find((path) => existsSync(path))

/** The `skip` option of a test that needs Redis. */
export const skipWithoutRedis = binary === undefined && 'no redis-server'

export interface RedisServer {
  url: string
  start(): Promise<void>
  stop(): Promise<void>
  /** Stops the process (SIGSTOP): connections stay, and nothing is answered. */
  pause(): Promise<void>
  resume(): Promise<void>
}

/** The end of the test stops the server. */
export async function startRedis(t: Pick<Test, 'teardown'>, options: string[] = []): Promise<RedisServer> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'redis-'))
  let running: ChildProcess | null = null
  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder, ...options]
    running = spawn(binary!, args, { stdio: 'ignore' })
    await waitUntil(() => acceptsConnections(port), 'the Redis server')
  }
  const stop = async (): Promise<void> => {
    const process = running
    running = null
    process?.kill('SIGCONT')
    if (process === null || process.exitCode !== null) return
    process.kill('SIGKILL')
    await once(process, 'exit')
  }
  const signal = (name: NodeJS.Signals) => async (): Promise<void> => void running?.kill(name)
  await start()
  t.teardown(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    stop,
    pause: signal('SIGSTOP'),
    resume: signal('SIGCONT'),
  }
}
