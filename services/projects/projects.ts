// Projects: inserts and lists. These are among the most frequent requests, so the statements return rows that
// are the API's objects already.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/projects.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction, SqlClient } from '../../infra/database/database.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { timestampAfter } from '../../infra/database/timestamps.ts'
import { containsPattern, type Page } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'

export type Project = components['schemas']['Project']
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
 * Inserts a project with its owner as the first member, in one statement, so it is atomic without a
 * transaction.
 */
export async function insertProjectWithOwner(
  db: Db,
  ownerId: string,
  fields: components['schemas']['ProjectCreate'],
  createdBy = ownerId,
): Promise<Project> {
  const id = newId('prj')
  const project = await sql.insertProject(db, {
    tags: [],
    metadata: {},
    ...fields,
    id,
    owner_id: ownerId,
    organization_id: fields.organization_id ?? null,
    created_by: createdBy,
    created_at: timeOf(id),
    member_id: newId('mem'),
  })
  if (project.organization_id === null) {
    // The trigger that counts members runs after the row is returned.
    return { ...project, member_count: 1 }
  }
  await sql.joinOrganization(db, { project_id: id, created_at: timeOf(id) })
  const { member_count } = await sql.readOwnerAndCount(db, { id })
  return { ...project, member_count }
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

/** Updates a locked project, with a new version and a later updated_at. */
export async function updateProject(
  tx: Transaction,
  previous: Project,
  changes: Partial<Project>,
): Promise<Project> {
  const { id, your_role } = previous
  const row = await sql.updateProject(tx, {
    ...previous,
    ...changes,
    id,
    updated_at: timestampAfter(new Date(previous.updated_at)),
  })
  return { ...row, your_role }
}
