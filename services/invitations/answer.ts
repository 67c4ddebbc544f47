// The answers to an invitation to a project or an organization, through the API and through the page.
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { invalidState, notFound } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { openOrganization } from '../organizations/access.ts'
import {
  acceptOrganizationInvitation,
  findOrganizationMember,
  removeOrganizationMember,
  type FoundMember,
  type OrganizationMember,
} from '../organizations/members.ts'
import { openProject, openProjectInAnyState, requireProjectStatus } from '../projects/access.ts'
import { closeInvitation, findOwnInvitation, type Invitation } from '../projects/invitations.ts'
import { findMemberOf, insertMember, type Member } from '../projects/members.ts'
import type { Principal } from '../users/authentication.ts'

export interface AnswerServices {
  events: Emitter
  filesUrl: () => string
}

interface ToProject {
  params: { id: string; invitation_id: string }
  principal: Principal
}

interface ToOrganization {
  params: { id: string; member_id: string }
  principal: Principal
}

/** Accepts the invitation, or returns the membership of a user who accepted it before. */
export async function acceptToProject(
  tx: Transaction,
  { events, filesUrl }: AnswerServices,
  invited: ToProject,
): Promise<Member> {
  const request = { ...invited, operation: operations.acceptInvitation }
  const project = await openProjectInAnyState(tx, request, { lock: true })
  const invitation = await findOwnInvitation(tx, project, request)
  requireProjectStatus(project, request)
  const { userId } = request.principal
  if (invitation.status === 'accepted') {
    const existing = await findMemberOf(tx, { projectId: project.id, userId }, filesUrl())
    if (existing !== null) return existing
  }
  const accepted = await closeInvitation(tx, invitation, 'accepted')
  const { role, metadata, created_by: createdById } = accepted
  const member = await insertMember(tx, project, { userId, role, metadata, createdById }, filesUrl())
  await events.emit(tx, 'member.added', member)
  await events.emit(tx, 'invitation.accepted', accepted, { previous: invitation })
  return member
}

export async function declineToProject(
  tx: Transaction,
  { events }: AnswerServices,
  invited: ToProject,
): Promise<Invitation> {
  const request = { ...invited, operation: operations.declineInvitation }
  const project = await openProject(tx, request, { lock: true })
  const previous = await findOwnInvitation(tx, project, request)
  if (previous.status === 'declined') return previous
  const invitation = await closeInvitation(tx, previous, 'declined')
  await events.emit(tx, 'invitation.declined', invitation, { previous })
  return invitation
}

export async function acceptToOrganization(
  tx: Transaction,
  services: AnswerServices,
  invited: ToOrganization,
): Promise<OrganizationMember> {
  const { events, filesUrl } = services
  const found = await findOwn(tx, services, {
    ...invited,
    operation: operations.acceptOrganizationInvitation,
  })
  if (found.member.status === 'active') return found.member
  const { userId } = invited.principal
  const member = await acceptOrganizationInvitation(tx, found.member, { userId, origin: filesUrl() })
  await events.emit(tx, 'organization_member.added', member)
  await events.emit(tx, 'organization_invitation.accepted', member, { previous: found.member })
  return member
}

/** Throws 409 for a member: the second of two answers must not end a membership. */
export async function declineToOrganization(
  tx: Transaction,
  services: AnswerServices,
  invited: ToOrganization,
): Promise<void> {
  const { member } = await findOwn(tx, services, {
    ...invited,
    operation: operations.removeOrganizationMember,
  })
  if (member.status === 'active') throw invalidState('invitation', member.status)
  await removeOrganizationMember(tx, member)
  await services.events.emit(tx, 'organization_invitation.removed', member)
}

/** The invitation of the caller to a locked organization. */
async function findOwn(
  tx: Transaction,
  { filesUrl }: AnswerServices,
  request: ToOrganization & { operation: OperationInfo },
): Promise<FoundMember> {
  const organization = await openOrganization(tx, request, { lock: true })
  const { member_id: id } = request.params
  const found = await findOrganizationMember(tx, organization, id, request.principal, filesUrl())
  if (!found.isOwn) throw notFound('member', id)
  return found
}
