// Projects: create, read, update, archive, delete and restore.
import type { EventType } from '../generated/events.ts'
import { changesOf } from '../infra/contract/changes.ts'
import { forbidden } from '../infra/errors.ts'
import type { Handlers } from '../services/handler.ts'
import { ownersOf } from '../services/organizations/organizations.ts'
import { requireOrganizationRole } from '../services/organizations/access.ts'
import { requirePerson } from '../services/users/authentication.ts'
import { openProject } from '../services/projects/access.ts'
import type { Transaction } from '../infra/database/database.ts'
import type { Emitter } from '../services/events/emit.ts'
import {
  insertProjectWithOwner,
  listProjects,
  makeOwner,
  transferProject,
  updateProject,
  type Project,
} from '../services/projects/projects.ts'

export const projects = {
  async listProjects({ principal, query }, { lists }) {
    return { status: 200, body: await listProjects(lists, principal, query) }
  },

  async createProject({ principal, body }, { db, events }) {
    const { organization_id: organizationId } = body
    if (organizationId == null) requirePerson(principal)
    return await db.transaction(async (tx) => {
      if (organizationId != null) await requireOrganizationRole(tx, organizationId, principal, 'admin')
      const ownerId =
        principal.serviceAccountId === null ? principal.userId : (await ownersOf(tx, organizationId!))[0]
      const own = await insertProjectWithOwner(tx, ownerId, body, principal.userId)
      // A service account has its role through the organization.
      const project = ownerId === principal.userId ? own : { ...own, your_role: 'admin' as const }
      await events.emit(tx, 'project.created', project)
      return { status: 201, body: project, headers: { location: `/v1/projects/${project.id}` } }
    })
  },

  async getProject(request, { db }) {
    return { status: 200, body: await openProject(db, request) }
  },

  async updateProject(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const previous = await openProject(tx, request, { lock: true })
      request.ifMatch(previous)
      const changes = changesOf(previous, request.body)
      if (changes === null) return { status: 200, body: previous }
      return { status: 200, body: await update(tx, events, 'project.updated', previous, changes) }
    })
  },

  async deleteProject(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const previous = await openProject(tx, request, { lock: true })
      request.ifMatch(previous)
      await update(tx, events, 'project.deleted', previous, {
        status: 'deleted',
        deleted_at: new Date().toISOString(),
      })
      return { status: 204 }
    })
  },

  async transferProject(request, { db, events }) {
    const { principal, body } = request
    return await db.transaction(async (tx) => {
      await openProject(tx, request)
      // Every writer locks organizations first, then projects.
      const { organization_id: organizationId = null } = body
      if (organizationId !== null) await requireOrganizationRole(tx, organizationId, principal, 'admin')
      const previous = await openProject(tx, request, { lock: true })
      // A project counts against the limit of its main owner, so only that user may take it.
      const ownerId = body.user_id ?? previous.owner_id
      if (organizationId === null) {
        if (ownerId !== principal.userId)
          throw forbidden('Make the user an owner of the project, who can then take it.', 'owner')
        await makeOwner(tx, previous.id, ownerId)
      }
      if (organizationId === previous.organization_id && ownerId === previous.owner_id)
        return { status: 200, body: previous }
      const project = await transferProject(tx, previous, { organizationId, ownerId })
      await events.emit(tx, 'project.transferred', project, { previous })
      return { status: 200, body: project }
    })
  },

  async restoreProject(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const previous = await openProject(tx, request, { lock: true })
      if (previous.status !== 'deleted') return { status: 200, body: previous }
      const status = previous.archived_at === null ? 'active' : 'archived'
      return {
        status: 200,
        body: await update(tx, events, 'project.restored', previous, { status, deleted_at: null }),
      }
    })
  },

  async archiveProject(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const previous = await openProject(tx, request, { lock: true })
      if (previous.status === 'archived') return { status: 200, body: previous }
      return {
        status: 200,
        body: await update(tx, events, 'project.archived', previous, {
          status: 'archived',
          archived_at: new Date().toISOString(),
        }),
      }
    })
  },

  async unarchiveProject(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const previous = await openProject(tx, request, { lock: true })
      if (previous.status === 'active') return { status: 200, body: previous }
      return {
        status: 200,
        body: await update(tx, events, 'project.unarchived', previous, {
          status: 'active',
          archived_at: null,
        }),
      }
    })
  },
} satisfies Handlers<'projects'>

type ProjectEventType = Extract<EventType, `project.${string}`>

/** Updates a locked project, and emits the event. */
async function update(
  tx: Transaction,
  events: Emitter,
  type: ProjectEventType,
  previous: Project,
  changes: Partial<Project>,
): Promise<Project> {
  const project = updateProject(tx, previous, changes)
  await events.emit(tx, type, project, { previous })
  return project
}
