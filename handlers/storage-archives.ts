// Handlers of archives.
import { create as contentDisposition } from 'content-disposition'
import { notFound } from '../infra/errors.ts'
import type { Handlers } from '../services/handler.ts'
import { openWorkspace } from '../services/projects/workspaces.ts'
import { insertArchive, openArchive, toArchiveContent } from '../services/storage/archives.ts'
import { openFile } from '../services/storage/files.ts'
import { normalizedPath } from '../services/storage/folders.ts'

export const storageArchives = {
  async createArchive(request, { db }) {
    const { project_id: projectId = null, file_ids: fileIds = null, path = '', name } = request.body
    return await db.transaction(async (tx) => {
      const workspaceId = await openWorkspace(tx, request, projectId)
      const archive = await insertArchive(
        tx,
        {
          projectId,
          ownerId: request.principal.userId,
          workspaceId,
          name: name ?? 'files.zip',
          fileIds,
          path: normalizedPath(path),
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
    const disposition = contentDisposition(archive.name, { type: 'attachment' })
    return {
      status: 200,
      body: toArchiveContent(db, await storage.blobStore(), archive, disposition),
    }
  },
} satisfies Handlers<'storage-archives'>
