// Who may do what in a project: the one reading of `x-project-access`. A project that is not there is 404, one that is
// someone else's 403, one in the wrong state 409, in this order.
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { forbidden, invalidState, notFound } from '../../infra/errors.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Principal } from '../users/authentication.ts'
import { projectColumns, restorableDays, type Project, type Role } from './projects.ts'

/** The roles by power, and `none` for an operation that is open to people outside the project. */
export const ranks = { none: 0, viewer: 1, editor: 2, admin: 3, owner: 4 } as const

export type Rank = keyof typeof ranks

type Row = Omit<Project, 'your_role'> & { your_role: Role | null }

const read = `SELECT ${projectColumns}, m.role::text AS your_role
  FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = $2
  WHERE p.id = $1 AND (p.deleted_at IS NULL OR p.deleted_at >= now() - interval '${restorableDays} days')`
const readProject = statement<Row>(read)
// No other writer of the project or of its members gets past this lock; readers do.
const lockProject = statement<Row>(`${read} FOR NO KEY UPDATE OF p`)

interface ProjectRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

/**
 * The project of the request, when the caller may do what the operation does, and the project is in a state for it.
 * One statement. `lock` holds it against other writers until the transaction ends.
 */
export async function openProject(
  db: Db,
  request: ProjectRequest,
  options: { lock?: boolean } = {},
): Promise<Project> {
  const project = await findProject(db, request, options)
  requireState(project, request)
  return project
}

/**
 * The same but for the state: for an operation that has something inside the project to find and to permit first,
 * and then calls `requireState`.
 */
export async function findProject(
  db: Db,
  { operation, params: { id }, principal }: ProjectRequest,
  { lock = false } = {},
): Promise<Project> {
  const { role, states } = accessOf(operation)
  const [row] = await db.sql(lock ? lockProject : readProject, [id, principal.userId])
  if (row === undefined || (row.status === 'deleted' && !states.includes('deleted')))
    throw notFound('project', id)
  if (principal.projectIds !== null && !principal.projectIds.has(id))
    throw forbidden('This key is for other projects.', 'project_ids')
  if (ranks[row.your_role ?? 'none'] < ranks[role]) {
    throw forbidden(
      row.your_role === null
        ? 'You are no member of this project.'
        : `This needs the role ${role}; yours is ${row.your_role}.`,
      'role',
    )
  }
  return row as Project
}

/** 409 INVALID_STATE when the operation is not for a project in this state. */
export function requireState(project: Project, { operation }: Pick<ProjectRequest, 'operation'>): void {
  if (!accessOf(operation).states.includes(project.status)) throw invalidState('project', project.status)
}

/** What x-project-access says of the operation. */
export function accessOf(operation: Pick<OperationInfo, 'id' | 'projectAccess'>): {
  role: Rank
  states: string[]
} {
  if (operation.projectAccess === null) throw new Error(`${operation.id} declares no x-project-access`)
  return { states: ['active', 'archived'], ...operation.projectAccess } as { role: Rank; states: string[] }
}

const readMembership = statement<{ member: boolean; deleted: boolean }>(`
  SELECT m.id IS NOT NULL AS member, p.status = 'deleted' AS deleted
  FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = $2 WHERE p.id = $1`)

/**
 * For a project that a body or a filter names: 404 when it is not there, or deleted where that is not asked for, 403 when
 * the caller is no member or the key is for others.
 */
export async function requireMembership(
  db: Db,
  projectId: string,
  principal: Principal,
  { deleted = false } = {},
): Promise<void> {
  const [found] = await db.sql(readMembership, [projectId, principal.userId])
  if (found === undefined || (found.deleted && !deleted)) throw notFound('project', projectId)
  if (!found.member) throw forbidden('You are no member of this project.', 'role')
  if (principal.projectIds !== null && !principal.projectIds.has(projectId))
    throw forbidden('This key is for other projects.', 'project_ids')
}
