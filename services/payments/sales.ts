// Access to sales: the lists of orders, checkout sessions, subscriptions and refunds, and sales to other
// users. Sellers (`payments:sell`) list the sales of all users and projects; everyone else lists those of a
// project, those of an organization that they administer, or their own outside all projects.
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { ApiError, forbidden, invalidField } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { requireReadRole } from '../organizations/access.ts'
import { requireMembership, scopeOf } from '../projects/access.ts'
import { requireKeyForAllProjects, requireUnrestrictedKey } from '../projects/resource-access.ts'
import { openWorkspace } from '../projects/workspaces.ts'
import { isOperator, type Principal } from '../users/authentication.ts'
import { customerOfUser, requireBuyer, userOfCustomer } from './customers.ts'

interface SalesRequest {
  operation: OperationInfo
  principal: Principal
  noteProject?(id: string): void
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
export async function openSales(
  db: Db,
  { operation, principal, noteProject, query }: SalesRequest,
): Promise<SalesFilter> {
  const { project_id: projectId, organization_id: organizationId, user_id: userId } = query
  const filter = { workspace_id: projectId, organization_id: organizationId, user_id: userId }
  if (maySell(principal)) {
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
  return {
    ...filter,
    workspace_id: await openWorkspace(db, { operation, principal, noteProject }, projectId),
  }
}

/** Whether the caller may sell to other users. */
export function maySell(principal: Principal): boolean {
  return isOperator(principal, 'payments:sell')
}

interface SaleRequest {
  operation: OperationInfo
  principal: Principal
  noteProject?(id: string): void
}

/** Who buys; by default, the caller. */
export interface Buyer {
  project_id?: string
  user_id?: string
  customer_id?: string
}

/**
 * Authorizes a new sale, in a project or outside all projects, and locks the project and the customer. The
 * role in the project and the quota are those of the buyer, the scopes those of the caller.
 * @returns the owner of the sale, which is the user or a customer without one, and the customer.
 * @throws 404 for an unknown user, customer or project, 403 without permission, 409 for the project's status.
 */
export async function openSale(
  tx: Transaction,
  { events }: { events: Emitter },
  request: SaleRequest,
  { project_id: projectId, user_id: userId, customer_id: customerId }: Buyer,
): Promise<{ ownerId: string; customerId: string }> {
  let buyerId = userId ?? request.principal.userId
  if (customerId !== undefined) {
    requireSeller(request.principal, customerId)
    if (userId !== undefined)
      throw invalidField('customer_id', 'exclusive', 'Send either user_id or customer_id.')
    const user = await userOfCustomer(tx, customerId)
    if (user === null && projectId !== undefined)
      throw invalidField('project_id', 'customer', 'A customer without a user buys outside of projects.')
    if (user === null) return { ownerId: customerId, customerId }
    buyerId = user
  }
  await authorizeSale(tx, request, projectId ?? null, buyerId)
  return { ownerId: buyerId, customerId: await customerOfUser(tx, events, buyerId) }
}

async function authorizeSale(
  tx: Transaction,
  { operation, principal, noteProject }: SaleRequest,
  projectId: string | null,
  buyerId: string,
): Promise<void> {
  if (buyerId === principal.userId) {
    await openWorkspace(tx, { operation, principal, noteProject }, projectId, { lock: true })
    return
  }
  requireSeller(principal, buyerId)
  await requireBuyer(tx, buyerId)
  await openWorkspace(tx, { operation, principal: { ...principal, userId: buyerId } }, projectId, {
    lock: true,
  }).catch((error) => {
    throw isMissingRole(error)
      ? forbidden('The customer needs the role editor in this project.', 'role', projectId!)
      : error
  })
}

/**
 * The principal whose role decides about a checkout for an order: a seller with a full key acts for the
 * buyer.
 */
export function sellerOf(principal: Principal, buyerId: string): Principal {
  return principal.projectIds === null ? { ...principal, userId: buyerId } : principal
}

/** Throws 403 unless the caller may sell to the user. */
function requireSeller(principal: Principal, buyerId: string): void {
  if (!maySell(principal))
    throw forbidden('Only API keys with the scope payments:sell can sell to other users.', 'owner', buyerId)
  if (principal.projectIds !== null)
    throw forbidden('An API key that is limited to projects cannot sell to other users.', 'project_ids')
}

function isMissingRole(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403 && error.details.constraint === 'role'
}
