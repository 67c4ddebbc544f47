// One server of `npm run dev`: a worker of its cluster, so that the port outlives it. It loads the packages as soon as it
// is there, and the project, as it is by then, when it is told to serve.
import cluster from 'node:cluster'
import { flushCompileCache } from 'node:module'
import { packagesOf } from './packages.ts'

/** What it is told. */
export type Order = 'serve' | 'stop'
/** What it tells. */
export type News =
  | { warm: true }
  | { ready: { url: string; firstKey: string | null } }
  /** A setting, the port or the database is in the way; anything else ends the process with Node's own report. */
  | { refused: string }

const tell = (news: News): void => {
  process.send?.(news)
}
let stop: () => Promise<void> = async () => {}

// The terminal's Ctrl-C reaches all processes; the one that started this one says when.
process.on('SIGINT', () => {})
process.on('message', (order: Order) => {
  void (order === 'serve' ? serve() : end())
})

// A package that does not load is the project's to complain about, with the place that wants it.
await Promise.allSettled(packagesOf(process.cwd()).map((name) => import(name)))
tell({ warm: true })

async function serve(): Promise<void> {
  const { startServer } = await import('../../app/server.ts')
  const { explainStartupError: explain } = await import('../../app/startup-errors.ts')
  const { readConfig } = await import('../../infra/config/config.ts')
  try {
    const server = await startServer(readConfig())
    // A connection that is kept would go on asking a server that is replaced, or meet its end.
    server.app.server.maxRequestsPerSocket = 1
    stop = () => server.stop()
    tell({ ready: { url: server.url, firstKey: server.firstKey } })
    flushCompileCache()
  } catch (error) {
    const refused = explain(error)
    if (refused === null) throw error
    tell({ refused })
  }
}

async function end(): Promise<void> {
  await stop()
  // A connection that was handed over before the port's owner heard of the end is given back first; it would never be answered.
  process.once('disconnect', () => process.exit())
  cluster.worker!.disconnect()
}
