// The audit log as users and operators read it, and how long it is kept.
import * as sql from '../../generated/sql/audit.ts'
import type { components } from '../../generated/types.ts'
import type { Query } from '../../infra/contract/query.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { forbidden } from '../../infra/errors.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import { requireReadRole } from '../organizations/access.ts'
import { isOperator, type Principal } from '../users/authentication.ts'

/**
 * Operators read all entries, admins of an organization those of the organization, everyone their own.
 * @throws 403 without the scope or the role, 404 for an organization that does not exist.
 */
export async function listAuditEntries(
  db: Db,
  principal: Principal,
  query: Query<'listAuditEntries'>,
): Promise<Page<components['schemas']['AuditEntry']>> {
  const { organization_id: organizationId } = query
  const isAll = isOperator(principal)
  if (organizationId !== undefined && !isAll) {
    if (!principal.scopes.has('audit:read'))
      throw forbidden('The log of an organization requires the scope audit:read.', 'scope')
    await requireReadRole(db, organizationId, principal, 'admin')
  }
  const own = isAll || organizationId !== undefined ? undefined : principal.userId
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
