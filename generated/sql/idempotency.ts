// Generated from prisma/sql by `npm run generate`. Do not edit.
import { none, one, optional } from '../../infra/database/queries.ts'

/**
 * Deletes a batch of the responses that are too old to be repeated.
 * FOR UPDATE reads the latest version of a row: a request that reuses the key after 24 hours updates it.
 * @see prisma/sql/idempotency/delete-old-records.sql
 */
export const deleteOldRecords = one<{ limit: number }, DeleteOldRecordsRow>(
  'idempotency/delete-old-records',
  `WITH deleted AS (
  DELETE FROM idempotency_records WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM idempotency_records WHERE created_at < now() - interval '24 hours'
    LIMIT $1 FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldRecordsRow {
  n: number
}

/**
 * The stored response of a request. A separate statement after the lock, so that its snapshot includes what
 * the previous holder committed.
 * @see prisma/sql/idempotency/find-record.sql
 */
export const findRecord = optional<{ owner_id: string; key_digest: Buffer }, FindRecordRow>(
  'idempotency/find-record',
  `SELECT body_hash, status, answer FROM idempotency_records
WHERE owner_id = $1 AND key_digest = $2 AND created_at > now() - interval '24 hours'`,
  ['owner_id', 'key_digest'],
  { reads: true },
)
export interface FindRecordRow {
  body_hash: Buffer
  status: number
  answer: Buffer
}

/**
 * Stores the response of a request.
 * @see prisma/sql/idempotency/save-record.sql
 */
export const saveRecord = none<{ owner_id: string; key_digest: Buffer; body_hash: Buffer; status: number; answer: Buffer }>(
  'idempotency/save-record',
  `INSERT INTO idempotency_records (owner_id, key_digest, body_hash, status, answer)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (owner_id, key_digest)
DO UPDATE SET body_hash = $3, status = $4, answer = $5, created_at = now()`,
  ['owner_id', 'key_digest', 'body_hash', 'status', 'answer'],
)

/**
 * Locks a key until the transaction ends, unless another request holds the lock.
 * @see prisma/sql/idempotency/try-lock.sql
 */
export const tryLock = one<{ key: string }, TryLockRow>(
  'idempotency/try-lock',
  `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS taken`,
  ['key'],
)
export interface TryLockRow {
  taken: boolean
}
