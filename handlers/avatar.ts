// The caller's picture.
import type { Handlers } from '../generated/operations.ts'
import { notFound } from '../services/errors.ts'

export const avatar = {
  async getAvatar () { throw notFound('avatar') },
  async uploadAvatar () { throw notFound('avatar') },
  async deleteAvatar () { throw notFound('avatar') },
  async getAvatarImage () { throw notFound('avatar') }
} satisfies Handlers<'avatar'>
