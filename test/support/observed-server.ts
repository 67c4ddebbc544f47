// The server in a process of its own that can be asked what it holds: sockets, streams, timers, memory and
// processor time.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import type { Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { bootstrapKey } from './process.ts'

export interface Observation {
  streams: number
  /** Answers that the server generates. */
  generations: number
  /** File descriptors that are open; null where the system does not say. */
  descriptors: number | null
  /** Connections of clients. */
  sockets: number
  /** Those of which the client does not take what is written. */
  blocked: number
  /** The most bytes that wait in this process for one connection. */
  waiting: number
  /** What keeps the event loop alive, counted by kind. */
  resources: Record<string, number>
  /** After everything that can be freed was freed, in bytes. */
  heap: number
  /** Microseconds of processor time since the start. */
  cpu: number
  /** The longest that the event loop stood still since the last question, in ms. */
  stall: number
}

interface ObservedServer {
  url: string
  observe(): Promise<Observation>
}

/** Starts it with these settings; it is stopped when the test ends. */
export async function startObservedServer(
  t: Pick<Test, 'teardown'>,
  env: Record<string, string>,
): Promise<ObservedServer> {
  const child = fork(fileURLToPath(import.meta.url), {
    execArgv: ['--expose-gc'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      PORT: '0',
      BOOTSTRAP_API_KEY: bootstrapKey,
      RATE_LIMIT_DEFAULT: '1000000',
      RATE_LIMIT_WRITE: '1000000',
      STREAMS_PER_USER: '10000',
      LOG_LEVEL: 'fatal',
      ...env,
    },
  })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const answer = async (): Promise<any> =>
    await Promise.race([
      once(child, 'message').then(([message]) => message),
      ended.then(([code, signal]) => {
        throw new Error(`the server ended (${code ?? signal})`)
      }),
    ])
  const { url } = await answer()
  return {
    url,
    async observe() {
      const observed = answer()
      child.send('observe')
      return await observed
    },
  }
}

async function serve(): Promise<void> {
  const { startServer } = await import('../../app/server.ts')
  const { readConfig } = await import('../../infra/config/config.ts')
  const { app, services, url, stop } = await startServer(readConfig())
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const stalls = monitorEventLoopDelay({ resolution: 5 })
  stalls.enable()
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    const stall = Math.round(stalls.max / 1e6)
    const resources: Record<string, number> = {}
    for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
    globalThis.gc!()
    const open = [...sockets]
    process.send!({
      streams: services.eventStreams.count,
      generations: services.generations.size,
      descriptors: existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : null,
      sockets: open.length,
      blocked: open.filter((socket) => socket.writableNeedDrain).length,
      waiting: Math.max(0, ...open.map((socket) => socket.writableLength)),
      resources,
      heap: process.memoryUsage().heapUsed,
      cpu: user + system,
      stall,
    } satisfies Observation)
    stalls.reset()
  })
  process.once('SIGTERM', () => {
    void stop().finally(() => process.exit(0))
  })
  process.send!({ url })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve()
