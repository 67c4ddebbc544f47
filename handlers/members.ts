// The members of a project. Every change locks the project's row, so concurrent changes to one project run
// one by one.
import { changesOf } from '../infra/contract/changes.ts'
import type { Handlers } from '../services/handler.ts'
import { openProject, openProjectInAnyState, requireProjectStatus } from '../services/projects/access.ts'
import { mailInvitation } from '../services/invitations/mail.ts'
import { requireMayGive } from '../services/organizations/hand-over.ts'
import { insertInvitation } from '../services/projects/invitations.ts'
import {
  deleteMember,
  findInvitee,
  findMember,
  insertMember,
  listMembers,
  requireCanRemove,
  requireNotMember,
  requireNotOrganizationAdmin,
  requireOwnerToChangeOwner,
  requireUsableRole,
  updateMember,
} from '../services/projects/members.ts'

export const members = {
  async listMembers(request, { db, filesUrl }) {
    await openProject(db, request)
    return { status: 200, body: await listMembers(db, request.params.id, request.query, filesUrl()) }
  },

  async addMember(request, { db, events, cipher, mails, filesUrl }) {
    const { principal, body } = request
    const { role, metadata } = body
    const createdById = principal.userId
    return await db.transaction(async (tx) => {
      const project = await openProjectInAnyState(tx, request, { lock: true })
      const { id: projectId } = project
      const invitee = await findInvitee(tx, projectId, principal, body)
      requireOwnerToChangeOwner(project.your_role, [role])
      await requireMayGive(tx, principal, { projectId, role })
      requireProjectStatus(project, request)
      requireNotMember(invitee)
      const { who, addedId } = invitee
      if (addedId === null) {
        const invitation = await insertInvitation(tx, { projectId, who, role, metadata, createdById })
        await events.emit(tx, 'invitation.created', invitation)
        await mailInvitation(tx, { cipher, mails }, invitation)
        const location = `/v1/projects/${projectId}/invitations/${invitation.id}`
        return { status: 202, body: invitation, headers: { location } }
      }
      const fields = { userId: addedId, role, metadata, createdById }
      const member = await insertMember(tx, project, fields, filesUrl())
      await events.emit(tx, 'member.added', member)
      const location = `/v1/projects/${projectId}/members/${member.id}`
      return { status: 201, body: member, headers: { location } }
    })
  },

  async getMember(request, { db, filesUrl }) {
    const { id, member_id: memberId } = request.params
    await openProject(db, request)
    return { status: 200, body: await findMember(db, id, memberId, filesUrl()) }
  },

  async updateMember(request, { db, events, filesUrl }) {
    const { id, member_id: memberId } = request.params
    const { role, custom_role_id: customRoleId } = request.body
    return await db.transaction(async (tx) => {
      const project = await openProjectInAnyState(tx, request, { lock: true })
      const previous = await findMember(tx, id, memberId, filesUrl())
      requireOwnerToChangeOwner(project.your_role, [previous.role, role ?? previous.role])
      requireProjectStatus(project, request)
      request.ifMatch(previous)
      await requireUsableRole(tx, project, request.body)
      if (role !== undefined || customRoleId !== undefined)
        await requireMayGive(tx, request.principal, {
          projectId: id,
          role: role ?? previous.role,
          customRoleId,
        })
      // A role replaces a custom role, and counts beside the role of the organization.
      const wanted = role === undefined ? request.body : { ...request.body, custom_role_id: null }
      const changes = changesOf(previous, wanted)
      const isHidden = role !== undefined && previous.organization_role !== null
      if (changes === null && !isHidden) return { status: 200, body: previous }
      const member = await updateMember(tx, previous, changes ?? { role }, filesUrl())
      await events.emit(tx, 'member.updated', member, { previous })
      return { status: 200, body: member }
    })
  },

  async removeMember(request, { db, events, filesUrl }) {
    const { id, member_id: memberId } = request.params
    return await db.transaction(async (tx) => {
      const project = await openProjectInAnyState(tx, request, { lock: true })
      const member = await findMember(tx, id, memberId, filesUrl())
      requireCanRemove(project, request.principal, member)
      // A member can leave an archived project, too.
      if (member.user.id !== request.principal.userId) requireProjectStatus(project, request)
      request.ifMatch(member)
      requireNotOrganizationAdmin(member)
      await deleteMember(tx, member)
      await events.emit(tx, 'member.removed', member)
      return { status: 204 }
    })
  },
} satisfies Handlers<'members'>
