// Users, as an admin manages them.
import type { components } from '../generated/types.ts'
import { changesOf } from '../infra/contract/changes.ts'
import { forbidden, invalidField } from '../infra/errors.ts'
import type { Handlers } from '../services/handler.ts'
import { mailToken } from '../services/auth/tokens/mailed-tokens.ts'
import { endAccess } from '../services/auth/account-changes.ts'
import { deleteUser } from '../services/deletion/delete-user.ts'
import { insertApiKey, lockKeys, requireGrantable, requireRecentSignIn } from '../services/users/api-keys.ts'
import { isOperator, type Principal } from '../services/users/authentication.ts'
import { defaultScopes } from '../services/users/scopes.ts'
import {
  findUser,
  insertUser,
  listUsers,
  lockAdminsAndUser,
  requireNotLastAdmin,
  toUser,
  updateUserRow,
} from '../services/users/users.ts'

export const users = {
  async listUsers({ query }, { lists, filesUrl }) {
    return { status: 200, body: await listUsers(lists, query, filesUrl()) }
  },

  async createUser({ principal, body }, { db, config, cipher, mails, events, filesUrl }) {
    const {
      email_verified: emailVerified = true,
      role = 'user',
      create_api_key: needsKey = true,
      send_invitation: isInvited = false,
      ...fields
    } = body
    if (isInvited && !emailVerified)
      throw invalidField(
        'email_verified',
        'const',
        'Only a user whose address is verified is sent an invitation.',
      )
    return await db.transaction(async (tx) => {
      if (needsKey || role === 'admin') {
        const caller = await lockKeys(tx, principal)
        await requireRecentSignIn(tx, caller)
        if (role === 'admin') requireMayMakeAdmin(caller)
      }
      const row = await insertUser(tx, { ...fields, emailVerified, role })
      const key = needsKey
        ? await insertApiKey(tx, config.keyMode, {
            userId: row.id,
            name: 'first key',
            scopes: defaultScopes(role),
            projectIds: null,
            expiresAt: null,
          })
        : null
      if (isInvited)
        await mailToken(
          tx,
          { cipher, mails },
          { kind: 'account_invitation', email: fields.email, userId: row.id },
        )
      const user = toUser(row, filesUrl())
      await events.emit(tx, 'user.created', user)
      return { status: 201, body: { ...user, api_key: key }, headers: { location: `/v1/users/${user.id}` } }
    })
  },

  async getUser({ params: { id } }, { db, filesUrl }) {
    return { status: 200, body: toUser(await findUser(db, id), filesUrl()) }
  },

  async updateUser({ params: { id }, principal, body, ifMatch }, services) {
    const { db, events, principals, filesUrl } = services
    return await db.transaction(async (tx) => {
      const row = await lockAdminsAndUser(tx, id)
      const caller = await lockKeys(tx, principal)
      const previous = toUser(row, filesUrl())
      requireMayChange(caller, row)
      ifMatch(previous)
      const changes = changesOf(previous, { ...body, email: body.email?.toLowerCase() })
      if (changes === null) return { status: 200, body: previous }
      if (changes.role === 'admin' || (row.role === 'admin' && opensAccount(changes))) {
        requireMayMakeAdmin(caller)
        await requireRecentSignIn(tx, caller)
      }
      if (body.status === 'disabled' || body.role === 'user') await requireNotLastAdmin(tx, id)
      const user = toUser(await updateUserRow(tx, row, changes), filesUrl())
      await events.emit(tx, 'user.updated', user, { previous })
      const hasNewAddress = changes.email !== undefined
      if (hasNewAddress || changes.status === 'disabled')
        await endAccess(tx, services, row, { hasNewAddress })
      tx.afterCommit(() => principals.waitForInvalidation(id))
      return { status: 200, body: user }
    })
  },

  async deleteUser({ params: { id }, principal, ifMatch }, { db, events, principals, filesUrl }) {
    return await db.transaction(async (tx) => {
      await deleteUser(tx, events, id, {
        origin: filesUrl(),
        authorize: async (row) => {
          requireMayChange(await lockKeys(tx, principal), row)
          ifMatch(toUser(row, filesUrl()))
        },
      })
      tx.afterCommit(() => principals.waitForInvalidation(id))
      return { status: 204 }
    })
  },
} satisfies Handlers<'users'>

/** Whether a change lets another person into an account, or lets its own keys work again. */
function opensAccount({ email, email_verified: verified, status }: Changes): boolean {
  return email !== undefined || verified === true || status === 'active'
}

/** Throws 403 for an admin, unless the key has the scope `admin`. */
function requireMayChange(principal: Principal, { role }: { role: string }): void {
  if (role === 'admin' && !isOperator(principal))
    throw forbidden('Only API keys with the scope admin can change or delete an admin.', 'scope')
}

type Changes = Partial<components['schemas']['UserUpdate']>

/**
 * Throws 403 for a key that could not make a key with all that an admin may do, for ever: the new admin, or
 * who has the new address of one, could.
 */
function requireMayMakeAdmin(principal: Principal): void {
  requireGrantable(principal, { scopes: defaultScopes('admin'), projectIds: null, expiresAt: null })
}
