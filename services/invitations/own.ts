// An invitation by its id alone, as its e-mail names it: to a project or to an organization. Only the invited
// user finds it.
import { operations } from '../../generated/operations.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { ApiError, notFound } from '../../infra/errors.ts'
import { openOrganization } from '../organizations/access.ts'
import { findOrganizationMember, type OrganizationMember } from '../organizations/members.ts'
import { openProjectInAnyState } from '../projects/access.ts'
import { findOwnInvitation, type Invitation } from '../projects/invitations.ts'
import type { Principal } from '../users/authentication.ts'
import {
  acceptToOrganization,
  acceptToProject,
  declineToOrganization,
  declineToProject,
  type AnswerServices,
} from './answer.ts'

export interface OwnInvitation {
  id: string
  place: 'project' | 'organization'
  /** The name of the project or the organization. */
  name: string
  role: string
  /** The name of the user who invites; null for the creator of an organization. */
  inviter: string | null
  status: Invitation['status']
}

interface Invited {
  id: string
  principal: Principal
}

/** Null if the invitation does not exist, or is for another user. `origin` is that of the server. */
export async function findInvitationOf(
  db: Db,
  invited: Invited,
  origin: string,
): Promise<OwnInvitation | null> {
  const found = invited.id.startsWith('inv_') ? ofProject(db, invited) : ofOrganization(db, invited, origin)
  return await found.catch((error) => {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    return null
  })
}

/** Accepts or declines. Throws 404 for the invitation of another user, and 409 for one that has ended. */
export async function answerInvitation(
  tx: Transaction,
  services: AnswerServices,
  { id, principal }: Invited,
  answer: 'accept' | 'decline',
): Promise<void> {
  const placeId = await placeOf(tx, id)
  if (id.startsWith('inv_')) {
    const invited = { params: { id: placeId, invitation_id: id }, principal }
    await (answer === 'accept' ? acceptToProject : declineToProject)(tx, services, invited)
  } else {
    const invited = { params: { id: placeId, member_id: id }, principal }
    await (answer === 'accept' ? acceptToOrganization : declineToOrganization)(tx, services, invited)
  }
}

/** The id of the project or the organization. Throws 404. */
async function placeOf({ prisma }: Db, id: string): Promise<string> {
  const placeId = id.startsWith('inv_')
    ? (await prisma.invitation.findUnique({ where: { id }, select: { projectId: true } }))?.projectId
    : (await prisma.organizationMember.findUnique({ where: { id }, select: { organizationId: true } }))
        ?.organizationId
  if (placeId === undefined) throw notFound('invitation', id)
  return placeId
}

async function ofProject(db: Db, { id, principal }: Invited): Promise<OwnInvitation> {
  const params = { id: await placeOf(db, id), invitation_id: id }
  const request = { params, principal, operation: operations.declineInvitation }
  const invitation = await findOwnInvitation(db, await openProjectInAnyState(db, request), request)
  const { project_name: name, role, created_by_name: inviter, status } = invitation
  return { id, place: 'project', name, role, inviter, status }
}

const statusOf: Record<OrganizationMember['status'], Invitation['status']> = {
  invited: 'pending',
  active: 'accepted',
  expired: 'expired',
}

async function ofOrganization(db: Db, { id, principal }: Invited, origin: string): Promise<OwnInvitation> {
  const params = { id: await placeOf(db, id) }
  const operation = operations.acceptOrganizationInvitation
  const organization = await openOrganization(db, { operation, params, principal })
  const { member, isOwn } = await findOrganizationMember(db, organization, id, principal, origin)
  if (!isOwn) throw notFound('invitation', id)
  const { createdBy } = await db.prisma.organizationMember.findUniqueOrThrow({
    where: { id },
    select: { createdBy: { select: { name: true } } },
  })
  const { organization_name: name, role, status } = member
  const inviter = createdBy?.name ?? null
  return { id, place: 'organization', name, role, inviter, status: statusOf[status] }
}
