// Avatars: a picture in three sizes, which are blobs called by the avatar's id and the size. They never change; another picture
// is another avatar, and the database has the blobs of the former one removed.
import { Readable } from 'node:stream'
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { notFound, unauthorized } from '../../infra/errors.ts'
import { newId } from '../../infra/ids.ts'
import type { Bytes, FilePart } from '../../infra/contract/operation.ts'
import { lockUser } from '../users/users.ts'
import { BlobMissing, type Blobs } from './blobs/blob-store.ts'
import type { Arrived } from './blobs/temp-files.ts'
import { drawSquares, pictureType } from './avatar-image.ts'
import type { Storage } from './storage.ts'

export type Avatar = components['schemas']['Avatar']

const maxBytes = 5 * 1024 * 1024
const sizes = [64, 128, 256] as const
const largest = 256

type Size = (typeof sizes)[number]
interface Variant {
  size: Size
  bytes: number
  sha256: string
}
interface Row {
  id: string
  variants: Variant[]
  updated_at: string
}

/** One that is drawn and waits to be kept, each variant by its key. */
export interface DrawnAvatar {
  id: string
  variants: Variant[]
  blobs: Map<string, Arrived>
  /** Removes what is left of it outside of the store. */
  discard(): Promise<void>
}

/** Reads what is uploaded to its end, and draws it. Throws 413, 415 or 400 when it is not what it should be; then nothing is left of it. */
export async function drawAvatar({ incoming }: Storage, file: FilePart): Promise<DrawnAvatar> {
  const uploaded = await incoming.receive(file, { maxBytes })
  const squares = await drawSquares(uploaded.path, uploaded.contentType, sizes).finally(() =>
    uploaded.discard(),
  )
  const id = newId('avt')
  const blobs = new Map<string, Arrived>()
  const discard = async (): Promise<void> => {
    for (const arrived of blobs.values()) await arrived.discard()
  }
  const variants: Variant[] = []
  try {
    for (const [i, size] of sizes.entries()) {
      const arrived = await incoming.receive(
        { declaredType: pictureType, content: Readable.from([squares[i]]) },
        { maxBytes: Infinity },
      )
      blobs.set(keyOf(id, size), arrived)
      variants.push({ size, bytes: arrived.bytes, sha256: arrived.sha256 })
    }
  } catch (error) {
    await discard()
    throw error
  }
  return { id, variants, blobs, discard }
}

const byUser = statement<Row>('SELECT id, variants, updated_at FROM avatars WHERE user_id = $1')

export async function avatarOf(db: Db, userId: string): Promise<Avatar | null> {
  const [row] = await db.sql(byUser, [userId])
  return row === undefined ? null : toAvatar(row)
}

/** The same, held with its user against other writers until the transaction ends. */
export async function lockedAvatar(tx: Db, userId: string): Promise<Avatar | null> {
  if ((await lockUser(tx, userId)) === null) throw unauthorized('disabled')
  return await avatarOf(tx, userId)
}

const remove = statement('DELETE FROM avatars WHERE user_id = $1')
// The profile changes with it.
const link = statement<{ updated_at: string }>(`
  UPDATE users SET avatar_url = $2, updated_at = greatest(now(), updated_at + interval '1 millisecond') WHERE id = $1 RETURNING updated_at`)
const insert = statement<Row>(`
  INSERT INTO avatars (id, user_id, variants, updated_at) VALUES ($1, $2, $3, $4) RETURNING id, variants, updated_at`)

/** The avatar whose blobs are in the store already, in the place of a former one. The user must be locked. */
export async function insertAvatar(tx: Db, userId: string, { id, variants }: DrawnAvatar): Promise<Avatar> {
  await tx.sql(remove, [userId])
  const [{ updated_at: updatedAt }] = await tx.sql(link, [userId, urlOf(id, largest)])
  const [row] = await tx.sql(insert, [id, userId, JSON.stringify(variants), updatedAt])
  return toAvatar(row)
}

/** The user must be locked. */
export async function removeAvatar(tx: Db, userId: string): Promise<void> {
  await tx.sql(remove, [userId])
  await tx.sql(link, [userId, null])
}

const byId = statement<Row>('SELECT id, variants, updated_at FROM avatars WHERE id = $1')

/** For browsers everywhere, to be kept for good. Throws 404 when there is no such avatar any more. */
export async function imageOf(
  db: Db,
  blobs: Blobs,
  { id, size }: { id: string; size: Size },
): Promise<Bytes> {
  const [row] = await db.sql(byId, [id])
  const variant = row?.variants.find((one) => one.size === size)
  if (variant === undefined) throw notFound('avatar', id)
  return {
    type: pictureType,
    bytes: variant.bytes,
    etag: `"${variant.sha256}"`,
    modifiedAt: new Date(row.updated_at),
    headers: {
      'cache-control': 'public, max-age=31536000, immutable',
      'content-disposition': 'inline; filename="avatar.webp"',
      'cross-origin-resource-policy': 'cross-origin',
    },
    async open(range) {
      // It may have been replaced, and its blob removed, since it was looked up.
      return await blobs.read(keyOf(id, size), range).catch((error) => {
        throw error instanceof BlobMissing ? notFound('avatar', id) : error
      })
    },
  }
}

function toAvatar({ id, variants, updated_at }: Row): Avatar {
  const { bytes, sha256 } = variants.find(({ size }) => size === largest)!
  return {
    id,
    url: urlOf(id, largest),
    variants: variants.map((variant) => ({ ...variant, url: urlOf(id, variant.size) })),
    content_type: pictureType,
    bytes,
    width: largest,
    height: largest,
    sha256,
    updated_at,
  }
}

/** The trigger that dooms the blobs of an avatar knows it too. */
function keyOf(id: string, size: Size): string {
  return `${id}-${size}`
}

function urlOf(id: string, size: Size): string {
  return `/v1/avatars/${id}/${size}`
}
