// Authorization for organizations, as `x-organization-access` declares it: 404 when the organization does not
// exist, 403 when the caller's role in it is too low.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/organizations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import { forbidden, notFound } from '../../infra/errors.ts'
import { isForOperator } from '../projects/access.ts'
import type { Principal } from '../users/authentication.ts'

export type Organization = components['schemas']['Organization']
export type OrganizationRole = components['schemas']['OrganizationRole']

/** The roles, from least to most powerful. `none` is for operations that users outside may perform. */
export const organizationRanks = { none: 0, member: 1, admin: 2, owner: 3 } as const

type Rank = keyof typeof organizationRanks

interface OrganizationRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

/**
 * The organization of the request, if the caller may perform the operation. One round trip.
 * @param options.lock whether to lock it against other writers until the transaction ends.
 * @throws 404 or 403.
 */
export async function openOrganization(
  db: Db,
  request: OrganizationRequest,
  { lock = false } = {},
): Promise<Organization> {
  const { id } = request.params
  const found = findOrganization(db, { id, user_id: request.principal.userId }, lock ? 'lock' : null)
  return await withRole(found, requiredRole(request), id)
}

/** The caller's role in the organization. A user from outside has no membership. */
export function roleOf(organization: Organization): Rank {
  return (organization.your_membership as Organization['your_membership'] | null)?.role ?? 'none'
}

/** The role that `x-organization-access` of the operation requires of the caller. */
export function requiredRole(request: Omit<OrganizationRequest, 'params'>): Rank {
  const { id, organizationAccess } = request.operation
  if (organizationAccess === undefined) throw new Error(`${id} declares no x-organization-access`)
  return isForOperator(request) ? 'none' : (organizationAccess.role as Rank)
}

/**
 * For an organization that a body, a query parameter or another resource names: requires a role. Its members
 * cannot change until the transaction ends; with `lock` nothing of it can.
 * @throws 404 or 403.
 */
export async function requireOrganizationRole(
  db: Db,
  id: string,
  { userId }: Pick<Principal, 'userId'>,
  role: Rank,
  { lock = false } = {},
): Promise<void> {
  await withRole(findOrganization(db, { id, user_id: userId }, lock ? 'lock' : 'share'), role, id)
}

/** For an organization whose resources a list has: requires a role. @throws 404 or 403. */
export async function requireReadRole(
  db: Db,
  id: string,
  { userId }: Pick<Principal, 'userId'>,
  role: Rank,
): Promise<void> {
  await withRole(sql.findOrganization(db, { id, user_id: userId }), role, id)
}

/**
 * An organization and the membership of a user in it, in one round trip.
 * @param lock `share`: its members cannot change until the transaction ends; `lock`: nothing of it can.
 */
export async function findOrganization(
  db: Db,
  key: { id: string; user_id: string },
  lock: 'share' | 'lock' | null,
): ReturnType<typeof sql.findOrganization> {
  const { id } = key
  // Its error is that of the next statement.
  if (lock === 'share') sql.shareOrganization(db.later, { id }).catch(() => {})
  if (lock === 'lock') sql.lockOrganization(db.later, { id }).catch(() => {})
  return await sql.findOrganization(db, key)
}

async function withRole(
  found: ReturnType<typeof sql.findOrganization>,
  role: Rank,
  id: string,
): Promise<Organization> {
  const row = await found
  if (row === undefined) throw notFound('organization', id)
  requireRank(row.your_membership?.role ?? null, role, id)
  return row as Organization
}

function requireRank(own: OrganizationRole | null, role: Rank, id: string): void {
  if (organizationRanks[own ?? 'none'] >= organizationRanks[role]) return
  const message =
    own === null
      ? 'You are not a member of this organization.'
      : `This operation requires the role ${role} in the organization; your role is ${own}.`
  throw forbidden(message, 'role', id)
}
