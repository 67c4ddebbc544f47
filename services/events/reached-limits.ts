// The event `limit.reached`, when a request is refused because of a limit. Nothing is read or written while
// no limit is reached, and each limit has at most one event a day (UTC).
import type { Db, Transaction } from '../../infra/database/database.ts'
import { ApiError, type ReachedLimit } from '../../infra/errors.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import * as sql from '../../generated/sql/users.ts'
import type { Emitter } from './emit.ts'

/** Limits of a minute, or of what is open at once: they emit no event. */
const passing = ['rate_limit', 'max_open']

/** Emits `limit.reached` if the error is about a limit. `accountId`: the account of the caller. */
export async function noteRefusal(
  { db, events }: { db: Db; events: Emitter },
  error: unknown,
  accountId: string | null,
): Promise<void> {
  if (!(error instanceof ApiError)) return
  const { limit, constraint = '' } = error.details
  // The seller gets the event of a customer without a user.
  const subjectId = error.limitedId?.startsWith('cus_') ? accountId : (error.limitedId ?? accountId)
  if (limit === undefined || subjectId === null || passing.includes(constraint)) return
  await db.transaction((tx) => noteReachedLimit(tx, events, limit, subjectId))
}

/**
 * Emits `limit.reached`, unless it was emitted today.
 * @param subjectId the user, the project or the organization that has the limit.
 */
export async function noteReachedLimit(
  tx: Transaction,
  events: Emitter,
  limit: ReachedLimit,
  subjectId: string,
): Promise<void> {
  const { name } = limit
  if ((await sql.noteReachedLimit(tx, { subject_id: subjectId, name })) === undefined) return
  const projectId = subjectId.startsWith('prj_') ? subjectId : null
  const organizationId = subjectId.startsWith('org_') ? subjectId : null
  const userId = projectId === null && organizationId === null ? subjectId : null
  const reached = { ...limit, user_id: userId, project_id: projectId, organization_id: organizationId }
  await events.emit(tx, 'limit.reached', reached, { userId: userId ?? undefined })
}

/** The account whose limits of use a user shares. */
export async function accountOfLimits(tx: Transaction, userId: string): Promise<string> {
  return (await sql.findAccountOfLimits(tx, { user_id: userId })).account_id
}

export function reachedLimitTasks(): RetentionTask[] {
  return [{ name: 'reached limits', step: deleteBatch(sql.deleteReachedLimits, 5000) }]
}
