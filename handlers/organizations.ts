// Organizations: list, create, read, update, delete, and their limits.
import { changesOf } from '../infra/contract/changes.ts'
import { deleteServiceAccountUser } from '../services/deletion/delete-user.ts'
import type { Handlers } from '../services/handler.ts'
import { openOrganization } from '../services/organizations/access.ts'
import {
  deleteOrganization,
  endSales,
  insertOrganization,
  listOrganizations,
  ownersOf,
  requireNoProjects,
  updateOrganization,
} from '../services/organizations/organizations.ts'
import { allServiceAccountsOf } from '../services/organizations/service-accounts.ts'
import { deleteCustomerOfOrganization } from '../services/payments/customers.ts'
import { requirePerson } from '../services/users/authentication.ts'
import { readQuotas } from '../services/users/limits.ts'

export const organizations = {
  async listOrganizations({ principal, query }, { db }) {
    return { status: 200, body: await listOrganizations(db, principal, query) }
  },

  async createOrganization({ principal, body }, { db, events }) {
    requirePerson(principal)
    return await db.transaction(async (tx) => {
      const organization = await insertOrganization(tx, principal.userId, body)
      await events.emit(tx, 'organization.created', organization)
      const location = `/v1/organizations/${organization.id}`
      return { status: 201, body: organization, headers: { location } }
    })
  },

  async getOrganization(request, { db }) {
    return { status: 200, body: await openOrganization(db, request) }
  },

  async updateOrganization(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const previous = await openOrganization(tx, request, { lock: true })
      request.ifMatch(previous)
      const changes = changesOf(previous, request.body)
      if (changes === null) return { status: 200, body: previous }
      const organization = await updateOrganization(tx, previous, changes)
      await events.emit(tx, 'organization.updated', organization, { previous })
      return { status: 200, body: organization }
    })
  },

  async deleteOrganization(request, { db, events, principals, filesUrl }) {
    return await db.transaction(async (tx) => {
      const organization = await openOrganization(tx, request, { lock: true })
      request.ifMatch(organization)
      await requireNoProjects(tx, organization.id)
      await endSales(tx, organization)
      await deleteCustomerOfOrganization(tx, organization.id)
      for (const account of await allServiceAccountsOf(tx, { organization_id: organization.id })) {
        await deleteServiceAccountUser(tx, events, account, filesUrl())
        tx.afterCommit(() => principals.waitForInvalidation(account.user_id))
      }
      const others = (await ownersOf(tx, organization.id)).filter((id) => id !== request.principal.userId)
      for (const userId of [request.principal.userId, ...others])
        await events.emit(tx, 'organization.deleted', organization, { userId })
      await deleteOrganization(tx, organization, request.principal.userId)
      return { status: 204 }
    })
  },

  async getOrganizationLimits(request, { db, config }) {
    const { id } = await openOrganization(db, request)
    return { status: 200, body: { limits: await readQuotas(db, config, id) } }
  },
} satisfies Handlers<'organizations'>
