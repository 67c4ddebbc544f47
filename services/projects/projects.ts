// Projects: reads, inserts and lists. These are the most frequent reads of the API, so the statements return
// rows that are the API's objects already.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/projects.ts'
import type { Project as ProjectRow } from '../../generated/prisma/client.ts'
import type { Db } from '../../infra/database/database.ts'
import { statementOf } from '../../infra/database/statements.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { containsPattern, offsetOf, pageOfRows, type Page } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'

export type Project = components['schemas']['Project']
export type Role = components['schemas']['Role']

/** A deleted project can be restored for this time. */
export const restorableDays = 30

/** The columns of `Project` without `your_role`, from `projects p`, as in projects/project-columns.sql. */
const projectColumns = `p.id, p.name, p.description, p.status::text, p.category, p.owner_id, p.tags,
  p.member_count, p.metadata, p.version, p.created_at, p.updated_at, p.archived_at`

export interface ProjectListQuery {
  page: number
  limit: number
  sort: 'created_at' | 'updated_at' | 'name'
  order: 'asc' | 'desc'
  status?: 'active' | 'archived' | 'deleted'
  category?: string
  tag?: string
  q?: string
}

type ListRow = Project & { total: number }

const sortKeys = { created_at: 'm.project_id', updated_at: 'p.updated_at', name: 'lower(p.name)' }

/** A page of the projects that the caller is a member of, with the total, in one statement. */
export async function listProjects(
  db: Db,
  principal: Principal,
  query: ProjectListQuery,
): Promise<Page<Project>> {
  const { text, values, searches } = listStatement(principal, query)
  return pageOfRows(await db.sql(statementOf<ListRow>(text, { searches }), values), query)
}

/**
 * Unlike `listPage`, this selects the page from `members` alone and joins `projects` afterwards, where the
 * sort order and the filters allow it.
 */
function listStatement(
  principal: Principal,
  query: ProjectListQuery,
): { text: string; values: unknown[]; searches: boolean } {
  const values: unknown[] = [principal.userId]
  const value = (v: unknown): string => `$${values.push(v)}`
  const status = query.status === undefined ? "<> 'deleted'" : `= ${value(query.status)}::"ProjectStatus"`
  const memberFilters = [`m.user_id = $1 AND m.project_status ${status}`]
  if (principal.projectIds !== null)
    memberFilters.push(`m.project_id = ANY(${value([...principal.projectIds])})`)
  const filters: string[] = []
  if (query.category !== undefined) filters.push(`p.category = ${value(query.category)}`)
  if (query.tag !== undefined) filters.push(`p.tags @> ARRAY[${value(query.tag)}]::text[]`)
  if (query.q !== undefined) {
    const pattern = value(containsPattern(query.q))
    filters.push(`(p.name ILIKE ${pattern} OR p.description ILIKE ${pattern})`)
  }
  const where = [...memberFilters, ...filters].join(' AND ')
  // Triggers maintain the total without filters in project_counts, so it costs the same for any number of
  // projects.
  const total =
    filters.length === 0 && principal.projectIds === null
      ? `SELECT coalesce(sum(count), 0)::int AS total FROM project_counts
         WHERE user_id = $1 AND status ${status}`
      : `SELECT count(*)::int AS total FROM members m JOIN projects p ON p.id = m.project_id WHERE ${where}`
  const direction = query.order === 'asc' ? 'ASC' : 'DESC'
  const key = sortKeys[query.sort]
  // Without OFFSET, PostgreSQL can reuse one generic plan for the first page, which is the most frequent
  // request.
  const offset = query.page === 1 ? '' : ` OFFSET ${value(offsetOf(query))}`
  // The constant LIMIT makes the planner choose the index, because it shows that a page is small. The outer
  // LIMIT applies the caller's value.
  const window = `LIMIT 100${offset}`
  const limit = value(query.limit)
  // TypeIDs sort by creation time, so the index of members alone finds the page in the default order.
  const from =
    query.sort === 'created_at' && filters.length === 0
      ? `(SELECT project_id, role FROM members m WHERE ${where}
        ORDER BY m.project_id ${direction} ${window}) m JOIN projects p ON p.id = m.project_id
       ORDER BY m.project_id ${direction}`
      : `members m JOIN projects p ON p.id = m.project_id WHERE ${where}
       ORDER BY ${key} ${direction}, p.id ${direction} ${window}`
  return {
    text: `SELECT t.total, x.* FROM (${total}) t LEFT JOIN LATERAL (
      SELECT * FROM (SELECT ${projectColumns}, m.role::text AS your_role FROM ${from}) page LIMIT ${limit}
    ) x ON true`,
    values,
    searches: filters.length > 0,
  }
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
  }
}
