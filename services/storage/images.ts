// Images of pictures and of the first pages of PDFs: scaled, encoded anew and cached. The sizes are rounded
// up to steps, so that a file has few variants; requests for one variant share its rendering.
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { FairSemaphore } from '../../infra/concurrency/fair-semaphore.ts'
import type { Bytes } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import { ApiError, conflict } from '../../infra/errors.ts'
import { BlobNotFound, type BlobStore } from './blobs/blob-store.ts'
import { withoutBlob } from './download.ts'
import type { FileRow } from './files.ts'
import { ImageCache } from './image-cache.ts'
import { SandboxError } from '../../infra/sandbox/errors.ts'
import { renderFirstPage, type Pixels } from './pdf-page.ts'
import { decoding, isPicture, openPicture, openPixels, translateErrors } from './pictures.ts'

export interface ImageQuery {
  width?: number
  height?: number
  fit: 'cover' | 'contain' | 'inside'
  format: 'webp' | 'jpeg' | 'png'
}

export interface ImageOptions {
  /** Whose turn it is to render: users take turns. */
  user: string
  /** The `If-None-Match` of the request: a client that has the image needs no rendering. */
  ifNoneMatch?: string
  /** Called once the image is available and before the first byte is sent. Throws to refuse it. */
  onStart(): void | Promise<void>
  /** Whether caches may store the response and revalidate it. */
  cacheable: boolean
}

/** Sizes of images in pixels. */
const steps = [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048]
const defaultSize = 1024
const maxSourceBytes = 50 * 1024 * 1024
const maxCachedBytes = 512 * 1024 * 1024
/** Part of the names of variants: a change of the rendering makes others. */
const version = 1
const pdf = 'application/pdf'

export interface Images {
  /** The image of a file as a response. @throws 409 for a file that cannot be shown as an image. */
  toImage(db: Db, store: BlobStore, file: FileRow, query: ImageQuery, options: ImageOptions): Promise<Bytes>
}

export function createImages(storageDir: string, maxBytes = maxCachedBytes): Images {
  const cache = new ImageCache(join(storageDir, 'images'), maxBytes)
  const semaphore = new FairSemaphore({
    total: 1,
    perUser: 1,
    maxWaiting: 50,
    maxWaitMs: 60_000,
    name: 'images being rendered',
  })
  /** The renderings in progress, by the key of their variant. */
  const rendering = new Map<string, Promise<Buffer>>()

  return {
    async toImage(db, store, file, query, { user, ifNoneMatch, onStart, cacheable }) {
      const variant = variantOf(query)
      const key = hash('sha256', JSON.stringify([version, file.sha256, file.content_type, variant]))
      const etag = `"${key}"`
      const image = ifNoneMatch?.includes(etag) ? null : await find(key)
      return {
        type: `image/${variant.format}`,
        bytes: image?.length ?? 0,
        etag,
        modifiedAt: new Date(file.content_updated_at),
        headers: {
          'cache-control': cacheable ? 'no-cache' : 'no-store',
          'content-disposition': `inline; filename="image.${variant.format}"`,
        },
        async open(range) {
          await onStart()
          const bytes = image ?? (await find(key))
          return Readable.from([range === undefined ? bytes : bytes.subarray(range.start, range.end + 1)])
        },
      }

      async function find(name: string): Promise<Buffer> {
        requireShowable(file)
        return (await cache.get(name)) ?? (await shared(name))
      }

      /** Requests for one variant wait for one rendering. */
      async function shared(name: string): Promise<Buffer> {
        const known = rendering.get(name)
        if (known !== undefined) return await known
        const work = semaphore
          .run(user, async () => {
            const source = await sourceOf(db, store, file)
            const picture =
              file.content_type === pdf ? await renderFirstPage(source).catch(unshowable) : source
            const bytes = await decoding(() => render(picture, variant))
            await cache.put(name, bytes)
            return bytes
          })
          .finally(() => rendering.delete(name))
        rendering.set(name, work)
        return await work
      }
    },
  }
}

type Variant = ReturnType<typeof variantOf>

function variantOf({ width, height, fit, format }: ImageQuery) {
  const isFree = width === undefined && height === undefined
  // With one side, the other follows from the picture.
  const isBox = width !== undefined && height !== undefined
  return {
    width: isFree ? defaultSize : stepOf(width),
    height: isFree ? defaultSize : stepOf(height),
    fit: isBox ? fit : ('inside' as const),
    format,
  }
}

function stepOf(size: number | undefined): number | null {
  return size === undefined ? null : steps.find((step) => step >= size)!
}

function requireShowable({ content_type: type, bytes }: FileRow): void {
  if (!isPicture(type) && type !== pdf)
    throw conflict('picture', `A file of the type ${type} cannot be shown as an image.`)
  if (bytes > maxSourceBytes)
    throw conflict('picture', `A file of more than ${maxSourceBytes} bytes cannot be shown as an image.`)
}

/** The content of a file of at most `maxSourceBytes`. */
async function sourceOf(db: Db, store: BlobStore, file: FileRow): Promise<Buffer<ArrayBuffer>> {
  const stream: Readable = await store.read(file.blob_key).catch(async (error) => {
    throw error instanceof BlobNotFound ? await withoutBlob(db, file, error) : error
  })
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** The error for a PDF whose first page cannot be rendered. */
function unshowable(error: unknown): never {
  if (!(error instanceof SandboxError)) throw error
  throw conflict(
    'picture',
    'The PDF is damaged, protected by a password, or too large to be shown as an image.',
  )
}

async function render(
  source: Buffer<ArrayBuffer> | Pixels,
  { width, height, fit, format }: Variant,
): Promise<Buffer> {
  try {
    const { decoder } = await ('width' in source ? openPixels(source) : openPicture(source))
    // A very narrow picture with one side given would become longer than the largest step.
    const box = { width: width ?? 2048, height: height ?? 2048 }
    const background = { r: 255, g: 255, b: 255, alpha: 0 }
    const scaled = decoder
      .resize({ ...box, fit, background, withoutEnlargement: fit === 'inside' })
      .toColourspace('srgb')
    const opaque = format === 'jpeg' ? scaled.flatten({ background: '#fff' }) : scaled
    return await translateErrors(opaque.toFormat(format, format === 'png' ? {} : { quality: 82 }).toBuffer())
  } catch (error) {
    if (error instanceof ApiError && error.status === 400)
      throw conflict('picture', 'The picture is damaged, or it has too many pixels to be shown as an image.')
    throw error
  }
}
