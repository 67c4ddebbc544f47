// Handlers of images of files.
import { notFound, unauthorized } from '../infra/errors.ts'
import type { Handlers } from '../services/handler.ts'
import { openDownload } from '../services/storage/files.ts'
import { countLinkDownload, findByToken, linkGone } from '../services/storage/links.ts'

export const storageImages = {
  async getFileImage(request, { db, storage }) {
    const file = await openDownload(db, request)
    if (file === null) throw unauthorized('missing')
    const { principal, query, headers } = request
    const body = await storage.images.toImage(db, await storage.blobStore(), file, query, {
      user: principal?.accountId ?? `public ${file.project_id ?? file.owner_id}`,
      ifNoneMatch: headers['if-none-match'],
      onStart: () => storage.countDownload(file.id),
      cacheable: file.visibility === 'public',
    })
    return { status: 200, body }
  },

  async getImageByLink({ params: { token }, query, headers }, { db, storage }) {
    const found = await findByToken(db, token)
    if (found === null) throw notFound('link')
    const { link, file } = found
    if (link.status !== 'active') throw linkGone(link.status)
    const body = await storage.images.toImage(db, await storage.blobStore(), file, query, {
      user: `link ${file.project_id ?? file.owner_id}`,
      ifNoneMatch: headers['if-none-match'],
      async onStart() {
        const status = await countLinkDownload(db, link.id)
        if (status === null) throw notFound('link')
        if (status !== 'active') throw linkGone(status)
        storage.countDownload(file.id)
      },
      // Not cacheable, because the server could not count downloads from a cache.
      cacheable: false,
    })
    return { status: 200, body }
  },
} satisfies Handlers<'storage-images'>
