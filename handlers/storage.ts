// Handlers of files.
import type { Handlers } from '../services/handler.ts'
import { expiryOf } from '../infra/contract/expiry.ts'
import { unauthorized } from '../infra/errors.ts'
import { openWorkspace, openWorkspaces } from '../services/projects/workspaces.ts'
import { batchFiles } from '../services/storage/batch.ts'
import { copyFile, moveFile } from '../services/storage/copy-file.ts'
import { createFile } from '../services/storage/create-file.ts'
import { deleteFile } from '../services/storage/delete-file.ts'
import { toDownload } from '../services/storage/download.ts'
import { replaceContent } from '../services/storage/file-content.ts'
import { toFile, listFiles, openDownload, openFile } from '../services/storage/files.ts'
import { requireOneFolder } from '../services/storage/folders.ts'
import { quotaFor, usageOf } from '../services/storage/quota.ts'
import { requireNoShare } from '../services/storage/shares.ts'
import { discardFiles } from '../services/storage/trash.ts'
import { updateFile } from '../services/storage/update-file.ts'

export const storage = {
  async listFiles(request, { db, lists }) {
    return { status: 200, body: await listFiles(lists, await openWorkspaces(db, request), request.query) }
  },

  async uploadFile(request, services) {
    const { body: form, headers } = request
    expiryOf(form.received)
    requireOneFolder(form.received)
    const upload = {
      file: form.file,
      maxBytes: services.config.uploadMaxBytes,
      projectId: form.received.project_id,
      folderId: form.received.folder_id,
      fields() {
        const {
          name,
          project_id: projectId = null,
          expires_at,
          expires_in_seconds,
          on_conflict: onConflict,
          folder_id: folderId,
          ...fields
        } = form.fields()
        requireOneFolder({ folder_id: folderId, path: fields.path })
        return {
          sha256: headers['x-content-sha256'],
          ...fields,
          name: name!,
          projectId,
          folderId,
          expiresAt: expiryOf({ expires_at, expires_in_seconds }),
          onConflict,
        }
      },
    }
    return await createFile(services, request, upload, async (_tx, file) => {
      return { status: 201, body: file, headers: { location: `/v1/storage/files/${file.id}` } }
    })
  },

  async getFile(request, { db }) {
    return { status: 200, body: toFile(await openFile(db, request)) }
  },

  async updateFile(request, { db, storage, events, config }) {
    const expiresAt = expiryOf(request.body)
    return await db.transaction(async (tx) => ({
      status: 200,
      body: await updateFile(tx, { storage, events, config }, request, expiresAt),
    }))
  },

  async replaceFileContent(request, services) {
    const { body: form, headers } = request
    const file = await replaceContent(services, request, {
      file: form.file,
      sha256: () => form.fields().sha256 ?? headers['x-content-sha256'],
    })
    return { status: 200, body: file }
  },

  async deleteFile(request, { db, storage, events, config }) {
    return await db.transaction(async (tx) => {
      const file = await openFile(tx, request, { lock: true })
      request.ifMatch(file)
      if (request.query.permanent) requireNoShare(file, 'delete files permanently')
      if (request.query.permanent) await deleteFile(tx, { storage, events }, toFile(file))
      else await discardFiles(tx, { storage, events, config }, [toFile(file)], request.principal.userId)
      return { status: 204 }
    })
  },

  async copyFile(request, services) {
    return await services.db.transaction(async (tx) => {
      const file = await copyFile(tx, services, request)
      return { status: 201, body: file, headers: { location: `/v1/storage/files/${file.id}` } }
    })
  },

  async moveFile(request, services) {
    return await services.db.transaction(async (tx) => ({
      status: 200,
      body: await moveFile(tx, services, request),
    }))
  },

  async batchFiles(request, services) {
    return await services.db.transaction(async (tx) => ({
      status: 200,
      body: { data: await batchFiles(tx, services, request) },
    }))
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

  async getStorageUsage(request, { db, config }) {
    const { project_id: projectId = null } = request.query
    const workspaceId = await openWorkspace(db, request, projectId)
    const { files, bytes, reserved, ...usage } = await usageOf(db, workspaceId)
    return {
      status: 200,
      body: {
        project_id: projectId,
        files,
        bytes,
        trash: { files: usage.trashed_files, bytes: usage.trashed_bytes },
        versions: { count: usage.versions, bytes: usage.version_bytes },
        reserved_bytes: reserved,
        quota_bytes: quotaFor(config, projectId),
      },
    }
  },
} satisfies Handlers<'storage'>
