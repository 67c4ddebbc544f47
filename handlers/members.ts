// The members of a project. Every change locks the project's row, so concurrent changes to one project run
// one by one.
import { changesOf } from '../infra/changes.ts'
import type { Handlers } from '../services/handler.ts'
import { findProject, openProject, requireProjectStatus } from '../services/projects/access.ts'
import { notFound } from '../infra/errors.ts'
import { hasDeclined, insertInvitation } from '../services/projects/invitations.ts'
import {
  deleteMember,
  findMember,
  insertMember,
  listMembers,
  requireCanRemove,
  requireOwnerForOwnerRole,
  updateMember,
} from '../services/projects/members.ts'

export const members = {
  async listMembers(request, { db, publicUrl }) {
    await openProject(db, request)
    return { status: 200, body: await listMembers(db, request.params.id, request.query, publicUrl()) }
  },

  async addMember(request, { db, events, publicUrl }) {
    const { user_id: userId, email, role, metadata } = request.body
    const address = email?.toLowerCase()
    const createdById = request.principal.userId
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const user = await tx.prisma.user.findUnique({
        where: userId !== undefined ? { id: userId, status: { not: 'deleted' } } : { email: address },
        select: { id: true },
      })
      if (user === null && address === undefined) throw notFound('user', userId)
      requireOwnerForOwnerRole(project, [role])
      requireProjectStatus(project, request)
      // A user who declined is invited again, not added.
      const declined =
        user !== null &&
        address !== undefined &&
        (await hasDeclined(tx, project.id, { id: user.id, email: address }))
      if (user === null || declined) {
        const fields = { projectId: project.id, email: address!, role, metadata, createdById }
        const invitation = await insertInvitation(tx, fields)
        await events.emit(tx, 'invitation.created', invitation)
        const location = `/v1/projects/${project.id}/invitations/${invitation.id}`
        return { status: 202, body: invitation, headers: { location } }
      }
      const member = await insertMember(
        tx,
        project,
        { userId: user.id, role, metadata, createdById },
        publicUrl(),
      )
      await events.emit(tx, 'member.added', member)
      const location = `/v1/projects/${project.id}/members/${member.id}`
      return { status: 201, body: member, headers: { location } }
    })
  },

  async getMember(request, { db, publicUrl }) {
    const { id, member_id: memberId } = request.params
    await openProject(db, request)
    return { status: 200, body: await findMember(db, id, memberId, publicUrl()) }
  },

  async updateMember(request, { db, events, publicUrl }) {
    const { id, member_id: memberId } = request.params
    const { role } = request.body
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const previous = await findMember(tx, id, memberId, publicUrl())
      requireOwnerForOwnerRole(project, [previous.role, role ?? previous.role])
      requireProjectStatus(project, request)
      request.ifMatch(previous)
      const changes = changesOf(previous, request.body)
      if (changes === null) return { status: 200, body: previous }
      const member = await updateMember(tx, previous, changes, publicUrl())
      await events.emit(tx, 'member.updated', member, { previous })
      return { status: 200, body: member }
    })
  },

  async removeMember(request, { db, events, publicUrl }) {
    const { id, member_id: memberId } = request.params
    return await db.transaction(async (tx) => {
      const project = await findProject(tx, request, { lock: true })
      const member = await findMember(tx, id, memberId, publicUrl())
      requireCanRemove(project, request.principal, member)
      requireProjectStatus(project, request)
      request.ifMatch(member)
      await deleteMember(tx, member)
      await events.emit(tx, 'member.removed', member)
      return { status: 204 }
    })
  },
} satisfies Handlers<'members'>
