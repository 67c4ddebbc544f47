// What the reference page draws: the published contract, and beside each operation what generated/docs.json knows of it. Made when it is first asked for.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openapiJson } from './openapi.ts'

type Json = any

export interface ErrorCodeInfo {
  code: string
  status: number[]
  means: string
  when: string
  do: string
  retry: 'no' | 'later' | 'renewed'
  reserved: boolean
}
export interface EventInfo {
  type: string
  description: string
  scope: string
  audience: 'project' | 'user' | 'admins' | 'everyone'
  role: string | null
  object: string
  example: Json
}

interface Catalogue {
  operations: Record<
    string,
    {
      request: { body: { type: string; value: Json } | null }
      replies: Record<string, Json>
      samples: Json[]
    }
  >
  errors: ErrorCodeInfo[]
  events: EventInfo[]
}

const aboutSamples =
  'The samples of code take the address of this server from `PLATFORM_URL`, without the `/v1`, and a key from `PLATFORM_API_KEY`.'

export function docsData(): Catalogue {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../../generated/docs.json'), 'utf8')) as Catalogue
}

/** The contract with examples of every request and answer, and with code samples (`x-codeSamples`), as JSON. */
export function openapiWithSamples(): string {
  const { operations, events } = docsData()
  const contract = openapiJson() as Json
  const paths = Object.fromEntries(
    Object.entries<Json>(contract.paths).map(([path, item]) => [
      path,
      Object.fromEntries(
        Object.entries<Json>(item).map(([key, value]) => [
          key,
          operations[value.operationId] === undefined
            ? value
            : withSamples(contract, value, operations[value.operationId]),
        ]),
      ),
    ]),
  )
  const webhooks = Object.fromEntries(
    Object.entries<Json>(contract.webhooks ?? {}).map(([type, { post }]) => {
      const { example } = events.find((event) => event.type === type)!
      return [
        type,
        { post: { ...post, requestBody: withExample(post.requestBody, 'application/json', example) } },
      ]
    }),
  )
  const info = { ...contract.info, description: `${contract.info.description}\n${aboutSamples}\n` }
  return JSON.stringify({ ...contract, info, paths, webhooks })
}

function withSamples(
  contract: Json,
  operation: Json,
  { request, replies, samples }: Catalogue['operations'][string],
): Json {
  const responses = Object.fromEntries(
    Object.entries<Json>(operation.responses).map(([status, response]) => {
      if (replies[status] === undefined) return [status, response]
      const whole =
        response.$ref === undefined
          ? response
          : contract.components.responses[response.$ref.split('/').at(-1)]
      return [status, withExample(whole, Object.keys(whole.content)[0], replies[status])]
    }),
  )
  const { requestBody } = operation
  return {
    ...operation,
    'x-codeSamples': samples,
    responses,
    ...(request.body !== null &&
      request.body.value !== null &&
      requestBody.$ref === undefined && {
        requestBody: withExample(requestBody, request.body.type, request.body.value),
      }),
  }
}

function withExample(node: Json, type: string, example: Json): Json {
  return { ...node, content: { ...node.content, [type]: { ...node.content[type], example } } }
}
