// Invitations to join a project, sent to an email address that no user has yet.
import type { Handlers } from '../services/handler.ts'
import { findProject, openProject, requireProjectStatus } from '../services/projects/access.ts'
import { invalidState } from '../infra/errors.ts'
import {
  acceptInvitation,
  findInvitation,
  listInvitations,
  listMyInvitations,
  requireInvitee,
  toInvitation,
} from '../services/projects/members.ts'

export const invitations = {
  async listInvitations(request, { db }) {
    await openProject(db, request)
    return { status: 200, body: await listInvitations(db, request.params.id, request.query) }
  },

  async getInvitation(request, { db }) {
    const { id, invitation_id: invitationId } = request.params
    await openProject(db, request)
    return { status: 200, body: toInvitation(await findInvitation(db, id, invitationId)) }
  },

  async revokeInvitation(request, { db, events }) {
    const { id, invitation_id: invitationId } = request.params
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const row = await findInvitation(tx, id, invitationId)
      requireProjectStatus(project, request)
      const previous = toInvitation(row)
      request.ifMatch(previous)
      if (previous.status !== 'pending') throw invalidState('invitation', previous.status)
      const invitation = toInvitation(
        await tx.prisma.invitation.update({ where: { id: row.id }, data: { status: 'revoked' } }),
      )
      await events.emit(tx, 'invitation.revoked', invitation, { previous })
      return { status: 204 }
    })
  },

  async acceptInvitation(request, { db, events }) {
    const { id, invitation_id: invitationId } = request.params
    const { principal } = request
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const row = await findInvitation(tx, id, invitationId)
      await requireInvitee(tx, principal, row)
      requireProjectStatus(project, request)
      const member = await acceptInvitation(tx, project, row, principal.userId)
      await events.emit(tx, 'member.added', member)
      return { status: 201, body: member, headers: { location: `/v1/projects/${id}/members/${member.id}` } }
    })
  },

  async listMyInvitations({ principal, query }, { db }) {
    return { status: 200, body: await listMyInvitations(db, principal, query) }
  },
} satisfies Handlers<'invitations'>
