// No tool drops a field of OpenAPI 3.0 to 3.2 silently: a tool carries it out, `changes` compares it, or the
// document gets a notice. The table in docs/toolkit.md is this test's outcome.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getTypes } from '@redocly/openapi-core'
import t from 'tap'
import { compareContracts } from '@platform-api/changes/compare.ts'
import { emitRoutes, emitTable } from '@platform-api/generate/table.ts'
import { createMock } from '@platform-api/mock/server.ts'
import { operationsOf } from '@platform-api/openapi/document.ts'
import { noticesOf } from '@platform-api/openapi/faults.ts'
import { asOpenapi31 } from '@platform-api/openapi/read.ts'

type Json = any

const text = { type: 'string' }
const person = { type: 'object', properties: { name: text, tags: { type: 'array', items: text } } }
const media = { schema: { $ref: '#/components/schemas/Person' } }
const done = { description: 'Done.' }
const operation = { responses: { '200': done } }
const url = 'https://x.example'
const withName = { value: { name: 'An example' } }
const flow = { authorizationUrl: url, tokenUrl: url, scopes: { read: 'Read.' } }
const flowNames = ['implicit', 'password', 'clientCredentials', 'authorizationCode', 'deviceAuthorization']

const base: Json = {
  openapi: '3.2.0',
  info: { title: 'People', version: '1', contact: {}, license: { name: 'MIT' } },
  servers: [{ url: `${url}/{base}`, variables: { base: { default: 'v1' } } }],
  tags: [{ name: 'people' }, { name: 'others' }],
  externalDocs: { url },
  paths: {
    '/people/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: text }],
      get: {
        operationId: 'getPerson',
        tags: ['people'],
        parameters: [{ name: 'q', in: 'query', schema: { type: 'array', items: text } }],
        responses: {
          '200': {
            ...done,
            content: { 'application/json': { ...media, examples: { one: { value: { name: 'One' } } } } },
            headers: { 'X-Count': { schema: text } },
            links: { put: { operationId: 'putPerson' } },
          },
        },
        security: [{ oauth: ['read'] }, { key: [] }],
      },
      put: {
        operationId: 'putPerson',
        requestBody: { content: { 'application/json': media } },
        responses: { '200': { ...done, content: { 'application/json': media } } },
      },
      post: {
        operationId: 'postPerson',
        requestBody: { content: { 'multipart/form-data': { schema: person, encoding: { tags: {} } } } },
        responses: { '200': done },
      },
    },
  },
  components: {
    schemas: { Person: person },
    securitySchemes: {
      oauth: { type: 'oauth2', flows: Object.fromEntries(flowNames.slice(0, 4).map((name) => [name, flow])) },
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
    },
  },
}
const item = ['paths', '/people/{id}']
const answer = [...item, 'get', 'responses', '200']
const answerMedia = [...answer, 'content', 'application/json']
const encoding = [...item, 'post', 'requestBody', 'content', 'multipart/form-data', 'encoding', 'tags']
const schemes = ['components', 'securitySchemes']
const texts = { summary: 'A summary.', description: 'A description.' }
const one = { one: withName }

interface Place {
  /** Where the document has the object. */
  at: string[]
  /** A value for each of its fields, which the document does not have. */
  fields: Record<string, Json>
}

