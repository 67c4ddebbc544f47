// Owns which server answers: the one that did goes on until the next one is ready, and one that does not come up changes
// nothing. The port is the cluster's, so it is open all the while; requests that a server has begun end there.
import cluster, { type Worker } from 'node:cluster'
import { join } from 'node:path'
import type { News, Order } from './server.ts'

export interface Serving {
  url: string
  firstKey: string | null
}

export interface Servers {
  /** Starts the project as it is now. @throws ServerError when it does not come to serve. */
  replace(): Promise<Serving>
  /** Whether one answers. */
  serving(): boolean
  stop(): Promise<void>
}

/** Milliseconds that a server has to itself before the next one loads its packages. */
const pause = 1_000

/** A server that waits to be told to serve; `pass` hands on what it writes from then on. */
interface Standby {
  worker: Worker
  written: () => string
  pass: () => void
}

/** A server that did not come up. `report` is what Node wrote of it, or one sentence when `refused`. */
export class ServerError extends Error {
  refused: boolean
  constructor(report: string, refused: boolean) {
    super(report)
    this.refused = refused
  }
}

/** @param env what each server gets beside this process's environment. */
export function createServers({
  env,
  onOutput,
  onEnd,
}: {
  env: Record<string, string>
  onOutput: (text: string) => void
  /** The server that answered has ended by itself. */
  onEnd: (report: string) => void
}): Servers {
  cluster.setupPrimary({ exec: join(import.meta.dirname, 'server.ts'), args: [], silent: true })
  const all = new Set<Worker>()
  let standby: Standby | null = fork()
  let current: Worker | null = null
  let later: NodeJS.Timeout | undefined
  let stopping = false

  /** What it writes before it serves is kept for the report, what it writes later is passed on. */
  function fork(): Standby {
    const worker = cluster.fork(env)
    all.add(worker)
    worker.once('exit', () => all.delete(worker))
    let text = ''
    let passing = false
    const hear = (chunk: Buffer): void => {
      if (passing) onOutput(chunk.toString())
      else text += chunk
    }
    worker.process.stdout!.on('data', hear)
    worker.process.stderr!.on('data', hear)
    return {
      worker,
      written: () => text,
      pass: () => {
        passing = true
      },
    }
  }

  async function replace(): Promise<Serving> {
    clearTimeout(later)
    const { worker, written, pass } = standby === null || standby.worker.isDead() ? fork() : standby
    standby = null
    const serving = await new Promise<Serving>((resolve, reject) => {
      worker.on('message', (news: News) => {
        if ('ready' in news) resolve(news.ready)
        if (!('refused' in news)) return
        tell(worker, 'stop')
        reject(new ServerError(news.refused, true))
      })
      worker.process.once('close', () => reject(new ServerError(written(), false)))
      tell(worker, 'serve')
    }).finally(() => {
      later = setTimeout(() => {
        if (!stopping) standby = fork()
      }, pause)
    })
    pass()
    const before = current
    current = worker
    worker.process.once('close', () => {
      if (current !== worker) return
      current = null
      if (!stopping) onEnd(written())
    })
    if (before !== null) tell(before, 'stop')
    return serving
  }

  return {
    replace,
    serving: () => current !== null,
    async stop() {
      stopping = true
      clearTimeout(later)
      await Promise.all(
        [...all].map(async (worker) => {
          const ended = new Promise((resolve) => worker.once('exit', resolve))
          tell(worker, 'stop')
          await ended
        }),
      )
    },
  }
}

function tell(worker: Worker, order: Order): void {
  // To one that has just ended there is nothing to say.
  if (worker.isConnected()) worker.send(order, undefined, () => {})
}
