// The items of a folder: its folders by name, then its files by name. Each page reads an index from the place
// where the page before ended, so that it takes no longer in a folder with many files.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Db } from '../../infra/database/database.ts'
import { decodeCursor, encodeCursor, fingerprintOf, invalidCursor } from '../../infra/database/cursor.ts'
import { isInvalidValue } from '../../infra/database/errors.ts'

type Item = components['schemas']['StorageItem']

/** The place of an item in the list: its kind, and its name and id among those of its kind. */
type Place = [kind: 'folder' | 'file', name: string, id: string]

export interface ItemsQuery {
  limit: number
  cursor?: string
}

/** One page of the items of a folder; null for the root. */
export async function listItems(
  db: Db,
  workspaceId: string,
  folderId: string | null,
  { limit, cursor }: ItemsQuery,
): Promise<components['schemas']['StorageItemList']> {
  const fingerprint = fingerprintOf('storage/items', workspaceId, folderId)
  const from: Place = cursor === undefined ? ['folder', '', ''] : placeOf(cursor, fingerprint)
  const read = { workspace_id: workspaceId, folder_id: folderId, limit: limit + 1 }
  const found = await readItems(db, from, read).catch((error: unknown) => {
    throw cursor !== undefined && isInvalidValue(error) ? invalidCursor() : error
  })
  const page = found.slice(0, limit)
  const hasMore = found.length > limit
  const next = hasMore ? encodeCursor(fingerprint, { page: 1, values: page.at(-1)!.place }) : null
  return { data: page.map(({ item }) => item), pagination: { has_more: hasMore, next_cursor: next } }
}

interface Read {
  workspace_id: string
  folder_id: string | null
  limit: number
}

interface Placed {
  item: Item
  place: Place
}

async function readItems(db: Db, [kind, name, id]: Place, read: Read): Promise<Placed[]> {
  const folders =
    kind === 'file' ? [] : await sql.listFoldersOfLevel(db, { ...read, after_name: name, after_id: id })
  const items = folders.map(({ sort_name: sortName, ...folder }): Placed => ({
    item: { type: 'folder', id: folder.id, folder },
    place: ['folder', sortName, folder.id],
  }))
  if (items.length === read.limit) return items
  const after = kind === 'file' ? { after_name: name, after_id: id } : { after_name: '', after_id: '' }
  const files = await readFiles(db, { ...read, ...after, limit: read.limit - items.length })
  for (const { sort_name: sortName, ...file } of files)
    items.push({ item: { type: 'file', id: file.id, file }, place: ['file', sortName, file.id] })
  return items
}

async function readFiles(
  db: Db,
  { folder_id: folderId, ...read }: Read & { after_name: string; after_id: string },
): Promise<sql.ListFilesOfRootRow[]> {
  if (folderId === null) return await sql.listFilesOfRoot(db, read)
  return await sql.listFilesOfFolder(db, { ...read, folder_id: folderId })
}

function placeOf(cursor: string, fingerprint: string): Place {
  const { values } = decodeCursor(cursor, fingerprint)
  const [kind, name, id] = values
  if (values.length !== 3 || (kind !== 'folder' && kind !== 'file')) throw invalidCursor()
  return [kind, name, id]
}
