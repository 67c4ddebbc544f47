// Archives: a snapshot of files that is downloaded as one ZIP. No archive is ever stored: its bytes are made
// of the blobs while they are sent, and a download can begin anywhere. The CRC-32 of a file is in front of
// its content; it is computed when it is first needed, and kept with the archive.
import { Readable } from 'node:stream'
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Bytes, OperationInfo } from '../../infra/contract/operation.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { conflict, notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { requireAccess } from '../projects/resource-access.ts'
import type { Principal } from '../users/authentication.ts'
import { Checksums, requireThere, type ArchiveReader } from './archive-checksums.ts'
import type { BlobStore } from './blobs/blob-store.ts'
import { aroundNumber } from './file-places.ts'
import {
  centralHeader,
  centralHeaderBytes,
  end64Bytes,
  endBytes,
  endOfArchive,
  localHeader,
  localHeaderBytes,
} from './zip.ts'

export type Archive = components['schemas']['Archive']

export interface NewArchive {
  projectId: string | null
  ownerId: string
  workspaceId: string
  name: string
  /** The files; null for those of a folder and its subfolders. */
  fileIds: string[] | null
  /** Empty for all files. */
  path: string
}

/** Throws the error for a file that is not in the workspace. */
type Refuse = (fileId: string) => Promise<never>

/** Files of an archive. */
export const maxArchiveFiles = 100_000
/** Long names are cut once, so that every number fits. */
const maxDigits = String(maxArchiveFiles).length
/** Archives of a user that are kept. */
const maxKept = 5
const lifetimeMs = 86_400_000
const batchSize = 2000
/** Entries that are read at a time while an archive is sent. */
const pageSize = 500

/**
 * Inserts an archive of the files as they are now. The oldest archives of the user are deleted.
 * @throws 409 for no files or too many.
 */
export async function insertArchive(
  tx: Transaction,
  archive: NewArchive,
  refuse: Refuse = notInWorkspace,
): Promise<Archive> {
  const { fileIds, path, workspaceId } = archive
  const files = await sql.listFilesForArchive(tx, {
    workspace_id: workspaceId,
    ids: fileIds,
    path,
    limit: maxArchiveFiles + 1,
  })
  const found = new Set(files.map(({ id }) => id))
  const missing = fileIds?.find((id) => !found.has(id))
  if (missing !== undefined) await refuse(missing)
  if (files.length === 0) throw conflict('empty', 'There are no files for the archive.')
  if (files.length > maxArchiveFiles)
    throw conflict('archive_files', `An archive can have at most ${maxArchiveFiles} files.`)
  const { entries, directory, end } = layOut(files, fileIds === null ? path : '')
  const id = newId('arc')
  const createdAt = timeOf(id)
  await sql.deleteSurplusArchives(tx, { owner_id: archive.ownerId, kept: maxKept - 1 })
  const row = await sql.insertArchive(tx, {
    id,
    project_id: archive.projectId,
    owner_id: archive.ownerId,
    name: archive.name,
    files: entries.length,
    directory,
    bytes: end,
    created_at: createdAt,
    expires_at: new Date(createdAt.getTime() + lifetimeMs),
  })
  for (let i = 0; i < entries.length; i += batchSize) {
    const batch = entries.slice(i, i + batchSize)
    await sql.insertArchiveEntries(tx, {
      archive_id: id,
      first: i,
      file_ids: batch.map(({ file }) => file.id),
      blob_keys: batch.map(({ file }) => file.blob_key),
      names: batch.map(({ name }) => name),
      sizes: batch.map(({ file }) => file.bytes),
      times: batch.map(({ file }) => new Date(file.modified_at)),
      offsets: batch.map(({ offset }) => offset),
      central_offsets: batch.map(({ central }) => central),
    })
  }
  return row
}

async function notInWorkspace(fileId: string): Promise<never> {
  throw notFound('file', fileId)
}

type ArchivedFile = Pick<
  sql.ListFilesForArchiveRow,
  'id' | 'name' | 'path' | 'bytes' | 'blob_key' | 'modified_at'
>

/** The places of the files in the archive. A name that is taken gets a number. */
export function layOut<File extends Pick<ArchivedFile, 'name' | 'path' | 'bytes'>>(
  files: File[],
  root: string,
) {
  const uniqueName = createUniqueNames()
  let offset = 0
  const entries = files.map((file) => {
    // In an archive of a folder, names begin in that folder.
    const folder = root === '' ? file.path : file.path.slice(root.length + 1)
    const name = uniqueName(folder === '' ? '' : `${folder}/`, file.name)
    const entry = { file, name, offset, central: 0 }
    offset += localHeaderBytes({ name, bytes: file.bytes }) + file.bytes
    return entry
  })
  const directory = offset
  for (const entry of entries) {
    entry.central = offset
    offset += centralHeaderBytes({ ...entry, bytes: entry.file.bytes })
  }
  return { entries, directory, end: offset + endOfArchive(entries.length, directory, offset).length }
}

/** Names that differ only in their number. */
interface NumberedNames {
  start: string
  end: string
  /** The lowest number that may be free. Names that are equal once they are cut share it. */
  next: { number: number }
}

