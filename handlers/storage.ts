// Handlers of files.
import { changesOf } from '../infra/contract/changes.ts'
import type { Handlers } from '../services/handler.ts'
import { deleteDocumentsOfFiles } from '../services/ai/knowledge/documents.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { unauthorized } from '../infra/errors.ts'
import { openWorkspace, openWorkspaces } from '../services/projects/workspaces.ts'
import { createFile } from '../services/storage/create-file.ts'
import { toDownload } from '../services/storage/download.ts'
import {
  findFile,
  folderOf,
  toFile,
  listFiles,
  openDownload,
  openFile,
  requireFutureExpiry,
} from '../services/storage/files.ts'
import { quotaFor, usageOf } from '../services/storage/quota.ts'

export const storage = {
  async listFiles(request, { db, lists }) {
    return { status: 200, body: await listFiles(lists, await openWorkspaces(db, request), request.query) }
  },

  async uploadFile(request, services) {
    const { body: form, headers } = request
    requireFutureExpiry(form.received.expires_at)
    const upload = {
      file: form.file,
      maxBytes: services.config.uploadMaxBytes,
      projectId: form.received.project_id,
      fields() {
        const { name, project_id: projectId = null, expires_at: expiresAt, ...fields } = form.fields()
        requireFutureExpiry(expiresAt)
        return { sha256: headers['x-content-sha256'], ...fields, name: name!, projectId, expiresAt }
      },
    }
    return await createFile(services, request, upload, async (_tx, file) => {
      return { status: 201, body: file, headers: { location: `/v1/storage/files/${file.id}` } }
    })
  },

  async getFile(request, { db }) {
    return { status: 200, body: toFile(await openFile(db, request)) }
  },

  async updateFile(request, { db, events }) {
    requireFutureExpiry(request.body.expires_at)
    return await db.transaction(async (tx) => {
      const previous = await openFile(tx, request, { lock: true })
      request.ifMatch(previous)
      const { path } = request.body
      const changes = changesOf(previous, {
        ...request.body,
        ...(path !== undefined && { path: folderOf(path) }),
      })
      if (changes === null) return { status: 200, body: toFile(previous) }
      const { expires_at: expiresAt, ...fields } = changes
      await tx.prisma.file.update({
        where: { id: previous.id },
        data: { ...fields, expiresAt, updatedAt: timestampAfter(new Date(previous.updated_at)) },
        select: { id: true },
      })
      const file = (await findFile(tx, previous.id))!
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
    const onStart = (): void => storage.countDownload(file.id)
    return {
      status: 200,
      body: toDownload(db, await storage.blobStore(), file, { ...request.query, onStart }),
    }
  },

  async getStorageUsage({ operation, principal, query: { project_id: projectId = null } }, { db, config }) {
    const workspaceId = await openWorkspace(db, { operation, principal }, projectId)
    const { files, bytes, reserved } = await usageOf(db, workspaceId)
    const quota = quotaFor(config, projectId)
    return {
      status: 200,
      body: { project_id: projectId, files, bytes, reserved_bytes: reserved, quota_bytes: quota },
    }
  },
} satisfies Handlers<'storage'>
