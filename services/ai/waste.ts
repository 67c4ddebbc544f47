// What is left over in the knowledge bases: those of deleted users, and documents that wait for a job which is not there.
import { statement, type Db } from '../database.ts'
import type { Kind } from '../housekeeping.ts'
import type { Queue } from '../jobs.ts'
import type { ReadingJob } from './documents.ts'

/** What is done at once. */
const most = { waiting: 500, documents: 200 }

// The queue's table is its own; only what was put into it is looked at.
const forgotten = statement<ReadingJob>(`
  SELECT d.id AS document_id, d.wanted, k.space_id, 0 AS tries FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
  WHERE d.status IN ('queued', 'processing') AND d.updated_at < now() - interval '10 minutes' AND NOT EXISTS (
    SELECT FROM pgboss.job j
    WHERE j.name = 'documents' AND j.data ->> 'document_id' = d.id AND j.data ->> 'wanted' = d.wanted::text AND j.state < 'completed'
  ) ORDER BY d.updated_at LIMIT $1 FOR UPDATE OF d SKIP LOCKED`)

/** What somebody may wait for. */
export function kindsOfWaiting (documents: Queue<ReadingJob>): Kind[] {
  return [{ name: 'documents without a job', step: (db) => db.transaction((tx) => wantAgain(tx, documents)) }]
}

async function wantAgain (tx: Db, documents: Queue<ReadingJob>): Promise<{ removed: number, more: boolean }> {
  const jobs = await tx.sql(forgotten, [most.waiting])
  if (jobs.length > 0) await documents.add(tx, jobs.map((data) => ({ data, group: data.space_id })))
  return { removed: 0, more: jobs.length === most.waiting }
}

/** What deleted accounts leave. */
export function kindsOfKnowledge (): Kind[] {
  return [{ name: 'knowledge bases of deleted users', step: (db) => db.transaction(removeOfDeleted) }]
}

const ofDeletedUser = statement<{ id: string }>(`
  SELECT k.id FROM users u JOIN knowledge_bases k ON k.space_id = u.id WHERE u.status = 'deleted' LIMIT 1`)
const removeDocuments = statement<{ n: number }>(`
  WITH gone AS (DELETE FROM documents WHERE id IN (SELECT id FROM documents WHERE knowledge_base_id = $1 LIMIT $2) RETURNING 1)
  SELECT count(*)::int AS n FROM gone`)
const remove = statement('DELETE FROM knowledge_bases WHERE id = $1')

/** Nobody is left who could read of them. */
async function removeOfDeleted (tx: Db): Promise<{ removed: number, more: boolean }> {
  const [found] = await tx.sql(ofDeletedUser, [])
  if (found === undefined) return { removed: 0, more: false }
  if ((await tx.sql(removeDocuments, [found.id, most.documents]))[0].n === most.documents) return { removed: 0, more: true }
  await tx.sql(remove, [found.id])
  return { removed: 1, more: true }
}
