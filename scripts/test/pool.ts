// Runs test files in a few worker processes. A file that says `// own process: <why>` runs in a worker of its
// own; all others share the workers, which load the server's modules once.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Report } from './report.ts'

export interface FileToRun {
  /** As shown to people. */
  file: string
  path: string
  /** Milliseconds. */
  timeout: number
  /** How many milliseconds after its end what the file opened may stay open. */
  closing: number
}

export interface FileResult {
  file: string
  /** Milliseconds by the clock. */
  wall: number
  /** Milliseconds of CPU, of the worker and the processes that the file started and that have ended. */
  cpu: number
  /** The modules of handlers/ that served a request of the file, by name. */
  handlers: string[]
  /** Whether the process can run another file: nothing failed or is left open, and its memory is small. */
  reusable: boolean
}

export interface PoolOptions {
  root: string
  /** How many files run at a time. */
  jobs: number
  /** Milliseconds that one file may take. */
  timeout: number
  /** Milliseconds that a file's resources and a worker may take to end. Default 20,000. */
  closing?: number
  env: NodeJS.ProcessEnv
  report: Report
}

const defaultClosing = 20_000

/**
 * Threads that help to collect garbage only take the cores from the other workers. A large young generation,
 * and buffers that count in the limit of the whole heap, make full collections rare.
 */
const garbageCollection = [
  '--single-threaded-gc',
  '--external-memory-accounted-in-global-limit',
  '--min-semi-space-size=32',
  '--max-semi-space-size=64',
]
const ownProcess = /^\/\/ own process: \S/m

export class Pool {
  #options: PoolOptions
  #stopped = false
  #workers = new Set<Worker>()

  constructor(options: PoolOptions) {
    this.#options = options
  }

  /** Runs the files in this order. @returns the times of those that ended. */
  async run(files: string[]): Promise<FileResult[]> {
    const { timeout, closing = defaultClosing } = this.#options
    const queue = [...files]
    const results: FileResult[] = []
    const slot = async (): Promise<void> => {
      let shared: Worker | undefined
      while (!this.#stopped) {
        const file = queue.shift()
        if (file === undefined) break
        const path = resolve(this.#options.root, file)
        const alone = ownProcess.test(readFileSync(path, 'utf8'))
        const worker = alone || shared === undefined ? this.#start() : shared
        if (!alone) shared = worker
        const result = await worker.run({ file, path, timeout, closing })
        if (result !== null) results.push(result)
        if (alone || result?.reusable !== true) {
          await this.#end(worker)
          if (!alone) shared = undefined
        }
      }
      if (shared !== undefined) await this.#end(shared)
    }
    await Promise.all(Array.from({ length: this.#options.jobs }, slot))
    return results
  }

  /** Ends the run: the workers are killed, and no further file begins. */
  stop(): void {
    this.#stopped = true
    for (const worker of this.#workers) worker.kill()
  }

  #start(): Worker {
    const worker = new Worker(this.#options)
    this.#workers.add(worker)
    return worker
  }

  async #end(worker: Worker): Promise<void> {
    await worker.end()
    this.#workers.delete(worker)
  }
}

class Worker {
  #child: ChildProcess
  #report: Report
  #read: Promise<void>
  #exited: Promise<unknown>
  #killed = false
  #closing: number

  constructor({ root, env, report, closing = defaultClosing }: PoolOptions) {
    this.#report = report
    this.#closing = closing
    const args = [...garbageCollection, join(import.meta.dirname, 'worker.ts')]
    this.#child = spawn(process.execPath, args, {
      cwd: root,
      env,
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    })
    this.#read = report.read(this.#child.stdout!)
    this.#exited = once(this.#child, 'exit')
  }

  /** @returns null when the process ended before the file did, which counts as a failure. */
  async run(file: FileToRun): Promise<FileResult | null> {
    this.#child.send(file)
    const ended = this.#exited.then(() => null)
    const result = await Promise.race([this.#resultOf(file), ended])
    if (result === null && !this.#killed) {
      await this.#read
      const { exitCode, signalCode } = this.#child
      this.#report.fail(file.file, `the process ended with ${signalCode ?? `exit code ${exitCode}`}`)
    }
    return result
  }

  #resultOf({ file }: FileToRun): Promise<FileResult> {
    return new Promise((resolve) => {
      const read = (message: Partial<FileResult>): void => {
        // tap sends messages of its own.
        if (message.file !== file) return
        this.#child.off('message', read)
        resolve(message as FileResult)
      }
      this.#child.on('message', read)
    })
  }

  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect()
    const late = setTimeout(() => {
      this.#report.fail(
        'a worker of the tests',
        `the process did not end within ${this.#closing / 1000} s of its last file`,
      )
      this.kill()
    }, this.#closing)
    await this.#exited
    clearTimeout(late)
    await this.#read
  }

  kill(): void {
    this.#killed = true
    this.#child.kill('SIGKILL')
  }
}