const places: Record<string, Place> = {
  Root: {
    at: [],
    fields: {
      openapi: '4.0.0',
      $self: url,
      info: { title: 'Others', version: '2' },
      jsonSchemaDialect: url,
      servers: [{ url: '/v2' }],
      paths: { '/others': { get: operation } },
      webhooks: { added: { post: operation } },
      components: {},
      security: [{ key: [] }],
      tags: [{ name: 'others' }],
      externalDocs: { url: `${url}/2` },
    },
  },
  Info: {
    at: ['info'],
    fields: {
      ...texts,
      title: 'Others',
      version: '2',
      termsOfService: url,
      contact: { url },
      license: { name: 'ISC' },
    },
  },
  Contact: { at: ['info', 'contact'], fields: { name: 'A name', url, email: 'a@x.example' } },
  License: { at: ['info', 'license'], fields: { name: 'ISC', identifier: 'ISC', url } },
  Server: {
    at: ['servers', '0'],
    fields: { url: '/v2', description: 'Main.', name: 'main', variables: { base: { default: 'v2' } } },
  },
  ServerVariable: {
    at: ['servers', '0', 'variables', 'base'],
    fields: { enum: ['v1'], default: 'v2', description: 'The version.' },
  },
  Tag: {
    at: ['tags', '0'],
    fields: { ...texts, name: 'persons', externalDocs: { url }, parent: 'others', kind: 'nav' },
  },
  ExternalDocs: { at: ['externalDocs'], fields: { description: 'More.', url: `${url}/2` } },
  Components: {
    at: ['components'],
    fields: {
      schemas: { Person: { type: 'object' } },
      responses: { New: { description: 'New.', content: { 'text/plain': {} } } },
      parameters: { New: { name: 'new', in: 'query', schema: text } },
      examples: { New: withName },
      requestBodies: { New: { content: { 'text/plain': {} } } },
      headers: { New: { required: true, schema: text } },
      securitySchemes: { key: { type: 'http', scheme: 'basic' } },
      links: { New: { operationId: 'getPerson' } },
      callbacks: { New: { '{$request.query.q}': { post: operation } } },
      pathItems: { New: { get: operation } },
      mediaTypes: { New: { schema: { type: 'integer' } } },
    },
  },
  PathItem: {
    at: item,
    fields: {
      ...texts,
      $ref: '#/components/pathItems/New',
      servers: [{ url: '/v2' }],
      parameters: [
        { name: 'id', in: 'path', required: true, schema: text },
        { name: 'new', in: 'query', schema: text },
      ],
      additionalOperations: { COPY: operation },
      ...Object.fromEntries(
        'get put post delete options head patch trace query'.split(' ').map((each) => [each, operation]),
      ),
    },
  },
  Operation: {
    at: [...item, 'post'],
    fields: {
      ...texts,
      tags: ['others'],
      externalDocs: { url },
      operationId: 'readPerson',
      parameters: [{ name: 'new', in: 'query', schema: text }],
      requestBody: { content: { 'application/json': media } },
      responses: { '204': done },
      callbacks: { added: { '{$request.query.q}': { post: operation } } },
      deprecated: true,
      security: [{ key: [] }],
      servers: [{ url: '/v2' }],
    },
  },
  Parameter: {
    at: [...item, 'get', 'parameters', '0'],
    fields: {
      name: 'query',
      in: 'header',
      'in: querystring': 'querystring',
      description: 'A query.',
      required: true,
      deprecated: true,
      schema: text,
      content: { 'application/json': { schema: person } },
      allowEmptyValue: true,
      allowReserved: true,
      style: 'pipeDelimited',
      'style: cookie': 'cookie',
      explode: false,
      example: ['x'],
      examples: { one: { value: ['x'] } },
    },
  },
  RequestBody: {
    at: [...item, 'put', 'requestBody'],
    fields: { description: 'A person.', content: { 'text/plain': {} }, required: true },
  },
  MediaType: {
    at: answerMedia,
    fields: {
      schema: { type: 'integer' },
      itemSchema: text,
      encoding: { name: { contentType: 'text/plain' } },
      prefixEncoding: [{}],
      itemEncoding: {},
      example: withName.value,
      examples: one,
    },
  },
  Encoding: {
    at: encoding,
    fields: {
      contentType: 'application/json',
      headers: { 'X-Part': { schema: text } },
      style: 'pipeDelimited',
      explode: false,
      allowReserved: true,
      encoding: { name: {} },
      prefixEncoding: [{}],
      itemEncoding: {},
    },
  },
  Responses: { at: [...item, 'get', 'responses'], fields: { default: done } },
  Response: {
    at: answer,
    fields: {
      ...texts,
      headers: { 'X-New': { required: true, schema: text } },
      content: { 'text/plain': {} },
      links: { get: { operationId: 'getPerson' } },
    },
  },
  Example: {
    at: [...answerMedia, 'examples', 'one'],
    fields: {
      ...texts,
      value: withName.value,
      dataValue: withName.value,
      serializedValue: JSON.stringify(withName.value),
      externalValue: url,
    },
  },
  Link: {
    at: [...answer, 'links', 'put'],
    fields: {
      operationRef: '#/paths/new',
      operationId: 'postPerson',
      parameters: { id: '$response.body#/name' },
      requestBody: {},
      description: 'To replace.',
      server: { url: '/v2' },
    },
  },
  Header: {
    at: [...answer, 'headers', 'X-Count'],
    fields: {
      description: 'A number.',
      required: true,
      deprecated: true,
      allowEmptyValue: true,
      allowReserved: true,
      schema: { type: 'integer' },
      content: { 'application/json': { schema: person } },
      style: 'form',
      explode: true,
      example: '1',
      examples: { one: { value: '1' } },
    },
  },
  SecurityScheme: {
    at: [...schemes, 'key'],
    fields: {
      type: 'http',
      description: 'A key.',
      name: 'X-Other',
      in: 'query',
      scheme: 'basic',
      bearerFormat: 'JWT',
      flows: { implicit: flow },
      openIdConnectUrl: url,
      oauth2MetadataUrl: url,
      deprecated: true,
    },
  },
  OAuth2Flows: {
    at: [...schemes, 'oauth', 'flows'],
    fields: Object.fromEntries(flowNames.map((name) => [name, { ...flow, tokenUrl: `${url}/2` }])),
  },
  DeviceAuthorization: {
    at: [...schemes, 'oauth', 'flows', 'authorizationCode'],
    fields: {
      authorizationUrl: `${url}/2`,
      deviceAuthorizationUrl: url,
      tokenUrl: `${url}/2`,
      refreshUrl: url,
      scopes: { read: 'Reads.' },
    },
  },
}

