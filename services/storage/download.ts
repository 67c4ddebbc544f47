// How the bytes of a file are given away: what a browser could run only ever to be saved.
import { create as contentDisposition } from 'content-disposition'
import type { Db } from '../../infra/database/database.ts'
import { notFound } from '../../infra/errors.ts'
import type { Bytes } from '../../infra/contract/operation.ts'
import { BlobMissing, type Blobs } from './blobs/blob-store.ts'
import { mayBeShown } from './content-type.ts'
import { fileById, type StoredFile } from './files.ts'

export interface Wish {
  disposition: 'inline' | 'attachment'
  filename?: string
}

/** How long a presigned address is good for. */
const presignedSeconds = 300

export interface Giving {
  /** Called when there are bytes to give, before the first is given; may refuse. */
  begin(): void | Promise<void>
  /** Whether a cache that asks each time may keep them. Default for public files. */
  cacheable?: boolean
}

/** The bytes as the edge answers with them. */
export function bytesOf(
  db: Db,
  file: StoredFile,
  blobs: Blobs,
  wish: Wish,
  { begin, cacheable = file.visibility === 'public' }: Giving,
): Bytes {
  const type = typeOf(file)
  // The store's own answer says neither nosniff nor what may be run.
  const showable = mayBeShown(file.content_type) && (!blobs.redirects || /^(image|audio|video)\//.test(type))
  const disposition = contentDisposition(wish.filename ?? file.name, {
    type: showable ? wish.disposition : 'attachment',
  })
  return {
    type,
    bytes: file.bytes,
    etag: file.etag,
    modifiedAt: new Date(file.created_at),
    headers: {
      'cache-control': cacheable ? 'no-cache' : 'no-store',
      'content-disposition': disposition,
      // Opened by its own address it is an element of a page, which asks for it once more and is no longer itself in a sandbox.
      ...(/^(audio|video)\//.test(type) && {
        'content-security-policy': "default-src 'none'; media-src 'self'",
      }),
    },
    async open(range) {
      const stream = await blobs.read(file.blob_key, range).catch(async (error) => {
        // It may have been deleted, and its blob removed, since it was looked up; otherwise the store has lost it.
        throw error instanceof BlobMissing && (await fileById(db, file.id)) === undefined
          ? notFound('file')
          : error
      })
      try {
        await begin()
      } catch (error) {
        stream.destroy()
        throw error
      }
      return stream
    },
    ...(blobs.redirects && {
      async address() {
        const address = await blobs.presign(file.blob_key, { type, disposition, seconds: presignedSeconds })
        await begin()
        return address
      },
    }),
  }
}

function typeOf({ content_type: type }: StoredFile): string {
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}
