// The API requests of a user and the usage by day, and how long they are kept.
import * as sql from '../../generated/sql/usage.ts'
import type { components } from '../../generated/types.ts'
import type { ListQuery, Query } from '../../infra/contract/query.ts'
import type { SqlClient } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { invalidParameter } from '../../infra/errors.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import { withFormerName, type Principal } from '../users/authentication.ts'

type ApiRequest = components['schemas']['ApiRequest']
type Usage = components['schemas']['UsageQuantity']
type Meter = components['schemas']['UsageMeter']
type UsageReport = components['schemas']['UsageReport']

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
    credential_id: withFormerName(query.credential_id, { key_id: keyId }, invalidParameter),
  })
}

/** The usage of each of the last days (UTC), with today, and of each of the last hours, with the current. */
export async function readUsage(
  lists: SqlClient,
  userId: string,
  { days, hours }: Query<'getUsage'>,
): Promise<UsageReport> {
  return {
    days: await sql.readUsage(lists, { user_id: userId, days }),
    hours: hours === 0 ? [] : await sql.readHours(lists, { user_id: userId, hours }),
  }
}

const dayMs = 86_400_000
const maxReportDays = 92
const defaultReportDays = 30
const meters: Meter[] = [
  'requests',
  'errors',
  'downloaded_bytes',
  'answers',
  'prompt_tokens',
  'completion_tokens',
  'cost_micros',
]

/**
 * The usage report: what the user used, or what all used in a project or in those of an organization. A key
 * that is limited to projects gets only what was used in these.
 * @throws 400 for a range without days, or with too many.
 */
export async function listUsage(
  lists: SqlClient,
  { userId, projectIds }: Principal,
  { project_id: projectId, organization_id: organizationId, ...query }: Query<'listUsage'>,
): Promise<Page<Usage>> {
  const { from, to, group_by = ['day'], meter = meters, ...page } = query
  return await sql.listUsage(lists, {
    user_id: userId,
    project_id: projectId ?? null,
    organization_id: organizationId ?? null,
    key_projects: projectIds === null ? null : [...projectIds],
    ...rangeOf(from, to),
    group_by,
    meters: meter,
    ...page,
  })
}

/** The first and the last day. By default the last days, up to today (UTC). */
function rangeOf(from: string | undefined, to: string | undefined): { from: string; to: string } {
  const last = to ?? dateOf(Date.now())
  const first = from ?? dateOf(Date.parse(last) - (defaultReportDays - 1) * dayMs)
  const days = (Date.parse(last) - Date.parse(first)) / dayMs + 1
  if (days < 1) throw invalidParameter('to', 'minimum', '`to` must not be before `from`.')
  if (days > maxReportDays)
    throw invalidParameter('from', 'maximum', `A report has at most ${maxReportDays} days.`)
  return { from: first, to: last }
}

const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

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
    { name: 'usage by project and model', step: deleteBatch(sql.deleteOldCounts, rowsPerStep) },
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
