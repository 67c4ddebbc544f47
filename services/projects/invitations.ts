// Invitations to a project, of an email address or of a user. The admins of the project and the invited user
// see an invitation; for everybody else it does not exist. An invitation ends when the user who created it
// leaves the project or may no longer invite.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/projects.ts'
import { ranks } from './access.ts'
import type { Project, Role } from './projects.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { conflict, forbidden, notFound, invalidState } from '../../infra/errors.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Principal } from '../users/authentication.ts'

export type Invitation = components['schemas']['Invitation']

interface InvitationRequest {
  params: { id: string; invitation_id: string }
  principal: Principal
}

/** An invitation, and whether the caller may accept it; null if it is for another user or email address. */
interface FoundInvitation {
  invitation: Invitation
  verified: boolean | null
}

export async function listInvitations(
  db: Db,
  projectId: string,
  query: ListQuery<'listInvitations'>,
): Promise<Page<Invitation>> {
  return await sql.listInvitations(db, { project_id: projectId, ...query })
}

/** The pending invitations of the caller. */
export async function listMyInvitations(
  db: Db,
  { userId, projectIds }: Principal,
  query: ListQuery<'listMyInvitations'>,
): Promise<Page<Invitation>> {
  return await sql.listMyInvitations(db, {
    user_id: userId,
    project_ids: projectIds === null ? undefined : [...projectIds],
    ...query,
  })
}

/**
 * An invitation to the project, for its admins and for the invited user. Throws 404 for everybody else, and
 * for an invitation to another project.
 */
export async function findInvitation(
  db: Db,
  project: Project,
  request: InvitationRequest,
): Promise<FoundInvitation> {
  const { params, principal } = request
  const { invitation_id: id } = params
  const row = await sql.findInvitation(db, { id, project_id: project.id, user_id: principal.userId })
  if (row === undefined) throw notFound('invitation', id)
  const { verified, ...invitation } = row
  // A user from outside the project has no role.
  const isAdmin = ranks[project.your_role ?? 'none'] >= ranks.admin
  if (!isAdmin && verified !== true) throw notFound('invitation', id)
  return { invitation, verified }
}

/** `findInvitation` for the invited user alone: throws 403 for an admin of the project, who also sees it. */
export async function findOwnInvitation(
  db: Db,
  project: Project,
  request: InvitationRequest,
): Promise<Invitation> {
  const { invitation, verified } = await findInvitation(db, project, request)
  if (verified !== true)
    throw forbidden(
      'This invitation is for another email address, or your email address is not verified.',
      'email',
    )
  return invitation
}

/** An invitation expires after this time. */
const invitationDays = 14

export interface NewInvitation {
  projectId: string
  /** An email address or a user. */
  who: { email: string } | { userId: string }
  role: Role
  createdById: string
  metadata?: Record<string, string>
}

/**
 * Invites an email address or a user. Throws 409 `invitation_exists` when there is a pending invitation to
 * the project.
 */
export async function insertInvitation(
  tx: Transaction,
  { projectId, who, role, createdById, metadata = {} }: NewInvitation,
): Promise<Invitation> {
  const email = 'email' in who ? who.email : ''
  const userId = 'userId' in who ? who.userId : null
  const existing = await sql.findPendingInvitation(tx, { project_id: projectId, email, user_id: userId })
  if (existing?.status === 'pending')
    throw email === ''
      ? conflict('invitation_exists', 'This user already has a pending invitation.', 'user_id')
      : conflict('invitation_exists', 'This email address already has a pending invitation.', 'email')
  // A new invitation replaces one that expired or ended.
  if (existing !== undefined) await tx.prisma.invitation.delete({ where: { id: existing.id } })
  const id = newId('inv')
  const createdAt = timeOf(id)
  return await sql.insertInvitation(tx, {
    id,
    project_id: projectId,
    email,
    user_id: userId,
    role,
    created_by: createdById,
    metadata,
    created_at: createdAt,
    expires_at: expiryFrom(createdAt),
  })
}

/** The email address that is invited, or that of the invited user. */
export async function inviteeAddress(
  tx: Transaction,
  { email, user_id: userId }: Pick<Invitation, 'email' | 'user_id'>,
): Promise<string | null> {
  if (userId === null) return email
  const user = await tx.prisma.user.findUnique({ where: { id: userId }, select: { email: true } })
  return user?.email ?? null
}

/**
 * Ends a pending invitation to a locked project. Throws 409 for one that is not pending. One that has expired
 * can be revoked.
 */
export async function closeInvitation(
  tx: Transaction,
  { id, status: current }: Invitation,
  status: 'accepted' | 'declined' | 'revoked',
): Promise<Invitation> {
  if (current !== 'pending' && !(current === 'expired' && status === 'revoked'))
    throw invalidState('invitation', current)
  return await sql.updateInvitation(tx, { id, status })
}

/** Makes an invitation to a locked project valid from now. Throws 409 for one that has ended. */
export async function renewInvitation(tx: Transaction, { id, status }: Invitation): Promise<Invitation> {
  if (status !== 'pending' && status !== 'expired') throw invalidState('invitation', status)
  return await sql.renewInvitation(tx, { id, expires_at: expiryFrom(new Date()) })
}

/** When an invitation of a project or an organization expires. */
export function expiryFrom(start: Date): Date {
  return new Date(start.getTime() + invitationDays * 86_400_000)
}
