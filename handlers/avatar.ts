// The caller's picture.
import type { Handlers } from '../services/handler.ts'
import { notFound } from '../infra/errors.ts'
import {
  avatarOf,
  drawAvatar,
  imageOf,
  insertAvatar,
  lockedAvatar,
  removeAvatar,
} from '../services/storage/avatars.ts'

export const avatar = {
  async getAvatar({ principal }, { db }) {
    const avatar = await avatarOf(db, principal.userId)
    if (avatar === null) throw notFound('avatar')
    return { status: 200, body: avatar }
  },

  async uploadAvatar({ principal: { userId }, body: { file } }, { db, events, storage }) {
    const drawn = await drawAvatar(storage, file)
    try {
      return await storage.keepAll(drawn.blobs, () =>
        db.transaction(async (tx) => {
          const previous = (await lockedAvatar(tx, userId)) ?? undefined
          const avatar = await insertAvatar(tx, userId, drawn)
          await events.emit(tx, 'avatar.updated', avatar, { previous, userId })
          return { status: 200, body: avatar }
        }),
      )
    } finally {
      await drawn.discard()
    }
  },

  async deleteAvatar({ principal: { userId }, ifMatch }, { db, events }) {
    return await db.transaction(async (tx) => {
      const avatar = await lockedAvatar(tx, userId)
      if (avatar === null) throw notFound('avatar')
      ifMatch(avatar)
      await removeAvatar(tx, userId)
      await events.emit(tx, 'avatar.deleted', avatar, { userId })
      return { status: 204 }
    })
  },

  async getAvatarImage({ params }, { db, storage }) {
    return { status: 200, body: await imageOf(db, await storage.blobs(), params) }
  },
} satisfies Handlers<'avatar'>
