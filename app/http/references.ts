// Errors about a resource that the request refers to: `details` names the field of the body or query.
import { Readable } from 'node:stream'
import { ApiError } from '../../infra/errors.ts'
import { fieldName } from '../../infra/validation/json-pointer.ts'
import { StreamedForm } from './streamed-body.ts'
import type { Input } from './validation.ts'

/** Adds the field that contains the id which the error is about. The id of the path needs no field. */
export function nameReference(error: unknown, { query, body }: Input): unknown {
  if (!(error instanceof ApiError) || error.resourceId === undefined || error.details.field !== undefined)
    return error
  const fields = body instanceof StreamedForm ? body.received : body
  const path = pathOf(query, error.resourceId) ?? pathOf(fields, error.resourceId)
  if (path !== null) error.details = { constraint: 'exists', ...error.details, field: fieldName(path) }
  return error
}

/** The keys at which the value contains the text, or null. Files and other streams are not searched. */
function pathOf(value: unknown, text: string): string[] | null {
  if (value === text) return []
  if (typeof value !== 'object' || value === null || value instanceof Readable) return null
  for (const [key, member] of Object.entries(value)) {
    const path = pathOf(member, text)
    if (path !== null) return [key, ...path]
  }
  return null
}
