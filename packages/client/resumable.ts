// A file in pieces, by the contract's resumable uploads (tus 1.0.0): one that is cut off asks the server how far it has
// come and goes on from there; so does a later run that knows the upload's id.
import { backOff, type Clock } from './clock.ts'
import { ConnectionError, PlatformError } from './error.ts'
import type { Progress } from './progress.ts'

export interface ResumableOptions<Fields> {
  /** What the file is called and where it belongs, as of an upload in one piece. */
  fields?: Fields
  /** An upload that was begun before, to be gone on with. */
  uploadId?: string
  /** Told once its id is known, for a later run to go on. */
  onCreated?: (uploadId: string) => void
  /** Bytes of the file that were sent; never less than before. */
  onProgress?: (progress: Progress) => void
  signal?: AbortSignal
  /** Bytes of a request; all of them unless said. */
  pieceSize?: number
  /** How often in a row it may be cut off with nothing coming through; 10 unless said. */
  retries?: number
}

interface Began {
  id: string
}

/** The operations that it is made of. */
export interface UploadMethods {
  createUpload(input: any): { withResponse(): Promise<{ data: any; response: Response }> }
  getUpload(input: any): { withResponse(): Promise<{ data: any; response: Response }> }
  appendUpload(input: any): { withResponse(): Promise<{ data: any; response: Response }> }
}

const version = { 'Tus-Resumable': '1.0.0' }

/** @returns the upload when it is a file, with its `file_id`. */
export async function sendResumably(
  methods: UploadMethods,
  file: Blob & { name?: string },
  options: ResumableOptions<Record<string, unknown>>,
  clock: Clock,
): Promise<unknown> {
  const { signal, pieceSize = file.size, retries = 10 } = options
  const total = file.size
  let most = -1
  const report = (sent: number): void => {
    if (sent <= most) return
    most = sent
    options.onProgress?.({ sent, total })
  }
  let id = options.uploadId
  let at: number | null = null
  if (id === undefined) {
    const { data } = await methods
      .createUpload({
        headers: {
          ...version,
          'Upload-Length': total,
          'Upload-Metadata': metadataOf(file, options.fields ?? {}),
        },
        signal,
      })
      .withResponse()
    id = (data as Began).id
    options.onCreated?.(id)
    at = 0
  }
  let failures = 0
  for (;;) {
    const from: number = at ?? (await offsetOf(methods, id, signal))
    report(from)
    if (from >= total) return (await methods.getUpload({ path: { id }, signal }).withResponse()).data
    try {
      const body = file.slice(from, Math.min(total, from + pieceSize))
      const { response } = await methods
        .appendUpload({
          path: { id },
          headers: { ...version, 'Upload-Offset': from },
          body,
          signal,
          onProgress: ({ sent }: Progress) => report(Math.min(from + sent, total - 1)),
        })
        .withResponse()
      at = Number(response.headers.get('upload-offset'))
      failures = 0
    } catch (error) {
      if (!mayGoOn(error) || failures >= retries) throw error
      const told = error instanceof PlatformError ? error.retryAfter : null
      await clock.sleep(told === null ? backOff(failures, clock) : told * 1000, signal)
      const reached = await offsetOf(methods, id, signal)
      failures = reached > from ? 0 : failures + 1
      at = reached
    }
  }
}

async function offsetOf(
  methods: UploadMethods,
  id: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { response } = await methods.getUpload({ path: { id }, headers: version, signal }).withResponse()
  return Number(response.headers.get('upload-offset'))
}

/** 409: the request before is still held by the server, or was further than it seemed. */
function mayGoOn(error: unknown): boolean {
  return (
    error instanceof ConnectionError ||
    (error instanceof PlatformError && [408, 409, 429, 502, 503, 504].includes(error.status))
  )
}

/** `Upload-Metadata` of tus: pairs of a key and a value in Base64. */
function metadataOf(file: { name?: string; type: string }, fields: Record<string, unknown>): string {
  const all = {
    ...(!('name' in fields) && { filename: file.name ?? 'file' }),
    ...(file.type !== '' && { filetype: file.type }),
    ...fields,
  }
  return Object.entries(all)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([key, value]) => `${key} ${base64(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join(',')
}

function base64(text: string): string {
  return btoa(String.fromCharCode(...new TextEncoder().encode(text)))
}
