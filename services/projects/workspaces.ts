// A workspace is what resources belong to: a project, where the caller's role and the project's state decide,
// or the caller's own account.
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import type { Principal } from '../users/authentication.ts'
import { openProject } from './access.ts'
import { requireUnrestrictedKey } from './resource-access.ts'

/**
 * Authorizes the operation in the workspace. Throws what `openProject` throws, and 403 without a project for
 * an API key that is restricted to projects. `lock` locks the project until the transaction ends.
 * @returns the id of the workspace: the id of the project, or of the user.
 */
export async function openWorkspace(
  db: Db,
  { operation, principal }: { operation: OperationInfo; principal: Principal },
  projectId: string | null | undefined,
  options: { lock?: boolean } = {},
): Promise<string> {
  if (projectId == null) {
    requireUnrestrictedKey(principal)
    return principal.userId
  }
  return (await openProject(db, { operation, principal, params: { id: projectId } }, options)).id
}
