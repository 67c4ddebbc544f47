// Reads a form (multipart/form-data, RFC 7578): its fields first, then its file as a stream. The stream ends only when the
// whole form has arrived and was well-formed, so that whoever waits for its end has nothing else to ask.
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { MultipartFields, MultipartFile } from '@fastify/multipart'
import { ApiError, invalidField, unsupportedMediaType, type Problem } from '../../infra/errors.ts'
import type { FilePart, FormInfo } from '../../infra/contract/operation.ts'
import { parseStrictJson } from '../../infra/validation/strict-json.ts'

export interface Form {
  fields: Record<string, unknown>
  /** What is wrong with it whatever its schema says. */
  problems: Problem[]
  /** null where there is none. */
  file: FilePart | null
  /** The name that the client gives the file. */
  filename: string | undefined
}

type Part = MultipartFile | Extract<MultipartFields[string], { type: 'field' }>
type Parts = AsyncIterator<Part>

// Few: a form is what a person fills in.
const limits = { fields: 50, files: 2, parts: 60, fieldSize: 64 * 1024, fileSize: Infinity }
const longestName = 100

/** What RFC 7578 leaves of Content-Transfer-Encoding: names for no encoding. */
const plain = new Set(['7bit', '8bit', 'binary'])

export async function readForm(request: FastifyRequest, info: FormInfo): Promise<Form> {
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding !== 'identity') throw unsupportedMediaType(['multipart/form-data with no Content-Encoding'])
  // Names are taken as they are said: one with a path in it is refused and not cut.
  const parts = (request.parts({ limits, preservePath: true }) as AsyncIterable<Part>)[Symbol.asyncIterator]()
  const form: Form = { fields: {}, problems: [], file: null, filename: undefined }
  for (let part = await next(parts); part !== null; part = await next(parts)) {
    const broken = brokenPart(part)
    if (broken !== null) throw broken
    if (part.type === 'file') {
      if (part.fieldname !== info.file) throw unknown(part.fieldname)
      form.filename = part.filename
      if (isBroken(form.filename))
        form.problems.push({
          field: info.file,
          constraint: 'well_formed',
          message: 'the filename is not valid text',
          location: 'body',
        })
      form.file = {
        declaredType: declared(part.mimetype),
        content: Readable.from(contentOf(part, parts), { objectMode: false, highWaterMark: 64 * 1024 }),
      }
      break
    }
    addField(form, info, part)
  }
  if (form.file === null)
    form.problems.push({
      field: info.file,
      constraint: 'required',
      message: `${info.file} is required, as a part with a filename`,
      location: 'body',
    })
  return form
}

function addField({ fields, problems }: Form, info: FormInfo, part: Extract<Part, { type: 'field' }>): void {
  const field = part.fieldname
  const problem = (constraint: string, message: string): void => {
    problems.push({ field, constraint, message, location: 'body' })
  }
  if (part.valueTruncated) return problem('maxLength', `${field} is longer than ${limits.fieldSize} bytes`)
  if (field === info.file) return problem('file', `${field} must be sent as a file, with a filename`)
  const text = textOf(part.value)
  if (text === null) return problem('max_depth', `${field} is nested too deep`)
  if (isBroken(text)) return problem('well_formed', `${field} is not valid text`)
  let value: unknown = text
  if (info.json.includes(field)) {
    value = undefined
    try {
      value = parseStrictJson(Buffer.from(text))
    } catch {}
    if (value === undefined) return problem('type', `${field} must be JSON`)
  }
  if (info.lists.includes(field)) value = [...((fields[field] as unknown[] | undefined) ?? []), value]
  else if (Object.hasOwn(fields, field)) return problem('once', `${field} is given twice`)
  fields[field] = value
}

/** A part that is declared to be JSON comes parsed. null where it is nested too deep to be written again. */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value)
  } catch {
    return null
  }
}

function brokenPart({ fieldname, encoding }: Part): ApiError | null {
  if (typeof fieldname !== 'string' || fieldname === '')
    return invalidField('body', 'name', 'A part has no name.')
  if (fieldname.length > longestName || isBroken(fieldname))
    return invalidField(
      'body',
      'name',
      `A part has a name that is longer than ${longestName} or not valid text.`,
    )
  if (!plain.has(encoding))
    return invalidField(
      fieldname,
      'encoding',
      `${fieldname} must be sent as it is, with no Content-Transfer-Encoding`,
    )
  return null
}

/** A replacement character stands where the bytes were no UTF-8. */
function isBroken(text: string | undefined): boolean {
  return text !== undefined && /[\0\ufffd]/.test(text)
}

async function* contentOf(part: MultipartFile, parts: Parts): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of part.file) yield chunk as Buffer
  } catch (error) {
    throw asFormError(error)
  }
  const after = await next(parts)
  if (after === null) return
  throw (
    brokenPart(after) ??
    invalidField(
      after.fieldname,
      'order',
      `${after.fieldname} comes after the file: the file is one, and the last part`,
    )
  )
}

async function next(parts: Parts): Promise<Part | null> {
  try {
    const { done, value } = await parts.next()
    return done === true ? null : value
  } catch (error) {
    throw asFormError(error)
  }
}

/** What is no media type says nothing. */
function declared(type: string | undefined): string | null {
  return type !== undefined && type.length <= 255 && /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(type) ? type : null
}

function unknown(field: string): ApiError {
  return invalidField(field, 'additionalProperties', `Unknown field: ${field}`)
}

/** Whatever the parser says: the client sent no form. */
function asFormError(error: unknown): unknown {
  if (error instanceof ApiError) return error
  const { code = '', message = '' } = error as { code?: string; message?: string }
  if (/^FST_(PARTS|FIELDS|FILES)_LIMIT$/.test(code))
    return invalidField('body', 'max_parts', `A form has at most ${limits.fields} fields and one file.`)
  if (code === 'FST_PROTO_VIOLATION')
    return invalidField('body', 'additionalProperties', 'The form has a part with an unknown name.')
  if (code === 'FST_INVALID_JSON_FIELD_ERROR')
    return invalidField('body', 'type', 'A part that is declared to be JSON is none.')
  if (/boundary/i.test(message)) return invalidField('Content-Type', 'boundary', 'The form has no boundary.')
  return invalidField('body', 'multipart', 'The form is cut off or malformed.')
}
