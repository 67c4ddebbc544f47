// The API requests of a user and the usage by day, and how long they are kept.
import * as sql from '../../generated/sql/usage.ts'
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { SqlClient } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import { withFormerName, type Principal } from '../users/authentication.ts'

type ApiRequest = components['schemas']['ApiRequest']
type UsageDay = components['schemas']['UsageDay']

/** The requests of the user. A key that is limited to projects gets only those that it sent. */
export async function listRequests(
  lists: SqlClient,
  { userId, credentialId, projectIds }: Principal,
  { key_id: keyId, ...query }: ListQuery<'listRequests'>,
): Promise<Page<ApiRequest>> {
  const sentBy = projectIds === null ? undefined : credentialId
  return await sql.listRequests(lists, {
    user_id: userId,
    sent_by: sentBy,
    ...query,
    credential_id: withFormerName(query.credential_id, { key_id: keyId }),
  })
}

/** The usage of each of the last days (UTC), with today. */
export async function readUsage(lists: SqlClient, userId: string, days: number): Promise<UsageDay[]> {
  return await sql.readUsage(lists, { user_id: userId, days })
}

const rowsPerStep = 5_000

export interface RequestRetention {
  /** How many days requests are kept. */
  days: number
}

export function usageRetentionTasks({ days }: RequestRetention): RetentionTask[] {
  return [
    {
      name: 'old requests',
      step: deleteBatch((db, { limit }) => sql.deleteOldRequests(db, { days, limit }), rowsPerStep),
    },
    { name: 'days of usage', step: deleteBatch(sql.deleteOldDays, rowsPerStep) },
  ]
}

/** @param kept the number of requests that are kept for each user. */
export function surplusRequestTasks(kept: number): RetentionTask[] {
  return [
    {
      name: 'requests beyond the number for a user',
      step: deleteBatch((db, { limit }) => sql.deleteSurplusRequests(db, { kept, limit }), rowsPerStep),
    },
  ]
}
