// Handlers of uploads whose parts go to the bucket.
import type { Handlers } from '../services/handler.ts'
import { completeDirectUpload, signParts } from '../services/storage/uploads/direct.ts'
import { toUpload } from '../services/storage/uploads/uploads.ts'

export const storageDirectUploads = {
  async signUploadParts(request, services) {
    return { status: 200, body: await signParts(services.db, services, request) }
  },

  async completeUpload(request, services) {
    return { status: 200, body: toUpload(await completeDirectUpload(services.db, services, request)) }
  },
} satisfies Handlers<'storage-direct-uploads'>
