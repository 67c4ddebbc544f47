// Access to sales: the lists of orders, checkout sessions, subscriptions and refunds, and sales to other
// users. Operators (`payments:sell`) list the operator's sales to all users and projects; everyone else lists
// those of a project, those of an organization that they administer, or their own outside all projects. What
// an organization sells is its admins' alone.
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { ApiError, conflict, forbidden, invalidField, notFound } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { requireReadRole } from '../organizations/access.ts'
import { requireMembership, scopeOf } from '../projects/access.ts'
import {
  requireAccess,
  requireKeyForAllProjects,
  requireUnrestrictedKey,
  type WorkspaceResource,
} from '../projects/resource-access.ts'
import { openWorkspace } from '../projects/workspaces.ts'
import { isOperator, type Principal } from '../users/authentication.ts'
import { customerOfUser, findCustomer, requireBuyer, userOfCustomer } from './customers.ts'
import { requireSeller } from './sellers.ts'

interface SalesRequest {
  operation: OperationInfo
  principal: Principal
  noteProject?(id: string): void
  query: {
    project_id?: string
    organization_id?: string
    user_id?: string
    seller_organization_id?: string
  }
}

/** The filters of a list of sales. Without any, the list has all sales of the operator. */
export interface SalesFilter {
  workspace_id: string | undefined
  organization_id: string | undefined
  user_id: string | undefined
  seller_organization_id: string | undefined
}

/**
 * Authorizes a list of sales.
 * @throws 404 for a project or an organization that does not exist, 403 for another user, or without access.
 */
export async function openSales(db: Db, request: SalesRequest): Promise<SalesFilter> {
  const { operation, principal, noteProject, query } = request
  const { project_id: projectId, organization_id: organizationId, user_id: userId } = query
  const { seller_organization_id: seller } = query
  const filter = {
    workspace_id: projectId,
    organization_id: organizationId,
    user_id: userId,
    seller_organization_id: seller,
  }
  if (seller !== undefined) {
    await requireSeller(db, request, seller)
    return filter
  }
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
      'Only operators with the scope payments:sell can list the sales of other users.',
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

interface SaleResource extends WorkspaceResource {
  seller_organization_id?: string | null
}

/** `requireAccess` for a sale: that of an organization does not exist for others than its admins. */
export async function requireSaleAccess<Found extends SaleResource>(
  db: Db,
  found: Found | undefined,
  request: SaleRequest,
  resource: { name: string; id: string },
): Promise<Found> {
  const seller = found?.seller_organization_id ?? null
  if (found === undefined || seller === null) {
    requireAccess(found, request, resource)
    return found
  }
  await requireSeller(db, request, seller, () => notFound(resource.name, resource.id))
  return found
}

/** Whether the caller may sell to other users, for the operator. */
export function maySell(principal: Principal): boolean {
  return isOperator(principal, 'payments:sell')
}

interface SaleRequest {
  operation: OperationInfo
  principal: Principal
  noteProject?(id: string): void
}

/** The part of the gateways that decides who may sell. */
export interface SellingGateways {
  current: object
  forOrganizations: boolean
}

/**
 * Whether a sale of this seller, an organization or null for the operator, may get the gateway. The payments
 * of the current one go to the operator.
 */
export function isSellable(
  { current, forOrganizations }: SellingGateways,
  seller: string | null,
  gateway: object,
): boolean {
  return seller === null || forOrganizations || gateway !== current
}

/** Throws 409 unless a sale of this seller may get the gateway. */
export function requireSellable(gateways: SellingGateways, seller: string | null, gateway: object): void {
  if (!isSellable(gateways, seller, gateway))
    throw conflict('gateway', 'Organizations sell in the sandbox only: the gateway pays the operator.')
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
 * @returns the owner of the sale, which is the user or a customer without one, the customer, and the seller:
 * an organization, or null for the operator.
 * @throws 404 for an unknown user, customer or project, 403 without permission, 409 for the project's status.
 */
export async function openSale(
  tx: Transaction,
  { events, gateways }: { events: Emitter; gateways: SellingGateways },
  request: SaleRequest,
  { project_id: projectId, user_id: userId, customer_id: customerId }: Buyer,
): Promise<{ ownerId: string; customerId: string; seller: string | null }> {
  let buyerId = userId ?? request.principal.userId
  if (customerId !== undefined) {
    const seller = (await findCustomer(tx, customerId))?.organization_id ?? null
    // To others it is as if there were no such customer.
    const missing = (): Error =>
      refusalToSell(request.principal, customerId) ?? notFound('customer', customerId)
    if (seller === null) requireMaySell(request.principal, customerId)
    else await requireSeller(tx, request, seller, missing)
    requireSellable(gateways, seller, gateways.current)
    if (userId !== undefined)
      throw invalidField('customer_id', 'exclusive', 'Send either user_id or customer_id.')
    const user = await userOfCustomer(tx, customerId)
    if (user === null && projectId !== undefined)
      throw invalidField('project_id', 'customer', 'A customer without a user buys outside of projects.')
    if (user === null) return { ownerId: customerId, customerId, seller }
    buyerId = user
  }
  await authorizeSale(tx, request, projectId ?? null, buyerId)
  return { ownerId: buyerId, customerId: await customerOfUser(tx, events, buyerId), seller: null }
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
  requireMaySell(principal, buyerId)
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

/** Throws 403 unless the caller may sell to the user for the operator. */
function requireMaySell(principal: Principal, buyerId: string): void {
  const refusal = refusalToSell(principal, buyerId)
  if (refusal !== null) throw refusal
}

function refusalToSell(principal: Principal, buyerId: string): Error | null {
  if (!maySell(principal))
    return forbidden('Only operators with the scope payments:sell can sell to other users.', 'owner', buyerId)
  if (principal.projectIds !== null)
    return forbidden('An API key that is limited to projects cannot sell to other users.', 'project_ids')
  return null
}

function isMissingRole(error: unknown): boolean {
  return error instanceof ApiError && error.status === 403 && error.details.constraint === 'role'
}
