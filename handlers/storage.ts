// Files: uploaded, listed, inspected, changed, deleted and downloaded.
import type { Handlers } from '../services/handler.ts'
import { deleteDocumentsOfFiles } from '../services/ai/knowledge/documents.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { invalidField, unauthorized } from '../infra/errors.ts'
import { bytesOf } from '../services/storage/download.ts'
import { fileById, listFiles, openDownload, openFile, usageOf } from '../services/storage/files.ts'
import { openSpace, quotaOf, requireFuture } from '../services/storage/quota.ts'
import { keepFile, receiveFile } from '../services/storage/create-file.ts'

export const storage = {
  async listFiles({ operation, principal, query }, { db }) {
    return {
      status: 200,
      body: await listFiles(db, await openSpace(db, { operation, principal }, query.project_id), query),
    }
  },

  async uploadFile(request, services) {
    const { db, config } = services
    const {
      file,
      name,
      project_id: projectId = null,
      sha256 = request.headers['x-content-sha256'],
      expires_at: expiresAt,
      ...fields
    } = request.body
    requireFuture(expiresAt)
    const arrived = await receiveFile(db, services, request, {
      file,
      name,
      projectId,
      maxBytes: config.uploadMaxBytes,
    })
    try {
      if (sha256 !== undefined && sha256 !== arrived.sha256)
        throw invalidField('sha256', 'sha256', `What arrived has the SHA-256 ${arrived.sha256}.`)
      return await keepFile(
        db,
        services,
        request,
        arrived,
        { ...fields, projectId, name: name!, declaredContentType: file.declaredType, expiresAt },
        async (_tx, created) => {
          return { status: 201, body: created, headers: { location: `/v1/storage/files/${created.id}` } }
        },
      )
    } finally {
      await arrived.discard()
    }
  },

  async getFile(request, { db }) {
    const { blob_key: _key, ...file } = await openFile(db, request)
    return { status: 200, body: file }
  },

  async updateFile(request, { db, events }) {
    const { metadata, expires_at: expiresAt, ...fields } = request.body
    requireFuture(expiresAt)
    return await db.transaction(async (tx) => {
      const previous = await openFile(tx, request, { lock: true })
      request.ifMatch(previous)
      await tx.prisma.file.update({
        where: { id: previous.id },
        data: { ...fields, metadata, expiresAt, updatedAt: timestampAfter(new Date(previous.updated_at)) },
        select: { id: true },
      })
      const file = await fileById(tx, previous.id)
      await events.emit(tx, 'file.updated', file, { previous, userId: file.owner_id })
      return { status: 200, body: file }
    })
  },

  async deleteFile(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const file = await openFile(tx, request, { lock: true })
      request.ifMatch(file)
      await deleteDocumentsOfFiles(tx, events, [file.id])
      await tx.prisma.file.delete({ where: { id: file.id }, select: { id: true } })
      await events.emit(tx, 'file.deleted', file, { userId: file.owner_id })
      return { status: 204 }
    })
  },

  async downloadFile(request, { db, storage }) {
    const file = await openDownload(db, request)
    if (file === null) throw unauthorized('missing')
    return {
      status: 200,
      body: bytesOf(db, file, await storage.blobs(), request.query, {
        begin: () => storage.countDownload(file.id),
      }),
    }
  },

  async getStorageUsage({ operation, principal, query: { project_id: projectId = null } }, { db, config }) {
    const { files, bytes } = await usageOf(db, await openSpace(db, { operation, principal }, projectId))
    return {
      status: 200,
      body: { project_id: projectId, files, bytes, quota_bytes: quotaOf(config, projectId) },
    }
  },
} satisfies Handlers<'storage'>
