// Handlers of upload links.
import { randomBytes } from 'node:crypto'
import { expiryOf } from '../infra/contract/expiry.ts'
import { newId, timeOf } from '../infra/ids.ts'
import type { Handlers } from '../services/handler.ts'
import { openWorkspace, openWorkspaces } from '../services/projects/workspaces.ts'
import { normalizedPath } from '../services/storage/folders.ts'
import {
  deleteLinkUploads,
  insertUploadLink,
  listUploadLinks,
  openUploadLink,
  revokeUploadLink,
  uploadByLink,
} from '../services/storage/upload-links.ts'

const defaultSeconds = 86_400
const seconds = { min: 1, max: 31_536_000 }

export const storageUploadLinks = {
  async listUploadLinks(request, { db, lists }) {
    const workspaces = await openWorkspaces(db, request)
    return { status: 200, body: await listUploadLinks(lists, workspaces, request.query) }
  },

  async createUploadLink(request, { db, events, publicUrl }) {
    const { body } = request
    const { project_id: projectId = null, metadata } = body
    const { userId: ownerId } = request.principal
    return await db.transaction(async (tx) => {
      await openWorkspace(tx, request, projectId, { lock: true })
      const id = newId('ulk')
      const token = randomBytes(32).toString('base64url')
      const createdAt = timeOf(id)
      const expiresAt = expiryOf(body, { from: createdAt, seconds })
      const link = await insertUploadLink(tx, {
        id,
        token,
        projectId,
        ownerId,
        path: normalizedPath(body.path ?? ''),
        title: body.title ?? null,
        maxBytes: body.max_bytes ?? null,
        contentTypes: body.content_types ?? [],
        maxFiles: body.max_files ?? null,
        metadata,
        createdAt,
        expiresAt: expiresAt ?? new Date(createdAt.getTime() + defaultSeconds * 1000),
      })
      await events.emit(tx, 'upload_link.created', link, { userId: ownerId })
      return {
        status: 201,
        body: {
          ...link,
          url: `${publicUrl()}/upload/${token}`,
          upload_url: `${publicUrl()}/v1/storage/upload-links/${token}/files`,
          tus_url: `${publicUrl()}/v1/storage/upload-links/${token}/uploads`,
        },
        headers: { location: `/v1/storage/upload-links/${id}` },
      }
    })
  },

  async getUploadLink(request, { db }) {
    return { status: 200, body: await openUploadLink(db, request) }
  },

  async revokeUploadLink(request, { db, events, storage }) {
    await db.transaction(async (tx) => {
      const previous = await openUploadLink(tx, request, { lock: true })
      request.ifMatch(previous)
      const link = await revokeUploadLink(tx, previous)
      if (previous.status !== 'revoked')
        await events.emit(tx, 'upload_link.revoked', link, { previous, userId: link.created_by })
    })
    await deleteLinkUploads(db, { storage, events }, request.params.id)
    return { status: 204 }
  },

  async uploadByLink({ params: { token }, body }, services) {
    const { id, name, bytes, content_type } = await uploadByLink(services, token, body)
    return { status: 200, body: { id, name, bytes, content_type } }
  },
} satisfies Handlers<'storage-upload-links'>
