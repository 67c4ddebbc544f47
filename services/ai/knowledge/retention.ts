// Retention tasks of knowledge bases: deletes those of deleted users, updates the index after deletions, and
// requeues documents whose parsing job was lost.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { deleteEach, type RetentionTask } from '../../../infra/jobs/retention.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import { subtractRemovedChunks } from './chunk-index.ts'
import type { ParsingJob } from './documents.ts'
import { deleteDocumentBatch, deleteKnowledgeBase } from './knowledge-bases.ts'

const batchSize = { documents: 500, knowledgeBases: 100 }

// Reads the queue's table, which belongs to pg-boss, but never writes to it.
const documentsWithoutJob = statement<ParsingJob>(`
  SELECT d.id AS document_id, d.wanted, k.space_id, 0 AS tries
  FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
  WHERE d.status IN ('queued', 'processing') AND d.updated_at < now() - interval '10 minutes' AND NOT EXISTS (
    SELECT FROM pgboss.job j
    WHERE j.name = 'documents' AND j.data ->> 'document_id' = d.id AND j.data ->> 'wanted' = d.wanted::text
      AND j.state < 'completed'
  ) ORDER BY d.updated_at LIMIT $1 FOR UPDATE OF d SKIP LOCKED`)

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
  tx: Db,
  documents: Queue<ParsingJob>,
): Promise<{ removed: number; more: boolean }> {
  const jobs = await tx.sql(documentsWithoutJob, [batchSize.documents])
  if (jobs.length > 0)
    await documents.add(
      tx,
      jobs.map((data) => ({ data, group: data.space_id })),
    )
  return { removed: 0, more: jobs.length === batchSize.documents }
}

/** Subtracts the chunks of deleted documents and knowledge bases from the index. */
export function removedChunkTasks(): RetentionTask[] {
  return [
    {
      name: 'index entries of removed chunks',
      step: deleteEach({ list: listWithRemovedChunks, remove: subtractRemovedChunks }),
    },
  ]
}

// Skips from one knowledge base to the next along the index (a loose index scan), regardless of the rows of
// each.
const withRemovedChunks = statement<{ id: string }>(`
  WITH RECURSIVE bases AS (
    (
      SELECT knowledge_base_id AS id FROM removed_chunks
      WHERE $1::text IS NULL OR knowledge_base_id > $1 ORDER BY 1 LIMIT 1
    )
    UNION ALL
    SELECT (
      SELECT knowledge_base_id FROM removed_chunks r WHERE r.knowledge_base_id > b.id ORDER BY 1 LIMIT 1
    )
    FROM bases b WHERE b.id IS NOT NULL
  )
  SELECT id FROM bases WHERE id IS NOT NULL LIMIT $2`)

async function listWithRemovedChunks(db: Db, after: string | null): Promise<string[]> {
  return (await db.sql(withRemovedChunks, [after, batchSize.knowledgeBases])).map(({ id }) => id)
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

const ofDeletedUsers = statement<{ id: string }>(`
  SELECT k.id FROM users u JOIN knowledge_bases k ON k.space_id = u.id
  WHERE u.status = 'deleted' AND ($1::text IS NULL OR k.id > $1) ORDER BY 1 LIMIT $2`)

async function listOfDeletedUsers(db: Db, after: string | null): Promise<string[]> {
  return (await db.sql(ofDeletedUsers, [after, batchSize.knowledgeBases])).map(({ id }) => id)
}

/** Emits no events: a deleted user's events have no reader. */
async function deleteInSteps(tx: Db, id: string): Promise<{ removed: number; more: boolean }> {
  if (await deleteDocumentBatch(tx, id)) return { removed: 0, more: true }
  await deleteKnowledgeBase(tx, id)
  return { removed: 1, more: false }
}
