// Who belongs to a project. Every change holds the project's row, so that changes of one project happen one by one.
import type { Handlers } from '../services/handler.ts'
import { findProject, openProject, requireState } from '../services/projects/access.ts'
import { type Db } from '../infra/database/database.ts'
import { statement } from '../infra/database/statements.ts'
import { conflict, forbidden, notFound } from '../infra/errors.ts'
import { newId, timeOf } from '../infra/ids.ts'
import {
  insertMember,
  managesMembers,
  memberColumns,
  memberOf,
  releaseOwner,
  requirePowerOver,
  toInvitation,
  type Member,
} from '../services/projects/members.ts'
import { offsetOf, pageOfRows } from '../infra/database/pagination.ts'
import type { Role } from '../services/projects/projects.ts'

/** How long an invitation waits for its answer. */
const invitationDays = 14

export const members = {
  async listMembers(request, { db }) {
    const {
      params: { id },
      query,
    } = request
    await openProject(db, request)
    const rows = await db.sql(pages[query.sort][query.order], [
      id,
      query.role ?? null,
      query.limit,
      offsetOf(query),
    ])
    return { status: 200, body: pageOfRows(rows, query) }
  },

  async addMember(request, { db, events }) {
    const {
      principal,
      body: { user_id: userId, email, role },
    } = request
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const address = email?.toLowerCase()
      const user = await tx.prisma.user.findUnique({
        where: userId !== undefined ? { id: userId, status: { not: 'deleted' } } : { email: address },
        select: { id: true },
      })
      if (user === null && address === undefined) throw notFound('user', userId)
      requirePowerOver(project, [role])
      requireState(project, request)
      if (user !== null) {
        const member = await insertMember(tx, project, { userId: user.id, role, addedById: principal.userId })
        await events.emit(tx, 'member.added', member)
        return {
          status: 201,
          body: member,
          headers: { location: `/v1/projects/${project.id}/members/${member.id}` },
        }
      }
      const invitation = await invite(tx, project.id, address!, role, principal.userId)
      await events.emit(tx, 'invitation.created', invitation)
      return { status: 202, body: invitation }
    })
  },

  async getMember(request, { db }) {
    const { id, member_id: memberId } = request.params
    await openProject(db, request)
    return { status: 200, body: await memberOf(db, id, memberId) }
  },

  async updateMember(request, { db, events }) {
    const {
      params: { id, member_id: memberId },
      body: { role },
      ifMatch,
    } = request
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const previous = await memberOf(tx, id, memberId)
      requirePowerOver(project, [previous.role, role ?? previous.role])
      requireState(project, request)
      ifMatch(previous)
      if (role === undefined || role === previous.role) return { status: 200, body: previous }
      if (previous.role === 'owner') await releaseOwner(tx, id, previous)
      await tx.prisma.member.update({
        where: { id: memberId },
        data: { role, updatedAt: new Date() },
        select: { id: true },
      })
      const member = { ...previous, role }
      await events.emit(tx, 'member.updated', member, { previous })
      return { status: 200, body: member }
    })
  },

  async removeMember(request, { db, events }) {
    const {
      params: { id, member_id: memberId },
      principal,
      ifMatch,
    } = request
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const member = await memberOf(tx, id, memberId)
      if (member.user.id !== principal.userId) {
        if (!managesMembers(project.your_role)) throw forbidden('You may remove nobody but yourself.', 'role')
        requirePowerOver(project, [member.role])
      }
      requireState(project, request)
      ifMatch(member)
      if (member.role === 'owner') await releaseOwner(tx, id, member)
      await tx.prisma.member.delete({ where: { id: memberId }, select: { id: true } })
      await events.emit(tx, 'member.removed', member)
      return { status: 204 }
    })
  },
} satisfies Handlers<'members'>

async function invite(tx: Db, projectId: string, email: string, role: Role, invitedById: string) {
  const open = await tx.prisma.invitation.findFirst({ where: { projectId, email, status: 'pending' } })
  if (open !== null && open.expiresAt > new Date())
    throw conflict('invitation_exists', 'This address is invited already.', 'email')
  // An invitation that ran out gives way to a new one.
  if (open !== null) await tx.prisma.invitation.delete({ where: { id: open.id } })
  const id = newId('inv')
  const createdAt = timeOf(id)
  return toInvitation(
    await tx.prisma.invitation.create({
      data: {
        id,
        projectId,
        email,
        role,
        invitedById,
        createdAt,
        expiresAt: new Date(createdAt.getTime() + invitationDays * 86_400_000),
      },
    }),
  )
}

const pages = {
  created_at: { asc: memberPage('m.created_at', 'ASC'), desc: memberPage('m.created_at', 'DESC') },
  name: { asc: memberPage('lower(u.name)', 'ASC'), desc: memberPage('lower(u.name)', 'DESC') },
}

function memberPage(key: string, direction: 'ASC' | 'DESC') {
  return statement<Member & { total: number }>(`
    SELECT t.total, x.* FROM (
      SELECT count(*)::int AS total FROM members WHERE project_id = $1 AND ($2::text IS NULL OR role::text = $2)
    ) t LEFT JOIN LATERAL (
      SELECT ${memberColumns} FROM members m JOIN users u ON u.id = m.user_id
      WHERE m.project_id = $1 AND ($2::text IS NULL OR m.role::text = $2)
      ORDER BY ${key} ${direction}, m.id ${direction} LIMIT $3 OFFSET $4
    ) x ON true`)
}
