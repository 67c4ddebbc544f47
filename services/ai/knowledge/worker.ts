// The document worker: parses and indexes the documents that were added to knowledge bases. Owners take
// turns, so that a user with thousands of documents does not delay the others.
import { setTimeout as sleep } from 'node:timers/promises'
import * as sql from '../../../generated/sql/knowledge.ts'
import type { JobOutcome } from '../../../infra/jobs/job-runs.ts'
import type { Job, QueueOptions } from '../../../infra/jobs/queue.ts'
import type { ParsingJob } from './documents.ts'
import { indexDocument, type IndexingOptions, type DocumentParser } from './index-document.ts'
import { parseDocument } from '../parsing/parse.ts'
import { WorkspaceTurns, type WorkspaceOwners } from './workspace-turns.ts'
import { WorkerLoop, type BackgroundWorker } from '../../../infra/jobs/worker-loop.ts'

export const documentQueue: QueueOptions = {
  name: 'documents',
  // Longer than indexing a document takes. A worker that dies is noticed earlier, by its missing heartbeat.
  expireInSeconds: 900,
  heartbeatSeconds: 15,
  // The workers fetch from all owners in turn. This only limits one workspace across all processes.
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

/**
 * How long the free slots wait for others while most are busy, so that one statement fetches the jobs of
 * several.
 */
const gatherMs = 50

export function createDocumentWorker({
  concurrency,
  interval,
  drainTimeoutMs,
  parse = parseDocument,
  ...options
}: DocumentWorkerOptions): BackgroundWorker {
  const { database, documents, onError } = options
  // One slot stays free for other owners.
  const turns = new WorkspaceTurns(Math.max(1, concurrency - 1))
  return new WorkerLoop({ poll, onError, interval, drainTimeoutMs })

  /** Fetches a job for each free slot, mostly with two statements: who waits, and their jobs. */
  async function poll(loop: WorkerLoop): Promise<boolean> {
    if (loop.running >= concurrency) return false
    if (loop.running > concurrency / 2) await sleep(gatherMs)
    const free = concurrency - loop.running
    let owners = turns.isIdle ? null : await readOwners()
    let jobs: Array<Job<ParsingJob>> = []
    if (owners !== null && owners.size > 0)
      jobs = await documents.fetchInTurns(turns.plan(owners, free), free)
    // Also the job of a document that no longer waits, because the worker that had it died.
    if (jobs.length === 0) jobs = await documents.fetch(1)
    if (jobs.length > 0) owners ??= await readOwners()
    else turns.clear()
    for (const job of jobs) {
      const { workspace_id: workspace } = job.data
      const end = turns.start(workspace, owners!.get(workspace) ?? workspace)
      const index = (): Promise<JobOutcome> => indexDocument({ ...options, parse }, job, loop.signal)
      loop.track(documents.run(job, index).finally(end))
    }
    return jobs.length > 0
  }

  async function readOwners(): Promise<WorkspaceOwners> {
    const rows = await sql.listWaitingWorkspaces(database)
    return new Map(rows.map(({ workspace_id, owner_id }) => [workspace_id, owner_id]))
  }
}
