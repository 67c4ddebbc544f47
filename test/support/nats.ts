// A NATS server for a test.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { Test } from 'tap'
import { freePort } from '../../scripts/test/free-port.ts'
import { acceptsConnections } from './accepts-connections.ts'
import { waitUntil } from './wait.ts'

const binary = ['/usr/sbin/nats-server', '/usr/bin/nats-server'].find((path) => existsSync(path))

/** The `skip` option of a test that needs NATS. */
export const skipWithoutNats = binary === undefined && 'no nats-server'

export interface NatsServer {
  url: string
  stop(): Promise<void>
  start(): Promise<void>
  /** Stops the process (SIGSTOP): connections stay, and nothing is answered. */
  pause(): Promise<void>
  resume(): Promise<void>
}

/** Starts a server with a password. The end of the test stops it. */
export async function startNats(t: Pick<Test, 'teardown'>): Promise<NatsServer> {
  const port = await freePort()
  let running: ChildProcess | null = null
  const start = async (): Promise<void> => {
    running = spawn(binary!, ['-a', '127.0.0.1', '-p', String(port), '--user', 'us er', '--pass', 'p@ss'], {
      stdio: 'ignore',
    })
    await waitUntil(() => acceptsConnections(port), 'the NATS server')
  }
  const stop = async (): Promise<void> => {
    const process = running
    running = null
    process?.kill('SIGCONT')
    if (process === null || process.exitCode !== null) return
    process.kill('SIGKILL')
    await once(process, 'exit')
  }
  await start()
  t.teardown(stop)
  const signal = (name: NodeJS.Signals) => async (): Promise<void> => void running?.kill(name)
  return {
    url: `nats://us%20er:p%40ss@127.0.0.1:${port}`,
    start,
    stop,
    pause: signal('SIGSTOP'),
    resume: signal('SIGCONT'),
  }
}
