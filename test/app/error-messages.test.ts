// Error messages: they say in words what a value must look like, without regular expressions or long lists.
import t from 'tap'
import published from '../../generated/openapi.json' with { type: 'json' }
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const { client } = await server.person()

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
    says: 'message or messages is required',
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
  'an enum with few values': {
    path: '/ai/chat',
    body: { messages: [{ role: 'boss', content: 'Hi' }] },
    field: 'messages[0].role',
    constraint: 'enum',
    says: 'messages[0].role must be one of system, user, assistant',
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
    t.ok(message.length < 250)
  })
}

t.test('an uppercase digest is rejected, in the form and in the header', async (t) => {
  const digest = 'A'.repeat(64)
  for (const [field, fields, headers] of [
    ['sha256', { sha256: digest }, {}],
    ['x-content-sha256', {}, { 'x-content-sha256': digest }],
  ] as const) {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.set(name, value)
    form.set('file', new Blob(['text']), 'a.txt')
    const {
      status,
      body: { error },
    } = await client.call('POST', '/storage/upload', { raw: form as never, headers })
    t.equal(status, 400)
    t.match(error.details.errors, [
      { field, constraint: 'pattern', message: `${field} must be 64 lowercase hexadecimal digits` },
    ])
  }
})
