// Reads a form (multipart/form-data, RFC 7578): its fields, in any order, and its file as a stream. The
// stream ends only when the whole form has arrived and is valid, so a reader that reaches the end needs no
// further check.
import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import type { MultipartFields, MultipartFile } from '@fastify/multipart'
import { ApiError, invalidField, type Problem } from '../../infra/errors.ts'
import type { FilePart, FormInfo } from '../../infra/contract/operation.ts'
import { parseField } from '../../infra/validation/form-values.ts'
import { parseStrictJson } from '../../infra/validation/strict-json.ts'
import { charsetParameter } from '../../services/ai/parsing/charset.ts'
import { turn } from './loop-turns.ts'
import { contentLength } from './request-headers.ts'

export interface Form {
  fields: Record<string, unknown>
  /** Problems that the schema does not cover. */
  problems: Problem[]
  /** null when the form has no file. */
  file: FilePart | null
  /** The filename that the client sent. */
  filename: string | undefined
}

type FieldPart = Pick<
  Extract<MultipartFields[string], { type: 'field' }>,
  'type' | 'fieldname' | 'encoding' | 'value' | 'valueTruncated'
>
type Part = MultipartFile | FieldPart

/** The parts of a form, in order. A part of type JSON is a field with its text. */
interface Parts {
  next(): Promise<Part | null>
}

const maxFields = 50
// The multipart library counts the parts of type JSON as files, see `isFileOrJson`.
const limits = {
  fields: maxFields,
  files: maxFields + 2,
  parts: 60,
  fieldSize: 64 * 1024,
  fileSize: Infinity,
}
const maxNameLength = 100

/** The values of Content-Transfer-Encoding that mean no encoding, as RFC 7578 allows. */
const identityEncodings = new Set(['7bit', '8bit', 'binary'])

/**
 * Reads the form up to its file. The fields after the file are read after its content: then all fields are in
 * `fields`, and `complete` throws if the form is invalid. Without a file, the whole form has been read.
 */
export async function readForm(
  request: FastifyRequest,
  info: FormInfo,
  complete: (form: Form) => void,
): Promise<Form> {
  const parts = partsOf(request, info)
  const first = parts.next()
  const head = new HeadReader(request)
  try {
    return await readParts(request, info, { parts, first, head }, complete)
  } finally {
    head.stop()
  }
}

async function readParts(
  request: FastifyRequest,
  info: FormInfo,
  { parts, first, head }: { parts: Parts; first: Promise<Part | null>; head: HeadReader },
  complete: (form: Form) => void,
): Promise<Form> {
  const form: Form = { fields: {}, problems: [], file: null, filename: undefined }
  for (let part = await first; part !== null; part = await parts.next()) {
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
        declaredType: withCharset(mediaTypeOrNull(part.mimetype), head.charsetOf(info.file)),
        maxLength: contentLength(request),
        content: Readable.from(contentOf(request, part, rest), {
          objectMode: false,
          highWaterMark: 64 * 1024,
        }),
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

function partsOf(request: FastifyRequest, info: FormInfo): Parts {
  // preservePath: a filename with a path is refused by validation, not shortened.
  const options = { limits, preservePath: true, isPartAFile: isFileOrJson(info) }
  const parts = (request.parts(options) as AsyncIterable<Part>)[Symbol.asyncIterator]()
  return {
    async next() {
      try {
        const { done, value } = await parts.next()
        if (done === true) return null
        return value.type === 'file' && isJsonField(info, value) ? await jsonField(value) : value
      } catch (error) {
        throw asFormError(error)
      }
    },
  }
}

/**
 * Whether the multipart library treats a part as a file. A field of JSON is not a file, though clients that
 * send it as a Blob give it a filename. But a part of type JSON is read like a file: as a field the library
 * would parse it, and keep only one of two equal keys.
 */
function isFileOrJson({ json }: FormInfo) {
  return (field = '', contentType = '', filename?: string): boolean =>
    contentType.startsWith('application/json') ||
    (!json.includes(field) && (contentType === 'application/octet-stream' || filename !== undefined))
}

/** Whether a part of type JSON is a field: every one except the file. */
function isJsonField({ file, json }: FormInfo, { fieldname, mimetype, filename }: MultipartFile): boolean {
  if (!mimetype.startsWith('application/json') || fieldname === file) return false
  return filename === undefined || json.includes(fieldname)
}

/** A part of type JSON as a field: its text, or the text of a JSON string. */
async function jsonField({ fieldname, encoding, file }: MultipartFile): Promise<FieldPart> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of file) {
    if ((size += chunk.length) > limits.fieldSize)
      throw invalidField(fieldname, 'maxLength', longerThanAllowed(fieldname))
    chunks.push(chunk)
  }
  const value = textOfJson(fieldname, Buffer.concat(chunks))
  return { type: 'field', fieldname, encoding, value, valueTruncated: false }
}

