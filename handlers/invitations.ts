// Invitations to a project, for a user or an email address: list, revoke, resend, accept and decline.
import type { Handlers } from '../services/handler.ts'
import { acceptToProject, declineToProject } from '../services/invitations/answer.ts'
import { mailInvitation } from '../services/invitations/mail.ts'
import { requireMayGive } from '../services/organizations/hand-over.ts'
import { openProject, openProjectInAnyState, requireProjectStatus } from '../services/projects/access.ts'
import {
  closeInvitation,
  findInvitation,
  listInvitations,
  listMyInvitations,
  renewInvitation,
} from '../services/projects/invitations.ts'

export const invitations = {
  async listInvitations(request, { db }) {
    await openProject(db, request)
    return { status: 200, body: await listInvitations(db, request.params.id, request.query) }
  },

  async getInvitation(request, { db }) {
    const project = await openProject(db, request)
    const { invitation } = await findInvitation(db, project, request)
    return { status: 200, body: invitation }
  },

  async revokeInvitation(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const project = await openProjectInAnyState(tx, request, { lock: true })
      const { invitation: previous } = await findInvitation(tx, project, request)
      requireProjectStatus(project, request)
      request.ifMatch(previous)
      if (previous.status === 'revoked') return { status: 204 }
      const invitation = await closeInvitation(tx, previous, 'revoked')
      await events.emit(tx, 'invitation.revoked', invitation, { previous })
      return { status: 204 }
    })
  },

  async acceptInvitation(request, services) {
    const { id } = request.params
    const member = await services.db.transaction((tx) => acceptToProject(tx, services, request))
    return { status: 201, body: member, headers: { location: `/v1/projects/${id}/members/${member.id}` } }
  },

  async declineInvitation(request, services) {
    const invitation = await services.db.transaction((tx) => declineToProject(tx, services, request))
    return { status: 200, body: invitation }
  },

  async resendInvitation(request, { db, events, cipher, mails }) {
    return await db.transaction(async (tx) => {
      const project = await openProjectInAnyState(tx, request, { lock: true })
      const { invitation: previous } = await findInvitation(tx, project, request)
      await requireMayGive(tx, request.principal, { projectId: project.id, role: previous.role })
      requireProjectStatus(project, request)
      const invitation = await renewInvitation(tx, previous)
      await events.emit(tx, 'invitation.resent', invitation, { previous })
      await mailInvitation(tx, { cipher, mails }, invitation)
      return { status: 200, body: invitation }
    })
  },

  async listMyInvitations({ principal, query }, { db }) {
    return { status: 200, body: await listMyInvitations(db, principal, query) }
  },
} satisfies Handlers<'invitations'>
