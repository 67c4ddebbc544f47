// The list of blobs in a backup.
import { readRows } from '../../infra/backup/copy.ts'
import type { Manifest } from '../../infra/backup/manifest.ts'
import type { ExpectedBlob } from './copy-blobs.ts'
import { readFileOf, type Backup } from './target.ts'

/** The blobs of a backup. */
export async function* readBlobList(
  backup: Backup,
  { blobs }: Pick<Manifest, 'blobs'>,
): AsyncGenerator<ExpectedBlob> {
  for await (const [key, bytes, sha256] of readRows(await readFileOf(backup, blobs.file)))
    yield { key, bytes: Number(bytes), sha256 }
}
