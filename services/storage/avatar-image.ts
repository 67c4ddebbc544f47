// Renders avatar images. An uploaded picture is decoded within limits, cropped to a square and encoded as
// WebP in every size. Only the pixels survive: no metadata, and no data hidden in or appended to the file.
import { readFile } from 'node:fs/promises'
import pLimit from 'p-limit'
import type { Metadata, Sharp } from 'sharp'
import { invalidField, unavailable, unsupportedMediaType } from '../../infra/errors.ts'

export const avatarContentType = 'image/webp'

const acceptedTypes = new Set([
  'image/png',
  'image/apng',
  'image/jpeg',
  'image/webp',
  'image/gif',
  'image/avif',
])

/**
 * Millions of pixels per picture, by sharp's name of the format; half as many with more than 8 bits per
 * channel. A file of a few kilobytes can declare any number of pixels. These limits keep one decoding below
 * about 300 MB: a JPEG is downscaled while it is decoded, a pixel of AVIF needs 25 bytes.
 */
const maxMegapixels: Record<string, number> = { jpeg: 50, webp: 50, png: 50, gif: 25, heif: 13 }
const maxSide = 16_384
const timeoutSeconds = 10

/** One picture is decoded at a time, so that memory use stays that of one picture. */
const decoding = pLimit(1)
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
  if (!acceptedTypes.has(contentType)) throw unsupportedMediaType(['a PNG, JPEG, WebP, GIF or AVIF'], 'file')
  if (decoding.pendingCount >= maxQueued)
    throw unavailable('Too many pictures are being processed; try again.')
  return await decoding(() => render(path, sizes))
}

async function render(path: string, sizes: readonly number[]): Promise<Buffer[]> {
  const sharp = await (loading ??= loadSharp())
  const picture = withoutAncillaryChunks(await readFile(path))
  const limitInputPixels = maxPixels(
    await translateErrors(sharp(picture, { limitInputPixels: false }).metadata()),
  )
  const side = Math.max(...sizes)
  // By default sharp reads only the first frame of an animation.
  const { data, info } = await translateErrors(
    sharp(picture, { limitInputPixels, failOn: 'error' })
      .autoOrient()
      .resize(side, side, { fit: 'cover' })
      .toColourspace('srgb')
      .timeout({ seconds: timeoutSeconds })
      .raw()
      .toBuffer({ resolveWithObject: true }),
  )
  const square = (size: number): Sharp =>
    sharp(data, { raw: { width: side, height: side, channels: info.channels } }).resize(size, size)
  return await Promise.all(sizes.map((size) => square(size).webp({ quality: 82 }).toBuffer()))
}

function maxPixels({ format, width, height, depth }: Metadata): number {
  const limit = (maxMegapixels[format] * 1e6) / (depth === 'uchar' ? 1 : 2)
  if (width * height > limit || Math.max(width, height) > maxSide) {
    throw invalidField(
      'file',
      'max_pixels',
      `The picture of ${width} × ${height} pixels is too large: this format is limited to ` +
        `${limit / 1e6} megapixels and ${maxSide} pixels per side.`,
    )
  }
  return limit
}

/** A decoding error is a 400, a timeout a 503. */
async function translateErrors<T>(decoding: Promise<T>): Promise<T> {
  return await decoding.catch((error: Error) => {
    if (/timeout/i.test(error.message))
      throw unavailable('Processing the picture took too long; try again, or send a smaller picture.')
    throw invalidField('file', 'picture', 'file is truncated or damaged: the picture cannot be decoded.')
  })
}

let loading: ReturnType<typeof loadSharp> | undefined

/** Loads sharp on first use, because loading is slow. Its settings are global to the process. */
async function loadSharp() {
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  sharp.concurrency(1)
  // All other decoders of libvips, such as SVG and TIFF, are blocked.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({
    operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((format) => `VipsForeignLoad${format}Buffer`),
  })
  return sharp
}

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** The PNG chunks that affect rendering: pixels, colors, transparency and orientation. */
const renderedChunks = new Set([
  'IHDR',
  'PLTE',
  'IDAT',
  'IEND',
  'tRNS',
  'gAMA',
  'cHRM',
  'sRGB',
  'cICP',
  'iCCP',
  'eXIf',
])

/**
 * Removes the other chunks of a PNG; other formats are returned unchanged. libvips decompresses every text
 * chunk when it opens the file, and 8 kB can expand to 8 MB.
 */
function withoutAncillaryChunks(picture: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  if (!picture.subarray(0, pngSignature.length).equals(pngSignature)) return picture
  const kept: Buffer[] = [pngSignature]
  const seen = new Set<string>()
  for (let at = pngSignature.length, end = at; at + 8 <= picture.length; at = end) {
    const type = picture.toString('latin1', at + 4, at + 8)
    // A chunk is its length, type, data and checksum. A truncated chunk is kept, so that decoding reports it.
    end = at + 12 + picture.readUInt32BE(at)
    if (!renderedChunks.has(type) || (type !== 'IDAT' && seen.has(type))) continue
    seen.add(type)
    kept.push(picture.subarray(at, end))
    if (type === 'IEND') break
  }
  return Buffer.concat(kept)
}
