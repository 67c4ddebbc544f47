// The custom roles of an organization. Every change locks the organization's row.
import { changesOf } from '../infra/contract/changes.ts'
import type { Handlers } from '../services/handler.ts'
import { openOrganization } from '../services/organizations/access.ts'
import {
  deleteCustomRole,
  findCustomRole,
  insertCustomRole,
  listCustomRoles,
  updateCustomRole,
} from '../services/organizations/custom-roles.ts'

export const customRoles = {
  async listCustomRoles(request, { db }) {
    const { id } = await openOrganization(db, request)
    return { status: 200, body: await listCustomRoles(db, id, request.query) }
  },

  async createCustomRole(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const { id } = await openOrganization(tx, request, { lock: true })
      const role = await insertCustomRole(tx, id, request.principal.userId, request.body)
      await events.emit(tx, 'custom_role.created', role)
      const location = `/v1/organizations/${id}/roles/${role.id}`
      return { status: 201, body: role, headers: { location } }
    })
  },

  async getCustomRole(request, { db }) {
    const { id } = await openOrganization(db, request)
    return { status: 200, body: await findCustomRole(db, id, request.params.role_id) }
  },

  async updateCustomRole(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const { id } = await openOrganization(tx, request, { lock: true })
      const previous = await findCustomRole(tx, id, request.params.role_id)
      request.ifMatch(previous)
      const changes = changesOf(previous, request.body)
      if (changes === null) return { status: 200, body: previous }
      const role = await updateCustomRole(tx, previous, changes)
      await events.emit(tx, 'custom_role.updated', role, { previous })
      return { status: 200, body: role }
    })
  },

  async deleteCustomRole(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const { id } = await openOrganization(tx, request, { lock: true })
      const role = await findCustomRole(tx, id, request.params.role_id)
      request.ifMatch(role)
      await deleteCustomRole(tx, role)
      await events.emit(tx, 'custom_role.deleted', role)
      return { status: 204 }
    })
  },
} satisfies Handlers<'custom-roles'>
