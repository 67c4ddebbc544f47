// Resumable uploads in tests: with the official tus client, and request by request.
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DetailedError, Upload } from 'tus-js-client'
import { createClient, type Reply } from './client.ts'
import type { TestServer } from '../server/server.ts'

export interface FinishedUpload {
  url: string
  fileId: string | null
}

export interface ClientOptions {
  endpoint: string
  /** None for an upload by link. */
  key?: string
  metadata?: Record<string, string>
  chunkSize?: number
  /** Whether the first bytes are sent with the creation. */
  sendWithCreation?: boolean
  onProgress?: (sent: number) => void
}

/** Uploads with the official client, which resumes by itself after a broken connection. */
export async function uploadWithTusClient(
  file: unknown,
  {
    endpoint,
    key,
    metadata = { filename: 'file.bin' },
    chunkSize = Infinity,
    sendWithCreation = false,
    onProgress,
  }: ClientOptions,
): Promise<FinishedUpload> {
  let fileId: string | null = null
  return await new Promise((resolve, reject) => {
    const upload = new Upload(file as Buffer, {
      endpoint,
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      metadata,
      chunkSize,
      uploadDataDuringCreation: sendWithCreation,
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

export interface TusClient {
  create(
    length: number,
    metadata?: Record<string, string>,
    headers?: Record<string, string>,
    body?: Uint8Array<ArrayBuffer> | string,
  ): Promise<Reply>
  /** Creates an upload. Throws for any status but 201. @returns the path of the upload, with /v1. */
  createUpload(length: number, metadata?: Record<string, string>): Promise<string>
  append(
    path: string,
    offset: number,
    bytes: Uint8Array<ArrayBuffer> | string,
    headers?: Record<string, string>,
  ): Promise<Reply>
  head(path: string): Promise<Response>
  delete(path: string): Promise<Reply>
}

/**
 * Sends single requests of the protocol and validates each response against the spec. `path` is where uploads
 * are created.
 */
export function tusClient(url: string, key: string | null, path = '/storage/uploads'): TusClient {
  const client = createClient(url, key)
  const version = { 'tus-resumable': '1.0.0' }
  const tus: TusClient = {
    create: (length, metadata = { filename: 'file.bin' }, headers = {}, body) =>
      client.call('POST', path, {
        raw: body,
        headers: {
          ...version,
          'upload-length': String(length),
          'upload-metadata': encodeMetadata(metadata),
          ...(body !== undefined && { 'content-type': bytesType }),
          ...headers,
        },
      }),
    async createUpload(length, metadata) {
      const reply = await tus.create(length, metadata)
      if (reply.status !== 201) throw new Error(`the upload was not created: ${reply.status} ${reply.text}`)
      return new URL(reply.headers.get('location')!).pathname
    },
    append: (path, offset, bytes, headers = {}) =>
      client.call('PATCH', path, {
        raw: bytes,
        headers: { ...version, 'upload-offset': String(offset), 'content-type': bytesType, ...headers },
      }),
    head: (path) =>
      fetch(`${url}${path}`, {
        method: 'HEAD',
        headers: { ...version, ...(key !== null && { authorization: `Bearer ${key}` }) },
      }),
    delete: (path) => client.call('DELETE', path, { headers: version }),
  }
  return tus
}

export function encodeMetadata(fields: Record<string, string>): string {
  return Object.entries(fields)
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',')
}

/** An Upload-Checksum header. */
export function checksum(algorithm: 'sha1' | 'sha256', bytes: Uint8Array | string): Record<string, string> {
  return { 'upload-checksum': `${algorithm} ${createHash(algorithm).update(bytes).digest('base64')}` }
}

/** The names of the partial files of unfinished uploads. */
export async function partialFiles({ services }: TestServer): Promise<string[]> {
  return await readdir(join(services.config.storageDir, 'uploads')).catch(() => [])
}
