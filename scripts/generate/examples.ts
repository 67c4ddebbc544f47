// Assembles example requests and responses from the examples of schemas and their properties.
// The rule `has-example` makes sure that there are enough of them.
import type { Operation } from './model.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'

type Json = any

/** The schema's own example, or one composed of its parts' examples. A form's file is given by its name. */
export function exampleOf(document: Json, schema: Json): Json {
  if (schema.example !== undefined) return schema.example
  if (schema.examples !== undefined) return schema.examples[0]
  if (schema.$ref !== undefined) return exampleOf(document, resolve(document, schema))
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (schema.enum !== undefined) return schema.enum[0]
  const either = schema.oneOf ?? schema.anyOf
  if (schema.allOf !== undefined) return combined(schema.allOf.map((part: Json) => exampleOf(document, part)))
  if (schema.properties !== undefined)
    return Object.fromEntries(
      Object.entries<Json>(schema.properties)
        .filter(([, property]) => property['x-user-of'] === undefined)
        .map(([name, property]) => [name, exampleOf(document, property)]),
    )
  if (either !== undefined) return exampleOf(document, either[0])
  return plain[[schema.type].flat()[0] as string]?.(document, schema) ?? null
}

const plain: Record<string, (document: Json, schema: Json) => Json> = {
  object: () => ({}),
  array: (document, { items }) => (items === undefined ? [] : [exampleOf(document, items)]),
  boolean: () => true,
  integer: (_document, { minimum = 0 }) => minimum,
  number: (_document, { minimum = 0 }) => minimum,
  string: () => 'text',
}

function combined(parts: Json[]): Json {
  return parts.length === 1 ? parts[0] : Object.assign({}, ...parts)
}

/** The required parameters and the body of a request that succeeds if the named resources exist. */
export interface RequestExample {
  path: Record<string, string | number>
  query: Record<string, string | number>
  headers: Record<string, string | number>
  body: { type: string; value: Json } | null
}

const withoutText = /octet-stream|^\*\//

/** The request of an operation. A body that need not be sent and has no fields is left out. */
export function requestOf(document: Json, operation: Operation): RequestExample {
  const parameters = (
    place: 'pathParameters' | 'queryParameters' | 'headerParameters',
  ): Record<string, string | number> =>
    Object.fromEntries(
      operation[place]
        .filter((parameter) => parameter.required === true || (parameter as Json).example !== undefined)
        .map((parameter) => [
          parameter.name,
          (parameter as Json).example ?? exampleOf(document, parameter.schema),
        ]),
    )
  return {
    path: parameters('pathParameters'),
    query: parameters('queryParameters'),
    headers: parameters('headerParameters'),
    body: bodyOf(document, operation),
  }
}

function bodyOf(document: Json, { path, method, body }: Operation): RequestExample['body'] {
  if (body === null) return null
  const { content } = resolve(document, document.paths[path][method].requestBody)
  const type = body.contentTypes.find((one) => one === 'application/json') ?? body.contentTypes[0]
  if (withoutText.test(type)) return body.required ? { type, value: null } : null
  return { type, value: mediaExample(document, content[type]) }
}

/** Example bodies by status: of each success with JSON or an event stream. */
export function repliesOf(document: Json, { path, method, responses }: Operation): Record<string, Json> {
  const declared = document.paths[path][method].responses
  const found: Record<string, Json> = {}
  for (const { status, contentType, events } of responses) {
    if (status >= 300 || contentType === null) continue
    if (contentType === 'text/event-stream')
      found[status] = Object.entries(events!)
        .map(
          ([event, schema], i) =>
            `id: ${i + 1}\nevent: ${event}\ndata: ${JSON.stringify(exampleOf(document, schema))}\n\n`,
        )
        .join('')
    else if (contentType === 'application/json')
      found[status] = mediaExample(document, resolve(document, declared[status]).content[contentType])
  }
  return found
}

function mediaExample(document: Json, media: Json): Json {
  if (media.example !== undefined) return media.example
  const [named] = Object.values<Json>(media.examples ?? {})
  return named === undefined ? exampleOf(document, media.schema) : resolve(document, named).value
}
