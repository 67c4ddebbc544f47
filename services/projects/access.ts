// Authorization for projects, as `x-project-access` declares it. The errors come in this order: 404 when the
// project does not exist, 403 when the caller may not perform the operation, 409 when the project's status
// does not allow the operation.
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/projects.ts'
import { forbidden, invalidState, notFound } from '../../infra/errors.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { isOperator, mayActAsOperator, type Principal } from '../users/authentication.ts'
import type { Scope } from '../users/scopes.ts'
import { restorableDays, type Project, type Role } from './projects.ts'

/**
 * The roles, from least to most powerful. `none` is for operations that users outside the project may
 * perform.
 */
export const ranks = { none: 0, viewer: 1, editor: 2, admin: 3, owner: 4 } as const

export type Rank = keyof typeof ranks

interface AccessRequest {
  operation: Pick<OperationInfo, 'method' | 'projectAccess' | 'organizationAccess'>
  principal: Principal
}

interface ProjectRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  /** Called with the project if the caller is a member: the request counts to its usage. */
  noteProject?(id: string): void
}

/**
 * The project of the request, if the caller may perform the operation and the project's status allows it. One
 * round trip. `lock` locks the project against other writers until the transaction ends.
 * @throws 404, 403 or 409.
 */
export async function openProject(
  db: Db,
  request: ProjectRequest,
  options: { lock?: boolean } = {},
): Promise<Project> {
  const project = await openProjectInAnyState(db, request, options)
  requireProjectStatus(project, request)
  return project
}

/**
 * `openProject` without the check of the status. For operations on something inside the project, whose 404
 * and 403 come before the 409 of the project: they call `requireProjectStatus` afterwards.
 */
export async function openProjectInAnyState(
  db: Db,
  request: ProjectRequest,
  { lock = false } = {},
): Promise<Project> {
  const { operation, principal } = request
  const { id } = request.params
  const { role, states } = requiredAccess(operation)
  const row = await findProject(db, { id, user_id: principal.userId, scope: scopeOf(operation) }, { lock })
  const reachable = principal.projectIds === null || principal.projectIds.has(id)
  if (row === undefined) throw notFound('project', id)
  if (row.status === 'deleted' && !states.includes('deleted'))
    throw reachable && row.your_role !== null ? deletedProject(row as Project) : notFound('project', id)
  if (!reachable) throw keyForOtherProjects(id)
  if (ranks[row.your_role ?? 'none'] < ranks[role] && !isForOperator(request))
    throw missingRole(role, row.your_role, id)
  if (row.your_role !== null) request.noteProject?.(id)
  return row as Project
}

/**
 * A project that exists or can be restored, and the role of a user in it for a scope, in one round trip.
 * `lock` locks the project against other writers until the transaction ends.
 */
export async function findProject(
  db: Db,
  key: { id: string; user_id: string; scope: string },
  { lock }: { lock: boolean },
): ReturnType<typeof sql.findProject> {
  // Its error is that of the next statement.
  if (lock) sql.lockProject(db.later, { id: key.id }).catch(() => {})
  return await sql.findProject(db, { ...key, restorable_days: restorableDays })
}

/**
 * Whether the caller has the scope of operators that the access of the operation declares in `operators`, and
 * needs no role. To change something, operators need a key that is not limited to projects.
 */
export function isForOperator({ operation, principal }: AccessRequest): boolean {
  const { method, projectAccess, organizationAccess } = operation
  const scope = (projectAccess ?? organizationAccess)?.operators
  const mayAccess = method === 'GET' ? isOperator : mayActAsOperator
  return scope !== undefined && mayAccess(principal, scope)
}

/** 403 for a caller with a lower role in the project, or none. */
function missingRole(role: Rank, own: Rank | null, projectId: string): Error {
  const message =
    own === null
      ? 'You are not a member of this project.'
      : `This operation requires the role ${role}; your role is ${own}.`
  return forbidden(message, 'role', projectId)
}

/** 404 for a deleted project, for its members: they learn until when it can be restored. */
function deletedProject({ id, deleted_at: deletedAt }: Project): Error {
  const date = new Date(deletedAt!)
  date.setUTCDate(date.getUTCDate() + restorableDays)
  return notFound('project', id, {
    constraint: 'deleted',
    message: `The project ${id} was deleted. Its owners can restore it until ${date.toISOString()}.`,
  })
}

/** Throws 409 INVALID_STATE when the project's status does not allow the operation. */
export function requireProjectStatus(
  project: Project,
  { operation }: Pick<ProjectRequest, 'operation'>,
): void {
  if (!requiredAccess(operation).states.includes(project.status))
    throw invalidState('project', project.status)
}

/** The scope of an operation, which says in which area the caller needs the role. */
export function scopeOf({ id, scopes }: Pick<OperationInfo, 'id' | 'scopes'>): string {
  if (scopes === null) throw new Error(`${id} has no scope`)
  return scopes[0]
}

/** The roles of a member in the project itself, and in each area. */
export interface MemberRoles {
  role: Role
  storage_role: Role | null
  ai_role: Role | null
  payments_role: Role | null
}

/** The role of a member for what the scope reads or writes: the function `role_by_scope` of the database. */
export function roleByScope(member: MemberRoles, scope: string): Role | null {
  const area = scope.split(':')[0]
  if (area === 'storage' || area === 'ai' || area === 'payments') return member[`${area}_role`]
  return member.role
}

/** The requirements of `x-project-access` of an operation. */
export interface RequiredAccess {
  role: Rank
  /** The statuses that the project may have. */
  states: string[]
}

export function requiredAccess(operation: Pick<OperationInfo, 'id' | 'projectAccess'>): RequiredAccess {
  if (operation.projectAccess === null) throw new Error(`${operation.id} declares no x-project-access`)
  const defaults = { states: ['active', 'archived'] }
  return { ...defaults, ...operation.projectAccess } as RequiredAccess
}

interface MembershipOptions {
  role?: Rank
  deleted?: boolean
  operators?: Scope
  scope?: string
}

/**
 * For a project that a body or a query parameter names: requires that the caller is a member.
 * @param options.role the least role; default: any.
 * @param options.deleted whether the project may be deleted.
 * @param options.operators with this scope operators need no membership.
 * @param options.scope the scope of what is read or written; default: the project itself.
 * @throws 404 when the project does not exist, 403 when the caller is not a member or has a lower role, or
 * the key is limited to other projects.
 */
export async function requireMembership(
  db: Db,
  projectId: string,
  principal: Principal,
  { role = 'viewer', deleted = false, operators, scope = 'projects:read' }: MembershipOptions = {},
): Promise<void> {
  const found = await sql.findMembership(db, { project_id: projectId, user_id: principal.userId, scope })
  if (found === undefined || (found.deleted && !deleted)) throw notFound('project', projectId)
  if (
    ranks[found.role ?? 'none'] < ranks[role] &&
    !(operators !== undefined && isOperator(principal, operators))
  )
    throw missingRole(role, found.role, projectId)
  if (principal.projectIds !== null && !principal.projectIds.has(projectId))
    throw keyForOtherProjects(projectId)
}

/** 403 for an API key that is limited to projects other than the requested project. */
export function keyForOtherProjects(projectId: string): Error {
  return forbidden('This API key is limited to other projects.', 'project_ids', projectId)
}
