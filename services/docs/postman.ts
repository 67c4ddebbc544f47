// The Postman collection at /docs/postman.json (Collection v2.1), generated from the contract. Optional
// headers, query parameters and form fields are disabled, so that each request can be sent as it is.
// Deletions come last in their folder, so that a run of the whole folder has resources until then.
import { docsData } from './openapi-samples.ts'
import { openapiJson } from './openapi.ts'
import { createdIdsScript, idVariables, withIdVariables } from './postman-ids.ts'
import { exampleValue, isSent, resolved, tryOutBody, type RequestExample } from './try-out.ts'

type Json = any

export const postmanPath = '/docs/postman.json'
export const postmanFileName = 'platform-api.postman_collection.json'

const bearer = {
  type: 'bearer',
  bearer: [{ key: 'token', value: '{{apiKey}}', type: 'string' }],
}

const aboutVariables =
  'Set the variable `apiKey` to your API key. A request that creates a resource stores its id in a ' +
  'variable, which the other requests use.'

/** @param baseUrl the URL of the server, without `/v1`. */
export function postmanCollection(baseUrl: string): string {
  const document = openapiJson('') as Json
  const ids = idVariables(document)
  const item = withIdVariables(foldersOf(document), ids)
  const used = ids.filter(({ variable }) => JSON.stringify(item).includes(`{{${variable}}}`))
  const collection = {
    info: {
      name: document.info.title,
      version: document.info.version,
      description: `${document.info.summary} ${aboutVariables}`,
      schema: 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json',
    },
    auth: bearer,
    variable: [
      { key: 'baseUrl', value: baseUrl, type: 'string' },
      { key: 'apiKey', value: '', type: 'string' },
      ...used.map(({ variable, example }) => ({ key: variable, value: example, type: 'string' })),
    ],
    event: [{ listen: 'test', script: { type: 'text/javascript', exec: createdIdsScript(used) } }],
    item,
  }
  return JSON.stringify(collection, null, 1)
}

/** A folder for each group of tags, which has a folder for each tag. */
function foldersOf(document: Json): Json[] {
  const { operations } = docsData()
  return document['x-tagGroups'].map(({ name, tags }: Json) => ({
    name,
    item: tags.map((tag: string) => {
      const { 'x-displayName': title, description } = document.tags.find((one: Json) => one.name === tag)
      return { name: title, description, item: itemsOf(document, operations, tag) }
    }),
  }))
}

function itemsOf(document: Json, examples: Record<string, { request: RequestExample }>, tag: string): Json[] {
  const items = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item)
      // PATCH does the same as PUT.
      .filter(([, operation]) => operation.tags?.includes(tag) && operation['x-same-as'] === undefined)
      .flatMap(([method, operation]) => {
        const parameters = [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((parameter) =>
          resolved(document, parameter),
        )
        const call = { document, path, method, operation, parameters }
        return requestsOf(call, examples[operation.operationId].request)
      }),
  )
  const isDeletion = ({ request }: Json): number => Number(request.method === 'DELETE')
  return items.sort((a, b) => isDeletion(a) - isDeletion(b))
}

interface Call {
  document: Json
  path: string
  method: string
  operation: Json
  parameters: Json[]
}

/** One request for each type of body that the operation accepts. */
function requestsOf(call: Call, request: RequestExample): Json[] {
  const { document, operation } = call
  const content: Record<string, Json> = resolved(document, operation.requestBody)?.content ?? {}
  if (Object.keys(content).length === 0) return [itemOf(call, request, operation.summary, undefined)]
  return Object.entries(content).map(([type, media], i) => {
    const name = i === 0 ? operation.summary : `${operation.summary} (${type})`
    const value = request.body?.type === type ? request.body.value : undefined
    return itemOf(call, request, name, bodyOf(document, { type, schema: media.schema, value }))
  })
}

function itemOf(call: Call, request: RequestExample, name: string, body: Json): Json {
  const { document, method, operation, parameters } = call
  const field = (parameter: Json): Json => ({
    // Such as `metadata[key]`.
    key: parameter.style === 'deepObject' ? `${parameter.name}[key]` : parameter.name,
    value: String(exampleValue(document, parameter) ?? ''),
    description: parameter.description,
    ...(!isSent(parameter, request) && { disabled: true }),
  })
  const fieldsIn = (place: string): Json[] => parameters.filter((one) => one.in === place).map(field)
  return {
    name,
    request: {
      method: method.toUpperCase(),
      description: operation.description,
      ...(operation.security?.length === 0 && { auth: { type: 'noauth' } }),
      header: [...fieldsIn('header'), ...(body?.header ?? [])],
      url: urlOf(call, fieldsIn('path'), fieldsIn('query')),
      ...(body && { body: body.body }),
    },
    response: [],
  }
}

function urlOf({ document, path, operation }: Call, variable: Json[], query: Json[]): Json {
  const { pathname } = new URL((operation.servers ?? document.servers)[0].url, 'http://localhost')
  const segments = `${pathname.replace(/\/$/, '')}${path}`.replaceAll(/\{([^}]+)\}/g, ':$1').slice(1)
  const sent = query.filter(({ disabled }) => !disabled).map(({ key, value }) => `${key}=${value}`)
  return {
    raw: `{{baseUrl}}/${segments}${sent.length > 0 ? `?${sent.join('&')}` : ''}`,
    host: ['{{baseUrl}}'],
    path: segments.split('/'),
    query,
    variable,
  }
}

function bodyOf(document: Json, { type, schema, value }: Json): Json {
  const contentType = (name: string): Json => ({ key: 'Content-Type', value: name })
  const example = value ?? resolved(document, schema).examples?.[0] ?? {}
  if (type === 'application/json') {
    const raw = JSON.stringify(tryOutBody(document, schema, example), null, 2)
    return {
      header: [contentType(type)],
      body: { mode: 'raw', raw, options: { raw: { language: 'json' } } },
    }
  }
  if (type === 'multipart/form-data')
    return { body: { mode: 'formdata', formdata: formFields(document, schema, example) } }
  if (type === 'application/x-www-form-urlencoded')
    return { body: { mode: 'urlencoded', urlencoded: formFields(document, schema, example) } }
  return { header: [contentType(type)], body: { mode: 'file', file: { src: null } } }
}

/** The fields of a form: those of the example are enabled, and the file is the last field. */
function formFields(document: Json, reference: Json, example: Json): Json[] {
  const { properties } = resolved(document, reference)
  const sent = tryOutBody(document, reference, example)
  const fields = Object.entries<Json>(properties).flatMap(([key, property]): Json[] => {
    const { format, description: meaning } = resolved(document, property)
    const description = property.description ?? meaning
    const disabled = !(key in sent) && { disabled: true }
    if (format === 'binary') return [{ key, type: 'file', src: [], description, ...disabled }]
    return [example[key] ?? ''].flat().map((one: Json) => ({
      key,
      type: 'text',
      value: typeof one === 'object' ? JSON.stringify(one) : String(one),
      description,
      ...disabled,
    }))
  })
  return fields.sort((a, b) => Number(a.type === 'file') - Number(b.type === 'file'))
}
