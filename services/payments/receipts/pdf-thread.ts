// Renders PDFs in a thread of its own, because one takes tens of milliseconds of CPU in which the main thread
// would serve no request. The thread starts with the first PDF and ends when it has had no work for a minute.
import { Worker } from 'node:worker_threads'
import { logoPng } from '../../../infra/html/logo-png.ts'
import type { Receipt } from './model.ts'
import type { PdfAnswer, PdfRequest } from './pdf-worker.ts'

const idleMs = 60_000

interface Thread {
  worker: Worker
  waiting: Map<number, PromiseWithResolvers<Buffer>>
  idle: NodeJS.Timeout
}

let thread: Thread | undefined
let requests = 0

export async function renderInThread(receipt: Receipt): Promise<Buffer> {
  const logo = await logoPng()
  const current = (thread ??= startThread())
  const id = ++requests
  const result = Promise.withResolvers<Buffer>()
  current.waiting.set(id, result)
  current.worker.ref()
  current.worker.postMessage({ id, receipt, logo } satisfies PdfRequest)
  return await result.promise
}

function startThread(): Thread {
  const worker = new Worker(new URL('./pdf-worker.ts', import.meta.url))
  const waiting: Thread['waiting'] = new Map()
  const end = (): void => {
    if (waiting.size > 0) return
    thread = undefined
    void worker.terminate()
  }
  const started: Thread = { worker, waiting, idle: setTimeout(end, idleMs).unref() }
  const fail = (error: Error): void => {
    if (thread === started) thread = undefined
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
  }
  worker.on('error', fail)
  worker.on('exit', () => fail(new Error('The thread that renders PDFs has ended.')))
  worker.on('message', (answer: PdfAnswer) => {
    const result = waiting.get(answer.id)
    waiting.delete(answer.id)
    if ('bytes' in answer) result?.resolve(Buffer.from(answer.bytes))
    else result?.reject(new Error(answer.error))
    // An idle thread does not keep the process alive.
    if (waiting.size === 0) worker.unref()
    started.idle.refresh()
  })
  return started
}
