// Access to the lists of orders, checkout sessions, subscriptions and refunds. Sellers (`payments:sell`) list
// those of all users and projects; everyone else lists those of a project, those of an organization that they administer,
// or their own outside all projects.
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import { forbidden } from '../../infra/errors.ts'
import { requireReadRole } from '../organizations/access.ts'
import { requireMembership, scopeOf } from '../projects/access.ts'
import { requireKeyForAllProjects, requireUnrestrictedKey } from '../projects/resource-access.ts'
import { openWorkspace } from '../projects/workspaces.ts'
import { isOperator, type Principal } from '../users/authentication.ts'

interface SalesRequest {
  operation: OperationInfo
  principal: Principal
  query: { project_id?: string; organization_id?: string; user_id?: string }
}

/** The filters of a list of sales. Without any, the list has the sales of all users and projects. */
export interface SalesFilter {
  workspace_id: string | undefined
  organization_id: string | undefined
  user_id: string | undefined
}

/**
 * Authorizes a list of sales.
 * @throws 404 for a project or an organization that does not exist, 403 for another user, or without access.
 */
export async function openSales(db: Db, { operation, principal, query }: SalesRequest): Promise<SalesFilter> {
  const { project_id: projectId, organization_id: organizationId, user_id: userId } = query
  const filter = { workspace_id: projectId, organization_id: organizationId, user_id: userId }
  if (isOperator(principal, 'payments:sell')) {
    if (projectId === undefined || organizationId !== undefined) requireKeyForAllProjects(principal)
    if (projectId !== undefined)
      await requireMembership(db, projectId, principal, {
        deleted: true,
        operators: 'payments:sell',
        scope: scopeOf(operation),
      })
    return filter
  }
  if (userId !== undefined && userId !== principal.userId)
    throw forbidden(
      'Only API keys with the scope payments:sell can list the sales of other users.',
      'owner',
      userId,
    )
  if (organizationId !== undefined) {
    requireUnrestrictedKey(principal)
    await requireReadRole(db, organizationId, principal, 'admin')
    if (projectId === undefined) return filter
  }
  return { ...filter, workspace_id: await openWorkspace(db, { operation, principal }, projectId) }
}
