// People, as an operator manages them.
import type { Handlers } from '../services/handler.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { type Db } from '../infra/database/database.ts'
import { statement } from '../infra/database/statements.ts'
import { conflict, notFound } from '../infra/errors.ts'
import { memberColumns, type Member } from '../services/projects/members.ts'
import { escapeLike, pageArgs, pageOf } from '../infra/database/pagination.ts'
import { restorableDays } from '../services/projects/projects.ts'
import { emailTaken, insertKey, insertUser, lockedUser, scopesFor, toUser } from '../services/users/users.ts'
import { asDeleted } from '../services/webhooks/endpoints.ts'

const sortColumns = {
  created_at: 'createdAt',
  updated_at: 'updatedAt',
  name: 'name',
  email: 'email',
} as const

export const users = {
  async listUsers({ query }, { db }) {
    const { status, role, q } = query
    const where = {
      status: status ?? { not: 'deleted' as const },
      role,
      ...(q !== undefined && {
        OR: [
          { name: { contains: escapeLike(q), mode: 'insensitive' as const } },
          { email: { contains: escapeLike(q.toLowerCase()) } },
        ],
      }),
    }
    const [rows, total] = await Promise.all([
      db.prisma.user.findMany({ where, ...pageArgs(query, sortColumns) }),
      db.prisma.user.count({ where }),
    ])
    return { status: 200, body: pageOf(rows.map(toUser), total, query) }
  },

  async createUser({ body }, { db, config, events }) {
    const { email_verified: emailVerified = true, role = 'user', ...fields } = body
    return await db.transaction(async (tx) => {
      const row = await insertUser(tx, { ...fields, emailVerified, role })
      const key = await insertKey(tx, config.keyMode, {
        userId: row.id,
        name: 'first key',
        scopes: scopesFor(role),
        projectIds: null,
        expiresAt: null,
      })
      const user = toUser(row)
      await events.emit(tx, 'user.created', user)
      return { status: 201, body: { ...user, api_key: key }, headers: { location: `/v1/users/${user.id}` } }
    })
  },

  async getUser({ params: { id } }, { db }) {
    const row = await db.prisma.user.findUnique({ where: { id } })
    if (row === null || row.status === 'deleted') throw notFound('user', id)
    return { status: 200, body: toUser(row) }
  },

  async updateUser({ params: { id }, body, ifMatch }, { db, events, principals }) {
    const { email, email_verified: emailVerified, ...fields } = body
    return await db.transaction(async (tx) => {
      const row = await lockAdminsAndUser(tx, id)
      const previous = toUser(row)
      ifMatch(previous)
      if (body.status === 'disabled' || body.role === 'user') await refuseLastAdmin(tx, id)
      const updated = await tx.prisma.user
        .update({
          where: { id },
          data: {
            ...fields,
            email: email?.toLowerCase(),
            emailVerified,
            updatedAt: timestampAfter(row.updatedAt),
          },
        })
        .catch((error) => {
          throw emailTaken(error)
        })
      const user = toUser(updated)
      await events.emit(tx, 'user.updated', user, { previous })
      tx.afterCommit(() => principals.settle(id))
      return { status: 200, body: user }
    })
  },

  async deleteUser({ params: { id }, ifMatch }, { db, events, principals }) {
    return await db.transaction(async (tx) => {
      // Projects before members before users, as every other writer locks them.
      await tx.sql(lockProjectsOf, [id])
      const row = await lockAdminsAndUser(tx, id)
      ifMatch(toUser(row))
      // From here on nobody can make the user a member: the database asks for a living one.
      await tx.sql(lockForDeletion, [id])
      await refuseLastAdmin(tx, id)
      if ((await tx.sql(onlyOwnerOf, [id])).length > 0) {
        throw conflict(
          'last_owner',
          'The user is the last owner of a project; make someone else owner or delete the project first.',
        )
      }
      // A deleted project that nobody else could restore goes with its owner: with the next housekeeping, however much is in it.
      await tx.sql(giveUpOwnedAlone, [id])
      await tx.sql(handOverProjects, [id])
      const left = await tx.sql(removeMemberships, [id])
      await tx.prisma.invitation.deleteMany({ where: { email: row.email! } })
      await tx.prisma.idempotencyRecord.deleteMany({ where: { ownerId: id } })
      await tx.prisma.apiKey.deleteMany({ where: { userId: id } })
      await tx.prisma.webhookEndpoint.updateMany({
        where: { userId: id, deletedAt: null },
        data: asDeleted(),
      })
      await tx.prisma.settings.deleteMany({ where: { userId: id } })
      await tx.prisma.avatar.deleteMany({ where: { userId: id } })
      await tx.prisma.user.update({
        where: { id },
        data: { ...erased, updatedAt: timestampAfter(row.updatedAt) },
      })
      for (const member of left) await events.emit(tx, 'member.removed', member)
      await events.emit(tx, 'user.deleted', { id, deleted: true })
      tx.afterCommit(() => principals.settle(id))
      return { status: 204 }
    })
  },
} satisfies Handlers<'users'>

