// Handlers of the caller's avatar.
import type { Handlers } from '../services/handler.ts'
import { notFound } from '../infra/errors.ts'
import {
  deleteAvatar,
  findAvatar,
  lockAvatar,
  renderAvatar,
  replaceAvatar,
  toAvatarImage,
} from '../services/storage/avatars.ts'

export const avatar = {
  async getAvatar({ principal }, { db, filesUrl }) {
    const avatar = await findAvatar(db, principal.userId, filesUrl())
    if (avatar === null) throw notFound('avatar')
    return { status: 200, body: avatar }
  },

  async uploadAvatar({ principal: { userId }, body: { file } }, { once, events, storage, filesUrl }) {
    const rendered = await renderAvatar(storage, userId, file)
    try {
      return await storage.storeBlobs(rendered.files, () =>
        once(async (tx) => {
          const previous = (await lockAvatar(tx, userId, filesUrl())) ?? undefined
          const avatar = await replaceAvatar(tx, userId, rendered, filesUrl())
          await events.emit(tx, 'avatar.updated', avatar, { previous, userId })
          return { status: 200, body: avatar }
        }),
      )
    } finally {
      await rendered.discard()
    }
  },

  async deleteAvatar({ principal: { userId }, ifMatch }, { db, events, filesUrl }) {
    return await db.transaction(async (tx) => {
      const avatar = await lockAvatar(tx, userId, filesUrl())
      if (avatar === null) throw notFound('avatar')
      ifMatch(avatar)
      await deleteAvatar(tx, userId)
      await events.emit(tx, 'avatar.deleted', avatar, { userId })
      return { status: 204 }
    })
  },

  async getAvatarImage({ params }, { db, storage }) {
    return { status: 200, body: await toAvatarImage(db, await storage.blobStore(), params) }
  },
} satisfies Handlers<'avatar'>
