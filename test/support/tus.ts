// Resumable uploads as tests send them: by the official client, and request by request.
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DetailedError, Upload } from 'tus-js-client'
import { createClient, type Reply } from './client.ts'
import type { TestServer } from './server.ts'

export interface Sent {
  url: string
  fileId: string | null
}

export interface ClientOptions {
  endpoint: string
  key: string
  metadata?: Record<string, string>
  chunkSize?: number
  /** The bytes with the creation. */
  atOnce?: boolean
  onProgress?: (sent: number) => void
}

/** Uploads with the official client, which goes on by itself where it is cut off. */
export async function sendByTus(
  file: unknown,
  {
    endpoint,
    key,
    metadata = { filename: 'file.bin' },
    chunkSize = Infinity,
    atOnce = false,
    onProgress,
  }: ClientOptions,
): Promise<Sent> {
  let fileId: string | null = null
  return await new Promise((resolve, reject) => {
    const upload = new Upload(file as Buffer, {
      endpoint,
      headers: { authorization: `Bearer ${key}` },
      metadata,
      chunkSize,
      uploadDataDuringCreation: atOnce,
      retryDelays: Array.from({ length: 60 }, (_, i) => Math.min(20 * i, 500)),
      onAfterResponse: (_request, response) => {
        fileId = response.getHeader('Upload-File-Id') ?? fileId
      },
      onProgress: (sent) => onProgress?.(sent),
      onSuccess: () => resolve({ url: upload.url!, fileId }),
      onError: (error) =>
        reject(
          error instanceof DetailedError
            ? new Error(`${error.message}: ${error.originalResponse?.getBody()}`)
            : error,
        ),
    })
    upload.start()
  })
}

export const bytesType = 'application/offset+octet-stream'

export interface Pieces {
  /** Begins an upload. */
  begin(
    length: number,
    metadata?: Record<string, string>,
    headers?: Record<string, string>,
    body?: Uint8Array<ArrayBuffer> | string,
  ): Promise<Reply>
  /** Begins one that has to succeed. @returns its path below /v1. */
  begun(length: number, metadata?: Record<string, string>): Promise<string>
  append(
    path: string,
    offset: number,
    bytes: Uint8Array<ArrayBuffer> | string,
    headers?: Record<string, string>,
  ): Promise<Reply>
  head(path: string): Promise<Response>
  end(path: string): Promise<Reply>
}

/** One request of the protocol after the other, each answer held against the spec. */
export function piecesOf(url: string, key: string): Pieces {
  const client = createClient(url, key)
  const version = { 'tus-resumable': '1.0.0' }
  const pieces: Pieces = {
    begin: (length, metadata = { filename: 'file.bin' }, headers = {}, body) =>
      client.call('POST', '/storage/uploads', {
        raw: body,
        headers: {
          ...version,
          'upload-length': String(length),
          'upload-metadata': metadataOf(metadata),
          ...(body !== undefined && { 'content-type': bytesType }),
          ...headers,
        },
      }),
    async begun(length, metadata) {
      const reply = await pieces.begin(length, metadata)
      if (reply.status !== 201) throw new Error(`no upload: ${reply.status} ${reply.text}`)
      return reply.headers.get('location')!
    },
    append: (path, offset, bytes, headers = {}) =>
      client.call('PATCH', path, {
        raw: bytes,
        headers: { ...version, 'upload-offset': String(offset), 'content-type': bytesType, ...headers },
      }),
    head: (path) =>
      fetch(`${url}${path}`, { method: 'HEAD', headers: { ...version, authorization: `Bearer ${key}` } }),
    end: (path) => client.call('DELETE', path, { headers: version }),
  }
  return pieces
}

export function metadataOf(fields: Record<string, string>): string {
  return Object.entries(fields)
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',')
}

export function checksum(algorithm: 'sha1' | 'sha256', bytes: Uint8Array | string): Record<string, string> {
  return { 'upload-checksum': `${algorithm} ${createHash(algorithm).update(bytes).digest('base64')}` }
}

/** What is on the disk of unfinished uploads. */
export async function staged({ services }: TestServer): Promise<string[]> {
  return await readdir(join(services.config.storageDir, 'uploads')).catch(() => [])
}