/** Where the document refers to a component of this kind. */
const references: Record<string, string[]> = {
  responses: [...item, 'get', 'responses', '200'],
  parameters: [...item, 'get', 'parameters', '0'],
  examples: [...answerMedia, 'examples', 'one'],
  requestBodies: [...item, 'put', 'requestBody'],
  headers: [...answer, 'headers', 'X-New'],
  links: [...answer, 'links', 'put'],
  callbacks: [...item, 'get', 'callbacks', 'New'],
  pathItems: ['paths', '/new'],
  mediaTypes: answerMedia,
}

function put(document: Json, [...path]: string[], value: Json): void {
  const last = path.pop()!
  path.reduce((node, key) => (node[key] ??= {}), document)[last] = value
}

/** The document with the field. */
function withField(name: string, { at, fields }: Place, field: string): Json {
  const document = structuredClone(base)
  const [key] = field.split(':')
  if (field === '$ref') put(document, ['components', 'pathItems', 'New'], { get: operation })
  const holder = at.reduce((node, each) => node[each], document)
  // An object has one of these.
  if (field === '$ref') for (const each of Object.keys(holder)) delete holder[each]
  if (field === 'content') delete holder.schema
  if (field === 'example') delete holder.examples
  if (field.endsWith('Value')) delete holder.value
  if (name === 'Components') {
    holder[field] = { ...holder[field], ...fields[field] }
    if (references[field] !== undefined)
      put(document, references[field], { $ref: `#/components/${field}/New` })
  } else holder[key] = fields[field]
  return document
}

interface Outcome {
  document: Json
  /** What the tools read of the document, the server that is generated, and the answers of the mock. */
  tools: string
  notices: string[]
}

async function outcomeOf(given: Json): Promise<Outcome> {
  const document = asOpenapi31(given)
  const operations = operationsOf(document)
  const server = emitTable(document, operations, { validatesFormats: true }) + emitRoutes(operations)
  const mock = await createMock({ document })
  const answers: unknown[] = []
  for (const { method, path } of operations) {
    const request = {
      method: method as 'GET',
      url: path.replace('{id}', '1'),
      headers: { 'content-type': 'application/json', authorization: 'Bearer x', 'x-key': 'x' },
      payload: method === 'GET' ? undefined : '{"name": "x"}',
    }
    const { statusCode, headers, body } = await mock.inject(request)
    answers.push(statusCode, headers['x-new'], body.replaceAll(/req_\w+/g, ''))
  }
  await mock.close()
  const read = operations.map(({ item: _, node, ...own }) => [own, [...own.responses], node.deprecated])
  // `node` is the part of the document itself, whose texts no tool reads.
  const tools = JSON.stringify([read, server, answers], (key, value) => (key === 'node' ? undefined : value))
  return { document, tools, notices: noticesOf(document) }
}

const columns = ['carried out', 'compared', 'documentation', 'notice'] as const
type Column = (typeof columns)[number]

async function columnOf(before: Outcome, document: Json): Promise<Column | null> {
  let after: Outcome
  try {
    after = await outcomeOf(document)
  } catch (error) {
    if (!(error as Error).message.startsWith('This is no OpenAPI document')) throw error
    return 'carried out'
  }
  if (after.notices.some((notice) => !before.notices.includes(notice))) return 'notice'
  if (after.tools !== before.tools) return 'carried out'
  const changes = compareContracts(before.document, after.document)
  if (changes.some(({ weight }) => weight !== 'documentation')) return 'compared'
  return changes.length > 0 ? 'documentation' : null
}

t.test('the places have every field of OpenAPI 3.0 to 3.2', async (t) => {
  for (const version of ['oas3_0', 'oas3_1', 'oas3_2'] as const)
    for (const [name, { fields }] of Object.entries(places)) {
      const known = Object.keys(getTypes(version)[name]?.properties ?? {})
      const missing = known.filter((field) => !field.startsWith('x-') && !Object.hasOwn(fields, field))
      t.same(missing, [], `${name} in ${version}`)
    }
})

t.test('no field is silent, and the guide has the outcome', async (t) => {
  const before = await outcomeOf(base)
  const lines: string[] = []
  for (const [name, place] of Object.entries(places)) {
    const found: Record<string, string[]> = {}
    for (const field of Object.keys(place.fields)) {
      const column = await columnOf(before, withField(name, place, field))
      t.ok(column, `${name}: ${field}`)
      ;(found[column!] ??= []).push(`\`${field}\``)
    }
    const cells = columns.map((column) => found[column]?.toSorted().join(' ') ?? '')
    lines.push(`| ${[name, ...cells].join(' | ')} |`)
  }
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/toolkit.md'), 'utf8')
  const section = guide.slice(guide.indexOf('## Fields'), guide.indexOf('## Profiles'))
  const rows = [...section.matchAll(/^\| [A-Z].*\|$/gm)].map(([row]) => row.replaceAll(/ +/g, ' '))
  t.same(
    rows,
    lines.map((line) => line.replaceAll(/ +/g, ' ')),
    lines.join('\n'),
  )
})
