// Shares: a person with the address of a share works with a folder and everything below it, although the
// person is no member of its project, or it belongs to another user. A share counts while the user who
// created it may share the folder: this is checked with each request.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { conflict, forbidden, limitReached, notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { hasRole, type WorkspaceResource } from '../projects/resource-access.ts'
import type { Principal } from '../users/authentication.ts'

export type Share = components['schemas']['Share']
type Folder = components['schemas']['Folder']

/** The shares of a folder. */
const maxShares = 100

/**
 * What was found in a folder, with the best share of the folder, or of one above it, with the caller. Only if
 * the operation counts shares, and the caller may not perform it without: so shares cost members no
 * statement.
 */
export async function withSharedRole<Found extends WorkspaceResource>(
  db: Db,
  found: Found,
  folderId: string | null,
  request: { operation: OperationInfo; principal: Principal },
): Promise<Found & Pick<WorkspaceResource, 'share'>> {
  const { operation, principal } = request
  if (operation.projectAccess?.shares !== true || folderId === null || hasRole(found, request)) return found
  const [share] = await sql.findSharedRoles(db, { folder_ids: [folderId], user_id: principal.userId })
  return share === undefined ? found : { ...found, share }
}

/** @throws 403 unless the caller has access without a share. `action`: what people do not do by a share. */
export function requireNoShare({ by_share: byShare }: { by_share: boolean }, action: string): void {
  if (byShare) throw forbidden(`A folder that is shared with you does not let you ${action}.`, 'share')
}

/** The shares of a folder, whose access was checked. */
export async function listShares(
  db: Db,
  folder: Folder,
  query: ListQuery<'listShares'>,
): Promise<Page<Share>> {
  return await sql.listShares(db, { ...query, folder_id: folder.id })
}

/** @throws 404 */
export async function findShare(db: Db, folder: Folder, id: string): Promise<Share> {
  const share = await sql.findShare(db, { id, folder_id: folder.id })
  if (share === undefined) throw notFound('share', id)
  return share
}

export interface NewShare {
  email: string
  role: 'viewer' | 'editor'
  ownerId: string
  expiresAt: Date | null
}

/** Shares a locked folder. @throws 403 for too many shares, 409 if it is shared with the address. */
export async function insertShare(
  tx: Transaction,
  folder: Folder,
  { email, role, ownerId, expiresAt }: NewShare,
): Promise<Share> {
  await sql.deleteEndedShares(tx, { folder_id: folder.id })
  const { n } = await sql.countShares(tx, { folder_id: folder.id })
  if (n >= maxShares) {
    const limit = { name: 'shares', limit: maxShares, used: n, resets_at: null }
    throw limitReached('FORBIDDEN', 'shares', `The folder is shared with ${maxShares} people.`, limit)
  }
  const id = newId('shr')
  const share = await sql.insertShare(tx, {
    id,
    folder_id: folder.id,
    project_id: folder.project_id,
    owner_id: ownerId,
    email: email.toLowerCase(),
    role,
    expires_at: expiresAt,
    created_at: timeOf(id),
  })
  if (share === undefined) throw conflict('share_exists', 'The folder is shared with this address.', 'email')
  return share
}

/** @throws 404 if another request has deleted it. */
export async function deleteShare(tx: Transaction, { id }: Share): Promise<void> {
  if ((await sql.deleteShare(tx, { id })) === undefined) throw notFound('share', id)
}

/** The shares that count for the caller, in the projects that the key may use. */
export async function listSharedFolders(
  db: Db,
  { userId, projectIds }: Principal,
  query: ListQuery<'listSharedFolders'>,
): Promise<Page<Share>> {
  return await sql.listSharedFolders(db, {
    ...query,
    user_id: userId,
    project_ids: projectIds === null ? undefined : [...projectIds],
  })
}

/** A share that counts for the caller. @throws 404 */
export async function findSharedFolder(
  db: Db,
  { params: { id }, principal }: { params: { id: string }; principal: Principal },
): Promise<Share> {
  const share = await sql.findShareWithUser(db, { id, user_id: principal.userId })
  const { projectIds } = principal
  const isReachable = projectIds === null || projectIds.has(share?.project_id ?? '')
  if (share === undefined || !isReachable) throw notFound('share', id)
  return share
}
