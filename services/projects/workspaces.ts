// A workspace is what resources belong to: a project, where the caller's role and the project's state decide,
// or the caller's own account.
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Principal } from '../users/authentication.ts'
import { openProject, requiredAccess } from './access.ts'
import type { Role } from './projects.ts'
import { requireUnrestrictedKey } from './resource-access.ts'

interface WorkspaceRequest {
  operation: OperationInfo
  principal: Principal
  noteProject?(id: string): void
}

/**
 * Authorizes the operation in the workspace. Throws what `openProject` throws, and 403 without a project for
 * an API key that is restricted to projects. `lock` locks the project until the transaction ends.
 * @returns the id of the workspace: the id of the project, or of the user.
 */
export async function openWorkspace(
  db: Db,
  { operation, principal, noteProject }: WorkspaceRequest,
  projectId: string | null | undefined,
  options: { lock?: boolean } = {},
): Promise<string> {
  if (projectId == null) {
    requireUnrestrictedKey(principal)
    return principal.userId
  }
  return (await openProject(db, { operation, principal, noteProject, params: { id: projectId } }, options)).id
}

/**
 * The filters of a list: one workspace, or all that a user can read (prisma/sql/projects/in-readable.sql).
 */
export type WorkspaceFilter = { workspace_id: string } | ReadableWorkspaces

interface ReadableWorkspaces {
  reader: string
  least_role: Role
  /** The user's own workspace. Null for a key without access to it. */
  own: string | null
  /** Null for a key without a limit. */
  key_projects: string[] | null
}

interface WorkspacesRequest extends WorkspaceRequest {
  query: { project_id?: string; organization_id?: string }
}

/**
 * Authorizes a list of resources in workspaces. For one workspace it throws what `openWorkspace` throws. A
 * list over all workspaces leaves out what the caller may not read.
 */
export async function openWorkspaces(
  db: Db,
  { query, ...request }: WorkspacesRequest,
): Promise<WorkspaceFilter> {
  const { project_id: projectId, organization_id: organizationId } = query
  if (projectId !== '*' && (projectId !== undefined || organizationId === undefined))
    return { workspace_id: await openWorkspace(db, request, projectId) }
  const { operation, principal } = request
  const { userId, projectIds, serviceAccountId } = principal
  return {
    reader: userId,
    least_role: requiredAccess(operation).role as Role,
    own: projectIds === null && serviceAccountId === null ? userId : null,
    key_projects: projectIds === null ? null : [...projectIds],
  }
}
