// The OpenAPI documents of the reference pages: the parts of the published document by area, with examples
// and code samples from generated/docs.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isShown, type Area } from './areas.ts'
import { openapiJson } from './openapi.ts'
import { exampleValue, isSent, resolved, tryOutBody, type RequestExample } from './try-out.ts'

type Json = any

export interface ErrorCodeInfo {
  code: string
  status: number[]
  means: string
  when: string
  do: string
  retry: 'no' | 'later' | 'renewed'
  /** The values of `details.constraint` and their meanings. */
  constraints?: Record<string, string>
  /** The values of `details.reason` and of `details.state`. */
  reasons: Record<string, { means: string; of?: string[] }>
  states?: Record<string, string>
  reserved: boolean
}
export interface EventInfo {
  type: string
  description: string
  scope: string
  audience: 'project' | 'organization' | 'user' | 'admins' | 'everyone'
  role: string | null
  object: string
  example: Json
}

interface DocsData {
  operations: Record<
    string,
    {
      request: RequestExample
      replies: Record<string, Json>
      samples: Json[]
    }
  >
  /** By guide: each block of commands for the clients, or null for one that is only for the shell. */
  guides: Record<string, Array<{ typescript: string; python: string } | null>>
  errors: ErrorCodeInfo[]
  events: EventInfo[]
}

const aboutSamples =
  'The code samples read the URL of this server, without `/v1`, from `PLATFORM_BASE_URL`, ' +
  'and the API key from `PLATFORM_API_KEY`.'

export function docsData(): DocsData {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../generated/docs.json'), 'utf8')) as DocsData
}

/**
 * The part of the document for the operations of an area as JSON, with an example of every request and
 * response, and with `x-codeSamples`.
 */
export function openapiOfArea(area: Area): string {
  const { operations } = docsData()
  const document = openapiJson('') as Json
  const names = new Set(area.tags.map(({ name }) => name))
  const paths = Object.fromEntries(
    Object.entries<Json>(document.paths)
      .filter(([, item]) => Object.values(item).some((value) => isShown(value, names)))
      .map(([path, item]): [string, Json] => [
        path,
        Object.fromEntries(
          Object.entries<Json>(item)
            // The parameters of the path stand beside its operations.
            .filter(([, value]) => value.operationId === undefined || isShown(value, names))
            .map(([key, value]) => [
              key,
              operations[value.operationId] === undefined
                ? value
                : withSamples(document, withOwnServer(value), operations[value.operationId]),
            ]),
        ),
      ]),
  )
  return JSON.stringify({
    ...withOwnServer(document),
    info: { ...document.info, title: area.name, summary: undefined, description: aboutSamples },
    tags: document.tags.filter(({ name }: Json) => names.has(name)),
    'x-tagGroups': undefined,
    'x-events': undefined,
    paths,
    // They are on the page of the events.
    webhooks: undefined,
    components: componentsOf(document, paths),
  })
}

/** The components that a part of the document refers to, and those that these refer to. */
function componentsOf(document: Json, part: Json): Json {
  const { securitySchemes } = document.components
  const components: Json = { securitySchemes }
  const texts = [JSON.stringify(part)]
  for (const text of texts)
    for (const [, kind, name] of text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)) {
      components[kind] ??= {}
      if (Object.hasOwn(components[kind], name)) continue
      components[kind][name] = document.components[kind][name]
      texts.push(JSON.stringify(components[kind][name]))
    }
  return components
}

/** Test requests go to the server of the page, which is the first one. */
function withOwnServer(node: Json): Json {
  return node.servers === undefined ? node : { ...node, servers: node.servers.slice(0, 1) }
}

function withSamples(
  document: Json,
  operation: Json,
  { request, replies, samples }: DocsData['operations'][string],
): Json {
  const responses = Object.fromEntries(
    Object.entries<Json>(operation.responses).map(([status, reference]) => {
      if (replies[status] === undefined) return [status, reference]
      const response = resolved(document, reference)
      return [status, withExample(response, Object.keys(response.content)[0], replies[status])]
    }),
  )
  return {
    ...operation,
    'x-codeSamples': samples,
    responses,
    ...(operation.parameters !== undefined && {
      parameters: operation.parameters.map((parameter: Json) =>
        tryOutParameter(document, parameter, request),
      ),
    }),
    ...(request.body !== null &&
      request.body.value !== null && {
        requestBody: tryOutRequestBody(document, operation.requestBody, request.body),
      }),
  }
}

/** Scalar sends each optional parameter that has a value, unless the value is marked with `x-disabled`. */
function tryOutParameter(document: Json, reference: Json, request: RequestExample): Json {
  const parameter = resolved(document, reference)
  const value = exampleValue(document, parameter)
  if (value === undefined || isSent(parameter, request)) return reference
  return { ...parameter, examples: { default: { value, 'x-disabled': true } } }
}

function tryOutRequestBody(document: Json, reference: Json, { type, value }: Json): Json {
  const requestBody = resolved(document, reference)
  return withExample(requestBody, type, tryOutBody(document, requestBody.content[type].schema, value))
}

function withExample(node: Json, type: string, example: Json): Json {
  return { ...node, content: { ...node.content, [type]: { ...node.content[type], example } } }
}
