// How the bytes of a file are given away: what a browser could run only ever to be saved.
import { create as contentDisposition } from 'content-disposition'
import type { Db } from '../database.ts'
import { notFound } from '../errors.ts'
import type { Bytes } from '../operation.ts'
import { BlobMissing, type Blobs } from './blobs.ts'
import { mayBeShown } from './content-type.ts'
import { fileById, type StoredFile } from './files.ts'

export interface Wish { disposition: 'inline' | 'attachment', filename?: string }

/** How long a presigned address is good for. */
const presignedSeconds = 300

/**
 * The bytes as the edge answers with them. `begin` is called when there are bytes to give, before the first is given, and
 * may refuse.
 */
export function bytesOf (db: Db, file: StoredFile, blobs: Blobs, wish: Wish, begin: () => void | Promise<void>): Bytes {
  const type = typeOf(file)
  const disposition = dispositionOf(file, wish)
  return {
    type,
    bytes: file.bytes,
    etag: file.etag,
    modifiedAt: new Date(file.created_at),
    headers: {
      'cache-control': file.visibility === 'public' ? 'no-cache' : 'no-store',
      'content-disposition': disposition,
      // Opened by its own address it is an element of a page, which asks for it once more and is no longer itself in a sandbox.
      ...(/^(audio|video)\//.test(type) && { 'content-security-policy': "default-src 'none'; media-src 'self'" })
    },
    async open (range) {
      const stream = await blobs.read(file.blob_key, range).catch(async (error) => {
        // It may have been deleted, and its blob removed, since it was looked up; otherwise the store has lost it.
        throw error instanceof BlobMissing && await fileById(db, file.id) === undefined ? notFound('file') : error
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
      async address () {
        await begin()
        return await blobs.presign(file.blob_key, { type, disposition, seconds: presignedSeconds })
      }
    })
  }
}

function typeOf ({ content_type: type }: StoredFile): string {
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}

function dispositionOf (file: StoredFile, { disposition, filename }: Wish): string {
  return contentDisposition(filename ?? file.name, { type: mayBeShown(file.content_type) ? disposition : 'attachment' })
}
