// Parses the Upload-Metadata header of tus: keys with Base64 values. Known keys are validated like the fields
// of an upload form.
import { operations } from '../../../generated/operations.ts'
import type { components } from '../../../generated/types.ts'
import { invalidRequest, type Problem } from '../../../infra/errors.ts'
import { parseField } from '../../../infra/validation/form-values.ts'
import { check } from '../../../infra/validation/validators.ts'
import { requireOneFolder } from '../folders.ts'

type Fields = Omit<components['schemas']['FileUpload'], 'file'>

export interface UploadFields extends Fields {
  name: string
  declaredType: string | null
}

/** The field for each known key. Where two keys mean the same field, the first one wins. */
const fieldByKey = {
  name: 'name',
  filename: 'name',
  project_id: 'project_id',
  path: 'path',
  folder_id: 'folder_id',
  visibility: 'visibility',
  metadata: 'metadata',
  tags: 'tags',
  expires_at: 'expires_at',
  expires_in_seconds: 'expires_in_seconds',
  sha256: 'sha256',
  on_conflict: 'on_conflict',
} as const

/** The keys that an upload by a link may set: the link decides the rest. */
const linkFieldByKey = { name: 'name', filename: 'name', sha256: 'sha256' } as const

/** Throws 400 that lists every problem. */
export function parseUploadMetadata(header: string, { byLink = false } = {}): UploadFields {
  const problems: Problem[] = []
  const pairs = parsePairs(header, problems)
  const fields: Record<string, unknown> = {}
  for (const [key, field] of Object.entries(byLink ? linkFieldByKey : fieldByKey)) {
    const text = pairs.get(key)
    if (text === undefined || field in fields) continue
    const parsed = parseField(operations.uploadFile.body!.form!, field, text)
    if ('value' in parsed) fields[field] = parsed.value
    else
      problems.push({
        field,
        constraint: 'type',
        message: `${field} must ${parsed.must}`,
        location: 'header',
      })
  }
  check(operations.uploadFile.validators.form, fields, 'header', problems)
  if (fields.name === undefined)
    problems.push({
      field: 'filename',
      constraint: 'required',
      message: 'filename is required',
      location: 'header',
    })
  if (problems.length > 0) throw invalidRequest(problems)
  requireOneFolder(fields as Fields, 'header')
  const type = pairs.get('filetype') ?? pairs.get('type') ?? ''
  return {
    ...(fields as Fields & { name: string }),
    declaredType: type === '' || type.length > 255 ? null : type,
  }
}

const keyPattern = /^[\x21-\x2b\x2d-\x7e]{1,100}$/
const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

function parsePairs(header: string, problems: Problem[]): Map<string, string> {
  const pairs = new Map<string, string>()
  const report = (field: string, constraint: string, message: string): void => {
    problems.push({ field, constraint, message, location: 'header' })
  }
  for (const pair of header.split(',')) {
    const [key, value = '', ...rest] = pair.trim().split(' ')
    if (!keyPattern.test(key) || rest.length > 0 || !base64Pattern.test(value)) {
      report(
        'Upload-Metadata',
        'format',
        'Upload-Metadata must be a comma-separated list of keys with Base64 values, ' +
          'such as `filename cmVwb3J0LnBkZg==`',
      )
    } else if (pairs.has(key)) {
      report('Upload-Metadata', 'once', `The key ${key} must not be repeated`)
    } else {
      const text = decodeBase64(value)
      if (text === null) report(key, 'well_formed', `${key} must be valid UTF-8 text`)
      else pairs.set(key, text)
    }
  }
  return pairs
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** @returns null for invalid UTF-8 and for text that contains NUL, which PostgreSQL cannot store. */
function decodeBase64(value: string): string | null {
  try {
    const text = utf8.decode(Buffer.from(value, 'base64'))
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}
