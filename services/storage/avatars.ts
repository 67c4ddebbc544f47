// Avatars: a picture in three sizes, each a blob named by the avatar's id and the size. An avatar never
// changes; a new picture is a new avatar, and a trigger puts the blobs of the old one into quarantine.
import { Readable } from 'node:stream'
import type { components } from '../../generated/types.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import { notFound, tooManyOpen, unauthorized } from '../../infra/errors.ts'
import { newId } from '../../infra/ids.ts'
import type { Bytes, FilePart } from '../../infra/contract/operation.ts'
import { lockUser } from '../users/users.ts'
import { BlobNotFound, type BlobStore } from './blobs/blob-store.ts'
import type { TempFile } from './blobs/temp-files.ts'
import { avatarContentType, renderSquares } from './avatar-image.ts'
import { missingContent } from './missing-content.ts'
import type { Storage } from './storage.ts'

export type Avatar = components['schemas']['Avatar']

const maxBytes = 5 * 1024 * 1024
/** Pictures of this size that a user may send at once. */
const maxOpen = 4
const sizes = [64, 128, 256] as const
const largestSize = 256

type Size = (typeof sizes)[number]
type Variant = sql.FindAvatarRow['variants'][number]

/** A rendered avatar that is not stored yet: a temporary file for each blob key. */
export interface RenderedAvatar {
  id: string
  variants: Variant[]
  files: Map<string, TempFile>
  /** Deletes the temporary files. */
  discard(): Promise<void>
}

/**
 * Reads the upload to its end and renders it. Throws 413, 415 or 400 for an unusable picture, and 429 when
 * the user sends too many at once; no temporary file remains then.
 */
export async function renderAvatar(
  { tempFiles, reservations }: Storage,
  userId: string,
  upload: FilePart,
): Promise<RenderedAvatar> {
  const reservation = reservations.begin({
    places: [{ workspaceId: `${userId}:avatar`, quota: maxOpen * maxBytes }],
    error: () => tooManyOpen('large avatar uploads', maxOpen),
  })
  const picture = await tempFiles
    .receive(upload, { maxBytes, admission: reservation })
    .finally(() => reservation.end())
  const squares = await renderSquares(picture.path, picture.contentType, sizes).finally(() =>
    picture.discard(),
  )
  const id = newId('avt')
  const files = new Map<string, TempFile>()
  const discard = async (): Promise<void> => {
    for (const file of files.values()) await file.discard()
  }
  const variants: Variant[] = []
  try {
    for (const [i, size] of sizes.entries()) {
      const file = await tempFiles.receive(
        { declaredType: avatarContentType, content: Readable.from([squares[i]]) },
        { maxBytes: Infinity },
      )
      files.set(blobKeyOf(id, size), file)
      variants.push({ size, bytes: file.bytes, sha256: file.sha256 })
    }
  } catch (error) {
    await discard()
    throw error
  }
  return { id, variants, files, discard }
}

export async function findAvatar(db: Db, userId: string, origin: string): Promise<Avatar | null> {
  const row = await sql.findAvatarOfUser(db, { user_id: userId })
  return row === undefined ? null : toAvatar(row, origin)
}

/** Locks the user until the transaction ends, and reads the avatar. Throws 401 for a disabled user. */
export async function lockAvatar(tx: Transaction, userId: string, origin: string): Promise<Avatar | null> {
  if ((await lockUser(tx, userId)) === null) throw unauthorized('disabled')
  return await findAvatar(tx, userId, origin)
}

/** Replaces the user's avatar by one whose blobs are stored. The user must be locked. */
export async function replaceAvatar(
  tx: Transaction,
  userId: string,
  { id, variants }: RenderedAvatar,
  origin: string,
): Promise<Avatar> {
  await sql.deleteAvatarOfUser(tx, { user_id: userId })
  const { updated_at: updatedAt } = await sql.setAvatarUrl(tx, {
    user_id: userId,
    avatar_url: pathOf(id, largestSize),
  })
  const row = await sql.insertAvatar(tx, {
    id,
    user_id: userId,
    variants: JSON.stringify(variants),
    updated_at: updatedAt,
  })
  return toAvatar(row, origin)
}

/** The user must be locked. */
export async function deleteAvatar(tx: Transaction, userId: string): Promise<void> {
  await sql.deleteAvatarOfUser(tx, { user_id: userId })
  await sql.setAvatarUrl(tx, { user_id: userId, avatar_url: null })
}

/**
 * One size of an avatar as a public response that browsers may cache forever. Throws 404 for a missing or
 * replaced avatar.
 */
export async function toAvatarImage(
  db: Db,
  blobStore: BlobStore,
  { id, size }: { id: string; size: Size },
): Promise<Bytes> {
  const row = await sql.findAvatar(db, { id })
  const variant = row?.variants.find((one) => one.size === size)
  if (row === undefined || variant === undefined) throw notFound('avatar', id)
  return {
    type: avatarContentType,
    bytes: variant.bytes,
    etag: `"${variant.sha256}"`,
    modifiedAt: new Date(row.updated_at),
    headers: {
      'cache-control': 'public, max-age=31536000, immutable',
      'content-disposition': 'inline; filename="avatar.webp"',
      'cross-origin-resource-policy': 'cross-origin',
    },
    async open(range) {
      return await blobStore.read(blobKeyOf(id, size), range).catch(async (error) => {
        if (!(error instanceof BlobNotFound)) throw error
        // The avatar was replaced after its row was read, or the store has lost the blob.
        const isReplaced = (await sql.findAvatar(db, { id })) === undefined
        throw isReplaced ? notFound('avatar', id) : missingContent('avatar', error)
      })
    },
  }
}

function toAvatar({ id, variants, updated_at }: sql.FindAvatarRow, origin: string): Avatar {
  const { bytes, sha256 } = variants.find(({ size }) => size === largestSize)!
  return {
    id,
    url: origin + pathOf(id, largestSize),
    variants: variants.map((variant) => ({ ...variant, url: origin + pathOf(id, variant.size) })),
    content_type: avatarContentType,
    bytes,
    width: largestSize,
    height: largestSize,
    sha256,
    updated_at,
  }
}

/** The trigger for the blobs of deleted avatars builds the same keys. */
function blobKeyOf(id: string, size: Size): string {
  return `${id}-${size}`
}

function pathOf(id: string, size: Size): string {
  return `/v1/avatars/${id}/${size}`
}
