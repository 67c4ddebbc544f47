// A blob that the file store has lost, although a row refers to it. Requests for it get 503, and the log
// names the blob once in the life of a process.
import { ApiError } from '../../infra/errors.ts'
import type { BlobNotFound } from './blobs/blob-store.ts'

const logged = new Set<string>()
const maxRemembered = 10_000

export function missingContent(resource: string, cause: BlobNotFound): ApiError {
  const isLogged = logged.has(cause.key)
  if (logged.size < maxRemembered) logged.add(cause.key)
  // The message says everything; the stack is always the same.
  cause.stack = `${cause.name}: ${cause.message}`
  const error = new ApiError(
    503,
    'UNAVAILABLE',
    `The content of this ${resource} is missing in the file store until the operator restores it.`,
    { constraint: 'content' },
    { 'retry-after': '3600' },
  )
  return Object.assign(error, { cause, isLogged })
}
