// Rows that the contract tests need to be there before they ask, put there by the services themselves.
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { Test } from 'tap'
import { newId, timeOf } from '../../services/ids.ts'
import { insertMember } from '../../services/members.ts'
import { insertProjectWithOwner, type Role } from '../../services/projects.ts'
import { insertKey, insertUser, scopesFor, type Scope } from '../../services/users.ts'
import type { Person, TestServer } from './server.ts'

interface Place { server: TestServer, caller: Person, rank: 'none' | Role }

/** A project of the server's admin in which the caller has the rank. */
export async function insertedProject ({ server, caller, rank }: Place, status: 'active' | 'archived' | 'deleted' = 'active'): Promise<string> {
  const { database } = server.services
  const { id } = await insertProjectWithOwner(database, server.admin.id, { name: 'Theirs' })
  if (rank !== 'none' && caller.id !== server.admin.id) await insertedMember(server, id, caller.id, rank)
  const at = new Date()
  if (status !== 'active') await database.prisma.project.update({ where: { id }, data: { status, ...(status === 'archived' ? { archivedAt: at } : { deletedAt: at }) } })
  return id
}

export async function insertedMember (server: TestServer, projectId: string, userId: string, role: Role): Promise<string> {
  return (await insertMember(server.services.database, { id: projectId }, { userId, role, addedById: server.admin.id })).id
}

/** The caller's own member of the project, or its maker's. */
export async function ownMember ({ server, caller, rank }: Place, projectId: string): Promise<string> {
  const userId = rank === 'none' ? server.admin.id : caller.id
  return (await server.services.database.prisma.member.findUniqueOrThrow({ where: { projectId_userId: { projectId, userId } } })).id
}

/** A user with no key. */
export async function insertedUser (server: TestServer): Promise<string> {
  const user = await server.services.database.transaction((tx) =>
    insertUser(tx, { email: `${randomBytes(8).toString('hex')}@example.com`, emailVerified: true, name: 'Someone', role: 'user' }))
  return user.id
}

/** A key of the user; `secret` is for its requests. */
export async function insertedKey (server: TestServer, userId: string, { scopes = scopesFor('user'), expiresAt = null, projectIds = null, revoked = false }:
{ scopes?: Scope[], expiresAt?: Date | null, projectIds?: string[] | null, revoked?: boolean } = {}): Promise<{ id: string, secret: string }> {
  const { database } = server.services
  const { id, key } = await insertKey(database, 'test', { userId, name: 'spare', scopes, projectIds, expiresAt })
  if (revoked) await database.prisma.apiKey.update({ where: { id }, data: { revokedAt: new Date() } })
  return { id, secret: key }
}

export async function insertedInvitation (server: TestServer, projectId: string, email: string, status: 'pending' | 'revoked' = 'pending'): Promise<string> {
  const id = newId('inv')
  const createdAt = timeOf(id)
  await server.services.database.prisma.invitation.create({
    data: { id, projectId, email: email.toLowerCase(), role: 'viewer', status, invitedById: server.admin.id, createdAt, expiresAt: new Date(createdAt.getTime() + 86_400_000) }
  })
  return id
}

/** Everything that is in the tables, by table: to be compared before and after. When a key was last used is no change. */
export async function createDump (t: Pick<Test, 'teardown'>, { databaseUrl }: TestServer): Promise<() => Promise<Record<string, unknown>>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations' ORDER BY 1")
  const each = rows.map(({ tablename }) => `SELECT '${tablename}' AS name, count(*)::int AS rows,
    md5(coalesce(string_agg((to_jsonb(r) - 'last_used_at')::text, ',' ORDER BY (to_jsonb(r) - 'last_used_at')::text), '')) AS content FROM "${tablename}" r`)
  return async () => Object.fromEntries((await client.query(each.join(' UNION ALL '))).rows.map(({ name, ...rest }) => [name, rest]))
}
