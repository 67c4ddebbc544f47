// Decodes pictures of users safely: known formats, within limits, one at a time. Only pixels survive: no
// metadata, and no data hidden in or appended to the file.
import pLimit from 'p-limit'
import type { Metadata, Sharp } from 'sharp'
import { invalidField, unavailable } from '../../infra/errors.ts'
import { loadSharp } from '../../infra/sharp.ts'
import type { Pixels } from './pdf-page.ts'

const acceptedTypes = new Set([
  'image/png',
  'image/apng',
  'image/jpeg',
  'image/webp',
  'image/gif',
  'image/avif',
])

/** Whether files of the type can be decoded. */
export function isPicture(contentType: string): boolean {
  return acceptedTypes.has(contentType)
}

/**
 * Millions of pixels per picture, by sharp's name of the format; half as many with more than 8 bits per
 * channel. A file of a few kilobytes can declare any number of pixels. These limits keep one decoding below
 * about 300 MB: a JPEG is downscaled while it is decoded, a pixel of AVIF needs 25 bytes.
 */
const maxMegapixels: Record<string, number> = { jpeg: 50, webp: 50, png: 50, gif: 25, heif: 13 }
const maxSide = 16_384
const timeoutSeconds = 10

/** One picture is decoded at a time, so that memory use stays that of one picture. */
export const decoding = pLimit(1)

/** A picture that is ready to be decoded. */
export interface OpenPicture {
  sharp: Awaited<ReturnType<typeof loadSharp>>
  /** The first frame, upright. Its errors become those of the API in `translateErrors`. */
  decoder: Sharp
}

/**
 * Opens a picture whose format `isPicture` accepts. Throws 400 for too many pixels or a damaged file.
 * To be called, and decoded, by `decoding`.
 */
export async function openPicture(bytes: Buffer<ArrayBuffer>): Promise<OpenPicture> {
  const sharp = await loadSharp()
  const picture = withoutAncillaryChunks(bytes)
  const limitInputPixels = maxPixels(
    await translateErrors(sharp(picture, { limitInputPixels: false }).metadata()),
  )
  // By default sharp reads only the first frame of an animation.
  const decoder = sharp(picture, { limitInputPixels, failOn: 'error' })
    .timeout({ seconds: timeoutSeconds })
    .autoOrient()
  return { sharp, decoder }
}

/** Pixels as a picture. */
export async function openPixels({ data, width, height }: Pixels): Promise<OpenPicture> {
  const sharp = await loadSharp()
  return { sharp, decoder: sharp(data, { raw: { width, height, channels: 4 } }) }
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
export async function translateErrors<T>(decoding: Promise<T>): Promise<T> {
  return await decoding.catch((error: Error) => {
    if (/timeout/i.test(error.message))
      throw unavailable('Processing the picture took too long; try again, or send a smaller picture.')
    throw damaged()
  })
}

function damaged(): Error {
  return invalidField('file', 'picture', 'file is truncated or damaged: the picture cannot be decoded.')
}

const pngSignature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const imageData = chunkType('IDAT')
const imageEnd = chunkType('IEND')
/** The PNG chunks that affect rendering: pixels, colors, transparency and orientation. */
const renderedChunks = new Set([
  imageData,
  imageEnd,
  ...['IHDR', 'PLTE', 'tRNS', 'gAMA', 'cHRM', 'sRGB', 'cICP', 'iCCP', 'eXIf'].map(chunkType),
])
/** Chunks of a PNG. Each takes time, even without data; libpng writes 8 KiB per chunk. */
const maxChunks = 100_000

function chunkType(name: string): number {
  return Buffer.from(name, 'latin1').readUInt32BE()
}

/**
 * Removes the other chunks of a PNG; other formats are returned unchanged. libvips decompresses every text
 * chunk when it opens the file, and 8 kB can expand to 8 MB.
 */
function withoutAncillaryChunks(picture: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  if (!picture.subarray(0, pngSignature.length).equals(pngSignature)) return picture
  // Neighbouring chunks are kept as one range: the signature and the header begin the first.
  const kept: Buffer[] = []
  let [keptStart, keptEnd] = [0, pngSignature.length]
  const seen = new Set<number>()
  let chunks = 0
  for (let at = keptEnd, end = at; at + 8 <= picture.length; at = end) {
    if (++chunks > maxChunks) throw damaged()
    const type = picture.readUInt32BE(at + 4)
    // A chunk is its length, type, data and checksum. A truncated chunk is kept, so that decoding reports it.
    end = at + 12 + picture.readUInt32BE(at)
    if (!renderedChunks.has(type) || (type !== imageData && seen.has(type))) continue
    seen.add(type)
    if (at > keptEnd) {
      kept.push(picture.subarray(keptStart, keptEnd))
      keptStart = at
    }
    keptEnd = end
    if (type === imageEnd) break
  }
  return Buffer.concat([...kept, picture.subarray(keptStart, keptEnd)])
}
