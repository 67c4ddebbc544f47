// Deletes a user and all data that only the user owns. The row in `users` stays without personal data,
// because projects and events still refer to it.
import { restorableDays } from './projects/projects.ts'
import { memberColumns, type Member } from './projects/members.ts'
import { lockAdminsAndUser, requireNotLastAdmin, toUser, type User } from './users/users.ts'
import { deletedEndpoint } from './webhooks/endpoints.ts'
import type { Emitter } from './events/emit.ts'
import type { Db } from '../infra/database/database.ts'
import { statement } from '../infra/database/statements.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { conflict } from '../infra/errors.ts'

/** The columns of a deleted user. */
const anonymized = {
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

const lockProjectsOfUser = statement(`
  SELECT p.id FROM projects p WHERE p.id IN (SELECT project_id FROM members WHERE user_id = $1)
  ORDER BY p.id FOR NO KEY UPDATE`)
const lockForDeletion = statement('SELECT id FROM users WHERE id = $1 FOR UPDATE')
const soleOwnerships = statement<{ id: string }>(`
  SELECT m.project_id AS id FROM members m
  WHERE m.user_id = $1 AND m.role = 'owner' AND m.project_status <> 'deleted'
    AND NOT EXISTS (
      SELECT 1 FROM members o WHERE o.project_id = m.project_id AND o.role = 'owner' AND o.user_id <> $1
    ) LIMIT 1`)
const expireSolelyOwnedProjects = statement(`
  WITH expired AS (
    UPDATE projects p SET deleted_at = now() - interval '${restorableDays + 1} days' FROM members m
    WHERE m.project_id = p.id AND m.user_id = $1 AND m.role = 'owner' AND p.status = 'deleted'
      AND NOT EXISTS (
        SELECT 1 FROM members o WHERE o.project_id = p.id AND o.role = 'owner' AND o.user_id <> $1
      )
    RETURNING p.id
  ) DELETE FROM members WHERE project_id IN (SELECT id FROM expired)`)
const transferProjects = statement(`
  UPDATE projects p SET version = version + 1, owner_id = o.user_id,
    updated_at = greatest(now(), updated_at + interval '1 millisecond')
  FROM (
    SELECT DISTINCT ON (m.project_id) m.project_id, m.user_id
    FROM projects owned JOIN members m ON m.project_id = owned.id
    WHERE owned.owner_id = $1 AND m.role = 'owner' AND m.user_id <> $1
    ORDER BY m.project_id, m.created_at, m.id
  ) o WHERE o.project_id = p.id`)
const deleteMemberships = statement<Member>(`
  WITH deleted AS (DELETE FROM members WHERE user_id = $1 RETURNING *)
  SELECT ${memberColumns} FROM deleted m JOIN users u ON u.id = m.user_id ORDER BY m.project_id`)

/**
 * Deletes a user in the transaction `tx`.
 * @param ifMatch called with the locked user; throws 412 when the request's If-Match does not match.
 * @throws 404 when the user does not exist; 409 `last_admin` or `last_owner` for the last admin or owner.
 */
export async function deleteUser(
  tx: Db,
  events: Emitter,
  id: string,
  ifMatch: (user: User) => void,
): Promise<void> {
  // Every writer locks projects first, then members, then users.
  await tx.sql(lockProjectsOfUser, [id])
  const row = await lockAdminsAndUser(tx, id)
  ifMatch(toUser(row))
  // After this lock, no other transaction can add the user to a project: the trigger
  // `members_require_existing_user` waits for the lock and then refuses a deleted user.
  await tx.sql(lockForDeletion, [id])
  await requireNotLastAdmin(tx, id)
  if ((await tx.sql(soleOwnerships, [id])).length > 0) {
    throw conflict(
      'last_owner',
      'The user is the only owner of a project. Make another member an owner, or delete the project first.',
    )
  }
  // No remaining member can restore these deleted projects. The next retention round purges them.
  await tx.sql(expireSolelyOwnedProjects, [id])
  await tx.sql(transferProjects, [id])
  const memberships = await tx.sql(deleteMemberships, [id])
  await tx.prisma.invitation.deleteMany({ where: { email: row.email! } })
  await tx.prisma.idempotencyRecord.deleteMany({ where: { ownerId: id } })
  await tx.prisma.apiKey.deleteMany({ where: { userId: id } })
  await tx.prisma.webhookEndpoint.updateMany({
    where: { userId: id, deletedAt: null },
    data: deletedEndpoint(),
  })
  await tx.prisma.settings.deleteMany({ where: { userId: id } })
  await tx.prisma.avatar.deleteMany({ where: { userId: id } })
  await tx.prisma.user.update({
    where: { id },
    data: { ...anonymized, updatedAt: timestampAfter(row.updatedAt) },
  })
  for (const member of memberships) await events.emit(tx, 'member.removed', member)
  await events.emit(tx, 'user.deleted', { id, deleted: true })
}
