// Handlers of uploads whose parts go to the bucket.
import type { Handlers } from '../services/handler.ts'
import { completeDirectUpload, signParts } from '../services/storage/uploads/direct.ts'
import { accessOf, toUpload } from '../services/storage/uploads/uploads.ts'

export const storageDirectUploads = {
  async signUploadParts(request, services) {
    return { status: 200, body: await signParts(services.db, services, accessOf(request, request.params.id)) }
  },

  async completeUpload(request, services) {
    const access = accessOf(request, request.params.id)
    return { status: 200, body: toUpload(await completeDirectUpload(services.db, services, access)) }
  },
} satisfies Handlers<'storage-direct-uploads'>
