// Who may do what with a thing that is in a space: in a project its roles and states decide, as x-project-access says; in
// none it is its owner's alone. One that is not there is 404, one that is someone else's 403, a wrong state 409, in this order.
import { accessOf, ranks, type Rank } from './access.ts'
import { forbidden, invalidState, notFound } from '../../infra/errors.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Principal } from '../users/authentication.ts'
import type { Role } from './projects.ts'

/** What decides about a thing, beside its own columns. */
export interface InSpace {
  project_id: string | null
  owner_id: string
  /** The caller's, in the project. */
  your_role: Role | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The columns of `InSpace`, of a row that has project_id and owner_id, whatever its alias; `user` is the placeholder of the caller's id, such as
 * `$2`. `lock` holds the project, so that it is not archived before the transaction ends.
 */
export function accessColumns(alias: string, user: string, { lock = false } = {}): string {
  return `${alias}.project_id, ${alias}.owner_id,
    (SELECT your_member.role::text FROM members your_member WHERE your_member.project_id = ${alias}.project_id AND your_member.user_id = ${user}) AS your_role,
    (SELECT its_project.status::text FROM projects its_project WHERE its_project.id = ${alias}.project_id${lock ? ' FOR SHARE' : ''}) AS project_status`
}

interface SpaceRequest {
  operation: Pick<OperationInfo, 'id' | 'projectAccess'>
  principal: Principal
}

interface What {
  name: string
  id: string
}

/** Throws 404, 403 or 409 unless the caller may do with the thing what the operation does. */
export function requireAccess<Found extends InSpace>(
  found: Found | undefined,
  request: SpaceRequest,
  what: What,
): asserts found is Found {
  requirePermission(found, request, what)
  requireState(found, request)
}

/** The same but for the state: where something inside of the thing is to be found first. */
export function requirePermission<Found extends InSpace>(
  found: Found | undefined,
  { operation, principal }: SpaceRequest,
  what: What,
): asserts found is Found {
  if (found === undefined || found.project_status === 'deleted') throw notFound(what.name, what.id)
  requireRole(found, principal, accessOf(operation).role, what.name)
}

/** 409 INVALID_STATE when the operation is not for a project in this state. */
export function requireState(
  { project_status: status }: InSpace,
  { operation }: Pick<SpaceRequest, 'operation'>,
): void {
  if (status !== null && !accessOf(operation).states.includes(status)) throw invalidState('project', status)
}

/** 403 for a key that is for some projects only: what is in none is not for it. */
export function requireOwnSpace(principal: Principal): void {
  if (principal.projectIds !== null)
    throw forbidden('This key is for some projects only: name one with project_id.', 'project_ids')
}

/** 403 for a key that is for some projects only, of which this is none. */
export function requireKeyFor(principal: Principal, projectId: string | null): void {
  if (projectId === null) requireOwnSpace(principal)
  else if (principal.projectIds !== null && !principal.projectIds.has(projectId))
    throw forbidden('This key is for other projects.', 'project_ids')
}

/** 403 unless the caller has the role in its project, or is its owner where it is in none. */
export function requireRole(found: InSpace, principal: Principal, role: Rank, name: string): void {
  requireKeyFor(principal, found.project_id)
  if (found.project_id === null) {
    if (found.owner_id !== principal.userId) throw forbidden(`This ${name} is somebody else's.`, 'owner')
    return
  }
  if (ranks[found.your_role ?? 'none'] < ranks[role]) {
    throw forbidden(
      found.your_role === null
        ? `You are no member of the project of this ${name}.`
        : `This needs the role ${role}; yours is ${found.your_role}.`,
      'role',
    )
  }
}
