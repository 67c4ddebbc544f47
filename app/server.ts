// A whole server from its settings: database, migrations, services, routes, socket; and its orderly stop.
import type { FastifyInstance } from 'fastify'
import { makeFirstOwner } from '../services/users/first-admin.ts'
import type { Config } from '../infra/config/config.ts'
import { createLimits } from './http/rate-limit.ts'
import { startEmbedded } from '../infra/postgres/embedded.ts'
import { prepareDatabase } from '../infra/prepare-database.ts'
import { createServices, jobQueues, type Services } from '../services/services.ts'
import { startBackgroundWorkers, type BackgroundWorkers } from '../services/background.ts'
import contract from '../generated/openapi.json' with { type: 'json' }
import { addressOf, buildApp } from './build.ts'

export interface Server {
  app: FastifyInstance
  services: Services
  url: string
  /** The secret of the first owner's key, when this start made it. */
  firstKey: string | null
  /** Lets what was accepted finish, for `shutdownTimeout` at most, then closes everything. */
  stop(): Promise<void>
}

/** @throws an error of one clear sentence for each thing that can stand in the way of a start. */
export async function startServer(
  config: Readonly<Config>,
  onProgress: (message: string) => void = () => {},
): Promise<Server> {
  const closers: Array<() => Promise<unknown>> = []
  let stopping = false
  try {
    const databaseUrl = config.databaseUrl ?? (await embedded())
    await prepareDatabase(databaseUrl, { queues: jobQueues, onProgress })
    const log = { error: (_details: object, _message: string) => {} }
    const onError = (error: Error): void => {
      if (!stopping) log.error({ err: error }, 'failed in the background')
    }
    const services = createServices({ config, databaseUrl, onError })
    closers.unshift(() => services.close())
    const limits = createLimits({ policies: policiesOf(config), redisUrl: config.redisUrl, onError })
    closers.unshift(() => limits.close())
    const app = await buildApp({ services, limits })
    log.error = (details, message) => app.log.error(details, message)
    await listen(app, config)
    let work: BackgroundWorkers | undefined
    closers.unshift(async () => {
      // Whoever still asks on an open connection learns that this server is going.
      services.checks.server = () => Promise.reject(new Error('stopping'))
      await Promise.all([closeApp(app, config.shutdownTimeout * 1000), work?.stop()])
    })
    work = await startBackgroundWorkers(services, { runJobs: config.worker, onError })
    // Last of all that can fail: a start that does not come to serve must not use up the key that is shown once.
    const firstKey = await makeFirstOwner(services.database, config)
    return { app, services, url: config.publicUrl ?? addressOf(app), firstKey, stop }
  } catch (error) {
    await stop()
    throw error
  }

  async function embedded(): Promise<string> {
    const postgres = await startEmbedded({ dataDir: config.dataDir, whenRunning: 'refuse', onProgress })
    closers.unshift(() => postgres.stop())
    return postgres.url
  }

  async function stop(): Promise<void> {
    stopping = true
    for (const close of closers.splice(0)) await close()
  }
}

/** The requests a minute of every policy: the spec's, where no setting says otherwise, and the one by address. */
export function policiesOf(config: Config): Record<string, number> {
  const declared = contract['x-rate-limits'] as Record<string, number>
  return {
    ...Object.fromEntries(
      Object.entries(declared).map(([name, limit]) => [name, config.rateLimits[name] ?? limit]),
    ),
    address: config.addressRateLimit,
  }
}

async function listen(app: FastifyInstance, { host, port }: Config): Promise<void> {
  try {
    await app.listen({ host, port, listenTextResolver: (address) => `listening at ${address}` })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE')
      throw new StartError(`Port ${port} on ${host} is taken; stop what uses it or set PORT to another.`)
    if (code === 'EACCES')
      throw new StartError(`Port ${port} may not be opened by this user; set PORT to one above 1023.`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new StartError(`HOST ${host} is no address of this machine.`)
    throw error
  }
}

/** Something stands in the way of a start; the message is one sentence for the operator. */
export class StartError extends Error {}

/** Stops listening, waits for the requests under way, and cuts what is still open after the deadline. */
async function closeApp(app: FastifyInstance, milliseconds: number): Promise<void> {
  const deadline = setTimeout(() => app.server.closeAllConnections(), milliseconds)
  // A connection whose request was under way has nothing more to wait for once that is answered.
  const idle = setInterval(() => app.server.closeIdleConnections(), 50)
  try {
    await app.close()
  } finally {
    clearTimeout(deadline)
    clearInterval(idle)
  }
}
