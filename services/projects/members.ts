// Members of a project, and the rule that only owners may add, change or remove owners. `origin` is that of
// the server, for the absolute URL of the avatar.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/projects.ts'
import { ranks } from './access.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { isUniqueViolation } from '../../infra/database/errors.ts'
import { conflict, forbidden, invalidField, notFound } from '../../infra/errors.ts'
import { containsPattern, type Page } from '../../infra/database/pagination.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { mayActAsOperator, type Principal } from '../users/authentication.ts'
import type { Project, Role } from './projects.ts'

export type Member = components['schemas']['Member']
type Metadata = Record<string, string>

/** A page of the members of a project, with the total, in one statement. */
export async function listMembers(
  db: Db,
  projectId: string,
  { q, ...query }: ListQuery<'listMembers'>,
  origin: string,
): Promise<Page<Member>> {
  return await sql.listMembers(db, {
    project_id: projectId,
    origin,
    pattern: q === undefined ? undefined : containsPattern(q),
    ...query,
  })
}

/** A member of the project. Throws 404 for a member of another project, too. */
export async function findMember(
  db: Db,
  projectId: string,
  memberId: string,
  origin: string,
): Promise<Member> {
  const member = await sql.findMember(db, { id: memberId, project_id: projectId, origin })
  if (member === undefined) throw notFound('member', memberId)
  return member
}

/** The membership of a user; null for a user who is not a member. */
export async function findMemberOf(
  db: Db,
  { projectId, userId }: { projectId: string; userId: string },
  origin: string,
): Promise<Member | null> {
  const where = { projectId_userId: { projectId, userId } }
  const found = await db.prisma.member.findUnique({ where, select: { id: true } })
  return found === null ? null : await findMember(db, projectId, found.id, origin)
}

/** Throws 403 when a caller who is not an owner adds, changes or removes an owner. */
export function requireOwnerToChangeOwner(own: string, roles: string[]): void {
  if (own !== 'owner' && roles.includes('owner'))
    throw forbidden('Only an owner can add, change or remove an owner.', 'role')
}

/**
 * Throws 403 unless the caller may remove the member: admins remove members, owners remove owners, everyone
 * can leave.
 */
export function requireCanRemove(project: Project, principal: Principal, member: Member): void {
  if (member.user.id === principal.userId) return
  if (ranks[project.your_role] < ranks.admin)
    throw forbidden('Your role allows you to remove only yourself.', 'role')
  requireOwnerToChangeOwner(project.your_role, [member.role])
}

/** The user or address that a request adds to a project. */
interface Invitee {
  who: { email: string } | { userId: string }
  isMember: boolean
  /** The id of a user whom the caller may add without an invitation; otherwise null. */
  addedId: string | null
}

/**
 * An operator adds every user by id; everyone else adds users who are members of a common project. All other
 * users decide themselves: they are invited, and so is every email address, so that the response does not say
 * whether a user has it.
 * @throws 404 for an unknown user id.
 */
export async function findInvitee(
  tx: Transaction,
  projectId: string,
  principal: Principal,
  { user_id: userId, email }: { user_id?: string; email?: string },
): Promise<Invitee> {
  const address = email?.toLowerCase()
  const found = await sql.findInvitee(tx, {
    project_id: projectId,
    caller_id: principal.userId,
    user_id: userId ?? null,
    email: address ?? null,
  })
  const isMember = found?.is_member === true
  if (address !== undefined) return { who: { email: address }, isMember, addedId: null }
  if (found === undefined) throw notFound('user', userId)
  const mayAdd = found.is_known || mayActAsOperator(principal, 'admin')
  return { who: { userId: found.id }, isMember, addedId: mayAdd ? found.id : null }
}

/** Throws 409 `member_exists`. */
export function requireNotMember({ isMember }: Invitee): void {
  if (isMember) throw memberExists()
}

const memberExists = (): Error => conflict('member_exists', 'The user is already a member of this project.')

export interface MemberChanges {
  role?: Role
  custom_role_id?: string | null
  metadata?: Metadata
}

/**
 * Throws 404 for an unknown custom role, 403 `custom_role` for one of another organization than the
 * project's, and 400 for a role together with a custom role.
 */
export async function requireUsableRole(
  tx: Transaction,
  { organization_id: organizationId }: Project,
  { role, custom_role_id: customRoleId }: Pick<MemberChanges, 'role' | 'custom_role_id'>,
): Promise<void> {
  if (customRoleId == null) return
  const found = await tx.prisma.customRole.findUnique({
    where: { id: customRoleId },
    select: { organizationId: true },
  })
  if (found === null) throw notFound('custom role', customRoleId)
  if (found.organizationId !== organizationId)
    throw forbidden('The custom role is not of the organization of this project.', 'custom_role')
  if (role !== undefined)
    throw invalidField('custom_role_id', 'one_of', 'Send either role or custom_role_id.')
}

/** Throws 409 for an owner or admin of the project's organization, whom only the organization removes. */
export function requireNotOrganizationAdmin({ organization_role: role }: Member): void {
  if (role !== null)
    throw conflict(
      'organization_role',
      `The member is ${role === 'owner' ? 'an owner' : 'an admin'} of the organization of this project.`,
    )
}

/** Adds a member to a locked project. Throws 409 `member_exists` when the user is already a member. */
export async function insertMember(
  tx: Transaction,
  project: { id: string },
  fields: { userId: string; role: Role; createdById: string; metadata?: Metadata },
  origin: string,
): Promise<Member> {
  const id = newId('mem')
  try {
    await tx.prisma.member.create({
      data: { id, projectId: project.id, ownRole: fields.role, ...fields, createdAt: timeOf(id) },
      select: { id: true },
    })
  } catch (error) {
    throw isUniqueViolation(error) ? memberExists() : error
  }
  return await findMember(tx, project.id, id, origin)
}

/**
 * Updates a member of a locked project. A role replaces a custom role.
 * @throws 409 `last_owner` when no owner would be left.
 */
export async function updateMember(
  tx: Transaction,
  member: Member,
  { role, custom_role_id: customRoleId, metadata }: MemberChanges,
  origin: string,
): Promise<Member> {
  const staysOwner = (role === undefined && customRoleId == null) || role === 'owner'
  if (member.role === 'owner' && member.organization_role !== 'owner' && !staysOwner)
    await replaceOwner(tx, member)
  await tx.prisma.member.update({
    where: { id: member.id },
    data: { ownRole: role, customRoleId: role === undefined ? customRoleId : null, metadata },
    select: { id: true },
  })
  return await findMember(tx, member.project_id, member.id, origin)
}

/** Removes a member from a locked project. Throws 409 `last_owner` when that would leave no owner. */
export async function deleteMember(tx: Transaction, member: Member): Promise<void> {
  if (member.role === 'owner') await replaceOwner(tx, member)
  await tx.prisma.member.delete({ where: { id: member.id }, select: { id: true } })
}

/**
 * Call this before an owner of a locked project is demoted or removed. If the project's owner_id is this
 * owner, it changes to the longest-standing other owner.
 * @throws 409 `last_owner` when there is no other owner.
 */
async function replaceOwner(tx: Transaction, { id, project_id: projectId, user }: Member): Promise<void> {
  const other = await sql.findOtherOwner(tx, { project_id: projectId, member_id: id })
  if (other === undefined)
    throw conflict('last_owner', 'A project needs an owner. Make another member an owner first.')
  await sql.transferProject(tx, { id: projectId, owner_id: user.id, new_owner_id: other.user_id })
}
