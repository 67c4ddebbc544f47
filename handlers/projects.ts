// Projects: made, read, changed, archived, deleted and restored.
import type { Handlers } from '../generated/operations.ts'
import { openProject } from '../services/access.ts'
import { timestampAfter } from '../services/clock.ts'
import { forbidden } from '../services/errors.ts'
import type { Prisma } from '../generated/prisma/client.ts'
import type { Db } from '../services/database.ts'
import { insertProjectWithOwner, listProjects, toProject, type Project } from '../services/projects.ts'

export const projects = {
  async listProjects ({ principal, query }, { db }) {
    return { status: 200, body: await listProjects(db, principal, query) }
  },

  async createProject ({ principal, body }, { db }) {
    if (principal.projectIds !== null) throw forbidden('This key is for some projects only.', 'project_ids')
    const project = await insertProjectWithOwner(db, principal.userId, body)
    return { status: 201, body: project, headers: { location: `/v1/projects/${project.id}` } }
  },

  async getProject (request, { db }) {
    return { status: 200, body: await openProject(db, request) }
  },

  async updateProject (request, { db }) {
    return await db.transaction(async (tx) => {
      const project = await openProject(tx, request, { lock: true })
      request.ifMatch(project)
      return { status: 200, body: await change(tx, project, request.body) }
    })
  },

  async deleteProject (request, { db }) {
    return await db.transaction(async (tx) => {
      const project = await openProject(tx, request, { lock: true })
      request.ifMatch(project)
      await change(tx, project, { status: 'deleted', deletedAt: new Date() })
      return { status: 204 }
    })
  },

  async restoreProject (request, { db }) {
    return await db.transaction(async (tx) => {
      const project = await openProject(tx, request, { lock: true })
      const status = project.archived_at === null ? 'active' : 'archived'
      return { status: 200, body: await change(tx, project, { status, deletedAt: null }) }
    })
  },

  async archiveProject (request, { db }) {
    return await db.transaction(async (tx) => {
      const project = await openProject(tx, request, { lock: true })
      return { status: 200, body: await change(tx, project, { status: 'archived', archivedAt: new Date() }) }
    })
  },

  async unarchiveProject (request, { db }) {
    return await db.transaction(async (tx) => {
      const project = await openProject(tx, request, { lock: true })
      return { status: 200, body: await change(tx, project, { status: 'active', archivedAt: null }) }
    })
  }
} satisfies Handlers<'projects'>

/** Writes a change to a locked project: a new version, and a later updated_at. */
async function change (tx: Db, { id, updated_at: updatedAt, your_role: role }: Project, data: Prisma.ProjectUpdateInput): Promise<Project> {
  const row = await tx.prisma.project.update({
    where: { id }, data: { ...data, version: { increment: 1 }, updatedAt: timestampAfter(new Date(updatedAt)) }
  })
  return toProject(row, role)
}
