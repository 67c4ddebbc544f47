// The audit log as users and operators read it, and how long it is kept.
import * as sql from '../../generated/sql/audit.ts'
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { SqlClient } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import { isOperator, type Principal } from '../users/authentication.ts'

/** Operators read all entries, everyone else their own. */
export async function listAuditEntries(
  lists: SqlClient,
  principal: Principal,
  query: ListQuery<'listAuditEntries'>,
): Promise<Page<components['schemas']['AuditEntry']>> {
  const own = isOperator(principal) ? undefined : principal.userId
  return await sql.listEntries(lists, { own, ...query })
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
