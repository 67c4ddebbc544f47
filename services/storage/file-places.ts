// The place of a file: its folder and name in a workspace. Several files may have one place, unless a request
// says otherwise. Folders and names are case-sensitive and compared in the Unicode form NFC.
import { extname } from 'node:path'
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/storage.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { conflict } from '../../infra/errors.ts'
import { truncateText } from '../../infra/text.ts'
import { lockFolders, type FolderPlace } from './folders.ts'
import { discardFiles, type TrashServices } from './trash.ts'

export type FileConflictPolicy = components['schemas']['FileConflictPolicy']

export interface FilePlace {
  workspaceId: string
  folder: FolderPlace
  name: string
  /** The file that takes the place, if it exists already: it is no conflict. */
  besides?: string
}

interface ClaimedPlace extends FilePlace {
  /** The user who takes the place. */
  userId: string
}

const maxNameLength = 255
/** A longer extension is part of the name. */
const maxExtensionLength = 20
/** The highest number that `rename` tries. */
const maxNumber = 10_000
/** How many files one request replaces. */
const maxReplaced = 100

/**
 * Makes the place free for a file, as the policy says. All transactions that claim a place in the workspace
 * wait for each other. Locks the storage of the workspace after its project, and before any file.
 * @returns the name that the file gets. @throws 409 if the place is taken.
 */
export async function claimPlace(
  tx: Transaction,
  services: TrashServices,
  place: ClaimedPlace,
  policy: FileConflictPolicy,
): Promise<string> {
  if (policy === 'duplicate') return place.name
  await lockFolders(tx, place.workspaceId)
  if (policy === 'fail') await requireFreePlace(tx, place)
  if (policy === 'replace') await discardFilesAt(tx, services, place)
  return policy === 'rename' ? await findFreeName(tx, place) : place.name
}

/** `requireFreePlace` for a path, whose folder may not exist. */
export async function requireFreePath(
  tx: Transaction,
  { path, ...place }: Omit<FilePlace, 'folder'> & { path: string },
): Promise<void> {
  const found = await sql.findFolderByPath(tx, { workspace_id: place.workspaceId, path })
  if (path === '' || found !== undefined)
    await requireFreePlace(tx, { ...place, folder: { id: found?.id ?? null, path } })
}

/** @throws 409 if another file has the place. Without a lock, one may get it the next moment. */
async function requireFreePlace(tx: Transaction, place: FilePlace): Promise<void> {
  const { is_taken: isTaken } = await sql.isNameTaken(tx, { ...columnsOf(place), name: place.name })
  if (isTaken) throw nameTaken(place)
}

async function discardFilesAt(tx: Transaction, services: TrashServices, place: ClaimedPlace): Promise<void> {
  const where = { ...columnsOf(place), name: place.name, limit: maxReplaced + 1 }
  const files = await sql.lockFilesAtPlace(tx, where)
  if (files.length > maxReplaced) throw nameTaken(place)
  await discardFiles(tx, services, files, place.userId)
}

/** The name, or the first free name of the form `report (2).pdf`. */
async function findFreeName(tx: Transaction, place: FilePlace): Promise<string> {
  for (let first = 1, count = 10; first <= maxNumber; first += count, count *= 10) {
    const names = Array.from({ length: count }, (_, i) => numberedName(place.name, first + i))
    const found = await sql.findFreeName(tx, { ...columnsOf(place), names })
    if (found !== undefined) return found.name
  }
  throw nameTaken(place)
}

/** The name with a number before its extension, cut to the length of a name. */
function numberedName(name: string, number: number): string {
  if (number === 1) return name
  const { start, end } = aroundNumber(name, String(number).length)
  return start + number + end
}

/** What a name with a number of so many digits has before the number, and after it. */
export function aroundNumber(name: string, digits: number): { start: string; end: string } {
  const extension = extname(name).length > maxExtensionLength ? '' : extname(name)
  const maxLength = maxNameLength - ` (${'0'.repeat(digits)})${extension}`.length
  const stem = truncateText(name.slice(0, name.length - extension.length), maxLength)
  return { start: `${stem} (`, end: `)${extension}` }
}

function columnsOf({ workspaceId, folder, besides = '' }: FilePlace) {
  return { workspace_id: workspaceId, folder_id: folder.id, besides }
}

function nameTaken({ folder, name }: FilePlace): Error {
  const where = folder.id === null ? 'without a folder' : `in the folder ${folder.path}`
  return conflict('name_taken', `Another file ${where} has the name ${name}.`, 'name')
}
