// The members of an organization and the invitations to it. Every change locks the organization's row, so
// concurrent changes to one organization run one by one.
import { changesOf } from '../infra/contract/changes.ts'
import { forbidden } from '../infra/errors.ts'
import type { Handlers } from '../services/handler.ts'
import { acceptToOrganization, declineToOrganization } from '../services/invitations/answer.ts'
import { mailInvitation } from '../services/invitations/mail.ts'
import { requireMayGive } from '../services/organizations/hand-over.ts'
import { openOrganization, organizationRanks, roleOf } from '../services/organizations/access.ts'
import { requireOwnerToChangeOwner } from '../services/projects/members.ts'
import {
  addOrganizationMember,
  findOrganizationInvitation,
  findOrganizationInvitee,
  findOrganizationMember,
  listOrganizationInvitations,
  listOrganizationMembers,
  removeOrganizationMember,
  renewOrganizationInvitation,
  requireOtherOwner,
  requirePersonalMember,
  setOrganizationRole,
} from '../services/organizations/members.ts'

export const organizationMembers = {
  async listOrganizationMembers(request, { db, filesUrl }) {
    const organization = await openOrganization(db, request)
    const page = await listOrganizationMembers(db, organization, request.query, filesUrl())
    return { status: 200, body: page }
  },

  async addOrganizationMember(request, { db, events, cipher, mails, filesUrl }) {
    const { principal, body } = request
    return await db.transaction(async (tx) => {
      const organization = await openOrganization(tx, request, { lock: true })
      requireOwnerToChangeOwner(roleOf(organization), [body.role])
      await requireMayGive(tx, principal, { organizationId: organization.id, role: body.role })
      const invitee = await findOrganizationInvitee(tx, principal, body)
      const member = await addOrganizationMember(tx, organization.id, invitee, {
        role: body.role,
        createdById: principal.userId,
        origin: filesUrl(),
      })
      const type = invitee.isAdded ? 'organization_member.added' : 'organization_invitation.created'
      await events.emit(tx, type, member)
      if (!invitee.isAdded) await mailInvitation(tx, { cipher, mails }, member)
      const location = `/v1/organizations/${organization.id}/members/${member.id}`
      return { status: 201, body: member, headers: { location } }
    })
  },

  async getOrganizationMember(request, { db, filesUrl }) {
    const organization = await openOrganization(db, request)
    const { member_id: memberId } = request.params
    const { member } = await findOrganizationMember(db, organization, memberId, request.principal, filesUrl())
    return { status: 200, body: member }
  },

  async updateOrganizationMember(request, { db, events, filesUrl }) {
    const { params, principal, body } = request
    return await db.transaction(async (tx) => {
      const organization = await openOrganization(tx, request, { lock: true })
      const found = await findOrganizationMember(tx, organization, params.member_id, principal, filesUrl())
      const previous = found.member
      const { role = previous.role } = body
      requireOwnerToChangeOwner(roleOf(organization), [previous.role, role])
      if (role === 'owner') requirePersonalMember(found)
      request.ifMatch(previous)
      if (changesOf(previous, body) === null) return { status: 200, body: previous }
      await requireMayGive(tx, principal, { organizationId: organization.id, role })
      if (role !== 'owner') await requireOtherOwner(tx, previous)
      const member = await setOrganizationRole(tx, previous, {
        role,
        authorId: principal.userId,
        origin: filesUrl(),
      })
      const subject = previous.status === 'active' ? 'organization_member' : 'organization_invitation'
      await events.emit(tx, `${subject}.updated`, member, { previous })
      return { status: 200, body: member }
    })
  },

  async removeOrganizationMember(request, { db, events, filesUrl }) {
    const { params, principal } = request
    return await db.transaction(async (tx) => {
      const organization = await openOrganization(tx, request, { lock: true })
      const found = await findOrganizationMember(tx, organization, params.member_id, principal, filesUrl())
      const { member, isOwn } = found
      if (!isOwn) {
        if (organizationRanks[roleOf(organization)] < organizationRanks.admin)
          throw forbidden('Your role allows you to remove only yourself.', 'role')
        requireOwnerToChangeOwner(roleOf(organization), [member.role])
      }
      requirePersonalMember(found)
      request.ifMatch(member)
      await requireOtherOwner(tx, member)
      await removeOrganizationMember(tx, member)
      const subject = member.status === 'active' ? 'organization_member' : 'organization_invitation'
      await events.emit(tx, `${subject}.removed`, member)
      return { status: 204 }
    })
  },

  async acceptOrganizationInvitation(request, services) {
    const member = await services.db.transaction((tx) => acceptToOrganization(tx, services, request))
    return { status: 200, body: member }
  },

  async listOrganizationInvitations(request, { db, filesUrl }) {
    const organization = await openOrganization(db, request)
    const page = await listOrganizationInvitations(db, organization, request.query, filesUrl())
    return { status: 200, body: page }
  },

  async getOrganizationInvitation(request, { db, filesUrl }) {
    const { params, principal } = request
    const organization = await openOrganization(db, request)
    const id = params.invitation_id
    return {
      status: 200,
      body: await findOrganizationInvitation(db, organization, id, principal, filesUrl()),
    }
  },

  async revokeOrganizationInvitation(request, { db, events, filesUrl }) {
    const { params, principal } = request
    return await db.transaction(async (tx) => {
      const organization = await openOrganization(tx, request, { lock: true })
      const id = params.invitation_id
      const invitation = await findOrganizationInvitation(tx, organization, id, principal, filesUrl())
      requireOwnerToChangeOwner(roleOf(organization), [invitation.role])
      request.ifMatch(invitation)
      await removeOrganizationMember(tx, invitation)
      await events.emit(tx, 'organization_invitation.removed', invitation)
      return { status: 204 }
    })
  },

  async resendOrganizationInvitation(request, { db, events, cipher, mails, filesUrl }) {
    const { params, principal } = request
    return await db.transaction(async (tx) => {
      const organization = await openOrganization(tx, request, { lock: true })
      const id = params.invitation_id
      const previous = await findOrganizationInvitation(tx, organization, id, principal, filesUrl())
      const { role } = previous
      requireOwnerToChangeOwner(roleOf(organization), [role])
      await requireMayGive(tx, principal, { organizationId: organization.id, role })
      const invitation = await renewOrganizationInvitation(tx, previous, {
        authorId: principal.userId,
        origin: filesUrl(),
      })
      await events.emit(tx, 'organization_invitation.resent', invitation, { previous })
      await mailInvitation(tx, { cipher, mails }, invitation)
      return { status: 200, body: invitation }
    })
  },

  async acceptInvitationToOrganization({ principal, params }, services) {
    const invited = { principal, params: { id: params.id, member_id: params.invitation_id } }
    const member = await services.db.transaction((tx) => acceptToOrganization(tx, services, invited))
    return { status: 200, body: member }
  },

  async declineOrganizationInvitation({ principal, params }, services) {
    const invited = { principal, params: { id: params.id, member_id: params.invitation_id } }
    await services.db.transaction((tx) => declineToOrganization(tx, services, invited))
    return { status: 204 }
  },
} satisfies Handlers<'organization-members'>
