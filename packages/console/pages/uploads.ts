// The uploads of this tab. They go on while other pages are shown, and resume after a broken connection.
import { failureOf, resumableUpload, type Failure } from '../session.ts'

/** The bytes of one request: progress is reported after each. */
const pieceBytes = 8 * 1024 * 1024
/** Attempts without progress until the person is asked, about half of a minute. */
const attempts = 6
const maxAtOnce = 3

export interface Upload {
  id: number
  file: File
  /** The fields of the new file, such as its folder. */
  fields: Record<string, string>
  sent: number
  state: 'waiting' | 'sending' | 'done' | 'failed'
  failure: Failure | null
  /** Of a finished upload. */
  fileId: string | null
}

interface Kept extends Upload {
  uploadId: string | undefined
  abort: AbortController
}

/** Dispatches `change` when an upload changes, and `done` when a file is there. */
export const changes = new EventTarget()

let kept: Kept[] = []
let lastId = 0

export const uploads = (): readonly Upload[] => kept

export function addFiles(files: Iterable<File>, fields: Record<string, string>): void {
  for (const file of files)
    kept.push({
      id: ++lastId,
      file,
      fields,
      sent: 0,
      state: 'waiting',
      failure: null,
      fileId: null,
      uploadId: undefined,
      abort: new AbortController(),
    })
  sendNext()
}

/** Sends the rest of an upload that failed. */
export function resume(id: number): void {
  change(id, { state: 'waiting', failure: null })
  sendNext()
}

/** Removes an upload from the list, and stops it. What was sent expires on the server. */
export function dismiss(id: number): void {
  kept.find((upload) => upload.id === id)?.abort.abort()
  kept = kept.filter((upload) => upload.id !== id)
  changes.dispatchEvent(new Event('change'))
  sendNext()
}

function change(id: number, fields: Partial<Kept>): void {
  kept = kept.map((upload) => (upload.id === id ? { ...upload, ...fields } : upload))
  changes.dispatchEvent(new Event('change'))
}

function sendNext(): void {
  const sending = kept.filter(({ state }) => state === 'sending').length
  const waiting = kept.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, maxAtOnce - sending))
  for (const upload of waiting) void send(upload)
}

async function send({ id, file, fields, uploadId, abort }: Kept): Promise<void> {
  change(id, { state: 'sending' })
  try {
    const upload = await resumableUpload(file, {
      fields,
      uploadId,
      pieceSize: pieceBytes,
      retries: attempts,
      signal: abort.signal,
      onCreated: (uploadId) => change(id, { uploadId }),
      onProgress: ({ sent }) => change(id, { sent }),
    })
    change(id, { state: 'done', sent: file.size, fileId: upload.file_id })
    changes.dispatchEvent(new Event('done'))
  } catch (error) {
    if (abort.signal.aborted) return
    change(id, { state: 'failed', failure: failureOf(error) })
  }
  sendNext()
}
