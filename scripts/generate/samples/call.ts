// An example request of an operation with all that a language has to know to send it.
import { requestOf, type RequestExample } from '../examples.ts'
import type { Operation } from '../model.ts'

type Json = any

/** An example request with what a language has to know of its operation. */
export interface Call extends RequestExample {
  operation: Operation
  /** The path with its example parameters, and the query. */
  address: string
  /** How the body goes over the wire. */
  sends: 'nothing' | 'json' | 'form' | 'fields' | 'bytes'
  /** How the answer comes. */
  receives: 'nothing' | 'json' | 'text' | 'bytes' | 'events'
  /** Whether a browser, or whatever calls it, may be sent on. */
  redirects: boolean
  /** Whether the client reads on by itself, from page to page. */
  list: boolean
  /** The name of the file that is sent, or kept. */
  file: string
}

export function callOf(document: Json, operation: Operation): Call {
  const request = requestOf(document, operation)
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
        : answer.events !== null
          ? 'events'
          : answer.binary
            ? 'bytes'
            : answer.contentType === 'application/json'
              ? 'json'
              : 'text',
    redirects: operation.responses.some(({ status }) => status === 302 || status === 307),
    list:
      operation.query.some(({ name }) => name === 'page' || name === 'after') &&
      answer?.contentType === 'application/json',
    file:
      type === 'multipart/form-data'
        ? request.body!.value[form!.file]
        : type === undefined
          ? 'downloaded'
          : 'report.pdf',
  }
}

/** The fields of a form beside its file, as they are sent: what is JSON as text, a list as many fields. */
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
