// The members of an organization and the invitations to it. Owners and admins of an organization are members
// of all of its projects: every change of a role changes these memberships too.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/organizations.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { isUniqueViolation } from '../../infra/database/errors.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { conflict, forbidden, invalidState, notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { expiryFrom } from '../projects/invitations.ts'
import { mayActAsOperator, type Principal } from '../users/authentication.ts'
import { organizationRanks, roleOf, type Organization, type OrganizationRole } from './access.ts'

export type OrganizationMember = components['schemas']['OrganizationMember']

/** A member, and what an operation on it needs to know. */
export interface FoundMember {
  member: OrganizationMember
  /** Whether the caller is the member, or is invited. */
  isOwn: boolean
  isServiceAccount: boolean
}

/** A page of the members; for admins with the invitations. `origin` is that of the server. */
export async function listOrganizationMembers(
  db: Db,
  { id, your_membership: { role } }: Organization,
  query: ListQuery<'listOrganizationMembers'>,
  origin: string,
): Promise<Page<OrganizationMember>> {
  return await sql.listOrganizationMembers(db, {
    organization_id: id,
    active: true,
    invited: organizationRanks[role] >= organizationRanks.admin,
    origin,
    ...query,
  })
}

/** A page of the invitations to an organization. */
export async function listOrganizationInvitations(
  db: Db,
  { id }: Organization,
  query: ListQuery<'listOrganizationInvitations'>,
  origin: string,
): Promise<Page<OrganizationMember>> {
  const where = { organization_id: id, active: false, invited: true, origin }
  return await sql.listOrganizationMembers(db, { ...where, ...query })
}

/**
 * A member of the organization, or an invitation. Throws 404 for a member of another organization, and for
 * the invitation of another user, unless the caller is an admin.
 */
export async function findOrganizationMember(
  db: Db,
  organization: Organization,
  memberId: string,
  { userId }: Principal,
  origin: string,
): Promise<FoundMember> {
  const row = await sql.findOrganizationMember(db, {
    id: memberId,
    organization_id: organization.id,
    user_id: userId,
    origin,
  })
  if (row === undefined) throw notFound('member', memberId)
  const { is_own: isOwn, service_account_id: serviceAccountId, ...member } = row
  const own = roleOf(organization)
  const mayRead = member.status === 'active' ? own !== 'none' : organizationRanks[own] >= 2
  if (!isOwn && !mayRead) throw notFound('member', memberId)
  return { member, isOwn, isServiceAccount: serviceAccountId !== null }
}

/** `findOrganizationMember` for an invitation. Throws 404 for a member, too. */
export async function findOrganizationInvitation(
  db: Db,
  organization: Organization,
  invitationId: string,
  principal: Principal,
  origin: string,
): Promise<OrganizationMember> {
  const { member } = await findOrganizationMember(db, organization, invitationId, principal, origin)
  if (member.status === 'active') throw notFound('invitation', invitationId)
  return member
}

/** Makes an invitation to a locked organization valid from now. It is then the author's. */
export async function renewOrganizationInvitation(
  tx: Transaction,
  { id }: OrganizationMember,
  { authorId, origin }: { authorId: string; origin: string },
): Promise<OrganizationMember> {
  const expiresAt = expiryFrom(new Date())
  return await sql.renewOrganizationInvitation(tx, { id, author_id: authorId, expires_at: expiresAt, origin })
}

/** The user or address that a request adds. */
interface Invitee {
  userId: string | null
  email: string | null
  /** Whether the user becomes a member at once. */
  isAdded: boolean
}

/**
 * An operator adds every user by id; everyone else adds users who are members of a common project or
 * organization. All other users, and every email address, are invited.
 * @throws 404 for an unknown user id, and for that of a service account.
 */
export async function findOrganizationInvitee(
  tx: Transaction,
  principal: Principal,
  { user_id: userId, email }: { user_id?: string; email?: string },
): Promise<Invitee> {
  if (email !== undefined) return { userId: null, email: email.toLowerCase(), isAdded: false }
  const person = await sql.findPerson(tx, { user_id: userId!, caller_id: principal.userId })
  if (person === undefined) throw notFound('user', userId)
  return { userId: person.id, email: null, isAdded: person.is_known || mayActAsOperator(principal, 'admin') }
}

/**
 * Adds a member to a locked organization, or invites one. A new invitation replaces one that has expired.
 * @throws 409 `member_exists` or `invitation_exists`.
 */
export async function addOrganizationMember(
  tx: Transaction,
  organizationId: string,
  { userId, email, isAdded }: Invitee,
  { role, createdById, origin }: { role: OrganizationRole; createdById: string; origin: string },
): Promise<OrganizationMember> {
  const who = { organization_id: organizationId, user_id: userId, email }
  const existing = await sql.findOtherMember(tx, who)
  if (existing?.status === 'active') throw memberExists()
  if (existing?.status === 'invited' && !isAdded)
    throw conflict(
      'invitation_exists',
      'There is a pending invitation already.',
      email === null ? 'user_id' : 'email',
    )
  if (existing !== undefined) await deleteMember(tx, existing.id)
  const id = newId('omb')
  const createdAt = timeOf(id)
  const member = await sql.insertOrganizationMember(tx, {
    id,
    ...who,
    role,
    status: isAdded ? 'active' : 'invited',
    created_by: createdById,
    created_at: createdAt,
    expires_at: isAdded ? null : expiryFrom(createdAt),
    origin,
  })
  if (isAdded) await applyRole(tx, member)
  return member
}

