// Starts a whole server from its settings: database, migrations, services, routes, socket. Stops it
// gracefully.
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { isConfirmed, requireConfirmed, unconfirmedMessage } from '../services/backup/restored-copy.ts'
import { createFirstAdmin } from '../services/users/first-admin.ts'
import type { Config } from '../infra/config/config.ts'
import type { Telemetry } from '../infra/telemetry/start.ts'
import { createRateLimits } from './http/rate-limit.ts'
import { startEmbedded } from '../infra/postgres/embedded.ts'
import { createServices, type Services } from '../services/services.ts'
import { startBackgroundWorkers, type BackgroundWorkers } from '../services/background.ts'
import { rateLimits } from '../generated/operations.ts'
import { claimAtStart } from '../services/storage/ownership.ts'
import { storeLimits } from '../services/users/quotas.ts'
import { claimSecretKey } from '../services/webhooks/secrets.ts'
import { addressOf, buildApp } from './build.ts'
import { consoleKey } from './console-key.ts'
import { checkAndPrepare, checkReadReplica } from './database.ts'
import { type FirstKey, writeFirstKey } from './first-key.ts'

export interface Server {
  app: FastifyInstance
  services: Services
  url: string
  /** The first owner's API key, when this start made it. */
  firstKey: FirstKey | null
  /** For the address of the console, on a terminal and with an embedded PostgreSQL; else null. */
  consoleKey: string | null
  /**
   * Serves for `shutdownDelay` seconds while it is not ready, finishes accepted requests within
   * `shutdownTimeout` seconds, then closes everything.
   */
  stop(): Promise<void>
}

export interface StartOptions {
  onProgress?: (message: string) => void
  /** Whether the operator reads the output on a terminal. */
  isTerminal: boolean
  telemetry?: Telemetry | null
  /** Whether stalls of the main thread without an operation are logged; default true. */
  logIdleStalls?: boolean
}

/** Milliseconds after the start in which a server fills its caches. */
const warmUpMs = 5_000

/** @throws StartError, ConfigError and others, whose message is one sentence for the operator. */
export async function startServer(
  config: Readonly<Config>,
  { onProgress = () => {}, isTerminal, telemetry = null, logIdleStalls = true }: StartOptions,
): Promise<Server> {
  const closers: Array<() => Promise<unknown>> = []
  let stopping = false
  let servesSince = Infinity
  try {
    const databaseUrl = config.databaseUrl ?? (await startOwnPostgres())
    await checkAndPrepare(config, databaseUrl, onProgress)
    const log = { error: (_details: object, _message: string) => {} }
    const onError = (error: Error): void => {
      if (!stopping) log.error({ err: error }, 'background work failed')
    }
    const services = createServices({ config, databaseUrl, onError })
    closers.unshift(() => services.close())
    if (!(await isConfirmed(services.database))) {
      const run = (): Promise<void> => requireConfirmed(services.database)
      services.readiness.add('restored_copy', { run, required: false })
      onProgress(unconfirmedMessage)
    }
    const { redisUrl } = config
    const limits = await createRateLimits({ policies: policiesOf(config), redisUrl, onError })
    closers.unshift(() => limits.close())
    await checkReadReplica(services, onProgress)
    // Loading modules and filling caches is part of the start.
    const logsIdleStalls = (): boolean => logIdleStalls && performance.now() > servesSince + warmUpMs
    const app = await buildApp({ services, limits, telemetry, logsIdleStalls })
    log.error = (details, message) => app.log.error(details, message)
    await claimAtStart(services.storage, (error) => {
      onProgress(error.message)
      onError(error)
    })
    // After all checks: a server that refuses changes nothing.
    await claimSecretKey(services.database, services.cipher)
    await storeLimits(services.database, config)
    // The first probe then gets the results of checks, not a guess.
    await services.readiness.report()
    await listen(app, config)
    let work: BackgroundWorkers | undefined
    closers.unshift(async () => {
      services.readiness.stop()
      await sleep(config.shutdownDelay * 1000)
      await Promise.all([
        closeApp(app, {
          timeoutMs: config.shutdownTimeout * 1000,
          behindProxy: config.shutdownDelay > 0,
        }),
        work?.stop(),
      ])
    })
    work = await startBackgroundWorkers(services, { runJobs: config.worker, onError, log: app.log })
    // The last step that can fail: a failed start must not use up the API key that is shown only once.
    const firstKey = await createFirstAdmin(services.database, config, (secret) =>
      isTerminal ? { secret } : writeFirstKey(config.dataDir, secret),
    )
    servesSince = performance.now()
    const isOwnMachine = isTerminal && config.console && config.databaseUrl === null
    return {
      app,
      services,
      url: config.publicUrl ?? addressOf(app),
      firstKey,
      consoleKey: isOwnMachine ? await consoleKey(services.database, config) : null,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }

  async function startOwnPostgres(): Promise<string> {
    const postgres = await startEmbedded({ dataDir: config.dataDir, whenRunning: 'refuse', onProgress })
    closers.unshift(() => postgres.stop())
    return postgres.url
  }

  async function stop(): Promise<void> {
    stopping = true
    for (const close of closers.splice(0)) await close()
  }
}

/** The policy of requests without an operation, for a spec that does not declare it. */
const addressLimit = 120

/** The requests per minute of every policy: from the spec unless a setting overrides it. */
export function policiesOf(config: Config): Record<string, number> {
  return Object.fromEntries(
    Object.entries({ address: addressLimit, ...rateLimits }).map(([name, limit]) => [
      name,
      config.rateLimits[name] ?? limit,
    ]),
  )
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port, listenTextResolver: (address) => `listening at ${address}` })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new StartError(
        `Port ${port} on ${host} is in use; stop the other process or set PORT to another port.`,
      )
    if (code === 'EACCES')
      throw new StartError(`This user may not open port ${port}; set PORT to a port above 1023.`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new StartError(`HOST ${host} is not an address of this machine.`)
    throw error
  }
}

/** The server cannot start. The message is one sentence for the operator. */
export class StartError extends Error {}

/** A proxy that keeps idle connections for a shorter time closes them itself. */
const idleGraceMs = 4_000

/**
 * Stops listening, waits for running requests, and closes all connections after the deadline. Behind a proxy,
 * idle connections stay open for a moment: a request may be on its way.
 */
async function closeApp(
  app: FastifyInstance,
  { timeoutMs, behindProxy }: { timeoutMs: number; behindProxy: boolean },
): Promise<void> {
  const { server } = app
  const deadline = setTimeout(() => server.closeAllConnections(), timeoutMs)
  const closeIdleFrom = performance.now() + (behindProxy ? Math.min(idleGraceMs, timeoutMs) : 0)
  const closeIdle = server.closeIdleConnections.bind(server)
  // Node calls it when the server stops listening.
  server.closeIdleConnections = () => {
    if (performance.now() >= closeIdleFrom) closeIdle()
  }
  // A connection is closed as soon as its last response is sent. In the check phase of the event loop: a
  // request that arrived meanwhile has been read, so its connection is not idle.
  const idle = setInterval(() => setImmediate(() => server.closeIdleConnections()), 50)
  try {
    await app.close()
  } finally {
    clearTimeout(deadline)
    clearInterval(idle)
  }
}
