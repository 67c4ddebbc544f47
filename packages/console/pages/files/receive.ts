// Files that come to a folder of the page become uploads.
import { call, failureOf } from '../../session.ts'
import { addFile, fileTarget, sharedTarget, type Target } from '../uploads.ts'
import type { Refused } from './actions.ts'
import { folderOf, type Place } from './place.ts'

interface Received {
  file: File
  /** The folders that the file was in, such as `photos/2026`. */
  folder: string
}

/** @returns the files for which there is no folder. */
export async function receive(files: Received[], place: Place, folderId: string | null): Promise<Refused[]> {
  const refused: Refused[] = []
  const targets = new Map<string, Promise<Target>>()
  const made: Made = new Map()
  for (const { file, folder } of files) {
    if (!targets.has(folder)) targets.set(folder, targetOf(place, folderId, folder, made))
    try {
      addFile(file, await targets.get(folder)!)
    } catch (error) {
      refused.push({ name: file.name, message: failureOf(error).message })
    }
  }
  return refused
}

async function targetOf(
  { kind, projectId }: Place,
  folderId: string | null,
  inner: string,
  made: Made,
): Promise<Target> {
  if (kind === 'shared') return sharedTarget(await folderIn(folderId!, inner, made))
  const project: Record<string, string> = projectId === null ? {} : { project_id: projectId }
  if (inner === '') return fileTarget({ ...project, ...(folderId !== null && { folder_id: folderId }) })
  const above = folderId === null ? '' : (await folderOf(folderId)).path
  return fileTarget({ ...project, path: [above, inner].filter(Boolean).join('/') })
}

/** The folders that one upload has created. The next upload may find them deleted. */
type Made = Map<string, Promise<string>>

/** The folder at a path below one that is shared. It is created if it does not exist. */
async function folderIn(parentId: string, path: string, made: Made): Promise<string> {
  if (path === '') return parentId
  const names = path.split('/')
  const name = names.pop()!
  const above = await folderIn(parentId, names.join('/'), made)
  const key = `${above}/${name}`
  if (!made.has(key)) made.set(key, ensureFolder(above, name))
  return await made.get(key)!
}

async function ensureFolder(parentId: string, name: string): Promise<string> {
  try {
    return (await call('createFolder', { body: { parent_id: parentId, name } })).data.id
  } catch (error) {
    if (failureOf(error).constraint !== 'name_taken') throw error
    for (let cursor: string | null = null; ;) {
      const query = { folder_id: parentId, limit: 100, ...(cursor !== null && { cursor }) }
      const { data } = (await call('listStorageItems', { query })) as { data: any }
      const found = data.data.find(({ folder }: any) => folder?.name === name.normalize('NFC'))
      if (found !== undefined) return found.id
      cursor = data.pagination.next_cursor
      if (cursor === null) throw error
    }
  }
}
