// What a person reads who sent something wrong: what is wanted, in words, and never a regular expression or a list without end.
import t from 'tap'
import { eventTypes } from '../../generated/events.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const { client } = await server.person()

interface Wrong {
  method?: 'PUT' | 'GET'
  path: string
  body?: object
  headers?: Record<string, string>
  field: string
  constraint: string
  says: string
}

const file = '/storage/files/file_01jd6y8m5qe8btc4y5w1r0n3fz'
const cases: Record<string, Wrong> = {
  'a path that leads up': {
    method: 'PUT',
    path: file,
    body: { path: '../secrets' },
    field: 'path',
    constraint: 'pattern',
    says: 'path must be a relative path such as reports/2026, without ., .., \\ or control characters',
  },
  'a name with a folder': {
    method: 'PUT',
    path: file,
    body: { name: 'a/b' },
    field: 'name',
    constraint: 'pattern',
    says: 'name must be a file name other than . and .., without /, \\ or control characters',
  },
  'a locale that is none': {
    method: 'PUT',
    path: '/user/profile',
    body: { locale: 'English' },
    field: 'locale',
    constraint: 'pattern',
    says: 'locale must be a language tag such as en or pt-BR',
  },
  'an Idempotency-Key with a blank': {
    path: '/projects',
    body: { name: 'x' },
    headers: { 'idempotency-key': 'two words' },
    field: 'idempotency-key',
    constraint: 'pattern',
    says: 'idempotency-key must be printable ASCII characters without spaces',
  },
  'a model that is none': {
    path: '/ai/chat',
    body: { message: 'Hi', model: 'two words' },
    field: 'model',
    constraint: 'pattern',
    says: 'model must be a model id such as extractive-1',
  },
  'an address that is no web address': {
    path: '/webhooks/endpoints',
    body: { url: 'ftp://example.com', event_types: ['*'] },
    field: 'url',
    constraint: 'pattern',
    says: 'url must be a URL that starts with http:// or https://',
  },
  'an id of something else': {
    path: '/ai/chat',
    body: { message: 'Hi', session_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' },
    field: 'session_id',
    constraint: 'pattern',
    says: 'session_id must be an id such as cs_01jd6y8m5qe8btc4y5w1r0n3fz',
  },
  'neither of two': {
    path: '/ai/chat',
    body: { model: 'extractive-1' },
    field: 'message',
    constraint: 'required',
    says: 'message or messages is required',
  },
  'both of two': {
    path: '/ai/chat',
    body: { message: 'Hi', messages: [{ role: 'user', content: 'Hi' }] },
    field: 'body',
    constraint: 'oneOf',
    says: 'only one of message and messages can be given',
  },
  'one of a few values': {
    path: '/ai/chat',
    body: { messages: [{ role: 'boss', content: 'Hi' }] },
    field: 'messages[0].role',
    constraint: 'enum',
    says: 'messages[0].role must be one of system, user, assistant',
  },
  'one of many values': {
    path: '/webhooks/endpoints',
    body: { url: 'https://example.com', event_types: ['project.create'] },
    field: 'event_types[0]',
    constraint: 'enum',
    says: `event_types[0] must be one of ${Object.keys(eventTypes).length + 1} values such as project.created, `,
  },
  'one of many scopes': {
    path: '/user/api-keys',
    body: { name: 'x', scopes: ['storage:reed'] },
    field: 'scopes[0]',
    constraint: 'enum',
    says: 'scopes[0] must be one of 14 values such as storage:read, ',
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
    t.equal(error.details.errors.length, 1, 'and this only')
    const [{ message }] = error.details.errors
    t.ok(message.startsWith(says), message)
    t.ok(message.length < 160)
  })
}

t.test('a digest in capitals, in the form and in the header', async (t) => {
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
