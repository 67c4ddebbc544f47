// Invitations: what becomes of an address that nobody has yet.
import type { Handlers } from '../services/handler.ts'
import { findProject, openProject, requireState } from '../services/projects/access.ts'
import { forbidden, invalidState } from '../infra/errors.ts'
import { insertMember, invitationOf, toInvitation } from '../services/projects/members.ts'
import { pageArgs, pageOf } from '../infra/database/pagination.ts'

const sortColumns = { created_at: 'createdAt', email: 'email' } as const

export const invitations = {
  async listInvitations(request, { db }) {
    const {
      params: { id },
      query,
    } = request
    await openProject(db, request)
    const where = { projectId: id, ...statusFilter(query.status) }
    const [rows, total] = await Promise.all([
      db.prisma.invitation.findMany({ where, ...pageArgs(query, sortColumns) }),
      db.prisma.invitation.count({ where }),
    ])
    return { status: 200, body: pageOf(rows.map(toInvitation), total, query) }
  },

  async getInvitation(request, { db }) {
    await openProject(db, request)
    return {
      status: 200,
      body: toInvitation(await invitationOf(db, request.params.id, request.params.invitation_id)),
    }
  },

  async revokeInvitation(request, { db, events }) {
    const {
      params: { id, invitation_id: invitationId },
      ifMatch,
    } = request
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const row = await invitationOf(tx, id, invitationId)
      requireState(project, request)
      const previous = toInvitation(row)
      ifMatch(previous)
      if (previous.status !== 'pending') throw invalidState('invitation', previous.status)
      const invitation = toInvitation(
        await tx.prisma.invitation.update({ where: { id: row.id }, data: { status: 'revoked' } }),
      )
      await events.emit(tx, 'invitation.revoked', invitation, { previous })
      return { status: 204 }
    })
  },

  async acceptInvitation(request, { db, events }) {
    const {
      params: { id, invitation_id: invitationId },
      principal,
    } = request
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const row = await invitationOf(tx, id, invitationId)
      const me = await tx.prisma.user.findUniqueOrThrow({
        where: { id: principal.userId },
        select: { email: true, emailVerified: true },
      })
      if (me.email !== row.email || !me.emailVerified)
        throw forbidden('This invitation is for another address.', 'email')
      requireState(project, request)
      const { status } = toInvitation(row)
      if (status !== 'pending') throw invalidState('invitation', status)
      await tx.prisma.invitation.update({ where: { id: row.id }, data: { status: 'accepted' } })
      const member = await insertMember(tx, project, {
        userId: principal.userId,
        role: row.role,
        addedById: row.invitedById,
      })
      await events.emit(tx, 'member.added', member)
      return { status: 201, body: member, headers: { location: `/v1/projects/${id}/members/${member.id}` } }
    })
  },

  async listMyInvitations({ principal, query }, { db }) {
    const me = await db.prisma.user.findUniqueOrThrow({
      where: { id: principal.userId },
      select: { email: true, emailVerified: true },
    })
    if (me.email === null || !me.emailVerified) return { status: 200, body: pageOf([], 0, query) }
    const where = {
      email: me.email,
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

/** `expired` is no column: it is a pending one whose time is over. */
function statusFilter(status: 'pending' | 'accepted' | 'revoked' | 'expired' | undefined) {
  const now = new Date()
  if (status === 'pending') return { status: 'pending' as const, expiresAt: { gt: now } }
  if (status === 'expired') return { status: 'pending' as const, expiresAt: { lte: now } }
  return { status }
}
