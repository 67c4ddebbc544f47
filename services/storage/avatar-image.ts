// Pictures of people, made anew: what somebody uploads is decoded within bounds, cut to a square and written in every size as
// WebP. Nothing but its pixels goes on: no metadata, and nothing that was hidden in or behind them.
import { readFile } from 'node:fs/promises'
import pLimit from 'p-limit'
import type { Metadata, Sharp } from 'sharp'
import { invalidField, unavailable, unsupportedMediaType } from '../../infra/errors.ts'

export const pictureType = 'image/webp'

const accepted = new Set(['image/png', 'image/apng', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif'])

/**
 * How many pixels a picture may have, and half as many with more than 8 bits a channel: some kilobytes can hold any number. They
 * keep what one decoding takes to some 300 MB. A JPEG is made smaller while it is read; a pixel of AVIF takes 25 bytes. By the
 * names that sharp has for the formats.
 */
const megapixels: Record<string, number> = { jpeg: 50, webp: 50, png: 50, gif: 25, heif: 13 }
const maxSide = 16_384
const seconds = 10

/** Pictures are decoded one at a time, so that together they take no more than one does. */
const lane = pLimit(1)
const maxWaiting = 30

/**
 * The picture in the file, as a square of each of the sizes. `contentType` is what its bytes say that it is.
 * Throws 415 when it is no picture of a known kind, 400 when it has too many pixels or cannot be read, 503 when too many wait.
 */
export async function drawSquares(
  path: string,
  contentType: string,
  sizes: readonly number[],
): Promise<Buffer[]> {
  if (!accepted.has(contentType)) throw unsupportedMediaType(['a PNG, JPEG, WebP, GIF or AVIF'], 'file')
  if (lane.pendingCount >= maxWaiting) throw unavailable('Too many pictures are waiting; try again.')
  return await lane(() => draw(path, sizes))
}

async function draw(path: string, sizes: readonly number[]): Promise<Buffer[]> {
  const sharp = await (loading ??= load())
  const picture = withoutTexts(await readFile(path))
  const limitInputPixels = maxPixels(await readable(sharp(picture, { limitInputPixels: false }).metadata()))
  const side = Math.max(...sizes)
  // Of what moves only the first picture is read, which is what sharp does unless told otherwise.
  const { data, info } = await readable(
    sharp(picture, { limitInputPixels, failOn: 'error' })
      .autoOrient()
      .resize(side, side, { fit: 'cover' })
      .toColourspace('srgb')
      .timeout({ seconds })
      .raw()
      .toBuffer({ resolveWithObject: true }),
  )
  const square = (size: number): Sharp =>
    sharp(data, { raw: { width: side, height: side, channels: info.channels } }).resize(size, size)
  return await Promise.all(sizes.map((size) => square(size).webp({ quality: 82 }).toBuffer()))
}

function maxPixels({ format, width, height, depth }: Metadata): number {
  const limit = (megapixels[format] * 1e6) / (depth === 'uchar' ? 1 : 2)
  if (width * height > limit || Math.max(width, height) > maxSide) {
    throw invalidField(
      'file',
      'max_pixels',
      `A picture of ${width} × ${height} pixels is too large: of this kind it may have ${limit / 1e6} megapixels, and ${maxSide} on a side.`,
    )
  }
  return limit
}

/** What cannot be read is the client's, unless it took too long. */
async function readable<T>(reading: Promise<T>): Promise<T> {
  return await reading.catch((error: Error) => {
    if (/timeout/i.test(error.message))
      throw unavailable('It took too long to read the picture; try again, or a smaller one.')
    throw invalidField(
      'file',
      'picture',
      'file is cut off or damaged: it cannot be read as the picture that it begins as.',
    )
  })
}

let loading: ReturnType<typeof load> | undefined

/** Only who needs it pays for loading it. Its settings are the process's. */
async function load() {
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  sharp.concurrency(1)
  // Whatever else the library can read, such as SVG or TIFF, it reads for nobody.
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({
    operation: ['Jpeg', 'Png', 'Webp', 'Nsgif', 'Heif'].map((kind) => `VipsForeignLoad${kind}Buffer`),
  })
  return sharp
}

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
/** What a PNG needs to be shown as it should: pixels, colours, transparency, which way is up. */
const needed = new Set([
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
 * A PNG without its other chunks, anything else as it is: the library unpacks each text in it, up to 8 MB from 8 kB, before it is
 * asked for a pixel.
 */
function withoutTexts(picture: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  if (!picture.subarray(0, signature.length).equals(signature)) return picture
  const kept: Buffer[] = [signature]
  const seen = new Set<string>()
  for (let at = signature.length, end = at; at + 8 <= picture.length; at = end) {
    const kind = picture.toString('latin1', at + 4, at + 8)
    // Length, kind, data and checksum. One that is cut off goes on as it is, to be found so.
    end = at + 12 + picture.readUInt32BE(at)
    if (!needed.has(kind) || (kind !== 'IDAT' && seen.has(kind))) continue
    seen.add(kind)
    kept.push(picture.subarray(at, end))
    if (kind === 'IEND') break
  }
  return Buffer.concat(kept)
}
