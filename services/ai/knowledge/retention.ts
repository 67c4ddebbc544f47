// Retention tasks of knowledge bases: deletes those of deleted users, updates the index after deletions, and
// requeues documents whose parsing job was lost.
import * as sql from '../../../generated/sql/knowledge.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import { deleteEach, type RetentionTask } from '../../../infra/jobs/retention.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import { subtractRemovedChunks } from './chunk-index.ts'
import type { ParsingJob } from './documents.ts'
import { deleteDocumentBatch, deleteKnowledgeBase } from './knowledge-bases.ts'

const batchSize = { documents: 500, knowledgeBases: 100 }

/** Creates jobs for documents that have waited for ten minutes and have none. */
export function documentRequeueTasks(documents: Queue<ParsingJob>): RetentionTask[] {
  return [
    {
      name: 'documents without a job',
      step: (db) => db.transaction((tx) => requeueDocuments(tx, documents)),
    },
  ]
}

async function requeueDocuments(
  tx: Transaction,
  documents: Queue<ParsingJob>,
): Promise<{ removed: number; more: boolean }> {
  const jobs = await sql.lockDocumentsWithoutJob(tx, { limit: batchSize.documents })
  if (jobs.length > 0)
    await documents.add(
      tx,
      jobs.map((data) => ({ data, group: data.workspace_id })),
    )
  return { removed: 0, more: jobs.length === batchSize.documents }
}

/** Subtracts the chunks of deleted documents and knowledge bases from the index. */
export function removedChunkTasks(): RetentionTask[] {
  return [
    {
      name: 'index entries of removed chunks',
      step: deleteEach({ list: listWithIndexRemovals, remove: subtractRemovedChunks }),
    },
  ]
}

async function listWithIndexRemovals(db: Db, after: string | null): Promise<string[]> {
  const found = await sql.listBasesWithIndexRemovals(db, { after, limit: batchSize.knowledgeBases })
  return found.map(({ id }) => id)
}

/** Deletes the knowledge bases of deleted users. */
export function knowledgeRetentionTasks(): RetentionTask[] {
  return [
    {
      name: 'knowledge bases of deleted users',
      step: deleteEach({ list: listOfDeletedUsers, remove: deleteInSteps }),
    },
  ]
}

async function listOfDeletedUsers(db: Db, after: string | null): Promise<string[]> {
  const found = await sql.listBasesOfDeletedUsers(db, { after, limit: batchSize.knowledgeBases })
  return found.map(({ id }) => id)
}

/** Emits no events: a deleted user's events have no reader. */
async function deleteInSteps(tx: Transaction, id: string): Promise<{ removed: number; more: boolean }> {
  if (await deleteDocumentBatch(tx, id)) return { removed: 0, more: true }
  await deleteKnowledgeBase(tx, id)
  return { removed: 1, more: false }
}
