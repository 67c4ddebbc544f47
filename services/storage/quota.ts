// The space that a file counts in: a project's, by its roles and states, or a user's own.
import { openProject } from '../projects/access.ts'
import type { Config } from '../../infra/config/config.ts'
import type { Db } from '../../infra/database/database.ts'
import { invalidField, quotaExceeded } from '../../infra/errors.ts'
import { requireOwnSpace } from '../projects/resource-access.ts'
import type { Emitter } from '../events/emit.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Principal } from '../users/authentication.ts'
import { insertFile, usageOf, type File, type NewFile } from './files.ts'

/** @returns the id of the space: the project's, where the caller may do there what the operation does, or else the caller's own. */
export async function openSpace(
  db: Db,
  { operation, principal }: { operation: OperationInfo; principal: Principal },
  projectId: string | null | undefined,
  options: { lock?: boolean } = {},
): Promise<string> {
  if (projectId == null) {
    requireOwnSpace(principal)
    return principal.userId
  }
  return (await openProject(db, { operation, principal, params: { id: projectId } }, options)).id
}

export function quotaOf(config: Readonly<Config>, projectId: string | null): number {
  return projectId === null ? config.storageQuotaUser : config.storageQuotaProject
}

/** A new file of a space that is held, with its event. Its bytes are in the store already. Throws 413 when the space would have more than it may. */
export async function addFile(
  tx: Db,
  { config, events }: { config: Readonly<Config>; events: Emitter },
  id: string,
  fields: NewFile,
): Promise<File> {
  const { projectId, ownerId } = fields
  const file = await insertFile(tx, id, fields)
  const quota = quotaOf(config, projectId)
  if ((await usageOf(tx, projectId ?? ownerId)).bytes > quota) throw quotaExceeded(quota)
  await events.emit(tx, 'file.created', file, { userId: ownerId })
  return file
}

/** A file that ends has to end later. */
export function requireFuture(expiresAt: string | null | undefined): void {
  if (expiresAt != null && Date.parse(expiresAt) <= Date.now())
    throw invalidField('expires_at', 'future', 'expires_at is over already')
}
