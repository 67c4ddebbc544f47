// Replaces servers without downtime. The current server answers until the next one is ready; a failed start
// changes nothing. The cluster's primary owns the port, and each server completes its requests.
import cluster, { type Worker } from 'node:cluster'
import { join } from 'node:path'
import type { FirstKey } from '../../app/first-key.ts'
import type { ServerCommand, ServerMessage } from './server.ts'

export interface Serving {
  url: string
  firstKey: FirstKey | null
}

export interface Servers {
  /** Starts a server with the current files. @throws ServerError if the start fails. */
  replace(): Promise<Serving>
  /** Ends the server that is starting: `replace` fails. */
  giveUp(): void
  /** Whether a server is running. */
  serving(): boolean
  stop(): Promise<void>
}

/** The time between the start of a server and the start of the next standby, which loads its packages. */
const standbyDelayMs = 1_000

/** A server that waits for the command `serve`. `passOutput` forwards its output from then on. */
interface Standby {
  worker: Worker
  output: () => string
  passOutput: () => void
}

/** A failed start. The message is Node's error output or, for a startup error, one sentence. */
export class ServerError extends Error {
  isStartupError: boolean
  constructor(report: string, isStartupError: boolean) {
    super(report)
    this.isStartupError = isStartupError
  }
}

/** @param env added to this process's environment for each server. */
export function createServers({
  env,
  onOutput,
  onEnd,
}: {
  env: Record<string, string>
  onOutput: (text: string) => void
  /** The running server has exited by itself. */
  onEnd: (report: string) => void
}): Servers {
  cluster.setupPrimary({
    exec: join(import.meta.dirname, 'server.ts'),
    args: process.stderr.isTTY ? ['--terminal'] : [],
    silent: true,
  })
  const all = new Set<Worker>()
  let standby: Standby | null = fork()
  let current: Worker | null = null
  let starting: Worker | null = null
  let standbyTimer: NodeJS.Timeout | undefined
  let stopping = false

  /** Output before `serve` is collected for the error report; later output is forwarded. */
  function fork(): Standby {
    const worker = cluster.fork(env)
    all.add(worker)
    worker.once('exit', () => all.delete(worker))
    let text = ''
    let forwards = false
    const onData = (chunk: Buffer): void => {
      if (forwards) onOutput(chunk.toString())
      else text += chunk
    }
    worker.process.stdout!.on('data', onData)
    worker.process.stderr!.on('data', onData)
    return {
      worker,
      output: () => text,
      passOutput: () => {
        forwards = true
      },
    }
  }

  async function replace(): Promise<Serving> {
    clearTimeout(standbyTimer)
    const { worker, output, passOutput } = standby === null || standby.worker.isDead() ? fork() : standby
    standby = null
    starting = worker
    const serving = await new Promise<Serving>((resolve, reject) => {
      worker.on('message', (message: ServerMessage) => {
        if ('ready' in message) resolve(message.ready)
        if (!('startupError' in message)) return
        send(worker, 'stop')
        reject(new ServerError(message.startupError, true))
      })
      worker.process.once('close', () => reject(new ServerError(output(), false)))
      send(worker, 'serve')
    }).finally(() => {
      starting = null
      standbyTimer = setTimeout(() => {
        if (!stopping) standby = fork()
      }, standbyDelayMs)
    })
    passOutput()
    const previous = current
    current = worker
    worker.process.once('close', () => {
      if (current !== worker) return
      current = null
      if (!stopping) onEnd(output())
    })
    if (previous !== null) send(previous, 'stop')
    return serving
  }

  return {
    replace,
    giveUp: () => void starting?.process.kill('SIGKILL'),
    serving: () => current !== null,
    async stop() {
      stopping = true
      clearTimeout(standbyTimer)
      await Promise.all(
        [...all].map(async (worker) => {
          const exited = new Promise((resolve) => worker.once('exit', resolve))
          send(worker, 'stop')
          await exited
        }),
      )
    },
  }
}

/** Ignores a worker that has just exited. */
function send(worker: Worker, command: ServerCommand): void {
  if (worker.isConnected()) worker.send(command, undefined, () => {})
}
