// Renders avatar images: an uploaded picture is cropped to a square and encoded as WebP in every size.
import { readFile } from 'node:fs/promises'
import type { Sharp } from 'sharp'
import { unavailable, unsupportedMediaType } from '../../infra/errors.ts'
import { decoding, isPicture, openPicture, translateErrors } from './pictures.ts'

export const avatarContentType = 'image/webp'

const maxQueued = 30

/**
 * The picture in the file as one square image per size, in WebP. `contentType` is the type detected from its
 * bytes. Throws 415 for an unsupported type, 400 for too many pixels or a damaged file, and 503 when too many
 * pictures are queued.
 */
export async function renderSquares(
  path: string,
  contentType: string,
  sizes: readonly number[],
): Promise<Buffer[]> {
  if (!isPicture(contentType)) throw unsupportedMediaType(['a PNG, JPEG, WebP, GIF or AVIF'], 'file')
  if (decoding.pendingCount >= maxQueued)
    throw unavailable('Too many pictures are being processed; try again.')
  return await decoding(() => render(path, sizes))
}

async function render(path: string, sizes: readonly number[]): Promise<Buffer[]> {
  const { sharp, decoder } = await openPicture(await readFile(path))
  const side = Math.max(...sizes)
  const { data, info } = await translateErrors(
    decoder
      .resize(side, side, { fit: 'cover' })
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true }),
  )
  const square = (size: number): Sharp =>
    sharp(data, { raw: { width: side, height: side, channels: info.channels } }).resize(size, size)
  return await Promise.all(sizes.map((size) => square(size).webp({ quality: 82 }).toBuffer()))
}
