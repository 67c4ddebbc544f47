// The document worker: parses and indexes the documents that were added to knowledge bases. It fetches jobs
// from one workspace after the other, so that a workspace with thousands of documents does not delay the
// others.
import type { Job, QueueOptions } from '../../../infra/jobs/queue.ts'
import type { ParsingJob } from './documents.ts'
import { indexDocument, type IndexingOptions, type DocumentParser } from './index-document.ts'
import { parseDocument } from '../parsing/parse.ts'
import { WorkerLoop, type BackgroundWorker } from '../../../infra/jobs/worker-loop.ts'

export const documentQueue: QueueOptions = {
  name: 'documents',
  // Longer than indexing a document takes. A worker that dies is noticed earlier, by its missing heartbeat.
  expireInSeconds: 900,
  heartbeatSeconds: 15,
  // The workers fetch from all workspaces in turn. This only limits one workspace across all processes.
  groupConcurrency: 8,
}

export interface DocumentWorkerOptions extends Omit<IndexingOptions, 'parse'> {
  parse?: DocumentParser
  /** Documents that are parsed at once. */
  concurrency: number
  /** Milliseconds between two polls of the queue. Default 1,000. */
  interval?: number
  /** Milliseconds that running jobs have to finish after a stop. Default 5,000. */
  drainTimeoutMs?: number
}

export function createDocumentWorker({
  concurrency,
  interval,
  drainTimeoutMs,
  parse = parseDocument,
  ...options
}: DocumentWorkerOptions): BackgroundWorker {
  const { documents, onError } = options
  /** The number of running jobs by workspace. */
  const running = new Map<string, number>()
  /** The limit of a workspace while others wait: one slot stays free for them. */
  const maxPerWorkspace = Math.max(1, concurrency - 1)
  /** The workspaces that had their turn in the current round. */
  const served = new Set<string>()
  return new WorkerLoop({ poll, onError, interval, drainTimeoutMs })

  async function poll(loop: WorkerLoop): Promise<boolean> {
    if (loop.running >= concurrency) return false
    const job = await nextJob()
    if (job === undefined) return false
    loop.track(run(job, loop.signal))
    return true
  }

  /** Fetches from a workspace that had no turn yet. When there is none, the next round starts. */
  async function nextJob(): Promise<Job<ParsingJob> | undefined> {
    const full = [...running].filter(([, count]) => count >= maxPerWorkspace).map(([workspace]) => workspace)
    let [job] = await documents.fetch(1, { except: [...served, ...full] })
    if (job === undefined && served.size > 0) {
      served.clear()
      ;[job] = await documents.fetch(1, { except: full })
    }
    if (job === undefined && full.length > 0) [job] = await documents.fetch(1)
    if (job !== undefined) served.add(job.data.space_id)
    return job
  }

  async function run(job: Job<ParsingJob>, signal: AbortSignal): Promise<void> {
    const { space_id: workspace } = job.data
    running.set(workspace, (running.get(workspace) ?? 0) + 1)
    try {
      await indexDocument({ ...options, parse }, job, signal)
    } finally {
      const left = running.get(workspace)! - 1
      if (left === 0) running.delete(workspace)
      else running.set(workspace, left)
    }
  }
}
