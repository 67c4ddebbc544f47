// The audit log as users and operators read it, and how long it is kept.
import * as sql from '../../generated/sql/audit.ts'
import type { components } from '../../generated/types.ts'
import type { Query } from '../../infra/contract/query.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import { isOperator, type Principal } from '../users/authentication.ts'

/**
 * Operators read all entries, everyone else their own, or those of an organization, which the caller has
 * authorized.
 */
export async function listAuditEntries(
  db: Db,
  principal: Principal,
  query: Query<'listAuditEntries'>,
): Promise<Page<components['schemas']['AuditEntry']>> {
  const isAll = isOperator(principal)
  const own = isAll || query.organization_id !== undefined ? undefined : principal.userId
  const { data, pagination } = await sql.listEntries(db, { own, ...query })
  // The number says how many requests the whole platform gets.
  return { data: isAll ? data : data.map((entry) => ({ ...entry, sequence: null })), pagination }
}

const rowsPerStep = 2_000

export function auditRetentionTasks(days: number): RetentionTask[] {
  return [
    {
      name: 'old entries of the audit log',
      step: deleteBatch((db, { limit }) => sql.deleteOldEntries(db, { days, limit }), rowsPerStep),
    },
  ]
}
