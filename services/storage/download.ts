// The response of a download. Types that a browser could execute are always sent as attachments.
import { create as contentDisposition } from 'content-disposition'
import type { Db } from '../../infra/database/database.ts'
import { notFound, type ApiError } from '../../infra/errors.ts'
import type { Bytes } from '../../infra/contract/operation.ts'
import { BlobNotFound, type BlobStore } from './blobs/blob-store.ts'
import { isSafeInline } from './content-type.ts'
import { findFile, type FileRow } from './files.ts'
import { missingContent } from './missing-content.ts'

export interface DownloadOptions {
  disposition: 'inline' | 'attachment'
  /** Default: the name of the file. */
  filename?: string
  /** Called once the bytes are available and before the first byte is sent. Throws to refuse the download. */
  onStart(): void | Promise<void>
  /** Whether caches may store the response and revalidate it. Default: only for public files. */
  cacheable?: boolean
}

const presignedUrlSeconds = 300

export function toDownload(
  db: Db,
  blobStore: BlobStore,
  file: FileRow,
  { disposition, filename, onStart, cacheable = file.visibility === 'public' }: DownloadOptions,
): Bytes {
  const type = typeWithCharset(file)
  // Responses of the S3 store lack nosniff and a Content-Security-Policy: it sends only media inline.
  const isInlineAllowed =
    isSafeInline(file.content_type) && (!blobStore.redirects || /^(image|audio|video)\//.test(type))
  const dispositionHeader = contentDisposition(filename ?? file.name, {
    type: isInlineAllowed ? disposition : 'attachment',
  })
  return {
    type,
    bytes: file.bytes,
    etag: file.etag,
    modifiedAt: new Date(file.content_updated_at),
    headers: {
      'cache-control': cacheable ? 'no-cache' : 'no-store',
      'content-disposition': dispositionHeader,
      // A browser wraps media that it opens directly in a page, which loads them outside of the sandbox.
      ...(/^(audio|video)\//.test(type) && {
        'content-security-policy': "default-src 'none'; media-src 'self'",
      }),
    },
    async open(range) {
      const stream = await blobStore.read(file.blob_key, range).catch(async (error) => {
        throw error instanceof BlobNotFound ? await withoutBlob(db, file, error) : error
      })
      try {
        await onStart()
      } catch (error) {
        stream.destroy()
        throw error
      }
      return stream
    },
    ...(blobStore.redirects && {
      async address() {
        if ((await blobStore.sizeOf(file.blob_key)) === null)
          throw await withoutBlob(db, file, new BlobNotFound(file.blob_key))
        const url = await blobStore.presign(file.blob_key, {
          contentType: type,
          contentDisposition: dispositionHeader,
          expiresInSeconds: presignedUrlSeconds,
        })
        await onStart()
        return url
      },
    }),
  }
}

/** The file was deleted after its row was read, or the store has lost the blob. */
export async function withoutBlob(db: Db, { id }: FileRow, cause: BlobNotFound): Promise<ApiError> {
  return (await findFile(db, id)) === undefined ? notFound('file') : missingContent('file', cause)
}

function typeWithCharset({ content_type: type }: FileRow): string {
  return type.startsWith('text/') ? `${type}; charset=utf-8` : type
}
