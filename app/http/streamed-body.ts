// Bodies that the handler reads while they arrive: bytes, or a form with a file.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FilePart, FormWithFile, OperationInfo } from '../../infra/contract/operation.ts'
import { invalidRequest, unsupportedMediaType } from '../../infra/errors.ts'
import type { OpenCounts } from '../../infra/concurrency/open-counts.ts'
import { check } from '../../infra/validation/validators.ts'
import { contentLength, hasBody } from './request-headers.ts'
import { readForm, type Form } from './multipart.ts'
import { atEnd } from './response-end.ts'
import { hasTwoContentTypes, requireMediaType, validate, type Input } from './validation.ts'

/** Counts an upload of the caller until its response is sent. Throws 429 for too many at once. */
export function countUpload(
  openUploads: OpenCounts,
  { principal, raw }: FastifyRequest,
  reply: FastifyReply,
): void {
  if (principal === null || !hasBody(raw)) return
  openUploads.add(principal.accountId)
  atEnd(reply, () => openUploads.remove(principal.accountId))
}

/** The input. The file of a form, or the body of bytes, is still a stream. */
export async function readStreamedInput(info: OperationInfo, request: FastifyRequest): Promise<Input> {
  const { form: declared } = info.body!
  if (declared === undefined) {
    const input = validate(info, request)
    const part: FilePart = {
      declaredType: request.headers['content-type'] ?? null,
      content: request.raw,
      maxLength: contentLength(request),
    }
    return { ...input, body: request.body === undefined ? null : part }
  }
  // Without a body, validation reports that it is required.
  if (!hasBody(request.raw) || request.headers['content-length'] === '0') validate(info, request)
  if (hasTwoContentTypes(request)) throw unsupportedMediaType(info.body!.contentTypes)
  requireMediaType(info, request)
  let fields: Record<string, unknown> | null = null
  const form = await readForm(request, declared, (form) => {
    fields = completeFields(info, form)
  })
  const { file } = form
  // Invalid parameters, and fields before the file, are rejected before the file is read.
  const input = validate(info, request, { ...form, fields: structuredClone(form.fields) })
  return { ...input, body: new StreamedForm(file!, input.body as object, () => fields) }
}

/** A form while it is received. */
export class StreamedForm implements FormWithFile<object> {
  readonly file: FilePart
  #early: object
  #complete: () => object | null

  constructor(file: FilePart, early: object, complete: () => object | null) {
    this.file = file
    this.#early = early
    this.#complete = complete
  }

  get received(): object {
    return this.#complete() ?? this.#early
  }

  fields(): object {
    const fields = this.#complete()
    if (fields === null) throw new Error('the fields are complete only after the file was read')
    return fields
  }

  /**
   * The body that a repeated Idempotency-Key must match; complete after the file was read. The order of the
   * parts makes no difference.
   */
  toJSON(): object {
    const sorted = Object.entries(this.received).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return { ...Object.fromEntries(sorted), file: this.file }
  }
}

/** All fields of the form, with the spec's defaults filled in. Throws 400 with all problems. */
function completeFields(
  { body, validators }: OperationInfo,
  { fields, problems, file, filename }: Form,
): Record<string, unknown> {
  if (body!.form!.named) {
    // The filename becomes the field `name`, so that the same rules apply to both.
    if (filename !== undefined) fields.name ??= filename
    if (fields.name === undefined)
      problems.push({
        field: 'name',
        constraint: 'required',
        message: 'name is required when the file has no filename',
        location: 'body',
      })
    file!.name = fields.name as string | undefined
  }
  check(validators.form, fields, 'body', problems)
  if (problems.length > 0) throw invalidRequest(problems)
  return fields
}
