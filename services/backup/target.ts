// Where backups are: a folder, or `s3://bucket/prefix`. Each backup is a folder in it; all share the blobs.
import type { Readable } from 'node:stream'
import { BackupError } from '../../infra/backup/errors.ts'
import type { RowFile } from '../../infra/backup/copy.ts'
import { manifestFile, parseManifest, type Manifest } from '../../infra/backup/manifest.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'

export interface BackupTarget {
  /** The folder or the address, for messages. */
  readonly location: string
  readonly blobs: BlobStore
  /** A folder for the blobs of a backup on their way, on the disk of `blobs` if these are on disk. */
  scratchFolder(name: string): string
  /** @returns a function that releases the lock, or null while another backup is being written. */
  lock(): Promise<(() => Promise<void>) | null>
  /** The names of the backups, the oldest first. */
  list(): Promise<{ complete: string[]; unfinished: string[] }>
  begin(name: string): Promise<void>
  /** Adds a file that `write` creates at a path on disk. It is durable when the promise resolves. */
  addFile<T extends RowFile>(name: string, file: string, write: (path: string) => Promise<T>): Promise<T>
  /** Completes the backup: all other files and blobs are durable. */
  addManifest(name: string, content: string): Promise<void>
  /** null for a missing file. */
  read(name: string, file: string): Promise<Readable | null>
  /** Removes a backup, its manifest first: without a manifest, it is no longer a backup. */
  remove(name: string): Promise<void>
  close(): Promise<void>
}

/** One backup in its target. */
export interface Backup {
  target: BackupTarget
  name: string
}

export const backupName = /^\d{4}-\d\d-\d\dT[\d-]+Z$/

export function locationOf({ target, name }: Backup): string {
  return `${target.location}/${name}`
}

/** @throws BackupError for a missing file. */
export async function readFileOf(backup: Backup, file: string): Promise<Readable> {
  const content = await backup.target.read(backup.name, file)
  if (content === null)
    throw new BackupError(`The file ${file} of the backup ${locationOf(backup)} is missing.`)
  return content
}

/** @throws BackupError for a backup without a readable manifest. */
export async function readManifest(backup: Backup): Promise<Manifest> {
  const location = locationOf(backup)
  const content = await backup.target.read(backup.name, manifestFile)
  if (content === null)
    throw new BackupError(
      `${location} is no complete backup: it has no ${manifestFile}, which is written when a backup ends.`,
    )
  const chunks: Buffer[] = []
  for await (const chunk of content as AsyncIterable<Buffer>) chunks.push(chunk)
  return parseManifest(Buffer.concat(chunks).toString(), location)
}
