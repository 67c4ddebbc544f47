// The uploads of this tab. They continue while other pages are shown. Uploads of files resume where they
// stopped; uploads of documents start again.
import { PlatformError } from '../../../generated/client/index.js'
import { call, failureOf, isAllowed, resumableUpload, type Failure } from '../session.ts'

/** Bytes per request. */
const pieceBytes = 8 * 1024 * 1024
/** Consecutive failures without progress before the upload fails: about 30 seconds. */
const maxFailures = 6
const maxAtOnce = 3

interface Sending {
  signal: AbortSignal
  onProgress: (progress: { sent: number }) => void
}

/** The resource that a file is uploaded to. */
export interface Target {
  /** The path of the list that gets the item. */
  list: string
  /** Together with the file, identifies an upload. */
  key: string
  /** @returns the path of the new item. */
  send(file: File, sending: Sending): Promise<string>
  /** Frees what an unfinished upload holds on the server. */
  discard(file: File): void
  /** The same place with an answer to a file of the same name; null if the server does not ask. */
  answered: ((answer: Answer) => Target) | null
}

/** What happens if the place has a file of the same name. `replace` keeps the former content as a version. */
export type Answer = 'rename' | 'replace'

/** @param fields of the new file, such as its folder. The server asks about a name that is taken. */
export const fileTarget = (fields: Record<string, string>): Target => ({
  ...resumableTarget({ ...fields, on_conflict: 'fail' }),
  answered: (answer) =>
    answer === 'rename' ? resumableTarget({ ...fields, on_conflict: 'rename' }) : replacingTarget(fields),
})

/** A folder that is shared with the person takes uploads in one request. */
export const sharedTarget = (folderId: string, policy: 'fail' | 'rename' = 'fail'): Target => ({
  list: '/storage/files',
  key: `shared ${folderId}`,
  async send(file, sending) {
    const body = { file, folder_id: folderId, on_conflict: policy }
    const { data } = await call('uploadFile', { body, timeout: null, ...sending })
    return `${this.list}/${data.id}`
  },
  discard() {},
  answered: (answer) =>
    answer === 'rename' ? sharedTarget(folderId, 'rename') : replacingTarget({ folder_id: folderId }, true),
})

/** The content of the file that has the name there. */
function replacingTarget(fields: Record<string, string>, isShared = false): Target {
  return {
    list: '/storage/files',
    key: `replace ${new URLSearchParams(fields)}`,
    async send(file, sending) {
      const { path, folder_id, ...others } = fields
      const folder = folder_id !== undefined ? { folder_id } : { folder: path ?? '/' }
      const query = { ...others, ...folder, name: file.name.normalize('NFC'), limit: 1 }
      const id = isShared
        ? await idInFolder(folder_id, file.name)
        : (await call('listFiles', { query })).data.data[0]?.id
      if (id === undefined) return await resumableTarget(fields).send(file, sending)
      await call('replaceFileContent', { path: { id }, body: { file }, timeout: null, ...sending })
      return `${this.list}/${id}`
    },
    discard() {},
    answered: null,
  }
}

/** The file with a name in a folder, which may be shared with the person. */
async function idInFolder(folderId: string, name: string): Promise<string | undefined> {
  for (let cursor: string | null = null; ;) {
    const query = { folder_id: folderId, limit: 100, ...(cursor !== null && { cursor }) }
    const { data } = (await call('listStorageItems', { query })) as { data: any }
    const found = data.data.find(({ file }: any) => file?.name === name.normalize('NFC'))
    cursor = data.pagination.next_cursor
    if (found !== undefined || cursor === null) return found?.id
  }
}

function resumableTarget(fields: Record<string, string>): Target {
  const key = `upload ${new URLSearchParams(fields)}`
  const nameOf = ({ name, size, lastModified }: File): string => `${key} ${size} ${lastModified} ${name}`
  return {
    list: '/storage/files',
    key,
    async send(file, sending) {
      const name = nameOf(file)
      const known = sessionStorage.getItem(name)
      try {
        const upload = await resumableUpload(file, {
          ...sending,
          fields,
          uploadId: known ?? undefined,
          pieceSize: pieceBytes,
          retries: maxFailures,
          onCreated: (id) => sessionStorage.setItem(name, id),
        })
        sessionStorage.removeItem(name)
        return `${this.list}/${upload.file_id}`
      } catch (error) {
        // The upload has expired, or the tab now has the key of another user.
        const isLost = error instanceof PlatformError && [403, 404, 410].includes(error.status ?? 0)
        if (known === null || !isLost) throw error
        sessionStorage.removeItem(name)
        return await this.send(file, sending)
      }
    },
    discard(file) {
      const id = sessionStorage.getItem(nameOf(file))
      sessionStorage.removeItem(nameOf(file))
      // It expires if this fails.
      if (id !== null && isAllowed('deleteUpload')) call('deleteUpload', { path: { id } }).catch(() => {})
    },
    answered: null,
  }
}

