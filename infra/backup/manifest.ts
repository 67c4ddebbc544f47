// The manifest of a backup: what the backup consists of. It is written last, so a backup without one is
// incomplete.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RowFile } from './copy.ts'
import { BackupError } from './errors.ts'
import type { SequenceValue, Table } from './catalog.ts'

export interface TableFile extends Table, RowFile {
  file: string
}

export interface Manifest {
  format: 1
  id: string
  database_id: string
  /** The time of the snapshot. */
  created_at: string
  finished_at: string
  /** The version of the server that made the backup. */
  version: string
  postgres: string
  /** The names of the migrations of the database. */
  migrations: string[]
  sequences: SequenceValue[]
  tables: TableFile[]
  /** The jobs of a backup before the baseline. Later they are a table. */
  jobs?: RowFile & { file: string }
  /** The list of blobs: key, bytes, SHA-256. */
  blobs: RowFile & { file: string; total_bytes: number }
  /** Blobs that the file store had lost already. */
  missing_blobs: string[]
}

export const manifestFile = 'manifest.json'

/** @throws BackupError for a damaged manifest, and for one of a later version. */
export function parseManifest(text: string, location: string): Manifest {
  let manifest: Manifest
  try {
    manifest = JSON.parse(text) as Manifest
  } catch {
    throw new BackupError(`The ${manifestFile} of the backup ${location} is damaged: use another backup.`)
  }
  if (manifest.format !== 1)
    throw new BackupError(
      `The backup ${location} has the format ${manifest.format}, which this version does not know: restore ` +
        `it with version ${manifest.version} or later.`,
    )
  return manifest
}

/** The complete backups in a folder, the oldest first. */
export async function listBackups(target: string): Promise<string[]> {
  const names = await readdir(target).catch(() => [] as string[])
  const complete: string[] = []
  for (const name of names.sort()) {
    const found = await readFile(join(target, name, manifestFile)).then(
      () => true,
      () => false,
    )
    if (found) complete.push(join(target, name))
  }
  return complete
}
