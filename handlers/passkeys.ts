// The passkeys of a user, and the challenge for a sign-in. auth.ts verifies the signed challenge.
import { changesOf } from '../infra/contract/changes.ts'
import {
  addPasskey,
  findOwnPasskey,
  listPasskeys,
  removeOwnPasskey,
  renamePasskey,
  startRegistration,
  startSignIn,
  verifyRegistration,
} from '../services/auth/passkeys.ts'
import { lockActiveUser } from '../services/users/users.ts'
import type { Handlers } from '../services/handler.ts'
import { requireRecentSignIn } from '../services/users/api-keys.ts'

export const passkeys = {
  async startPasskeySignIn(_request, { db, config }) {
    return { status: 200, body: await startSignIn(db, config) }
  },

  async startPasskey({ principal }, { db, config }) {
    return await db.transaction(async (tx) => {
      const user = await lockActiveUser(tx, principal.userId)
      await requireRecentSignIn(tx, principal)
      return { status: 200, body: await startRegistration(tx, config, user) }
    })
  },

  async listPasskeys({ principal, query }, { db }) {
    return { status: 200, body: await listPasskeys(db, principal, query) }
  },

  async addPasskey({ principal, body: { name, credential } }, services) {
    const { db, config } = services
    const { userId } = principal
    const passkey = await verifyRegistration(db, config, { userId, answer: credential })
    return await db.transaction(async (tx) => {
      const user = await lockActiveUser(tx, userId)
      await requireRecentSignIn(tx, principal)
      const body = await addPasskey(tx, services, user, { name, passkey })
      return { status: 201, body, headers: { location: `/v1/user/passkeys/${body.id}` } }
    })
  },

  async getPasskey({ principal, params: { id } }, { db }) {
    return { status: 200, body: await findOwnPasskey(db, id, principal) }
  },

  async updatePasskey({ principal, params: { id }, body, ifMatch }, services) {
    return await services.db.transaction(async (tx) => {
      await lockActiveUser(tx, principal.userId)
      const previous = await findOwnPasskey(tx, id, principal)
      await requireRecentSignIn(tx, principal)
      ifMatch(previous)
      const changes = changesOf(previous, body)
      if (changes?.name === undefined) return { status: 200, body: previous }
      return { status: 200, body: await renamePasskey(tx, services, previous, changes.name) }
    })
  },

  async removePasskey({ principal, params: { id }, ifMatch }, services) {
    await services.db.transaction((tx) => removeOwnPasskey(tx, services, { id, principal }, ifMatch))
    return { status: 204 }
  },
} satisfies Handlers<'passkeys'>