/** @param base the ID of a knowledge base. */
export const documentTarget = (base: string): Target => ({
  list: `/ai/knowledge/${base}/documents`,
  key: base,
  async send(file, sending) {
    const { data } = await call('createDocument', {
      path: { id: base },
      body: { file },
      timeout: null,
      ...sending,
    })
    return `${this.list}/${data.id}`
  },
  discard() {},
  answered: null,
})

export interface Upload {
  id: number
  file: File
  target: Target
  sent: number
  state: 'waiting' | 'sending' | 'paused' | 'done' | 'failed'
  failure: Failure | null
  /** Of the new item. */
  path: string | null
  abort: AbortController
}

/** Dispatches `change` when an upload changes, and `done` when an item is there. */
export const changes = new EventTarget()

let kept: Upload[] = []
let lastId = 0

export const uploads = (): readonly Upload[] => kept

/** If the same file is already in the list and not done, resumes that upload instead of adding another. */
export function addFile(file: File, target: Target): void {
  const same = kept.find(
    (upload) =>
      upload.state !== 'done' &&
      upload.target.key === target.key &&
      upload.file.name === file.name &&
      upload.file.size === file.size &&
      upload.file.lastModified === file.lastModified,
  )
  if (same !== undefined) return resume(same.id)
  const abort = new AbortController()
  kept = [
    ...kept,
    { id: ++lastId, file, target, sent: 0, state: 'waiting', failure: null, path: null, abort },
  ]
  changes.dispatchEvent(new Event('change'))
  sendNext()
}

/** Resumes an upload that was paused or failed. */
export function resume(id: number): void {
  const state = kept.find((upload) => upload.id === id)?.state
  if (state !== 'paused' && state !== 'failed') return
  change(id, { state: 'waiting', failure: null, abort: new AbortController() })
  sendNext()
}

/** Whether the upload waits for an answer about a file of the same name. */
export const isAsking = ({ failure, target }: Upload): boolean =>
  failure?.constraint === 'name_taken' && target.answered !== null

/** Sends an upload whose name is taken again, with the answer. */
export function answer(id: number, given: Answer): void {
  const upload = kept.find((each) => each.id === id)
  if (upload === undefined || !isAsking(upload)) return
  upload.target.discard(upload.file)
  change(id, { target: upload.target.answered!(given), sent: 0 })
  resume(id)
}

/** Pauses an upload that waits or is being sent. */
export function pause(id: number): void {
  const upload = kept.find((each) => each.id === id)
  if (upload?.state !== 'waiting' && upload?.state !== 'sending') return
  upload.abort.abort()
  change(id, { state: 'paused' })
  sendNext()
}

/** Removes an upload from the list, and stops it. */
export function dismiss(id: number): void {
  const upload = kept.find((each) => each.id === id)
  if (upload === undefined) return
  upload.abort.abort()
  if (upload.state !== 'done') upload.target.discard(upload.file)
  kept = kept.filter((each) => each !== upload)
  changes.dispatchEvent(new Event('change'))
  sendNext()
}

function change(id: number, fields: Partial<Upload>): void {
  kept = kept.map((upload) => (upload.id === id ? { ...upload, ...fields } : upload))
  changes.dispatchEvent(new Event('change'))
}

function sendNext(): void {
  const sending = kept.filter(({ state }) => state === 'sending').length
  const waiting = kept.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, maxAtOnce - sending))
  for (const upload of waiting) void send(upload)
}

async function send({ id, file, target, abort: { signal } }: Upload): Promise<void> {
  change(id, { state: 'sending' })
  const onProgress = ({ sent }: { sent: number }): void => {
    if (!signal.aborted) change(id, { sent })
  }
  try {
    const path = await target.send(file, { signal, onProgress })
    change(id, { state: 'done', sent: file.size, path })
    changes.dispatchEvent(new Event('done'))
  } catch (error) {
    if (!signal.aborted) change(id, { state: 'failed', failure: failureOf(error) })
  } finally {
    sendNext()
  }
}

// Uploads that failed without an answer of the server (`code` is null) resume when the network returns.
addEventListener('online', () => {
  for (const { id, failure } of kept) if (failure?.code === null) resume(id)
})
