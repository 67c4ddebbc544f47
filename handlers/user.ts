// The profile and the settings of the caller.
import * as sql from '../generated/sql/users.ts'
import { changesOf } from '../infra/contract/changes.ts'
import type { Handlers } from '../services/handler.ts'
import { requireMembership } from '../services/projects/access.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { unauthorized } from '../infra/errors.ts'
import { requirePerson } from '../services/users/authentication.ts'
import { readLimits } from '../services/users/limits.ts'
import { readSettings, settingsColumns } from '../services/users/settings.ts'
import { lockUser, toProfile } from '../services/users/users.ts'

export const user = {
  async getProfile({ principal }, { db, filesUrl }) {
    const row = await sql.findProfile(db, { id: principal.userId, origin: filesUrl() })
    if (row === undefined) throw unauthorized('disabled')
    const { role: _role, ...profile } = row
    return { status: 200, body: profile }
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