/** @returns a function that gives a file its name, or the name with the lowest free number. */
function createUniqueNames(): (folder: string, name: string) => string {
  // Names that differ only in case are the same file on many systems.
  const taken = new Set<string>()
  const nextNumbers = new Map<string, { number: number }>()
  /** By the whole name. */
  const numberedNames = new Map<string, NumberedNames>()

  return (folder, name) => {
    const path = folder + name
    if (take(path)) return path
    const { start, end, next } = numberedNames.get(path) ?? numbered(folder, name)
    for (;;) {
      const found = start + next.number++ + end
      if (take(found)) return found
    }
  }

  function take(path: string): boolean {
    const key = path.toLowerCase()
    if (taken.has(key)) return false
    taken.add(key)
    return true
  }

  function numbered(folder: string, name: string): NumberedNames {
    const { start, end } = aroundNumber(name, maxDigits)
    const key = `${folder}${start}/${end}`.toLowerCase()
    const next = nextNumbers.get(key) ?? { number: 2 }
    nextNumbers.set(key, next)
    const names = { start: folder + start, end, next }
    numberedNames.set(folder + name, names)
    return names
  }
}

/** Loads the archive of the request and authorizes the operation, as `openFile` does. */
export async function openArchive(
  db: Db,
  request: {
    operation: OperationInfo
    params: { id: string }
    principal: Principal
    noteProject?(id: string): void
  },
): Promise<Archive & { directory: number }> {
  const { id } = request.params
  const row = await sql.readArchive(db, { id, user_id: request.principal.userId })
  requireAccess(row, request, { name: 'archive', id })
  const { your_role: _role, project_status: _status, owner_id: _owner, ...archive } = row
  return archive
}

/** The content of an archive as a response. */
export function toArchiveContent(
  db: Db,
  store: BlobStore,
  archive: Archive & { directory: number },
  { disposition, reader }: { disposition: string; reader: ArchiveReader },
): Bytes {
  return {
    type: 'application/zip',
    bytes: archive.bytes,
    etag: `"${archive.id}"`,
    modifiedAt: new Date(archive.created_at),
    headers: { 'cache-control': 'no-store', 'content-disposition': disposition },
    async open({ start, end } = { start: 0, end: archive.bytes - 1 }) {
      const sums = new Checksums(db, store, archive.id, reader)
      const parts = clipped(piecesOf(db, store, archive, sums, start, end + 1), start, end + 1)
      // The first part is made before the response begins, so that its error has a status.
      const first = await parts.next()
      return Readable.from(continued(first, parts), { objectMode: false, highWaterMark: 64 * 1024 })
    },
  }
}

type Entry = sql.ListArchiveEntriesRow

/** Bytes at a place of the archive. */
interface Piece {
  at: number
  bytes: Buffer
}

/** The pieces of an archive that overlap a range, in order; the first and the last may be longer. */
async function* piecesOf(
  db: Db,
  store: BlobStore,
  archive: Archive & { directory: number },
  sums: Checksums,
  start: number,
  end: number,
): AsyncGenerator<Piece> {
  try {
    if (start < archive.directory)
      for await (const entry of entriesFrom(db, archive.id, { offset: start })) {
        if (entry.offset >= end) break
        yield* piecesOfFile(store, sums, entry, start, end)
      }
    for await (const entry of entriesFrom(db, archive.id, { central: Math.max(start, archive.directory) })) {
      if (entry.central_offset >= end) return
      yield { at: entry.central_offset, bytes: centralHeader(zipEntryOf(entry), await sums.of(entry)) }
    }
  } finally {
    await sums.save()
  }
  const last = endOfArchive(archive.files, archive.directory, endOfDirectory(archive))
  yield { at: archive.bytes - last.length, bytes: last }
}

function endOfDirectory({ files, directory, bytes }: Archive & { directory: number }): number {
  // Whether the end is that of ZIP64 depends on where the directory ends.
  const end = bytes - endBytes
  return endOfArchive(files, directory, end).length === endBytes ? end : bytes - end64Bytes
}

async function* piecesOfFile(
  store: BlobStore,
  sums: Checksums,
  entry: Entry,
  start: number,
  end: number,
): AsyncGenerator<Piece> {
  const content = entry.offset + localHeaderBytes(entry)
  if (start < content) yield { at: entry.offset, bytes: localHeader(zipEntryOf(entry), await sums.of(entry)) }
  const from = Math.max(start, content)
  const to = Math.min(end, content + entry.bytes)
  if (from >= to) return
  requireThere(entry)
  let at = from
  const stream = await store.read(entry.blob_key, { start: from - content, end: to - content - 1 })
  for await (const bytes of stream as AsyncIterable<Buffer>) {
    yield { at, bytes }
    at += bytes.length
  }
  if (at !== to) throw new Error(`the archive breaks off: the store has lost bytes of ${entry.blob_key}`)
}

async function* continued(
  first: IteratorResult<Buffer>,
  rest: AsyncGenerator<Buffer>,
): AsyncGenerator<Buffer> {
  try {
    if (first.done !== true) yield first.value
    yield* rest
  } finally {
    await rest.return(undefined)
  }
}

/** The pieces without what is outside of the range. */
async function* clipped(pieces: AsyncIterable<Piece>, start: number, end: number): AsyncGenerator<Buffer> {
  for await (const { at, bytes } of pieces) {
    const part = bytes.subarray(Math.max(0, start - at), Math.max(0, end - at))
    if (part.length > 0) yield part
  }
}

/** The entries from a place in the archive, or in its directory, on. */
async function* entriesFrom(
  db: Db,
  archiveId: string,
  { offset = null, central = null }: { offset?: number | null; central?: number | null },
): AsyncGenerator<Entry> {
  let after = -1
  for (let isFirst = true; ; isFirst = false) {
    const page = await sql.listArchiveEntries(db, {
      archive_id: archiveId,
      offset: isFirst ? offset : null,
      central: isFirst ? central : null,
      after,
      limit: pageSize,
    })
    yield* page
    if (page.length < pageSize) return
    after = page.at(-1)!.number
  }
}

function zipEntryOf({ name, bytes, modified_at: modifiedAt, offset }: Entry) {
  return { name, bytes, modifiedAt: new Date(modifiedAt), offset }
}
