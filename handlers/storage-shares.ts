// Handlers of shared folders.
import { expiryOf } from '../infra/contract/expiry.ts'
import type { Handlers } from '../services/handler.ts'
import { openFolder, openFolderLocked } from '../services/storage/folders.ts'
import {
  deleteShare,
  findShare,
  findSharedFolder,
  insertShare,
  listSharedFolders,
  listShares,
} from '../services/storage/shares.ts'

export const storageShares = {
  async listShares(request, { db }) {
    return { status: 200, body: await listShares(db, await openFolder(db, request), request.query) }
  },

  async createShare(request, { db, events }) {
    const { email, role = 'viewer' } = request.body
    const { userId: ownerId } = request.principal
    const expiresAt = expiryOf(request.body) ?? null
    return await db.transaction(async (tx) => {
      const { folder } = await openFolderLocked(tx, request)
      const share = await insertShare(tx, folder, { email, role, ownerId, expiresAt })
      await events.emit(tx, 'share.created', share, { userId: ownerId })
      const location = `/v1/storage/folders/${folder.id}/shares/${share.id}`
      return { status: 201, body: share, headers: { location } }
    })
  },

  async getShare(request, { db }) {
    const folder = await openFolder(db, request)
    return { status: 200, body: await findShare(db, folder, request.params.share_id) }
  },

  async deleteShare(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const { folder } = await openFolderLocked(tx, request)
      const share = await findShare(tx, folder, request.params.share_id)
      request.ifMatch(share)
      await deleteShare(tx, share)
      await events.emit(tx, 'share.deleted', share, { userId: share.created_by })
      return { status: 204 }
    })
  },

  async listSharedFolders(request, { db }) {
    return { status: 200, body: await listSharedFolders(db, request.principal, request.query) }
  },

  async getSharedFolder(request, { db }) {
    return { status: 200, body: await findSharedFolder(db, request) }
  },

  async leaveSharedFolder(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const share = await findSharedFolder(tx, request)
      request.ifMatch(share)
      await deleteShare(tx, share)
      await events.emit(tx, 'share.deleted', share, { userId: share.created_by })
      return { status: 204 }
    })
  },
} satisfies Handlers<'storage-shares'>
