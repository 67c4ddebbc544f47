// Files: uploaded, listed, inspected, changed, deleted and downloaded.
import type { Handlers } from '../generated/operations.ts'
import { timestampAfter } from '../services/clock.ts'
import { invalidField, overQuota, payloadTooLarge, unauthorized } from '../services/errors.ts'
import { bytesOf } from '../services/storage/download.ts'
import { fileById, listFiles, newFileId, openDownload, openFile, usageOf } from '../services/storage/files.ts'
import { addFile, openSpace, quotaOf, requireFuture } from '../services/storage/space.ts'

export const storage = {
  async listFiles ({ operation, principal, query }, { db }) {
    return { status: 200, body: await listFiles(db, await openSpace(db, { operation, principal }, query.project_id), query) }
  },

  async uploadFile ({ operation, principal, body, headers }, { db, config, events, storage }) {
    const { file, name, project_id: projectId = null, sha256 = headers['x-content-sha256'], expires_at: expiresAt, ...fields } = body
    requireFuture(expiresAt)
    const spaceId = await openSpace(db, { operation, principal }, projectId)
    const quota = quotaOf(config, projectId)
    // A repetition must come to its answer even where the first has filled the quota.
    const left = headers['idempotency-key'] === undefined ? quota - (await usageOf(db, spaceId)).bytes : Infinity
    const room = Math.min(left, config.uploadMaxBytes)
    const arrived = await storage.incoming.receive(file, { maxBytes: Math.max(0, room), name, tooLarge: () => left < config.uploadMaxBytes ? overQuota(quota) : payloadTooLarge(room) })
    try {
      if (sha256 !== undefined && sha256 !== arrived.sha256) throw invalidField('sha256', 'sha256', `What arrived has the SHA-256 ${arrived.sha256}.`)
      const id = newFileId()
      return await storage.keep(id, arrived, () => db.transaction(async (tx) => {
        // It may have taken long: who may, and whether there is room, is asked again.
        await openSpace(tx, { operation, principal }, projectId, { lock: true })
        const { bytes, contentType } = arrived
        const created = await addFile(tx, { config, events }, id, {
          ...fields, projectId, ownerId: principal.userId, name: name!, contentType, declaredContentType: file.declaredType, bytes, sha256: arrived.sha256, expiresAt
        })
        return { status: 201, body: created, headers: { location: `/v1/storage/files/${id}` } }
      }))
    } finally {
      await arrived.discard()
    }
  },

  async getFile (request, { db }) {
    const { blob_key: _key, ...file } = await openFile(db, request)
    return { status: 200, body: file }
  },

  async updateFile (request, { db, events }) {
    const { metadata, expires_at: expiresAt, ...fields } = request.body
    requireFuture(expiresAt)
    return await db.transaction(async (tx) => {
      const previous = await openFile(tx, request, { lock: true })
      request.ifMatch(previous)
      await tx.prisma.file.update({
        where: { id: previous.id }, data: { ...fields, metadata, expiresAt, updatedAt: timestampAfter(new Date(previous.updated_at)) }, select: { id: true }
      })
      const file = await fileById(tx, previous.id)
      await events.emit(tx, 'file.updated', file, { previous, userId: file.owner_id })
      return { status: 200, body: file }
    })
  },

  async deleteFile (request, { db, events }) {
    return await db.transaction(async (tx) => {
      const file = await openFile(tx, request, { lock: true })
      request.ifMatch(file)
      await tx.prisma.file.delete({ where: { id: file.id }, select: { id: true } })
      await events.emit(tx, 'file.deleted', file, { userId: file.owner_id })
      return { status: 204 }
    })
  },

  async downloadFile (request, { db, storage }) {
    const file = await openDownload(db, request)
    if (file === null) throw unauthorized('missing')
    return { status: 200, body: bytesOf(db, file, await storage.blobs(), request.query, { begin: () => storage.countDownload(file.id) }) }
  },

  async getStorageUsage ({ operation, principal, query: { project_id: projectId = null } }, { db, config }) {
    const { files, bytes } = await usageOf(db, await openSpace(db, { operation, principal }, projectId))
    return { status: 200, body: { project_id: projectId, files, bytes, quota_bytes: quotaOf(config, projectId) } }
  }
} satisfies Handlers<'storage'>
