// The table of operations that the client reads at run time.
import type { OperationRow } from '../../packages/client/operation-row.ts'
import type { Operation } from './model.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'

type Json = any

export function rowOf(document: Json, operation: Operation, name: string | undefined): OperationRow {
  const { body, headerParameters } = operation
  const stream = streamOf(document, operation)
  const takes = (parameter: string): boolean => headerParameters.some((one) => one.name === parameter)
  const acceptsJson = body?.contentTypes.includes('application/json') === true
  return {
    method: operation.method.toUpperCase(),
    path: operation.path,
    prefix: operation.fullPath.slice(0, -operation.path.length),
    name,
    body: body === null ? undefined : true,
    query: operation.queryParameters.length === 0 ? undefined : true,
    answer: answerOf(operation),
    type: body === null || body.form !== null || acceptsJson ? undefined : body.contentTypes[0],
    form: body?.form ? { file: body.form.file, json: body.form.json } : undefined,
    json: (body?.form && acceptsJson) || undefined,
    idempotent: takes('Idempotency-Key') || undefined,
    list: listOf(document, operation),
    ends: stream?.ends,
    resumes: stream === null ? undefined : takes('Last-Event-ID') || undefined,
    answers: stream?.answers,
  }
}

export function successesOf(operation: Operation): Operation['responses'] {
  return operation.responses.filter(({ status }) => status < 300)
}

export function answerOf(operation: Operation): OperationRow['answer'] {
  const answered = successesOf(operation).find(({ contentType }) => contentType !== null)
  if (answered === undefined) return null
  if (answered.events !== null) return 'events'
  if (answered.binary) return 'bytes'
  return answered.contentType === 'application/json' ? 'json' : 'text'
}

/** Whether a list has pages, or is a log that only `cursor` continues. */
export function listOf(document: Json, operation: Operation): OperationRow['list'] {
  const { properties = {} } = resolve(document, successesOf(operation)[0]?.schema) ?? {}
  const asks = (name: string): boolean =>
    operation.queryParameters.some((parameter) => parameter.name === name)
  if (properties.data === undefined) return undefined
  if (asks('cursor') && properties.next_cursor !== undefined && properties.has_more !== undefined)
    return 'log'
  return asks('page') && properties.pagination !== undefined ? 'pages' : undefined
}

interface Stream {
  events: Record<string, Json>
  ends: string[]
  answers: OperationRow['answers']
}

export function streamOf(document: Json, operation: Operation): Stream | null {
  const answered = successesOf(operation).find(({ events }) => events !== null)
  if (answered === undefined) return null
  const response = document.paths[operation.path][operation.method].responses[answered.status]
  const media = resolve(document, response).content[answered.contentType!]
  return {
    events: answered.events!,
    ends: media['x-stream-ends'] ?? [],
    answers: media['x-stream-answer'],
  }
}
