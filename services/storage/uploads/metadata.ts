// What a client of tus says of a file in Upload-Metadata: pairs of a key and a value in Base64. The keys that we know are held
// against the same rules as the fields of a form.
import { operations } from '../../../generated/operations.ts'
import type { components } from '../../../generated/types.ts'
import { ApiError, invalidRequest, type Problem } from '../../../infra/errors.ts'
import { parseStrictJson } from '../../../infra/validation/strict-json.ts'
import { check } from '../../../infra/validation/validators.ts'

type Fields = Omit<components['schemas']['FileUpload'], 'file'>

export interface UploadFields extends Fields {
  name: string
  declaredType: string | null
}

/** By the key of the header, in the order of preference where two mean the same. */
const fieldOf = {
  name: 'name',
  filename: 'name',
  project_id: 'project_id',
  path: 'path',
  visibility: 'visibility',
  metadata: 'metadata',
  tags: 'tags',
  expires_at: 'expires_at',
  sha256: 'sha256',
} as const

/** Throws 400 with all that is wrong. */
export function readUploadMetadata(header: string): UploadFields {
  const problems: Problem[] = []
  const pairs = pairsOf(header, problems)
  const fields: Record<string, unknown> = {}
  for (const [key, field] of Object.entries(fieldOf)) {
    const text = pairs.get(key)
    if (text === undefined || field in fields) continue
    try {
      fields[field] =
        field === 'metadata' ? parseStrictJson(Buffer.from(text)) : field === 'tags' ? tagsOf(text) : text
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      problems.push({ field, constraint: 'type', message: `${field} must be JSON`, location: 'header' })
    }
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
  const type = pairs.get('filetype') ?? pairs.get('type') ?? ''
  return {
    ...(fields as Fields & { name: string }),
    declaredType: type === '' || type.length > 255 ? null : type,
  }
}

function pairsOf(header: string, problems: Problem[]): Map<string, string> {
  const pairs = new Map<string, string>()
  const wrong = (constraint: string, message: string): void => {
    problems.push({ field: 'Upload-Metadata', constraint, message, location: 'header' })
  }
  for (const pair of header.split(',')) {
    const [key, value = '', ...rest] = pair.trim().split(' ')
    if (
      !/^[\x21-\x2b\x2d-\x7e]{1,100}$/.test(key) ||
      rest.length > 0 ||
      !/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value)
    ) {
      wrong(
        'format',
        'Upload-Metadata must be keys and values in Base64, such as `filename cmVwb3J0LnBkZg==`, separated by commas',
      )
    } else if (pairs.has(key)) {
      wrong('once', `${key} is given twice`)
    } else {
      const text = textOf(value)
      if (text === null)
        problems.push({
          field: key,
          constraint: 'well_formed',
          message: `${key} is not valid text`,
          location: 'header',
        })
      else pairs.set(key, text)
    }
  }
  return pairs
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textOf(base64: string): string | null {
  try {
    const text = utf8.decode(Buffer.from(base64, 'base64'))
    return text.includes('\0') ? null : text
  } catch {
    return null
  }
}

function tagsOf(text: string): unknown {
  if (text.trimStart().startsWith('[')) return parseStrictJson(Buffer.from(text))
  return text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '')
}
