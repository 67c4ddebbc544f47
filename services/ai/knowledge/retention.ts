// What is left over in the knowledge bases: those of deleted users, and documents that wait for a job which is not there.
import { statement, type Db } from '../../../infra/database/database.ts'
import { deleteEach, type RetentionTask } from '../../../infra/jobs/retention.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import { subtractRemovedChunks } from './chunk-index.ts'
import type { ParsingJob } from './documents.ts'
import { deleteDocumentBatch, deleteKnowledgeBase } from './knowledge-bases.ts'

/** What is done at once. */
const most = { waiting: 500, listed: 100 }

// The queue's table is its own; only what was put into it is looked at.
const forgotten = statement<ParsingJob>(`
  SELECT d.id AS document_id, d.wanted, k.space_id, 0 AS tries FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
  WHERE d.status IN ('queued', 'processing') AND d.updated_at < now() - interval '10 minutes' AND NOT EXISTS (
    SELECT FROM pgboss.job j
    WHERE j.name = 'documents' AND j.data ->> 'document_id' = d.id AND j.data ->> 'wanted' = d.wanted::text AND j.state < 'completed'
  ) ORDER BY d.updated_at LIMIT $1 FOR UPDATE OF d SKIP LOCKED`)

/** What somebody may wait for. */
export function documentRequeueTasks(documents: Queue<ParsingJob>): RetentionTask[] {
  return [{ name: 'documents without a job', step: (db) => db.transaction((tx) => wantAgain(tx, documents)) }]
}

async function wantAgain(tx: Db, documents: Queue<ParsingJob>): Promise<{ removed: number; more: boolean }> {
  const jobs = await tx.sql(forgotten, [most.waiting])
  if (jobs.length > 0)
    await documents.add(
      tx,
      jobs.map((data) => ({ data, group: data.space_id })),
    )
  return { removed: 0, more: jobs.length === most.waiting }
}

/** What deleted documents and knowledge bases leave, beside the passages themselves. */
export function removedChunkTasks(): RetentionTask[] {
  return [
    {
      name: 'words of removed documents',
      step: deleteEach({ list: listRemoved, remove: subtractRemovedChunks }),
    },
  ]
}

// From one to the next along the index, however many rows each has.
const withRemoved = statement<{ id: string }>(`
  WITH RECURSIVE bases AS (
    (SELECT knowledge_base_id AS id FROM removed_chunks WHERE $1::text IS NULL OR knowledge_base_id > $1 ORDER BY 1 LIMIT 1)
    UNION ALL
    SELECT (SELECT knowledge_base_id FROM removed_chunks r WHERE r.knowledge_base_id > b.id ORDER BY 1 LIMIT 1) FROM bases b WHERE b.id IS NOT NULL
  )
  SELECT id FROM bases WHERE id IS NOT NULL LIMIT $2`)

async function listRemoved(db: Db, after: string | null): Promise<string[]> {
  return (await db.sql(withRemoved, [after, most.listed])).map(({ id }) => id)
}

/** What deleted accounts leave. */
export function knowledgeRetentionTasks(): RetentionTask[] {
  return [
    {
      name: 'knowledge bases of deleted users',
      step: deleteEach({ list: listOfDeleted, remove: removeBase }),
    },
  ]
}

const ofDeletedUsers = statement<{ id: string }>(`
  SELECT k.id FROM users u JOIN knowledge_bases k ON k.space_id = u.id WHERE u.status = 'deleted' AND ($1::text IS NULL OR k.id > $1) ORDER BY 1 LIMIT $2`)

async function listOfDeleted(db: Db, after: string | null): Promise<string[]> {
  return (await db.sql(ofDeletedUsers, [after, most.listed])).map(({ id }) => id)
}

/** Nobody is left who could read of it. */
async function removeBase(tx: Db, id: string): Promise<{ removed: number; more: boolean }> {
  if (await deleteDocumentBatch(tx, id)) return { removed: 0, more: true }
  await deleteKnowledgeBase(tx, id)
  return { removed: 1, more: false }
}
