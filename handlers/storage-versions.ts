// Handlers of the versions of files.
import type { Handlers } from '../services/handler.ts'
import { toDownload } from '../services/storage/download.ts'
import {
  fileOfVersion,
  findVersion,
  listVersions,
  restoreVersion,
  toVersion,
} from '../services/storage/file-versions.ts'
import { openFile } from '../services/storage/files.ts'
import * as sql from '../generated/sql/storage.ts'

export const storageVersions = {
  async listFileVersions(request, { db }) {
    return { status: 200, body: await listVersions(db, await openFile(db, request), request.query) }
  },

  async getFileVersion(request, { db }) {
    const file = await openFile(db, request)
    return { status: 200, body: toVersion(await findVersion(db, file, request.params.version_id)) }
  },

  async downloadFileVersion(request, { db, storage }) {
    const file = await openFile(db, request)
    const version = await findVersion(db, file, request.params.version_id)
    const options = { ...request.query, onStart() {}, cacheable: false }
    return {
      status: 200,
      body: toDownload(db, await storage.blobStore(), fileOfVersion(file, version), options),
    }
  },

  async restoreFileVersion(request, { db, config, events }) {
    const { userId } = request.principal
    return await db.transaction(async (tx) => {
      const file = await openFile(tx, request, { lock: true })
      const versionId = request.params.version_id
      return { status: 200, body: await restoreVersion(tx, { config, events }, file, { versionId, userId }) }
    })
  },

  async deleteFileVersion(request, { db }) {
    return await db.transaction(async (tx) => {
      const file = await openFile(tx, request, { lock: true })
      const version = await findVersion(tx, file, request.params.version_id, { lock: true })
      request.ifMatch(toVersion(version))
      await sql.deleteVersion(tx, { id: version.id })
      return { status: 204 }
    })
  },
} satisfies Handlers<'storage-versions'>
