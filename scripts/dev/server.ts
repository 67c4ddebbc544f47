// One server of `npm run dev`, a cluster worker, so that the port stays open between servers. It loads the
// packages at once, and the project's code when it receives `serve`.
import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import type { FirstKey } from '../../app/first-key.ts'
import { packagesOf } from './packages.ts'

/** From the parent. */
export type ServerCommand = 'serve' | 'stop'
/** To the parent. */
export type ServerMessage =
  | { warm: true }
  | { ready: { url: string; firstKey: FirstKey | null } }
  /** A setting, the port or the database prevents the start. Any other error crashes the process. */
  | { startupError: string }

const send = (message: ServerMessage): void => {
  process.send?.(message)
}
let stop: () => Promise<void> = async () => {}

// Ctrl-C reaches all processes of the terminal; the parent decides when this one stops.
process.on('SIGINT', () => {})
process.on('message', (command: ServerCommand) => {
  void (command === 'serve' ? serve() : shutDown())
})

// If a package does not load, the project's own import reports it with its place.
const packages = packagesOf(process.cwd(), ['app/server.ts', 'app/startup-errors.ts'])
await Promise.allSettled(packages.map((name) => import(name)))
send({ warm: true })

async function serve(): Promise<void> {
  const { startServer } = await import('../../app/server.ts')
  const { explainStartupError: explain } = await import('../../app/startup-errors.ts')
  const { readConfig } = await import('../../infra/config/config.ts')
  try {
    const server = await startServer(readConfig(), {
      isTerminal: process.argv.includes('--terminal'),
      // Each save starts a server, which computes for more than 100 ms before its first request.
      logIdleStalls: false,
    })
    // A keep-alive connection would continue to use this server after it was replaced.
    server.app.server.maxRequestsPerSocket = 1
    stop = () => server.stop()
    send({ ready: { url: server.url, firstKey: server.firstKey } })
    flushCompileCache()
  } catch (error) {
    const startupError = explain(error)
    if (startupError === null) throw error
    send({ startupError })
  }
}

async function shutDown(): Promise<void> {
  await stop()
  // `disconnect` first returns connections that the primary has already passed to this worker.
  process.once('disconnect', () => process.exit())
  cluster.worker!.disconnect()
}
