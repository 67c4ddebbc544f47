// The places of files: a folder of a project or of the person, a search, the trash, and what others share.
// The address has the place.
import { useEffect, useRef, useState } from 'preact/hooks'
import { href } from '../../router.ts'
import { call, failureOf, type Failure } from '../../session.ts'

export interface Folder {
  id: string
  project_id: string | null
  parent_id: string | null
  name: string
  path: string
  created_by: string
  created_at: string
  updated_at: string
}

export interface Item {
  id: string
  kind: 'folder' | 'file'
  name: string
  /** The folder or file of the API. */
  data: any
}

export interface Place {
  kind: 'files' | 'search' | 'shared' | 'trash'
  /** Null for the person's own files. */
  projectId: string | null
  folderId: string | null
  /** What is searched for. */
  q: string
}

const names = ['project_id', 'folder_id', 'q', 'place', 'view', 'item']

/** Whether the address has a place, and no other filters. */
export const isPlace = (query: URLSearchParams): boolean =>
  [...query.keys()].every((name) => names.includes(name)) && query.get('project_id') !== '*'

export function placeOf(query: URLSearchParams): Place {
  const q = query.get('q') ?? ''
  const named = query.get('place')
  return {
    kind: named === 'shared' || named === 'trash' ? named : q === '' ? 'files' : 'search',
    projectId: query.get('project_id'),
    folderId: query.get('folder_id'),
    q,
  }
}

export function addressOf(place: Place, others: Record<string, string | null> = {}): string {
  const { kind, projectId, folderId, q } = place
  const all = {
    project_id: projectId,
    place: kind === 'shared' || kind === 'trash' ? kind : null,
    folder_id: folderId,
    q: kind === 'search' ? q : null,
    ...others,
  }
  const set = Object.entries(all).filter((entry): entry is [string, string] => (entry[1] ?? '') !== '')
  return href('/storage/files', Object.fromEntries(set), {})
}

export const inFolder = (place: Place, folderId: string | null): Place => ({
  ...place,
  kind: place.kind === 'shared' ? 'shared' : 'files',
  folderId,
  q: '',
})

const known = new Map<string, Folder>()

export const remember = (folder: Folder): void => void known.set(folder.id, folder)

export async function folderOf(id: string): Promise<Folder> {
  const found = known.get(id) ?? ((await call('getFolder', { path: { id } })).data as Folder)
  remember(found)
  return found
}

/** Dispatches `folders` and `files` when what the page has done changed some. */
export const storage = new EventTarget()

export function changed(...types: Array<'folders' | 'files'>): void {
  if (types.includes('folders')) known.clear()
  for (const type of types) storage.dispatchEvent(new Event(type))
}

/** The folders from the root to this one. Those that the person may not see are left out. */
export async function trailOf(id: string | null): Promise<Folder[]> {
  const trail: Folder[] = []
  for (let next = id; next !== null;) {
    let folder: Folder
    try {
      folder = await folderOf(next)
    } catch (error) {
      // Above a shared folder are folders of others.
      if (trail.length === 0) throw error
      break
    }
    trail.unshift(folder)
    next = folder.parent_id
  }
  return trail
}

const fileItem = (file: any): Item => ({ id: file.id, kind: 'file', name: file.name, data: file })

export function folderItem(folder: Folder): Item {
  remember(folder)
  return { id: folder.id, kind: 'folder', name: folder.name, data: folder }
}

interface Page<T> {
  items: T[]
  next: string | null
}

export const pageSize = 100

/** One page of the items of a place. */
export async function itemsOf(place: Place, cursor: string | null): Promise<Page<Item>> {
  const { kind, projectId, folderId, q } = place
  const query = { limit: pageSize, ...(projectId && { project_id: projectId }), ...(cursor && { cursor }) }
  if (kind === 'trash') {
    const { data } = await call('listTrash', { query: { ...query, order: 'desc' } })
    return { items: data.data.map(fileItem), next: data.pagination.next_cursor }
  }
  if (kind === 'search') {
    const byName = { q, sort: 'name', order: 'asc' }
    const [files, folders] = await Promise.all([
      call('listFiles', { query: { ...query, ...byName } }),
      cursor === null ? call('listFolders', { query: { ...query, ...byName, parent_id: '*' } }) : null,
    ])
    return {
      items: [...(folders?.data.data.map(folderItem) ?? []), ...files.data.data.map(fileItem)],
      next: files.data.pagination.next_cursor,
    }
  }
  const { data } = await call('listStorageItems', {
    query: { ...query, ...(folderId && { folder_id: folderId }) },
  })
  return {
    items: data.data.map(({ type, folder, file }: any) =>
      type === 'folder' ? folderItem(folder) : fileItem(file),
    ),
    next: data.pagination.next_cursor,
  }
}

export interface Pages<T> {
  /** Null until the first page is there. */
  items: T[] | null
  next: string | null
  failure: Failure | null
  loading: boolean
  more: () => void
  reload: () => void
}

/** A list that is loaded page by page. A reload loads as many items as were shown. */
export function usePages<T>(load: (cursor: string | null) => Promise<Page<T>>, key: string): Pages<T> {
  const [state, setState] = useState<{
    key: string
    items: T[] | null
    next: string | null
    failure: Failure | null
  }>({
    key: '',
    items: null,
    next: null,
    failure: null,
  })
  const [loading, setLoading] = useState(true)
  const run = useRef(0)
  async function fill(atLeast: number, from: { items: T[]; next: string | null } | null): Promise<void> {
    const mine = ++run.current
    setLoading(true)
    try {
      let { items, next } = from ?? (await load(null))
      if (from !== null && next !== null) {
        const page = await load(next)
        ;[items, next] = [[...items, ...page.items], page.next]
      }
      while (next !== null && items.length < atLeast) {
        const page = await load(next)
        ;[items, next] = [[...items, ...page.items], page.next]
      }
      if (mine === run.current) setState({ key, items, next, failure: null })
    } catch (error) {
      const failure = failureOf(error)
      // Without an answer what is shown may still be right.
      if (mine === run.current)
        setState((before) => ({
          ...(before.key === key && (failure.code === null || from !== null)
            ? before
            : { items: null, next: null }),
          key,
          failure,
        }))
    } finally {
      if (mine === run.current) setLoading(false)
    }
  }
  useEffect(() => void fill(0, null), [key])
  const isCurrent = state.key === key
  const { items, next, failure } = isCurrent ? state : { items: null, next: null, failure: null }
  return {
    items,
    next,
    failure,
    loading: loading || !isCurrent,
    more: () => {
      if (!loading && next !== null) void fill(0, { items: items!, next })
    },
    reload: () => void fill(items?.length ?? 0, null),
  }
}
