// What the caller used by day.
import { forbidden } from '../infra/errors.ts'
import type { Handlers } from '../services/handler.ts'
import { requireReadRole } from '../services/organizations/access.ts'
import { requireMembership } from '../services/projects/access.ts'
import { requireKeyForAllProjects } from '../services/projects/resource-access.ts'
import { listUsage, readUsage } from '../services/usage/usage.ts'

export const usage = {
  async listUsage({ principal, query }, { db, lists }) {
    const { project_id: projectId, organization_id: organizationId } = query
    const isOwn = projectId === undefined && organizationId === undefined
    if (!isOwn && !principal.scopes.has('projects:read'))
      throw forbidden('The usage of others requires the scope projects:read.', 'scope')
    if (organizationId !== undefined) {
      requireKeyForAllProjects(principal)
      await requireReadRole(db, organizationId, principal, 'admin')
    }
    if (projectId !== undefined) await requireMembership(db, projectId, principal, { role: 'admin' })
    return { status: 200, body: await listUsage(lists, principal, query) }
  },

  async getUsage({ principal, query }, { lists }) {
    return { status: 200, body: await readUsage(lists, principal.userId, query) }
  },
} satisfies Handlers<'usage'>
