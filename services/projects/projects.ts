// Projects: inserts and lists. These are among the most frequent requests, so the statements return rows that
// are the API's objects already.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/projects.ts'
import type { Project as ProjectRow } from '../../generated/prisma/client.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, SqlClient } from '../../infra/database/database.ts'
import { newId, timeOf } from '../../infra/ids.ts'
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

/** Converts a row of Prisma to the API's object for a caller with this role. */
export function toProject(row: ProjectRow, role: Role): Project {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    status: row.status,
    category: row.category,
    owner_id: row.ownerId,
    tags: row.tags,
    member_count: row.memberCount,
    your_role: role,
    metadata: row.metadata as Record<string, string>,
    version: row.version,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    archived_at: row.archivedAt?.toISOString() ?? null,
    deleted_at: row.deletedAt?.toISOString() ?? null,
  }
}
