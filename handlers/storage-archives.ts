// Handlers of archives.
import { create as contentDisposition } from 'content-disposition'
import { invalidField, notFound } from '../infra/errors.ts'
import type { Handlers } from '../services/handler.ts'
import { insertArchive, openArchive, toArchiveContent } from '../services/storage/archives.ts'
import { openFile } from '../services/storage/files.ts'
import { findFolder, normalizedPath, openPlace, requireOneFolder } from '../services/storage/folders.ts'

export const storageArchives = {
  async createArchive(request, { db }) {
    const { project_id: projectId, file_ids: fileIds = null, folder_id: folderId, name } = request.body
    requireOneSource(request.body)
    return await db.transaction(async (tx) => {
      const place = await openPlace(tx, request, { projectId, folderId })
      const { workspaceId } = place
      const folder = folderId === undefined ? undefined : await findFolder(tx, workspaceId, folderId)
      const archive = await insertArchive(
        tx,
        {
          projectId: place.projectId,
          ownerId: request.principal.userId,
          workspaceId,
          name: name ?? 'files.zip',
          fileIds,
          path: folder?.path ?? normalizedPath(request.body.path ?? ''),
        },
        async (id) => {
          await openFile(tx, { ...request, params: { id } })
          throw notFound('file', id, { message: `The file ${id} is in another project.` })
        },
      )
      return { status: 201, body: archive, headers: { location: `/v1/storage/archives/${archive.id}` } }
    })
  },

  async getArchive(request, { db }) {
    const { directory: _directory, ...archive } = await openArchive(db, request)
    return { status: 200, body: archive }
  },

  async downloadArchive(request, { db, storage }) {
    const archive = await openArchive(db, request)
    const options = {
      disposition: contentDisposition(archive.name, { type: 'attachment' }),
      reader: { account: request.principal.accountId, signal: request.signal() },
    }
    return { status: 200, body: toArchiveContent(db, await storage.blobStore(), archive, options) }
  },
} satisfies Handlers<'storage-archives'>

/** @throws 400 for both files and a folder, or a folder both by its id and by its path. */
function requireOneSource({
  file_ids: fileIds,
  ...folder
}: {
  file_ids?: string[]
  folder_id?: string
  path?: string
}): void {
  requireOneFolder(folder)
  const field = folder.path === undefined ? 'folder_id' : 'path'
  if (fileIds !== undefined && folder[field] !== undefined)
    throw invalidField(field, 'exclusive', `file_ids and ${field} exclude each other: send one of them.`)
}
