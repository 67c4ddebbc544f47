// How the bytes of a file are given away: what a browser could run only ever to be saved.
import { create as contentDisposition } from 'content-disposition'
import type { Bytes } from '../operation.ts'
import type { Blobs } from './blobs.ts'
import { mayBeShown } from './content-type.ts'
import type { StoredFile } from './files.ts'

export interface Wish { disposition: 'inline' | 'attachment', filename?: string }

/** How long a presigned address is good for. */
const presignedSeconds = 300

/** `begin` is called before the first byte is read, and may refuse. */
export function bytesOf (file: StoredFile, blobs: Blobs, wish: Wish, begin: () => void | Promise<void>): Bytes {
  return {
    type: typeOf(file),
    bytes: file.bytes,
    etag: file.etag,
    modifiedAt: new Date(file.created_at),
    headers: { 'content-disposition': dispositionOf(file, wish) },
    async open (range) {
      await begin()
      return await blobs.read(file.blob_key, range)
    }
  }
}

/** Where the store itself gives the bytes, for a while. */
export async function addressOf (file: StoredFile, blobs: Blobs, wish: Wish): Promise<string> {
  return await blobs.presign(file.blob_key, { type: typeOf(file), disposition: dispositionOf(file, wish), seconds: presignedSeconds })
}

function typeOf ({ content_type: type }: StoredFile): string {
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}

function dispositionOf (file: StoredFile, { disposition, filename }: Wish): string {
  return contentDisposition(filename ?? file.name, { type: mayBeShown(file.content_type) ? disposition : 'attachment' })
}
