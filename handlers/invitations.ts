// Invitations to join a project, sent to an email address that no user has yet.
import type { Handlers } from '../services/handler.ts'
import { findProject, openProject, requireProjectStatus } from '../services/projects/access.ts'
import { invalidState } from '../infra/errors.ts'
import {
  acceptInvitation,
  findInvitation,
  requireInvitee,
  toInvitation,
} from '../services/projects/members.ts'
import { pageArgs, pageOf } from '../infra/database/pagination.ts'

const sortColumns = { created_at: 'createdAt', email: 'email' } as const

export const invitations = {
  async listInvitations(request, { db }) {
    const { query } = request
    await openProject(db, request)
    const where = { projectId: request.params.id, ...statusFilter(query.status) }
    const [rows, total] = await Promise.all([
      db.prisma.invitation.findMany({ where, ...pageArgs(query, sortColumns) }),
      db.prisma.invitation.count({ where }),
    ])
    return { status: 200, body: pageOf(rows.map(toInvitation), total, query) }
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
    const user = await db.prisma.user.findUniqueOrThrow({
      where: { id: principal.userId },
      select: { email: true, emailVerified: true },
    })
    if (user.email === null || !user.emailVerified) return { status: 200, body: pageOf([], 0, query) }
    const where = {
      email: user.email,
      project: { status: { not: 'deleted' as const } },
      ...statusFilter('pending'),
      ...(principal.projectIds !== null && { projectId: { in: [...principal.projectIds] } }),
    }
    const [rows, total] = await Promise.all([
      db.prisma.invitation.findMany({ where, ...pageArgs(query, sortColumns) }),
      db.prisma.invitation.count({ where }),
    ])
    return { status: 200, body: pageOf(rows.map(toInvitation), total, query) }
  },
} satisfies Handlers<'invitations'>

/** In the database an expired invitation is `pending` with `expires_at` in the past. */
function statusFilter(status: 'pending' | 'accepted' | 'revoked' | 'expired' | undefined) {
  const now = new Date()
  if (status === 'pending') return { status: 'pending' as const, expiresAt: { gt: now } }
  if (status === 'expired') return { status: 'pending' as const, expiresAt: { lte: now } }
  return { status }
}
