// Reads what was added to knowledge bases: takes jobs from the queue as there is room, one space after the other, so that
// whoever adds thousands of documents, or large ones, holds up nobody who adds one. A process that dies leaves its jobs to
// another.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from '../../../infra/jobs/queue.ts'
import type { ParsingJob } from './documents.ts'
import { indexDocument, type IndexingOptions, type DocumentParser } from './index-document.ts'
import { parseDocument } from '../parsing/parse.ts'

export interface Ingestion {
  /** Something may be to be read. */
  wake(): void
  start(): void
  /** Takes nothing more, gives what is under way a moment, and the rest back to the queue. */
  close(): Promise<void>
}

export interface IngestionOptions extends Omit<IndexingOptions, 'parse'> {
  parse?: DocumentParser
  /** Documents that are read at once. */
  concurrency: number
  /** How often the queue is looked at even if nothing was said, in ms. Default 1,000. */
  interval?: number
  /** Milliseconds that documents under way are given at a stop. Default 5,000. */
  grace?: number
}

export function createIngestion({
  concurrency,
  interval = 1_000,
  grace = 5_000,
  parse = parseDocument,
  ...options
}: IngestionOptions): Ingestion {
  const { documents, onError } = options
  const underWay = new Set<Promise<void>>()
  /** The places that each space has. */
  const places = new Map<string, number>()
  /** What a space has at most while others wait: one place is left to these. */
  const most = Math.max(1, concurrency - 1)
  /** The spaces that had their turn in this round. */
  const served = new Set<string>()
  const stop = new AbortController()
  let stopped = false
  let pause = new AbortController()
  let loop: Promise<void> = Promise.resolve()

  return {
    wake,
    start() {
      loop = run()
    },
    async close() {
      stopped = true
      wake()
      await loop
      const timer = setTimeout(() => stop.abort(), grace)
      await Promise.all(underWay)
      clearTimeout(timer)
    },
  }

  function wake(): void {
    pause.abort()
  }

  async function run(): Promise<void> {
    while (!stopped) {
      pause = new AbortController()
      const job = underWay.size < concurrency ? await next().catch(onError) : undefined
      if (job !== undefined) follow(job)
      else if (!stopped) await sleep(interval, undefined, { signal: pause.signal }).catch(() => {})
    }
  }

  /** Of the spaces that had no turn yet; when there are none, the next round begins. */
  async function next(): Promise<Job<ParsingJob> | undefined> {
    const full = [...places].filter(([, count]) => count >= most).map(([space]) => space)
    let [job] = await documents.take(1, { except: [...served, ...full] })
    if (job === undefined && served.size > 0) {
      served.clear()
      ;[job] = await documents.take(1, { except: full })
    }
    if (job === undefined && full.length > 0) [job] = await documents.take(1)
    if (job !== undefined) served.add(job.data.space_id)
    return job
  }

  function follow(job: Job<ParsingJob>): void {
    const { space_id: space } = job.data
    places.set(space, (places.get(space) ?? 0) + 1)
    const tracked: Promise<void> = indexDocument({ ...options, parse }, job, stop.signal)
      .catch(onError)
      .finally(() => {
        underWay.delete(tracked)
        const left = places.get(space)! - 1
        if (left === 0) places.delete(space)
        else places.set(space, left)
        wake()
      })
    underWay.add(tracked)
  }
}
