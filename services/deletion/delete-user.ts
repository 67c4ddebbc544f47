// Deletes a user and all data that only the user owns. The row in `users` stays without personal data,
// because projects and events still refer to it.
import { restorableDays } from '../projects/projects.ts'
import { lockAdminsAndUser, requireNotLastAdmin } from '../users/users.ts'
import type { Emitter } from '../events/emit.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { endMemberships, requireNotOnlyOwner } from '../organizations/members.ts'
import { endServiceAccount } from '../organizations/service-accounts.ts'
import * as sql from '../../generated/sql/users.ts'
import type { User as UserRow } from '../../generated/prisma/client.js'
import { timestampAfter } from '../../infra/database/timestamps.ts'
import { conflict } from '../../infra/errors.ts'

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

/**
 * Deletes a user in the transaction `tx`.
 * @param origin of the server, for the URLs in events
 * @param authorize called with the locked user; throws when the caller may not delete the user.
 * @throws 404 when the user does not exist; 409 `last_admin` or `last_owner` for the last admin or owner.
 */
export async function deleteUser(
  tx: Transaction,
  events: Emitter,
  id: string,
  { origin, authorize }: { origin: string; authorize: (row: UserRow) => void | Promise<void> },
): Promise<void> {
  // Every writer locks projects first, then members, then users.
  await sql.lockProjects(tx, { user_id: id })
  const row = await lockAdminsAndUser(tx, id)
  await authorize(row)
  await sql.lockForDeletion(tx, { id })
  await requireNotLastAdmin(tx, id)
  await requireNotOnlyOwner(tx, id)
  await deleteOwnData(tx, events, row, origin)
  await tx.prisma.user.update({
    where: { id },
    data: { ...anonymized, updatedAt: timestampAfter(row.updatedAt) },
  })
  await events.emit(tx, 'user.deleted', { id, deleted: true })
}

/**
 * Deletes the user of a locked service account, with its keys and memberships. The name stays, because events
 * and resources refer to it.
 * @throws 409 `last_owner`.
 */
export async function deleteServiceAccountUser(
  tx: Transaction,
  events: Emitter,
  { id, user_id: userId }: { id: string; user_id: string },
  origin: string,
): Promise<void> {
  await sql.lockProjects(tx, { user_id: userId })
  const row = await tx.prisma.user.findUniqueOrThrow({ where: { id: userId } })
  await sql.lockForDeletion(tx, { id: userId })
  await deleteOwnData(tx, events, row, origin)
  await tx.prisma.user.update({ where: { id: userId }, data: { status: 'deleted', email: null } })
  await endServiceAccount(tx, id)
}

/** Deletes what belongs to the user alone, and ends the user's memberships. Throws 409 `last_owner`. */
async function deleteOwnData(tx: Transaction, events: Emitter, row: UserRow, origin: string): Promise<void> {
  const { id } = row
  if ((await sql.findSolelyOwnedProject(tx, { user_id: id })) !== undefined) {
    throw conflict(
      'last_owner',
      'The user is the only owner of a project. Make another member an owner, or delete the project first.',
    )
  }
  // No remaining member can restore these deleted projects. The next retention round purges them.
  await sql.expireSolelyOwnedProjects(tx, { user_id: id, days: restorableDays + 1 })
  await sql.transferProjects(tx, { user_id: id })
  const memberships = await sql.deleteMemberships(tx, { user_id: id, origin })
  const organizationMemberships = await endMemberships(tx, { id, email: row.email! }, origin)
  await sql.deleteDataOfUser(tx, { id, email: row.email! })
  await sql.deleteRequestsOfUser(tx, { id })
  await sql.deleteUsageOfUser(tx, { id })
  for (const member of memberships) await events.emit(tx, 'member.removed', member)
  for (const member of organizationMemberships) await events.emit(tx, 'organization_member.removed', member)
}
