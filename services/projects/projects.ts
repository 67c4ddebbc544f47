// Projects: inserts and lists. These are among the most frequent requests, so the statements return rows that
// are the API's objects already.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/projects.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, SqlClient } from '../../infra/database/database.ts'
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
): Promise<Project> {
  const id = newId('prj')
  const project = await sql.insertProject(db, {
    id,
    name: fields.name,
    description: fields.description ?? null,
    category: fields.category ?? null,
    owner_id: ownerId,
    tags: fields.tags ?? [],
    metadata: fields.metadata ?? {},
    created_at: timeOf(id),
    member_id: newId('mem'),
  })
  // The trigger that counts members runs after the row is returned.
  return { ...project, member_count: 1 }
}

/** Updates a locked project, with a new version and a later updated_at. */
export async function updateProject(tx: Db, previous: Project, changes: Partial<Project>): Promise<Project> {
  const { id, your_role } = previous
  const row = await sql.updateProject(tx, {
    ...previous,
    ...changes,
    id,
    updated_at: timestampAfter(new Date(previous.updated_at)),
  })
  return { ...row, your_role }
}
