// Runs the server in its own process, which reports sockets, streams, timers, memory and CPU time on request.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import type { Socket } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { testSecretKey } from '../database/database.ts'
import { bootstrapKey, inheritedEnvironment, ownStore } from './process.ts'
import { highLimits } from './high-limits.ts'

export interface Observation {
  streams: number
  /** Answers that are being generated. */
  generations: number
  /** Open file descriptors; null where /proc is missing. */
  descriptors: number | null
  /** Open client connections. */
  sockets: number
  /** Client connections with a full write buffer. */
  blockedSockets: number
  /** The largest number of bytes that are queued for one connection. */
  maxQueuedBytes: number
  /** Active resources of the event loop, counted by type. */
  resources: Record<string, number>
  /** Heap in bytes. */
  heap: number
  /** CPU time since the start, in microseconds. */
  cpu: number
  /** The longest event loop delay since the last observation, in milliseconds. */
  maxEventLoopDelayMs: number
}

interface ObservedServer {
  url: string
  /** With `collectGarbage`, the heap is that after garbage collection. */
  observe(options?: { collectGarbage?: boolean }): Promise<Observation>
}

/** Starts the server with these settings and stops it when the test ends. */
export async function startObservedServer(
  t: Pick<Test, 'teardown'>,
  env: Record<string, string>,
): Promise<ObservedServer> {
  const child = fork(fileURLToPath(import.meta.url), {
    execArgv: ['--expose-gc'],
    env: {
      ...inheritedEnvironment(),
      PORT: '0',
      BOOTSTRAP_API_KEY: bootstrapKey,
      ...highLimits,
      STREAMS_PER_USER: '10000',
      LOG_LEVEL: 'fatal',
      SECRET_KEY: testSecretKey,
      ...ownStore(env),
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
        throw new Error(`the server exited (${code ?? signal})`)
      }),
    ])
  const { url } = await answer()
  return {
    url,
    async observe({ collectGarbage = false } = {}) {
      const observed = answer()
      child.send({ collectGarbage })
      return await observed
    },
  }
}

async function serve(): Promise<void> {
  const { startServer } = await import('../../../app/server.ts')
  const { readConfig } = await import('../../../infra/config/config.ts')
  const { app, services, url, stop } = await startServer(readConfig(), { isTerminal: false })
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const stalls = monitorEventLoopDelay({ resolution: 5 })
  stalls.enable()
  process.on('message', ({ collectGarbage }: { collectGarbage: boolean }) => {
    const { user, system } = process.cpuUsage()
    const stall = Math.round(stalls.max / 1e6)
    const resources: Record<string, number> = {}
    for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1
    if (collectGarbage) globalThis.gc!()
    const connections = [...sockets]
    process.send!({
      streams: services.eventStreams.count,
      generations: services.generations.size,
      descriptors: existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : null,
      sockets: connections.length,
      blockedSockets: connections.filter((socket) => socket.writableNeedDrain).length,
      maxQueuedBytes: Math.max(0, ...connections.map((socket) => socket.writableLength)),
      resources,
      heap: process.memoryUsage().heapUsed,
      cpu: user + system,
      maxEventLoopDelayMs: stall,
    } satisfies Observation)
    stalls.reset()
  })
  process.once('SIGTERM', () => {
    void stop().finally(() => process.exit(0))
  })
  process.send!({ url })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await serve()
