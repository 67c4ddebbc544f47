// Authorization for resources in a workspace. A workspace is a project or a user's own space outside all
// projects. In a project, `x-project-access` decides by role and project status; outside, only the owner has
// access. Where `x-project-access` declares `operators`, operators with that scope have access to all
// resources; to change them, they need a key that is not limited to projects. The errors come in this
// order: 404 when the resource does not exist, 403 without permission, 409 for the wrong project status.
import { isForOperator, keyForOtherProjects, ranks, requiredAccess, type Rank } from './access.ts'
import { forbidden, invalidState, notFound } from '../../infra/errors.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Principal } from '../users/authentication.ts'
import type { Role } from './projects.ts'

/** The columns that decide about the access to a resource. prisma/sql/projects/access.sql selects them. */
export interface WorkspaceResource {
  project_id: string | null
  owner_id: string | null
  /**
   * For a resource in no project: the project of the request that created it. Keys that are limited to
   * projects, and service accounts, have access to such a resource only with this project.
   */
  key_project_id?: string | null
  /**
   * The caller's role in the project; null when the caller is not a member, or the resource is in no project.
   */
  your_role: Role | null
  /** A share of its folder with the caller, if `x-project-access` counts shares and the caller needs one. */
  share?: { role: Role; owner_id: string }
  project_status: 'active' | 'archived' | 'deleted' | null
}

interface ResourceRequest {
  operation: Pick<OperationInfo, 'id' | 'method' | 'projectAccess'>
  principal: Principal
  /** Called with the project if the caller is a member: the request counts to its usage. */
  noteProject?(id: string): void
}

/** The name and id of the resource in error messages. */
interface ResourceName {
  name: string
  id: string
}

/** Throws 404, 403 or 409 unless the caller may perform the operation on the resource. */
export function requireAccess<Found extends WorkspaceResource>(
  found: Found | undefined,
  request: ResourceRequest,
  resource: ResourceName,
): asserts found is Found {
  requirePermission(found, request, resource)
  if (!isForOperator(request)) requireWorkspaceStatus(found, request)
}

/**
 * `requireAccess` without the check of the project's status. For operations on something inside the resource,
 * whose 404 comes before the 409 of the project.
 */
export function requirePermission<Found extends WorkspaceResource>(
  found: Found | undefined,
  request: ResourceRequest,
  resource: ResourceName,
): asserts found is Found {
  const { operation, principal } = request
  if (found === undefined) throw notFound(resource.name, resource.id)
  if (isForOperator(request)) {
    if (found.project_id === null) requireKeyForAllProjects(principal)
    else requireKeyAccess(principal, found.project_id)
  } else {
    if (found.project_status === 'deleted') throw notFound(resource.name, resource.id)
    requireRole(found, principal, requiredAccess(operation).role, resource)
  }
  if (found.your_role !== null && found.project_id !== null) request.noteProject?.(found.project_id)
}

/** Throws 409 INVALID_STATE when the project's status does not allow the operation. */
export function requireWorkspaceStatus(
  { project_status: status }: WorkspaceResource,
  { operation }: Pick<ResourceRequest, 'operation'>,
): void {
  if (status !== null && !requiredAccess(operation).states.includes(status))
    throw invalidState('project', status)
}

/**
 * Throws 403 for a key that is limited to some projects, and for a service account, which works in projects
 * only. Required for resources outside all projects.
 */
export function requireUnrestrictedKey(principal: Principal): void {
  if (principal.serviceAccountId !== null)
    throw forbidden('A service account works in projects; name one in project_id.', 'service_account')
  requireKeyForAllProjects(principal)
}

/** Throws 403 for a key that is limited to some projects. */
export function requireKeyForAllProjects(principal: Principal): void {
  if (principal.projectIds !== null)
    throw forbidden(
      'This API key is limited to some projects; name one of them in project_id.',
      'project_ids',
    )
}

/**
 * Throws 403 when the key is limited to some projects and this project, or null for no project, is not one of
 * them.
 */
export function requireKeyAccess(principal: Principal, projectId: string | null): void {
  if (projectId === null) requireUnrestrictedKey(principal)
  else if (principal.projectIds !== null && !principal.projectIds.has(projectId))
    throw keyForOtherProjects(projectId)
}

/**
 * Throws 403 unless the caller has at least the role in the project, or owns a resource that is in no
 * project.
 */
export function requireRole(
  found: WorkspaceResource,
  principal: Principal,
  role: Rank,
  { name, id }: ResourceName,
): void {
  requireKeyAccess(principal, found.project_id ?? found.key_project_id ?? null)
  const own = roleOf(found, principal)
  const shared = found.share?.role ?? 'none'
  const best = ranks[shared] > ranks[own] ? shared : own
  if (ranks[best] >= ranks[role]) return
  if (found.project_id === null && best === 'none')
    throw forbidden(`This ${name} belongs to another user.`, 'owner', id)
  throw forbidden(
    best === 'none'
      ? `You are not a member of the project of this ${name}.`
      : `This operation requires the role ${role}; your role is ${best}.`,
    'role',
    id,
  )
}

/** Whether the caller has the role for the operation, without a share. */
export function hasRole(
  found: WorkspaceResource,
  { operation, principal }: Pick<ResourceRequest, 'operation' | 'principal'>,
): boolean {
  return ranks[roleOf(found, principal)] >= ranks[requiredAccess(operation).role]
}

/** The role in the project; a resource that is in no project has only an owner. */
function roleOf({ project_id, owner_id, your_role }: WorkspaceResource, { userId }: Principal): Rank {
  if (project_id === null) return owner_id === userId ? 'owner' : 'none'
  return your_role ?? 'none'
}
