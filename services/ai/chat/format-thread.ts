// Compiles schemas of callers and checks answers with them in a thread of its own: a schema may take long, by
// its pattern, its references or the size of the answer, and the thread is stopped then. The thread starts
// with the first check and ends when it has had no work for a minute.
import { Worker } from 'node:worker_threads'
import type { FormatAnswer, FormatRequest } from './format-worker.ts'

const idleMs = 60_000
/** Milliseconds of one check. */
const maxMs = 2_000
/** Megabytes of the memory of the thread. */
const maxMegabytes = 256

interface Thread {
  worker: Worker
  loaded: Promise<unknown>
  idle: NodeJS.Timeout
}

let thread: Thread | undefined

/** Runs one check; the caller starts the next when it has ended. */
export async function runInThread(request: FormatRequest): Promise<FormatAnswer> {
  const current = (thread ??= startThread())
  const { worker } = current
  const result = Promise.withResolvers<FormatAnswer>()
  // Also for a schema or a text that exceeds the memory of the thread.
  const stop = (): void => {
    if (thread === current) thread = undefined
    void worker.terminate()
    result.resolve({ problem: 'The check takes too long.' })
  }
  worker.ref()
  clearTimeout(current.idle)
  await current.loaded
  worker.on('message', result.resolve).on('exit', stop)
  const timer = setTimeout(stop, maxMs)
  worker.postMessage(request)
  try {
    return await result.promise
  } finally {
    clearTimeout(timer)
    worker.off('message', result.resolve).off('exit', stop)
    // An idle thread does not keep the process alive.
    worker.unref()
    current.idle = endWhenIdle(current)
  }
}

function startThread(): Thread {
  const worker = new Worker(new URL('./format-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: maxMegabytes },
  })
  const loaded = new Promise((resolve) => {
    worker.once('message', resolve).once('exit', resolve)
  })
  // An error, such as too little memory, ends the thread.
  worker.on('error', () => {})
  return { worker, loaded, idle: setTimeout(() => {}, 0) }
}

function endWhenIdle(current: Thread): NodeJS.Timeout {
  return setTimeout(() => {
    if (thread === current) thread = undefined
    void current.worker.terminate()
  }, idleMs).unref()
}