const memberExists = (): Error =>
  conflict('member_exists', 'The user is already a member of this organization.')

/** Makes a new service account a member of its organization. */
export async function addServiceAccount(
  tx: Transaction,
  fields: { organizationId: string; userId: string; role: OrganizationRole; createdById: string },
  origin: string,
): Promise<OrganizationMember> {
  const { organizationId, userId, role, createdById } = fields
  const invitee = { userId, email: null, isAdded: true }
  return await addOrganizationMember(tx, organizationId, invitee, { role, createdById, origin })
}

/** Changes the role of a member of a locked organization, or of an invitation, which is then the author's. */
export async function setOrganizationRole(
  tx: Transaction,
  { id, status, role: previousRole }: OrganizationMember,
  { role, authorId, origin }: { role: OrganizationRole; authorId: string; origin: string },
): Promise<OrganizationMember> {
  const changed = await sql.updateOrganizationMember(tx, { id, role, author_id: authorId, origin })
  if (status !== 'active') return changed
  await applyRole(tx, changed)
  if (role === 'owner') return changed
  const where = { organization_id: changed.organization_id, user_id: changed.user_id! }
  // An invitation must not give a role that the member who made it has lost.
  await sql.deleteInvitationsOfMember(tx, { ...where, of_owners: role === 'admin' })
  if (previousRole === 'owner') await sql.transferProjectsOfMember(tx, where)
  return changed
}

/**
 * Makes the invited user a member of the locked organization.
 * @throws 409 for a member or an expired invitation, and `member_exists` for another membership.
 */
export async function acceptOrganizationInvitation(
  tx: Transaction,
  { id, status }: OrganizationMember,
  { userId, origin }: { userId: string; origin: string },
): Promise<OrganizationMember> {
  if (status !== 'invited') throw invalidState('invitation', status)
  try {
    const member = await sql.acceptOrganizationInvitation(tx, { id, user_id: userId, origin })
    await applyRole(tx, member)
    return member
  } catch (error) {
    throw isUniqueViolation(error) ? memberExists() : error
  }
}

/**
 * Removes a member from a locked organization and from its projects, with the invitations that the member
 * made; or an invitation.
 */
export async function removeOrganizationMember(
  tx: Transaction,
  { id, user_id, organization_id, status }: OrganizationMember,
): Promise<void> {
  await deleteMember(tx, id)
  if (status !== 'active') return
  const where = { organization_id, user_id: user_id! }
  await sql.lockProjectsOfOrganization(tx, { organization_id })
  await sql.transferProjectsOfMember(tx, where)
  await sql.leaveProjectsOfOrganization(tx, where)
  await sql.deleteInvitationsOfMember(tx, { ...where, of_owners: false })
  await sql.revokeProjectInvitations(tx, where)
}

/** Throws 409 `last_owner` when the user is the only owner of an organization. */
export async function requireNotOnlyOwner(tx: Transaction, userId: string): Promise<void> {
  if ((await sql.findSolelyOwnedOrganization(tx, { user_id: userId })) !== undefined)
    throw conflict(
      'last_owner',
      'The user is the only owner of an organization. Make another member an owner, or delete it first.',
    )
}

/**
 * Ends the memberships of a user in organizations, and the invitations that the user got or made.
 * @returns the memberships
 */
export async function endMemberships(
  tx: Transaction,
  { id, email }: { id: string; email: string },
  origin: string,
): Promise<OrganizationMember[]> {
  return await sql.deleteMembershipsOfUser(tx, { user_id: id, email, origin })
}

/** Throws 409 `last_owner` when the member is the only owner of the locked organization. */
export async function requireOtherOwner(
  tx: Transaction,
  { organization_id, user_id, role, status }: OrganizationMember,
): Promise<void> {
  if (role !== 'owner' || status !== 'active') return
  const owners = await sql.listOwners(tx, { organization_id })
  if (owners.every((owner) => owner.user_id === user_id))
    throw conflict('last_owner', 'An organization needs an owner. Make another member an owner first.')
}

/** Throws 403 for a service account, which cannot be an owner, and goes with `deleteServiceAccount`. */
export function requirePersonalMember({ isServiceAccount }: FoundMember): void {
  if (isServiceAccount)
    throw forbidden(
      'This member is a service account: it cannot be an owner, and deleteServiceAccount removes it.',
      'service_account',
    )
}

async function applyRole(
  tx: Transaction,
  { organization_id, user_id, role }: OrganizationMember,
): Promise<void> {
  await sql.lockProjectsOfOrganization(tx, { organization_id })
  const where = { organization_id, user_id: user_id! }
  if (role === 'member') await sql.takeOrganizationRole(tx, where)
  else await sql.giveOrganizationRole(tx, { ...where, role, created_at: new Date() })
}

async function deleteMember(tx: Transaction, id: string): Promise<void> {
  await tx.prisma.organizationMember.delete({ where: { id }, select: { id: true } })
}
