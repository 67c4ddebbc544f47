// Service accounts of organizations and projects, and their API keys.
import { changesOf } from '../infra/contract/changes.ts'
import { forbidden, invalidField, notFound } from '../infra/errors.ts'
import type { Transaction } from '../infra/database/database.ts'
import { deleteServiceAccountUser } from '../services/deletion/delete-user.ts'
import type { Handlers } from '../services/handler.ts'
import { requireMayGive } from '../services/organizations/hand-over.ts'
import { addServiceAccount } from '../services/organizations/members.ts'
import {
  insertServiceAccount,
  listServiceAccounts,
  openServiceAccount,
  requireAdminOf,
  updateServiceAccount,
  type ServiceAccount,
} from '../services/organizations/service-accounts.ts'
import { requireMembership } from '../services/projects/access.ts'
import { insertMember } from '../services/projects/members.ts'
import {
  findApiKey,
  insertApiKey,
  listApiKeysOf,
  lockKeys,
  newKeyFields,
  requireGrantable,
  requireRecentSignIn,
  revokeApiKeys,
  toApiKey,
} from '../services/users/api-keys.ts'

export const serviceAccounts = {
  async listServiceAccounts(request, { db }) {
    const { organization_id, project_id } = request.query
    return await db.transaction(async (tx) => {
      if (organization_id !== undefined) await requireAdminOf(tx, request, { organization_id })
      if (project_id !== undefined) await requireAdminOf(tx, request, { project_id })
      return { status: 200, body: await listServiceAccounts(tx, request.principal, request.query) }
    })
  },

  async createServiceAccount(request, { db, events, filesUrl }) {
    const { body, principal } = request
    const createdById = principal.userId
    return await db.transaction(async (tx) => {
      const accountId = await requireAdminOf(tx, request, body, { lock: true })
      const account = await insertServiceAccount(tx, body, { accountId, createdById })
      const { organization_id: organizationId, project_id: projectId, user_id: userId } = account
      const origin = filesUrl()
      await events.emit(tx, 'service_account.created', account)
      if (organizationId !== null) {
        if (body.role !== 'admin' && body.role !== 'member') throw wrongRole('admin or member')
        await requireMayGive(tx, principal, { organizationId, role: body.role })
        const fields = { organizationId, userId, role: body.role, createdById }
        await events.emit(tx, 'organization_member.added', await addServiceAccount(tx, fields, origin))
      } else {
        if (body.role === 'member') throw wrongRole('admin, editor or viewer')
        await requireMayGive(tx, principal, { projectId: projectId!, role: body.role })
        const fields = { userId, role: body.role, createdById }
        await events.emit(tx, 'member.added', await insertMember(tx, { id: projectId! }, fields, origin))
      }
      return { status: 201, body: account, headers: { location: `/v1/service-accounts/${account.id}` } }
    })
  },

  async getServiceAccount(request, { db }) {
    return { status: 200, body: await db.transaction((tx) => openServiceAccount(tx, request)) }
  },

  async updateServiceAccount(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const previous = await openServiceAccount(tx, request, { lock: true })
      request.ifMatch(previous)
      const changes = changesOf(previous, request.body)
      if (changes === null) return { status: 200, body: previous }
      const account = await updateServiceAccount(tx, previous, changes)
      await events.emit(tx, 'service_account.updated', account, { previous })
      return { status: 200, body: account }
    })
  },

  async deleteServiceAccount(request, { db, events, principals, filesUrl }) {
    return await db.transaction(async (tx) => {
      const account = await openServiceAccount(tx, request, { lock: true })
      request.ifMatch(account)
      await events.emit(tx, 'service_account.deleted', account)
      await deleteServiceAccountUser(tx, events, account, filesUrl())
      tx.afterCommit(() => principals.waitForInvalidation(account.user_id))
      return { status: 204 }
    })
  },

  async listServiceAccountKeys(request, { db }) {
    return await db.transaction(async (tx) => {
      const account = await openServiceAccount(tx, request)
      return { status: 200, body: await listApiKeysOf(tx, account.user_id, request.query) }
    })
  },

  async createServiceAccountKey(request, { db, config, events }) {
    const { body } = request
    if (body.scopes.includes('admin'))
      throw forbidden('A service account is no operator: its keys cannot have the scope admin.', 'scope')
    return await db.transaction(async (tx) => {
      const caller = await lockKeys(tx, request.principal)
      await requireRecentSignIn(tx, caller)
      const account = await openServiceAccount(tx, request, { lock: true })
      const fields = newKeyFields(caller, account.user_id, body)
      requireGrantable(caller, fields)
      for (const id of fields.projectIds ?? [])
        await requireMembership(tx, id, { ...caller, userId: account.user_id })
      await requireMayGive(tx, caller, { delegateId: account.user_id, projectIds: fields.projectIds })
      const key = await insertApiKey(tx, config.keyMode, fields)
      await events.emit(tx, 'service_account.key_created', account)
      const location = `/v1/service-accounts/${account.id}/api-keys/${key.id}`
      return { status: 201, body: key, headers: { location } }
    })
  },

  async getServiceAccountKey(request, { db }) {
    return await db.transaction(async (tx) => {
      const account = await openServiceAccount(tx, request)
      return { status: 200, body: toApiKey(await findKeyOf(tx, account, request.params.key_id)) }
    })
  },

  async revokeServiceAccountKey(request, { db, events, principals }) {
    return await db.transaction(async (tx) => {
      await lockKeys(tx, request.principal)
      const account = await openServiceAccount(tx, request, { lock: true })
      const row = await findKeyOf(tx, account, request.params.key_id)
      request.ifMatch(toApiKey(row))
      const revoked = await revokeApiKeys(tx, row, true)
      if (revoked.length > 0) await events.emit(tx, 'service_account.key_revoked', account)
      tx.afterCommit(() => principals.waitForInvalidation(account.user_id))
      return { status: 204 }
    })
  },
} satisfies Handlers<'service-accounts'>

function wrongRole(roles: string): Error {
  return invalidField('role', 'enum', `role must be ${roles}.`)
}

/** A key of the service account. Throws 404 for a key of another user, too. */
async function findKeyOf(tx: Transaction, { user_id: userId }: ServiceAccount, id: string) {
  const row = await findApiKey(tx, id)
  if (row?.userId !== userId) throw notFound('API key', id)
  return row
}