/** What is left of a deleted user: the row that projects and members still refer to. */
const erased = {
  status: 'deleted',
  email: null,
  emailVerified: false,
  name: 'Deleted user',
  bio: null,
  avatarUrl: null,
  locale: 'en',
  timezone: 'UTC',
  role: 'user',
  metadata: {},
} as const

const lockAdmins = statement(
  "SELECT id FROM users WHERE role = 'admin' AND status = 'active' ORDER BY id FOR NO KEY UPDATE",
)
const lockProjectsOf = statement(`
  SELECT p.id FROM projects p WHERE p.id IN (SELECT project_id FROM members WHERE user_id = $1) ORDER BY p.id FOR NO KEY UPDATE`)
const onlyOwnerOf = statement<{ id: string }>(`
  SELECT m.project_id AS id FROM members m WHERE m.user_id = $1 AND m.role = 'owner' AND m.project_status <> 'deleted'
    AND NOT EXISTS (SELECT 1 FROM members o WHERE o.project_id = m.project_id AND o.role = 'owner' AND o.user_id <> $1) LIMIT 1`)
const lockForDeletion = statement('SELECT id FROM users WHERE id = $1 FOR UPDATE')
const giveUpOwnedAlone = statement(`
  WITH given AS (
    UPDATE projects p SET deleted_at = now() - interval '${restorableDays + 1} days' FROM members m
    WHERE m.project_id = p.id AND m.user_id = $1 AND m.role = 'owner' AND p.status = 'deleted'
      AND NOT EXISTS (SELECT 1 FROM members o WHERE o.project_id = p.id AND o.role = 'owner' AND o.user_id <> $1)
    RETURNING p.id
  ) DELETE FROM members WHERE project_id IN (SELECT id FROM given)`)
const handOverProjects = statement(`
  UPDATE projects p SET version = version + 1, updated_at = greatest(now(), updated_at + interval '1 millisecond'), owner_id = o.user_id
  FROM (
    SELECT DISTINCT ON (m.project_id) m.project_id, m.user_id FROM projects owned JOIN members m ON m.project_id = owned.id
    WHERE owned.owner_id = $1 AND m.role = 'owner' AND m.user_id <> $1 ORDER BY m.project_id, m.created_at, m.id
  ) o WHERE o.project_id = p.id`)
const removeMemberships = statement<Member>(`
  WITH gone AS (DELETE FROM members WHERE user_id = $1 RETURNING *)
  SELECT ${memberColumns} FROM gone m JOIN users u ON u.id = m.user_id ORDER BY m.project_id`)
const otherAdmin = statement(
  "SELECT 1 FROM users WHERE role = 'admin' AND status = 'active' AND id <> $1 LIMIT 1",
)
const isAdmin = statement("SELECT 1 FROM users WHERE role = 'admin' AND status = 'active' AND id = $1")

/** All admins are held, in one order, so that two changes never each leave the other's admin as the last one. */
async function lockAdminsAndUser(tx: Db, id: string) {
  await tx.sql(lockAdmins, [])
  const row = await lockedUser(tx, id)
  if (row === null) throw notFound('user', id)
  return row
}

async function refuseLastAdmin(tx: Db, id: string): Promise<void> {
  if ((await tx.sql(isAdmin, [id])).length === 0 || (await tx.sql(otherAdmin, [id])).length > 0) return
  throw conflict('last_admin', 'The platform needs an active admin.')
}
