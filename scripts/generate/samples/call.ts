// The example request of an operation with everything that a code sample needs.
import { requestOf, type RequestExample } from '../examples.ts'
import type { Operation } from '../model.ts'

type Json = any

export interface Call extends RequestExample {
  operation: Operation
  /** The path with its example parameters, and the query. */
  address: string
  /** The encoding of the request body. */
  sends: 'nothing' | 'json' | 'form' | 'fields' | 'bytes'
  /** The kind of response body. */
  receives: 'nothing' | 'json' | 'text' | 'bytes' | 'events'
  /** Whether the response may be a redirect. */
  redirects: boolean
  /** Whether the client has `all()`, which reads all pages. */
  list: boolean
  /** The name of the uploaded or downloaded file. */
  file: string
}

export function callOf(document: Json, operation: Operation): Call {
  return callWith(operation, requestOf(document, operation))
}

export function callWith(operation: Operation, request: RequestExample): Call {
  const query = new URLSearchParams(
    Object.entries(request.query).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  const form = operation.body?.form ?? null
  const successes = operation.responses.filter(({ status }) => status < 300)
  const answer = successes.find(({ contentType }) => contentType !== null)
  const type = request.body?.type
  return {
    ...request,
    operation,
    address:
      operation.fullPath.replace(/\{([^}]+)\}/g, (_, name: string) => String(request.path[name])) +
      (query && `?${query}`),
    sends:
      type === undefined
        ? 'nothing'
        : type === 'application/json'
          ? 'json'
          : type === 'multipart/form-data'
            ? 'form'
            : type === 'application/x-www-form-urlencoded'
              ? 'fields'
              : 'bytes',
    receives:
      answer === undefined
        ? 'nothing'
        : answer.contentType === 'text/event-stream'
          ? 'events'
          : answer.binary
            ? 'bytes'
            : answer.contentType === 'application/json'
              ? 'json'
              : 'text',
    redirects: operation.responses.some(({ status }) => status === 302 || status === 307),
    list:
      operation.queryParameters.some(({ name }) => name === 'page' || name === 'after') &&
      answer?.contentType === 'application/json',
    file:
      type === 'multipart/form-data'
        ? request.body!.value[form!.file]
        : type === undefined
          ? 'downloaded'
          : 'report.pdf',
  }
}

/** The fields of a form without its file. JSON is encoded as text, a list as repeated fields. */
export function fieldsOf({ body, operation }: Call): Array<[name: string, value: string]> {
  const { file, json } = operation.body!.form!
  return Object.entries<Json>(body!.value)
    .filter(([name]) => name !== file)
    .flatMap(([name, value]): Array<[string, string]> =>
      json.includes(name)
        ? [[name, JSON.stringify(value)]]
        : [value].flat().map((one) => [name, String(one)]),
    )
}
