// Error messages: they say in words what a value must look like, without regular expressions or long lists.
import t from 'tap'
import published from '../../generated/openapi.json' with { type: 'json' }
import { startServer } from '../support/server/server.ts'
import { upload } from '../support/storage/storage.ts'

const server = await startServer(t)
const { client } = server.admin

interface InvalidRequest {
  method?: 'PUT' | 'GET'
  path: string
  body?: object
  headers?: Record<string, string>
  field: string
  constraint: string
  says: string
}

const file = '/storage/files/file_01jd6y8m5qe8btc4y5w1r0n3fz'
const selectors = published.components.schemas.EventSelector.enum
const cases: Record<string, InvalidRequest> = {
  'a path with ..': {
    method: 'PUT',
    path: file,
    body: { path: '../secrets' },
    field: 'path',
    constraint: 'pattern',
    says: 'path must be a path such as reports/2026, without empty parts, ., .., \\ or control characters',
  },
  'a file name with a slash': {
    method: 'PUT',
    path: file,
    body: { name: 'a/b' },
    field: 'name',
    constraint: 'pattern',
    says: 'name must be a file name other than . and .., without /, \\ or control characters',
  },
  'an invalid locale': {
    method: 'PUT',
    path: '/user/profile',
    body: { locale: 'English' },
    field: 'locale',
    constraint: 'pattern',
    says: 'locale must be a language tag such as en or pt-BR',
  },
  'an Idempotency-Key with a space': {
    path: '/projects',
    body: { name: 'x' },
    headers: { 'idempotency-key': 'two words' },
    field: 'idempotency-key',
    constraint: 'pattern',
    says: 'idempotency-key must be printable ASCII characters without spaces',
  },
  'an invalid model': {
    path: '/ai/chat',
    body: { message: 'Hi', model: 'two words' },
    field: 'model',
    constraint: 'pattern',
    says: 'model must be a model id such as extractive-1',
  },
  'a URL that is not http or https': {
    path: '/webhooks/endpoints',
    body: { url: 'ftp://example.com', event_types: ['*'] },
    field: 'url',
    constraint: 'pattern',
    says: 'url must be a URL that starts with http:// or https://',
  },
  'an id of another resource': {
    path: '/ai/chat',
    body: { message: 'Hi', session_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' },
    field: 'session_id',
    constraint: 'pattern',
    says: 'session_id must be an id such as cs_01jd6y8m5qe8btc4y5w1r0n3fz',
  },
  'neither of two exclusive fields': {
    path: '/ai/chat',
    body: { model: 'extractive-1' },
    field: 'message',
    constraint: 'required',
    says: 'exactly one of message and messages is required',
  },
  'both of two exclusive fields': {
    path: '/ai/chat',
    body: { message: 'Hi', messages: [{ role: 'user', content: 'Hi' }] },
    field: 'messages',
    constraint: 'oneOf',
    says: 'only one of message and messages can be given',
  },
  'a field that needs another': {
    path: '/ai/chat',
    body: { messages: [{ role: 'user', content: 'Hi' }], session_id: 'cs_01jd6y8m5qe8btc4y5w1r0n3fz' },
    field: 'session_id',
    constraint: 'dependentRequired',
    says: 'session_id requires message',
  },
  'a missing body': {
    path: '/webhooks/endpoints/we_01jd6y8m5qe8btc4y5w1r0n3fz/recover',
    field: 'body',
    constraint: 'required',
    says: 'A JSON body with since is required.',
  },
  'a missing body with exclusive fields': {
    path: '/payments/test-clock/advance',
    field: 'body',
    constraint: 'required',
    says: 'A JSON body with exactly one of to and by_seconds is required.',
  },
  'a field that an update does not take': {
    method: 'PUT',
    path: '/user/profile',
    body: { email: 'new@example.com' },
    field: 'email',
    constraint: 'additionalProperties',
    says: 'email cannot be changed here',
  },
  'an unknown field of an update': {
    method: 'PUT',
    path: '/user/profile',
    body: { nme: 'Ada' },
    field: 'nme',
    constraint: 'additionalProperties',
    says: 'Unknown field: nme',
  },
  'an empty filter': {
    method: 'GET',
    path: '/projects?status=',
    field: 'status',
    constraint: 'required',
    says: 'status must not be empty: leave it out instead',
  },
  'an empty number': {
    method: 'GET',
    path: '/projects?page=',
    field: 'page',
    constraint: 'required',
    says: 'page must not be empty: leave it out instead',
  },
  'a parameter that is given twice': {
    method: 'GET',
    path: '/projects?page=1&page=2',
    field: 'page',
    constraint: 'type',
    says: 'page can be given only once',
  },
  'a private URL': {
    path: '/webhooks/endpoints',
    body: { url: 'http://10.0.0.1:8080', event_types: ['*'] },
    field: 'url',
    constraint: 'public_address',
    says: 'url must have a public address. For local tests, start the server with WEBHOOK_ALLOWED_NETWORKS.',
  },
  'an unknown currency': {
    path: '/payments/prices',
    body: { product_id: 'prod_01jd6y8m5qe8btc4y5w1r0n3fz', unit_amount: 1, currency: 'Euro' },
    field: 'currency',
    constraint: 'enum',
    says: 'currency must be one of 142 values; the closest are eur, ',
  },
  'an enum with few values': {
    path: '/ai/chat',
    body: { messages: [{ role: 'boss', content: 'Hi' }] },
    field: 'messages[0].role',
    constraint: 'enum',
    says: 'messages[0].role must be one of system, developer, user, assistant, tool',
  },
  'an enum with many values': {
    path: '/webhooks/endpoints',
    body: { url: 'https://example.com', event_types: ['project.create'] },
    field: 'event_types[0]',
    constraint: 'enum',
    says: `event_types[0] must be one of ${selectors.length} values; the closest are project.created, `,
  },
  'an enum with many scopes': {
    path: '/user/api-keys',
    body: { name: 'x', scopes: ['storage:reed'] },
    field: 'scopes[0]',
    constraint: 'enum',
    says: 'scopes[0] must be one of user:read, user:write, projects:read, ',
  },
}

for (const [name, { method, path, body, headers = {}, field, constraint, says }] of Object.entries(cases)) {
  t.test(name, async (t) => {
    const {
      status,
      body: { error },
    } = await client.call(method ?? 'POST', path, { body, headers })
    t.equal(status, 400)
    t.match(error.details, { field, constraint })
    t.equal(error.details.errors.length, 1, 'there is one problem')
    const [{ message }] = error.details.errors
    t.ok(message.startsWith(says), message)
    t.ok(message.length < 300)
  })
}

t.test('an uppercase digest is rejected, in the form and in the header', async (t) => {
  const digest = 'A'.repeat(64)
  for (const [field, fields, headers] of [
    ['sha256', { sha256: digest }, {}],
    ['x-content-sha256', {}, { 'x-content-sha256': digest }],
  ] as const) {
    const {
      status,
      body: { error },
    } = await upload(client, { bytes: 'text', name: 'a.txt', fields, headers })
    t.equal(status, 400)
    t.match(error.details.errors, [
      { field, constraint: 'pattern', message: `${field} must be 64 lowercase hexadecimal digits` },
    ])
  }
})

t.test('the error for a key in another scheme than Bearer names Bearer', async (t) => {
  for (const authorization of [`Basic ${btoa(`${server.key}:`)}`, server.key, 'Token x']) {
    const reply = await fetch(`${server.url}/v1/projects`, { headers: { authorization } })
    const { error } = (await reply.json()) as any
    t.equal(reply.status, 401)
    t.match(error, {
      message: 'Use the Bearer scheme: Authorization: Bearer <API_KEY>.',
      details: { reason: 'malformed' },
    })
  }
})

t.test('the 412 of a stale ETag says what happened', async (t) => {
  const { status, body } = await client.call('PUT', '/user/profile', {
    body: { name: 'Ada' },
    headers: { 'if-match': '"stale"' },
  })
  t.equal(status, 412)
  t.match(body.error.message, /^Another request changed the resource: its ETag is not the one in If-Match/)
})

t.test('the 404 of a path suggests the path of an operation', async (t) => {
  for (const [path, suggested] of [
    ['/v1/projects/', '/v1/projects'],
    ['/v1/projects/?page=1', '/v1/projects'],
    ['/docs/', '/docs'],
    ['/projects', '/v1/projects'],
    ['/storage/files/', '/v1/storage/files'],
    ['/v1/nothing', null],
    ['/v1/projects//', null],
    [`/v1/projects/${'x'.repeat(300)}/`, null],
  ] as const) {
    const reply = await fetch(server.url + path)
    const { error } = (await reply.json()) as any
    t.equal(reply.status, 404, path)
    t.equal(
      error.message,
      suggested === null ? 'There is no such path.' : `There is no such path. Did you mean ${suggested}?`,
    )
  }
})

t.test('an enum with null names it as the last value', async (t) => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], logprobs: true }
  const { body: answer } = await client.post('/chat/completions', body)
  t.match(answer.error.message, 'logprobs must be one of false or null')
})
