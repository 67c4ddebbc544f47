// The OpenAPI document of the reference page: the published document with examples and code samples from
// generated/docs.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
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
  errors: ErrorCodeInfo[]
  events: EventInfo[]
}

const aboutTools =
  'Start with the [quickstart](/docs/guides/quickstart); there are more [guides](/docs/guides). The ' +
  'contract is also a [Postman collection](/docs/postman.json) and an OpenAPI document, as ' +
  '[JSON](/openapi.json) or [YAML](/openapi.yaml).'

const aboutClient =
  'The clients of this contract come from this server. `npm install` takes the URL of ' +
  '[/docs/client.tgz](/docs/client.tgz): the [TypeScript client](/docs/guides/typescript-client) and the ' +
  '[command line](/docs/guides/command-line). `pip install` takes that of ' +
  '[/docs/client-python.tar.gz](/docs/client-python.tar.gz): the ' +
  '[Python client](/docs/guides/python-client). The tools for any OpenAPI document are in ' +
  '[/docs/packages/toolkit.tgz](/docs/packages/toolkit.tgz).'

const aboutSamples =
  'The code samples read the URL of this server, without `/v1`, from `PLATFORM_BASE_URL`, ' +
  'and the API key from `PLATFORM_API_KEY`.'

export function docsData(): DocsData {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../generated/docs.json'), 'utf8')) as DocsData
}

/** The OpenAPI document as JSON, with an example of every request and response, and with `x-codeSamples`. */
export function openapiWithSamples(): string {
  const { operations, events } = docsData()
  const document = openapiJson('') as Json
  const paths = Object.fromEntries(
    Object.entries<Json>(document.paths).map(([path, item]) => [
      path,
      Object.fromEntries(
        // PATCH does the same as PUT, whose description says so.
        Object.entries<Json>(item)
          .filter(([, value]) => value['x-same-as'] === undefined)
          .map(([key, value]) => [
            key,
            operations[value.operationId] === undefined
              ? value
              : withSamples(document, withOwnServer(value), operations[value.operationId]),
          ]),
      ),
    ]),
  )
  const webhooks = Object.fromEntries(
    Object.entries<Json>(document.webhooks ?? {}).map(([type, { post }]) => {
      const { example } = events.find((event) => event.type === type)!
      return [
        type,
        { post: { ...post, requestBody: withExample(post.requestBody, 'application/json', example) } },
      ]
    }),
  )
  const info = {
    ...document.info,
    description: `${document.info.description}\n${aboutTools}\n\n${aboutClient}\n\n${aboutSamples}\n`,
  }
  return JSON.stringify({ ...withOwnServer(document), info, paths, webhooks })
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
