// Projects: inserts and lists. These are among the most frequent requests, so the statements return rows that
// are the API's objects already.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/projects.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { SqlClient, Transaction } from '../../infra/database/database.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { timestampAfter } from '../../infra/database/timestamps.ts'
import { containsPattern, type Page } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'

export type Project = components['schemas']['Project']
type ProjectCreate = components['schemas']['ProjectCreate']
export type Role = components['schemas']['MemberRole']

/** A deleted project can be restored for this time. */
export const restorableDays = 30

/** A page of the projects that the caller is a member of, with the total, in one statement. */
export async function listProjects(
  db: SqlClient,
  { userId, projectIds }: Principal,
  { q, ...query }: ListQuery<'listProjects'>,
): Promise<Page<Project>> {
  return await sql.listProjects(db, {
    user_id: userId,
    project_ids: projectIds === null ? undefined : [...projectIds],
    pattern: q === undefined ? undefined : containsPattern(q),
    ...query,
  })
}

/**
 * Inserts a project with its owner as the first member. The row is known before it is stored, so the
 * statement travels with the next one of the transaction, or with COMMIT.
 */
export async function insertProjectWithOwner(
  tx: Transaction,
  ownerId: string,
  { description = null, category = null, tags = [], metadata = {}, ...fields }: ProjectCreate,
  createdBy = ownerId,
): Promise<Project> {
  const id = newId('prj')
  const at = timeOf(id).toISOString()
  const project: Project = {
    id,
    name: fields.name,
    description,
    status: 'active',
    category,
    owner_id: ownerId,
    organization_id: fields.organization_id ?? null,
    created_by: createdBy,
    tags,
    member_count: 1,
    your_role: 'owner',
    metadata: inStoredOrder(metadata),
    version: 1,
    created_at: at,
    updated_at: at,
    archived_at: null,
    deleted_at: null,
  }
  // Its error is that of the transaction.
  sql.insertProject(tx.later, { ...project, member_id: newId('mem') }).catch(() => {})
  if (project.organization_id === null) return project
  await sql.joinOrganization(tx, { project_id: id, created_at: at })
  const { member_count } = await sql.readOwnerAndCount(tx, { id })
  return { ...project, member_count }
}

/** jsonb sorts keys by their length in bytes, then by their bytes. */
function inStoredOrder(metadata: Record<string, string>): Record<string, string> {
  const keys = Object.keys(metadata).map((key) => Buffer.from(key))
  keys.sort((a, b) => a.length - b.length || a.compare(b))
  return Object.fromEntries(keys.map(String).map((key) => [key, metadata[key]]))
}

/** Makes a member of a locked project an owner. */
export async function makeOwner(tx: Transaction, projectId: string, userId: string): Promise<void> {
  await sql.makeOwner(tx, { project_id: projectId, user_id: userId })
}

/**
 * Ends the memberships and custom roles that the organization of a locked project gave. Makes the user an
 * owner if no other member owns the project itself.
 */
export async function leaveOrganization(tx: Transaction, projectId: string, userId: string): Promise<void> {
  await sql.keepOwner(tx, { id: projectId, user_id: userId, created_at: new Date() })
  await sql.leaveOrganization(tx, { project_id: projectId })
  await sql.repairOwner(tx, { id: projectId })
}

/**
 * Gives a locked project to an organization, whose owners and admins become its members, or to a person, and
 * ends what its former organization gave its members.
 */
export async function transferProject(
  tx: Transaction,
  { id, your_role, updated_at }: Project,
  { organizationId, ownerId }: { organizationId: string | null; ownerId: string },
): Promise<Project> {
  const at = timestampAfter(new Date(updated_at))
  const fields = { id, organization_id: organizationId, owner_id: ownerId, updated_at: at }
  await sql.leaveOrganization(tx, { project_id: id })
  const project = await sql.changeOrganization(tx, fields)
  if (organizationId !== null) await sql.joinOrganization(tx, { project_id: id, created_at: at })
  await sql.repairOwner(tx, { id })
  const { owner_id, member_count } = await sql.readOwnerAndCount(tx, { id })
  return { ...project, your_role, owner_id, member_count }
}

/** Updates a locked project, with a new version and a later updated_at. Sent as `insertProjectWithOwner`. */
export function updateProject(tx: Transaction, previous: Project, changes: Partial<Project>): Project {
  const project: Project = {
    ...previous,
    ...changes,
    metadata: inStoredOrder(changes.metadata ?? previous.metadata),
    version: previous.version + 1,
    updated_at: timestampAfter(new Date(previous.updated_at)).toISOString(),
  }
  sql.updateProject(tx.later, project).catch(() => {})
  return project
}
