// Reads a form (multipart/form-data, RFC 7578): its fields, in any order, and its file as a stream. The
// stream ends only when the whole form has arrived and is valid, so a reader that reaches the end needs no
// further check.
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { MultipartFields, MultipartFile } from '@fastify/multipart'
import { ApiError, invalidField, unsupportedMediaType, type Problem } from '../../infra/errors.ts'
import type { FilePart, FormInfo } from '../../infra/contract/operation.ts'
import { parseField } from '../../infra/validation/form-values.ts'

export interface Form {
  fields: Record<string, unknown>
  /** Problems that the schema does not cover. */
  problems: Problem[]
  /** null when the form has no file. */
  file: FilePart | null
  /** The filename that the client sent. */
  filename: string | undefined
}

type Part = MultipartFile | Extract<MultipartFields[string], { type: 'field' }>
type Parts = AsyncIterator<Part>

const limits = { fields: 50, files: 2, parts: 60, fieldSize: 64 * 1024, fileSize: Infinity }
const maxNameLength = 100

/** The values of Content-Transfer-Encoding that mean no encoding, as RFC 7578 allows. */
const identityEncodings = new Set(['7bit', '8bit', 'binary'])

/**
 * Reads the form up to its file. The rest is read after the content of the file: then all fields are in
 * `fields`, and `complete` throws if the form is invalid. Without a file, all of the form has been read.
 */
export async function readForm(
  request: FastifyRequest,
  info: FormInfo,
  complete: (form: Form) => void,
): Promise<Form> {
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding !== 'identity') throw unsupportedMediaType(['multipart/form-data without Content-Encoding'])
  // preservePath: a filename with a path is refused by validation, not shortened.
  const options = { limits, preservePath: true, isPartAFile: filePartsOf(info) }
  const parts = (request.parts(options) as AsyncIterable<Part>)[Symbol.asyncIterator]()
  const form: Form = { fields: {}, problems: [], file: null, filename: undefined }
  for (let part = await next(parts); part !== null; part = await next(parts)) {
    const error = partError(part)
    if (error !== null) throw error
    if (part.type === 'file') {
      if (part.fieldname !== info.file) throw unknownField(part.fieldname)
      form.filename = part.filename
      if (isInvalidText(form.filename))
        form.problems.push({
          field: info.file,
          constraint: 'well_formed',
          message: 'The filename is not valid text.',
          location: 'body',
        })
      const rest = async (): Promise<void> => {
        await readFieldsAfterFile(form, info, parts)
        complete(form)
      }
      form.file = {
        declaredType: mediaTypeOrNull(part.mimetype),
        content: Readable.from(contentOf(part, rest), { objectMode: false, highWaterMark: 64 * 1024 }),
      }
      return form
    }
    addField(form, info, part)
  }
  form.problems.push({
    field: info.file,
    constraint: 'required',
    message: `${info.file} is required, as a part with a filename`,
    location: 'body',
  })
  return form
}

/** A field of JSON is never a file: clients that send it as a Blob give it a filename. */
function filePartsOf({ json }: FormInfo) {
  return (
    field: string | undefined,
    contentType: string | undefined,
    filename: string | undefined,
  ): boolean =>
    !json.includes(field ?? '') && (contentType === 'application/octet-stream' || filename !== undefined)
}

async function readFieldsAfterFile(form: Form, info: FormInfo, parts: Parts): Promise<void> {
  for (let part = await next(parts); part !== null; part = await next(parts)) {
    const error = partError(part)
    if (error !== null) throw error
    if (part.type === 'file') {
      if (part.fieldname !== info.file) throw unknownField(part.fieldname)
      throw invalidField(info.file, 'once', 'A form can have only one file.')
    }
    addField(form, info, part)
  }
}

function addField({ fields, problems }: Form, info: FormInfo, part: Extract<Part, { type: 'field' }>): void {
  const field = part.fieldname
  const addProblem = (constraint: string, message: string): void => {
    problems.push({ field, constraint, message, location: 'body' })
  }
  if (part.valueTruncated) return addProblem('maxLength', `${field} is longer than ${limits.fieldSize} bytes`)
  if (field === info.file) return addProblem('file', `${field} must be a file with a filename`)
  const text = textOf(part.value)
  if (text === null) return addProblem('max_depth', `${field} is nested too deeply`)
  if (isInvalidText(text)) return addProblem('well_formed', `${field} is not valid text`)
  const parsed = parseField(info, field, text)
  if ('must' in parsed) return addProblem('type', `${field} must ${parsed.must}`)
  if (!Object.hasOwn(fields, field)) fields[field] = parsed.value
  else if (info.lists.includes(field)) (fields[field] as unknown[]).push(...(parsed.value as unknown[]))
  else addProblem('once', `${field} is given twice`)
}

/**
 * The multipart library parses parts of type JSON. null when the value is nested too deeply to be serialised
 * again.
 */
function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value)
  } catch {
    return null
  }
}

function partError({ fieldname, encoding }: Part): ApiError | null {
  if (typeof fieldname !== 'string' || fieldname === '')
    return invalidField('body', 'name', 'A part of the form has no name.')
  if (fieldname.length > maxNameLength || isInvalidText(fieldname))
    return invalidField(
      'body',
      'name',
      `A part of the form has a name that is not valid text or longer than ${maxNameLength} characters.`,
    )
  if (!identityEncodings.has(encoding))
    return invalidField(fieldname, 'encoding', `${fieldname} must be sent without Content-Transfer-Encoding`)
  return null
}

/** A replacement character marks bytes that were not UTF-8. */
function isInvalidText(text: string | undefined): boolean {
  return text !== undefined && /[\0\ufffd]/.test(text)
}

/** The content of the file. Ends after `rest`, which reads the rest of the form. */
async function* contentOf(part: MultipartFile, rest: () => Promise<void>): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of part.file) yield chunk as Buffer
  } catch (error) {
    throw asFormError(error)
  }
  await rest()
}

async function next(parts: Parts): Promise<Part | null> {
  try {
    const { done, value } = await parts.next()
    return done === true ? null : value
  } catch (error) {
    throw asFormError(error)
  }
}

/** null for an invalid media type. */
function mediaTypeOrNull(type: string | undefined): string | null {
  return type !== undefined && type.length <= 255 && /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(type) ? type : null
}

function unknownField(field: string): ApiError {
  return invalidField(field, 'additionalProperties', `Unknown field: ${field}`)
}

/** Translates an error of the multipart parser: the client sent an invalid form. */
function asFormError(error: unknown): unknown {
  if (error instanceof ApiError) return error
  const { code = '', message = '' } = error as { code?: string; message?: string }
  if (/^FST_(PARTS|FIELDS|FILES)_LIMIT$/.test(code))
    return invalidField('body', 'max_parts', `A form may have at most ${limits.fields} fields and one file.`)
  if (code === 'FST_PROTO_VIOLATION')
    return invalidField('body', 'additionalProperties', 'A part of the form has an unknown name.')
  if (code === 'FST_INVALID_JSON_FIELD_ERROR')
    return invalidField('body', 'type', 'The part is not valid JSON.')
  if (/boundary/i.test(message)) return invalidField('Content-Type', 'boundary', 'The form has no boundary.')
  return invalidField('body', 'multipart', 'The form is incomplete or malformed.')
}
