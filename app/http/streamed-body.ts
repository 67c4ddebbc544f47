// Bodies that the handler reads while they arrive: bytes, or a form whose fields come before its file.
import type { FastifyRequest } from 'fastify'
import type { FilePart, OperationInfo } from '../../infra/contract/operation.ts'
import { unsupportedMediaType } from '../../infra/errors.ts'
import { hasBody } from './body-timeout.ts'
import { readForm } from './multipart.ts'
import { hasTwoContentTypes, requireMediaType, validate, type Input } from './validation.ts'

/** The validated input. A form's fields are complete; its file, or the body of bytes, is still a stream. */
export async function readStreamedInput(info: OperationInfo, request: FastifyRequest): Promise<Input> {
  const { form: declared } = info.body!
  if (declared === undefined) {
    const input = validate(info, request)
    const part: FilePart = { declaredType: request.headers['content-type'] ?? null, content: request.raw }
    return { ...input, body: request.body === undefined ? null : part }
  }
  // Without a body, validation reports that it is required.
  if (!hasBody(request.raw) || request.headers['content-length'] === '0') validate(info, request)
  if (hasTwoContentTypes(request)) throw unsupportedMediaType(info.body!.contentTypes)
  requireMediaType(info, request)
  const form = await readForm(request, declared)
  // The filename becomes the field `name`, so that the same rules apply to both.
  if (declared.named && form.filename !== undefined) form.fields.name ??= form.filename
  if (declared.named && form.file !== null && form.fields.name === undefined) {
    form.problems.push({
      field: 'name',
      constraint: 'required',
      message: 'name is required when the file has no filename',
      location: 'body',
    })
  }
  const input = validate(info, request, form)
  return { ...input, body: { ...(input.body as object), [declared.file]: form.file } }
}
