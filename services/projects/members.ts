// Members and invitations as the API shows them, and the rule that only owners rule over owners.
import type { components } from '../../generated/types.ts'
import { Prisma, type Invitation as InvitationRow } from '../../generated/prisma/client.ts'
import { ranks } from './access.ts'
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { conflict, forbidden, notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Project, Role } from './projects.ts'

export type Member = components['schemas']['Member']
export type Invitation = components['schemas']['Invitation']

export const memberColumns = `m.id, m.project_id, m.role::text, m.added_by, m.created_at,
  jsonb_build_object('id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', u.avatar_url) AS user`

const readMember = statement<Member>(
  `SELECT ${memberColumns} FROM members m JOIN users u ON u.id = m.user_id WHERE m.id = $1 AND m.project_id = $2`,
)

/** A member of the project. 404 for one of another project too: its id says nothing here. */
export async function memberOf(db: Db, projectId: string, memberId: string): Promise<Member> {
  const [member] = await db.sql(readMember, [memberId, projectId])
  if (member === undefined) throw notFound('member', memberId)
  return member
}

/** Only an owner gives the role owner, takes it, or removes who has it. */
export function requirePowerOver(project: Project, roles: Role[]): void {
  if (project.your_role !== 'owner' && roles.includes('owner'))
    throw forbidden('Only an owner may do this to an owner.', 'role')
}

/** Whether this role may manage members at all. */
export function managesMembers(role: Role): boolean {
  return ranks[role] >= ranks.admin
}

/** A new member of a locked project. 409 `member_exists` when the user is one already. */
export async function insertMember(
  tx: Db,
  project: { id: string },
  { userId, role, addedById }: { userId: string; role: Role; addedById: string },
): Promise<Member> {
  const id = newId('mem')
  const at = timeOf(id)
  try {
    await tx.prisma.member.create({
      data: { id, projectId: project.id, userId, role, addedById, createdAt: at, updatedAt: at },
      select: { id: true },
    })
  } catch (error) {
    const again = error instanceof Prisma.PrismaClientKnownRequestError && error.code === 'P2002'
    throw again ? conflict('member_exists', 'The user is a member of this project already.') : error
  }
  return await memberOf(tx, project.id, id)
}

const otherOwners = statement<{ user_id: string }>(`
  SELECT user_id FROM members WHERE project_id = $1 AND role = 'owner' AND id <> $2 ORDER BY created_at, id LIMIT 1`)
const handOver = statement(`
  UPDATE projects SET owner_id = $3, version = version + 1, updated_at = greatest(now(), updated_at + interval '1 millisecond')
  WHERE id = $1 AND owner_id = $2`)

/**
 * Before an owner of a locked project is demoted or removed: 409 `last_owner` when there is no other,
 * else the project's owner_id passes to the longest-standing one.
 */
export async function releaseOwner(tx: Db, projectId: string, member: Member): Promise<void> {
  const [heir] = await tx.sql(otherOwners, [projectId, member.id])
  if (heir === undefined)
    throw conflict('last_owner', 'A project needs an owner; make someone else owner first.')
  await tx.sql(handOver, [projectId, member.user.id, heir.user_id])
}

export function toInvitation(row: InvitationRow): Invitation {
  return {
    id: row.id,
    project_id: row.projectId,
    email: row.email,
    role: row.role,
    status: row.status === 'pending' && row.expiresAt <= new Date() ? 'expired' : row.status,
    invited_by: row.invitedById,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
  }
}

/** An invitation of the project. */
export async function invitationOf(db: Db, projectId: string, invitationId: string): Promise<InvitationRow> {
  const row = await db.prisma.invitation.findUnique({ where: { id: invitationId } })
  if (row === null || row.projectId !== projectId) throw notFound('invitation', invitationId)
  return row
}
