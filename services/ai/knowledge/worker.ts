// The document worker: parses and indexes the documents that were added to knowledge bases. Owners take
// turns, so that a user with thousands of documents does not delay the others.
import * as sql from '../../../generated/sql/knowledge.ts'
import type { QueueOptions } from '../../../infra/jobs/queue.ts'
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

const noOwners: WorkspaceOwners = new Map()

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

  async function poll(loop: WorkerLoop): Promise<boolean> {
    if (loop.running >= concurrency) return false
    let owners = turns.isIdle ? noOwners : await readOwners()
    for (const except of turns.exclusions(owners)) {
      const [job] = await documents.fetch(1, { except })
      if (job === undefined) continue
      const { space_id: workspace } = job.data
      if (owners === noOwners) owners = await readOwners()
      const end = turns.start(workspace, owners.get(workspace) ?? workspace)
      loop.track(indexDocument({ ...options, parse }, job, loop.signal).finally(end))
      return true
    }
    return false
  }

  async function readOwners(): Promise<WorkspaceOwners> {
    const rows = await sql.listWaitingWorkspaces(database)
    return new Map(rows.map(({ space_id, owner_id }) => [space_id, owner_id]))
  }
}