const longerThanAllowed = (field: string): string => `${field} is longer than ${limits.fieldSize} bytes`

function textOfJson(field: string, bytes: Buffer): string {
  try {
    const value = parseStrictJson(bytes)
    return typeof value === 'string' ? value : bytes.toString()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw invalidField(field, error.details.constraint!, `${field}: ${error.message}`)
  }
}

async function readFieldsAfterFile(form: Form, info: FormInfo, parts: Parts): Promise<void> {
  for (let part = await parts.next(); part !== null; part = await parts.next()) {
    const error = partError(part)
    if (error !== null) throw error
    if (part.type === 'file') {
      if (part.fieldname !== info.file) throw unknownField(part.fieldname)
      throw invalidField(info.file, 'once', 'A form can have only one file.')
    }
    addField(form, info, part)
  }
}

function addField({ fields, problems }: Form, info: FormInfo, part: FieldPart): void {
  const field = part.fieldname
  const addProblem = (constraint: string, message: string): void => {
    problems.push({ field, constraint, message, location: 'body' })
  }
  if (part.valueTruncated) return addProblem('maxLength', longerThanAllowed(field))
  if (field === info.file) return addProblem('file', `${field} must be a file with a filename`)
  const text = part.value as string
  if (isInvalidText(text)) return addProblem('well_formed', `${field} is not valid text`)
  const parsed = parseField(info, field, text)
  if ('must' in parsed) return addProblem('type', `${field} must ${parsed.must}`)
  if (!Object.hasOwn(fields, field)) fields[field] = parsed.value
  else if (info.lists.includes(field)) (fields[field] as unknown[]).push(...(parsed.value as unknown[]))
  else addProblem('once', `${field} is given twice`)
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

/** The content of the file. Ends after `rest`, which reads the fields after the file. */
async function* contentOf(
  request: FastifyRequest,
  part: MultipartFile,
  rest: () => Promise<void>,
): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of part.file) {
      await turn(request)
      yield chunk as Buffer
    }
  } catch (error) {
    throw asFormError(error)
  }
  await rest()
}

/** null for an invalid media type. */
function mediaTypeOrNull(type: string | undefined): string | null {
  return type !== undefined && type.length <= 255 && /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/.test(type) ? type : null
}

const maxHeadBytes = 16 * 1024

/**
 * The first bytes of a body, for the charset in the headers of its file part, which the multipart library
 * drops. To be created when the library has begun to read the body.
 */
class HeadReader {
  #request: FastifyRequest
  #chunks: Buffer[] = []
  #length = 0

  constructor(request: FastifyRequest) {
    this.#request = request
    request.raw.on('data', this.#collect)
  }

  #collect = (chunk: Buffer): void => {
    this.#chunks.push(chunk.subarray(0, maxHeadBytes - this.#length))
    this.#length += chunk.length
    if (this.#length >= maxHeadBytes) this.stop()
  }

  stop(): void {
    this.#request.raw.off('data', this.#collect)
  }

  /** The charset that the headers of a part declare, or null. */
  charsetOf(name: string): string | null {
    const disposition = new RegExp(`^content-disposition:[^\\n]*[; ]name="?${name}"?[;\\s]`, 'im')
    const head = Buffer.concat(this.#chunks)
      .toString('latin1')
      .split('\r\n\r\n')
      .find((part) => disposition.test(part))
    return charsetParameter(/^content-type:.*/im.exec(head ?? '')?.[0])
  }
}

function withCharset(type: string | null, charset: string | null): string | null {
  return type === null || charset === null ? type : `${type}; charset=${charset}`
}

function unknownField(field: string): ApiError {
  return invalidField(field, 'additionalProperties', `Unknown field: ${field}`)
}

/** Translates an error of the multipart parser: the client sent an invalid form. */
function asFormError(error: unknown): unknown {
  if (error instanceof ApiError) return error
  const { code = '', message = '' } = error as { code?: string; message?: string }
  if (/^FST_(PARTS|FIELDS|FILES)_LIMIT$/.test(code))
    return invalidField('body', 'max_parts', `A form may have at most ${maxFields} fields and one file.`)
  if (code === 'FST_PROTO_VIOLATION')
    return invalidField('body', 'additionalProperties', 'A part of the form has an unknown name.')
  if (/boundary/i.test(message)) return invalidField('Content-Type', 'boundary', 'The form has no boundary.')
  return invalidField('body', 'multipart', 'The form is incomplete or malformed.')
}
