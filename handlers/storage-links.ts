// Handlers of file links.
import { randomBytes } from 'node:crypto'
import type { Handlers } from '../services/handler.ts'
import { expiryOf } from '../infra/contract/expiry.ts'
import { notFound } from '../infra/errors.ts'
import { newId, timeOf } from '../infra/ids.ts'
import { openWorkspaces } from '../services/projects/workspaces.ts'
import { toDownload } from '../services/storage/download.ts'
import { openFile } from '../services/storage/files.ts'
import {
  countLinkDownload,
  findByToken,
  findLink,
  insertLink,
  linkGone,
  listAllLinks,
  listLinks,
  revokeLink,
} from '../services/storage/links.ts'

const defaultSeconds = 86_400
const seconds = { min: 1, max: 31_536_000 }

export const storageLinks = {
  async listFileLinks(request, { db }) {
    const file = await openFile(db, request)
    return { status: 200, body: await listLinks(db, file, request.query) }
  },

  async listAllFileLinks(request, { db, lists }) {
    return { status: 200, body: await listAllLinks(lists, await openWorkspaces(db, request), request.query) }
  },

  async createFileLink(request, { db, events, filesUrl }) {
    const { metadata } = request.body
    return await db.transaction(async (tx) => {
      const file = await openFile(tx, request, { lock: true })
      const id = newId('lnk')
      const token = randomBytes(32).toString('base64url')
      const createdAt = timeOf(id)
      const expiresAt = expiryOf(request.body, { from: createdAt, seconds })
      const link = await insertLink(tx, file, {
        id,
        token,
        maxDownloads: request.body.max_downloads ?? null,
        createdBy: request.principal.userId,
        metadata,
        createdAt,
        expiresAt: expiresAt ?? new Date(createdAt.getTime() + defaultSeconds * 1000),
      })
      await events.emit(tx, 'file_link.created', link, { userId: file.owner_id })
      return {
        status: 201,
        body: { ...link, url: `${filesUrl()}/v1/storage/links/${token}` },
        headers: { location: `/v1/storage/files/${file.id}/links/${id}` },
      }
    })
  },

  async getFileLink(request, { db }) {
    const file = await openFile(db, request)
    return { status: 200, body: await findLink(db, file, request.params.link_id) }
  },

  async revokeFileLink(request, { db, events }) {
    return await db.transaction(async (tx) => {
      const file = await openFile(tx, request, { lock: true })
      const previous = await findLink(tx, file, request.params.link_id)
      request.ifMatch(previous)
      const link = await revokeLink(tx, file, previous.id)
      if (previous.status === 'revoked') return { status: 204 }
      await events.emit(tx, 'file_link.revoked', link, { previous, userId: file.owner_id })
      return { status: 204 }
    })
  },

  async downloadByLink({ params: { token }, query }, { db, storage }) {
    const found = await findByToken(db, token)
    if (found === null) throw notFound('link')
    const { link, file } = found
    if (link.status !== 'active') throw linkGone(link.status)
    const onStart = async (): Promise<void> => {
      const status = await countLinkDownload(db, link.id)
      if (status === null) throw notFound('link')
      if (status !== 'active') throw linkGone(status)
      storage.countDownload(file.id)
    }
    // Not cacheable, because the server could not count downloads from a cache.
    const options = { ...query, onStart, cacheable: false }
    return { status: 200, body: toDownload(db, await storage.blobStore(), file, options) }
  },
} satisfies Handlers<'storage-links'>
