// The profile and the settings of the caller.
import type { User as UserRow } from '../generated/prisma/client.js'
import * as sql from '../generated/sql/users.ts'
import type { components } from '../generated/types.ts'
import { changesOf } from '../infra/contract/changes.ts'
import { withoutCookie } from '../services/auth/sessions/cookies.ts'
import { lockOwnSession } from '../services/auth/sessions/sessions.ts'
import { deleteUser } from '../services/deletion/delete-user.ts'
import { findExport, openExport, startExport } from '../services/exports/exports.ts'
import type { Handlers, HandlerServices } from '../services/handler.ts'
import { requireMembership } from '../services/projects/access.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { unauthorized } from '../infra/errors.ts'
import { requireRecentSignIn } from '../services/users/api-keys.ts'
import { requirePerson, type Principal } from '../services/users/authentication.ts'
import { readLimits } from '../services/users/limits.ts'
import { readSettings, settingsColumns } from '../services/users/settings.ts'
import { lockUser, toProfile } from '../services/users/users.ts'

type Profile = components['schemas']['Profile']

export const user = {
  async getCurrentUser({ principal }, services) {
    return { status: 200, body: await readProfile(services, principal) }
  },

  async deleteCurrentUser({ principal, headers, ifMatch }, { db, config, events, principals, filesUrl }) {
    const { userId: id, credentialId } = principal
    return await db.transaction(async (tx) => {
      const origin = filesUrl()
      const authorize = async (row: UserRow): Promise<void> => {
        await lockOwnSession(tx, credentialId, principal)
        await requireRecentSignIn(tx, principal)
        ifMatch(toProfile(row, origin))
      }
      await deleteUser(tx, events, id, { origin, authorize }).catch((error) => {
        // Of two requests at once, the second one finds no user.
        throw error.status === 404 ? unauthorized('revoked', 'The session has ended: sign in again.') : error
      })
      tx.afterCommit(() => principals.waitForInvalidation(id))
      return { status: 204, ...withoutCookie(config, headers) }
    })
  },

  async getAccountExport({ principal: { userId } }, { db, publicUrl }) {
    return { status: 200, body: await findExport(db, userId, publicUrl()) }
  },

  async exportAccount({ principal }, services) {
    requirePerson(principal)
    const body = await services.db.transaction((tx) => startExport(tx, services, principal.userId))
    return { status: 202, body }
  },

  async downloadAccountExport({ principal: { userId } }, { db, storage }) {
    return { status: 200, body: await openExport(db, await storage.blobStore(), userId) }
  },

  async getProfile({ principal }, services) {
    return { status: 200, body: await readProfile(services, principal) }
  },

  async updateProfile({ principal, body, ifMatch }, { db, events, filesUrl }) {
    requirePerson(principal)
    return await db.transaction(async (tx) => {
      const row = await lockUser(tx, principal.userId)
      if (row === null) throw unauthorized('disabled')
      const previous = toProfile(row, filesUrl())
      ifMatch(previous)
      const changes = changesOf(previous, body)
      if (changes === null) return { status: 200, body: previous }
      const profile = toProfile(
        await tx.prisma.user.update({
          where: { id: row.id },
          data: { ...changes, updatedAt: timestampAfter(row.updatedAt) },
        }),
        filesUrl(),
      )
      await events.emit(tx, 'profile.updated', profile, { previous, userId: row.id })
      return { status: 200, body: profile }
    })
  },

  async getLimits({ principal }, { db, ...sources }) {
    return { status: 200, body: { limits: await readLimits(db, sources, principal) } }
  },

  async getSettings({ principal }, { db }) {
    return { status: 200, body: await readSettings(db, principal.userId) }
  },

  async updateSettings({ principal, body, ifMatch }, { db, events }) {
    return await db.transaction(async (tx) => {
      const row = await lockUser(tx, principal.userId)
      if (row === null) throw unauthorized('disabled')
      const previous = await readSettings(tx, principal.userId)
      ifMatch(previous)
      if (changesOf(previous, body) === null) return { status: 200, body: previous }
      if (typeof body.default_project_id === 'string') {
        await requireMembership(tx, body.default_project_id, principal)
      }
      await tx.prisma.settings.update({
        where: { userId: principal.userId },
        data: { ...settingsColumns(body), updatedAt: timestampAfter(new Date(previous.updated_at)) },
      })
      const settings = await readSettings(tx, principal.userId)
      await events.emit(tx, 'settings.updated', settings, { previous, userId: principal.userId })
      return { status: 200, body: settings }
    })
  },
} satisfies Handlers<'user'>

async function readProfile(
  { db, filesUrl }: Pick<HandlerServices, 'db' | 'filesUrl'>,
  { userId: id }: Principal,
): Promise<Profile> {
  const row = await sql.findProfile(db, { id, origin: filesUrl() })
  if (row === undefined) throw unauthorized('disabled')
  const { role: _role, ...profile } = row
  return profile
}
