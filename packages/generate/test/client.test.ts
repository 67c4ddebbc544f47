// The client of any document: compiled in strict mode, and used against the mock of the same document.
import { createReadStream, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import ts from 'typescript'
import { generateClient } from '@platform-api/generate/client.ts'
import { createMock } from '@platform-api/mock/server.ts'
import { readOpenapi } from '@platform-api/openapi/read.ts'
import { compilerHost } from '../../../test/support/generator/compiler-host.ts'

type Json = any

const json = (schema: object): object => ({ content: { 'application/json': { schema } } })
const note = { $ref: '#/components/schemas/Note' }
const problem = { description: 'Refused.', ...json({ $ref: '#/components/schemas/Problem' }) }
const path = { name: 'id', in: 'path', required: true, schema: { type: 'string' } }
const query = (name: string, type: string, more: object = {}): object => ({
  name,
  in: 'query',
  schema: { type, ...more },
})
const listOf = (properties: object): object => ({
  200: {
    description: 'A page.',
    ...json({ type: 'object', properties: { items: { type: 'array', items: note }, ...properties } }),
  },
})

const document = {
  openapi: '3.1.0',
  info: { title: 'Note Keeper', version: '2.0.1' },
  servers: [{ url: 'https://notes.example.com/api' }],
  security: [{ token: [] }, { header_key: [], query_key: [] }, { basic: [] }, { cookie_key: [] }],
  paths: {
    '/notes': {
      get: {
        operationId: 'notes/list',
        parameters: [query('page', 'integer', { minimum: 1 }), query('limit', 'integer', { default: 2 })],
        responses: listOf({ total: { type: 'integer' } }),
      },
      post: {
        operationId: 'notes/create',
        parameters: [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }],
        requestBody: { required: true, ...json(note) },
        responses: { 201: { description: 'Created.', ...json(note) }, 400: problem },
      },
    },
    '/notes/{id}': {
      parameters: [path],
      get: {
        operationId: 'notes/get',
        responses: { 200: { description: 'The note.', ...json(note) }, 404: problem, '5XX': problem },
      },
      delete: { operationId: 'notes/delete', responses: { 204: { description: 'Deleted.' } } },
    },
    // A body without a media type, and a list that may have no body.
    '/anything': {
      post: {
        operationId: 'sendAnything',
        requestBody: { content: {} },
        responses: { 204: { description: 'Sent.' } },
      },
      get: {
        operationId: 'listAnything',
        parameters: [query('offset', 'integer'), query('limit', 'integer')],
        responses: { ...listOf({}), 204: { description: 'Nothing.' } },
      },
    },
    '/by-cursor': {
      get: {
        operationId: 'byCursor',
        parameters: [query('page_token', 'string')],
        responses: listOf({
          meta: { type: 'object', properties: { next_page_token: { type: ['string', 'null'] } } },
        }),
      },
    },
    '/by-id': {
      get: {
        operationId: 'byId',
        parameters: [query('starting_after', 'string')],
        responses: listOf({ has_more: { type: 'boolean' } }),
      },
    },
    '/by-offset': {
      get: {
        operationId: 'byOffset',
        parameters: [query('offset', 'integer'), query('limit', 'integer', { default: 2, maximum: 2 })],
        responses: { 200: { description: 'All.', ...json({ type: 'array', items: note }) } },
      },
    },
    '/by-link': {
      get: {
        operationId: 'byLink',
        responses: {
          200: {
            description: 'All.',
            headers: { Link: { schema: { type: 'string' } } },
            ...json({ type: 'array', items: note }),
          },
        },
      },
    },
    '/changes': {
      get: {
        operationId: 'changes',
        responses: { 200: { description: 'Changes.', content: { 'text/event-stream': { schema: note } } } },
      },
    },
    '/answers': {
      post: {
        operationId: 'answer',
        requestBody: json({ type: 'object', properties: { stream: { type: 'boolean' } } }),
        responses: {
          200: {
            description: 'The answer.',
            content: { 'application/json': { schema: note }, 'text/event-stream': { schema: note } },
          },
        },
      },
    },
    '/files/{id}': {
      put: {
        operationId: 'putFile',
        parameters: [path],
        requestBody: { content: { 'image/*': {}, 'application/octet-stream': {} } },
        responses: { 204: { description: 'Stored.' } },
      },
      get: {
        operationId: 'getFile',
        parameters: [path],
        responses: {
          200: {
            description: 'The file.',
            content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
          },
        },
      },
    },
    '/forms': {
      post: {
        operationId: 'sendForm',
        requestBody: {
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                required: ['photo'],
                properties: {
                  photo: { type: 'string', format: 'binary' },
                  pages: { type: 'array', items: { type: 'string', format: 'binary' } },
                  about: { type: 'object', properties: { size: { type: 'integer' } } },
                  tags: { type: 'array', items: { type: 'string' } },
                  title: { type: 'string' },
                },
              },
              encoding: { tags: { style: 'form', explode: false } },
            },
          },
        },
        responses: { 204: { description: 'Stored.' } },
      },
    },
    '/certified': {
      get: {
        operationId: 'certified',
        security: [{ certificate: [], header_key: [] }, { signature: [] }],
        responses: { 204: { description: 'Found.' } },
      },
    },
    '/search': {
      post: {
        operationId: 'search',
        security: [],
        requestBody: {
          content: {
            'application/x-www-form-urlencoded': {
              schema: { type: 'object', properties: { words: { type: 'array', items: { type: 'string' } } } },
            },
            'text/plain': { schema: { type: 'string' } },
          },
        },
        responses: {
          200: { description: 'Found.', content: { 'text/plain': { schema: { type: 'string' } } } },
        },
      },
    },
  },
  components: {
    securitySchemes: {
      token: { type: 'oauth2', flows: {} },
      header_key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      query_key: { type: 'apiKey', in: 'query', name: 'key' },
      cookie_key: { type: 'apiKey', in: 'cookie', name: 'session' },
      basic: { type: 'http', scheme: 'basic' },
      certificate: { type: 'mutualTLS' },
      signature: { type: 'http', scheme: 'hmac' },
    },
    schemas: {
      Note: {
        type: 'object',
        required: ['id', 'text'],
        properties: { id: { type: 'string', readOnly: true }, text: { type: 'string', minLength: 1 } },
      },
      Problem: {
        type: 'object',
        required: ['detail'],
        properties: { detail: { type: 'string' }, code: { type: 'string' } },
      },
    },
  },
}

const folder = t.testdir({ 'notes.json': JSON.stringify(document), 'package.json': '{ "type": "module" }' })
const out = join(folder, 'node_modules/note-keeper-client')
const report = await generateClient(join(folder, 'notes.json'), out)
const { createClient, isErrorOf, toFile, RateLimitError, NotFoundError }: Json = await import(
  join(out, 'index.js')
)
const mock = await createMock({ document: await readOpenapi(join(folder, 'notes.json')) })
const baseUrl = await mock.listen({ host: '127.0.0.1', port: 0 })
t.teardown(() => mock.close())
const client = createClient({ baseUrl, auth: { token: 'secret' } })

interface Sent {
  method: string
  url: string
  headers: Headers
  body: string
}

/** A client whose requests get these answers. */
function answered(answers: Array<() => Response>, options: Json = {}): { client: Json; sent: Sent[] } {
  const sent: Sent[] = []
  const fetch = async (request: Request): Promise<Response> => {
    const { method, url, headers } = request
    sent.push({ method, url, headers, body: await request.text() })
    return (answers.shift() ?? (() => new Response(null, { status: 204 })))()
  }
  const clock = { now: Date.now, random: () => 0, sleep: async () => {} }
  return { client: createClient({ fetch, clock, ...options }), sent }
}

const answer =
  (body: unknown, headers: Record<string, string> = {}) =>
  (): Response =>
    Response.json(body, { headers })

async function all(items: AsyncIterable<Json>): Promise<Json[]> {
  const found = []
  for await (const item of items) found.push(item)
  return found
}

const uses = `import { createClient, isErrorOf, toFile, type components } from 'note-keeper-client'
const client = createClient({ auth: { token: async () => 'x', basic: { username: 'a', password: 'b' } } })
const created: components['schemas']['Note'] = await client.notesCreate({ body: { text: 'a' } })
for await (const { text } of client.notesList({ query: { limit: 2 } })) text.trim()
for await (const { text } of client.byLink()) text.trim()
for await (const { data, event } of client.changes()) data.text.concat(event)
for await (const { data } of client.answer.stream({ body: { stream: true } })) data.text.trim()
const { response } = await client.notesGet({ path: { id: created.id } }).withResponse()
const file = { body: new Blob(['a']), contentType: 'image/*' } as const
await client.putFile({ path: { id: '1' }, ...file, onProgress: console.log })
const photo = toFile(new Uint8Array(1))
await client.sendForm({ body: { photo, pages: [new Blob([])], about: { size: 1 } } })
try {
  await client.notesDelete({ path: { id: '1' } })
} catch (error) {
  if (isErrorOf(error, 'notesGet') && error.status === 404) error.body.detail.trim()
}
await client.api.GET('/notes/{id}', { params: { path: { id: '1' } } })
// @ts-expect-error The scheme is not declared.
createClient({ auth: { other: 'x' } })
// @ts-expect-error A certificate is no part of a request.
createClient({ auth: { certificate: 'x' } })
// @ts-expect-error The text is missing.
await client.notesCreate({ body: {} })
// @ts-expect-error The photo is no text.
await client.sendForm({ body: { photo: 'a' } })
// @ts-expect-error The path is missing.
await client.notesGet()
export { response }
`

t.test('the types compile in strict mode, and misuse does not', async (t) => {
  writeFileSync(join(folder, 'uses.ts'), uses)
  const options: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts', 'lib.dom.asynciterable.d.ts'],
    types: [],
  }
  const program = ts.createProgram([join(folder, 'uses.ts')], options, compilerHost(options))
  const problems = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line + 1
    const message = ts.flattenDiagnosticMessageText(messageText, '\n')
    return `${file?.fileName.slice(folder.length)}:${line} ${message}`
  })
  t.same(problems, [])
})

t.test('everything is written once, and then only what changes', async (t) => {
  t.equal(report.operations, 17)
  t.same((await generateClient(join(folder, 'notes.json'), out)).wrote, [])
})

t.test('what is created is read, listed and deleted', async (t) => {
  const texts = ['one', 'two', 'three', 'four', 'five']
  const made = []
  for (const text of texts) made.push(await client.notesCreate({ body: { text } }))
  t.same(await client.notesGet({ path: { id: made[0].id } }), made[0])
  t.equal((await client.notesList()).items.length, 2)
  t.same(
    (await all(client.notesList())).map(({ text }) => text),
    texts,
  )
  t.same(
    (await all(client.notesList({ query: { page: 2, limit: 2 } }).pages())).map(({ items }) => items.length),
    [2, 1],
  )
  t.same((await all(client.notesList.all({ query: { limit: 4 } }))).length, 5)
  const { data, response } = await client.notesDelete({ path: { id: made[0].id } }).withResponse()
  t.same([data, response.status], [undefined, 204])
  const { data: read } = await client.api.GET('/notes/{id}', { params: { path: { id: made[1].id } } })
  t.equal(read.text, 'two')
})

t.test('pages are read by cursor, last id, offset and link', async (t) => {
  const [a, b, c] = ['a', 'b', 'c'].map((id) => ({ id, text: id }))
  const ids = async (items: AsyncIterable<Json>): Promise<string> =>
    (await all(items)).map(({ id }) => id).join('')
  const cases: Array<[string, Array<() => Response>, string[]]> = [
    [
      'byCursor',
      [
        answer({ items: [a, b], meta: { next_page_token: 'x y' } }),
        answer({ items: [c], meta: { next_page_token: null } }),
      ],
      ['', '?page_token=x%20y'],
    ],
    [
      'byId',
      [answer({ items: [a, b], has_more: true }), answer({ items: [c], has_more: false })],
      ['', '?starting_after=b'],
    ],
    ['byOffset', [answer([a, b]), answer([c])], ['', '?offset=2']],
    [
      'byLink',
      [answer([a, b], { link: '</x>; rel="prev", </api/by-link?from=b%2Cc&n=1>; rel="next"' }), answer([c])],
      ['', '?from=b%2Cc&n=1'],
    ],
  ]
  for (const [method, answers, queries] of cases) {
    const { client: paged, sent } = answered(answers)
    t.equal(await ids(paged[method]()), 'abc', method)
    t.same(
      sent.map(({ url }) => new URL(url).search),
      queries,
    )
    t.ok(sent[0].url.startsWith('https://notes.example.com/api/by-'), 'the server of the document')
  }
})

t.test('a page of a server that has a maximum is not the last one', async (t) => {
  const [a, b, c] = ['a', 'b', 'c'].map((id) => ({ id, text: id }))
  const { client: paged, sent } = answered([answer([a, b]), answer([c])])
  t.equal((await all(paged.byOffset({ query: { limit: 500 } }))).length, 3)
  t.equal(sent.length, 2)
})

t.test('a server that always names the same next page is not asked for ever', async (t) => {
  const same = answer({ items: [{ id: 'a', text: 'a' }], meta: { next_page_token: 'x' } })
  const { client: paged, sent } = answered([same, same, same])
  t.equal((await all(paged.byCursor())).length, 2)
  t.equal(sent.length, 2)
})

t.test('a stream is an async iterable, of a method that answers with JSON, too', async (t) => {
  const [change] = await all(client.changes())
  t.match(change, { event: 'message', id: null, data: { id: String, text: String } })
  t.match(await client.answer({ body: {} }), { text: String })
  const events = 'id: 7\ndata: {"text":"a"}\n\nevent: end\ndata: [DONE]\n\n'
  const { client: streaming, sent } = answered([
    () => new Response(events, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } }),
  ])
  t.same(await all(streaming.answer.stream({ body: { stream: true } })), [
    { event: 'message', id: '7', data: { text: 'a' } },
    { event: 'end', id: '7', data: '[DONE]' },
  ])
  t.match(sent[0].headers.get('accept'), 'text/event-stream')
})

t.test('files and forms are sent with their media types', async (t) => {
  const progress: Json[] = []
  const put = { path: { id: '1' }, onProgress: (each: Json) => progress.push(each) }
  t.equal(await client.putFile({ ...put, body: new Blob(['abc'], { type: 'image/gif' }) }), undefined)
  t.same(progress.at(-1), { sent: 3, total: 3 })
  t.ok((await (await client.getFile({ path: { id: '1' } })).text()).length > 0)
  await client.sendForm({
    body: {
      photo: createReadStream(join(folder, 'notes.json')),
      about: { size: 2 },
      tags: ['a', 'b'],
      title: 'T',
    },
  })
  const { client: sending, sent } = answered([])
  const stream = new PassThrough()
  stream.end('streamed')
  await sending.putFile({ path: { id: 'a/b' }, body: new Blob(['abc'], { type: 'image/gif' }) })
  await sending.putFile({ path: { id: '1' }, body: stream, contentType: 'application/octet-stream' })
  await sending.sendForm({
    body: {
      photo: toFile(new Uint8Array([65]), 'a.txt'),
      pages: [new Blob(['1']), new Blob(['2'])],
      about: { size: 2 },
      tags: ['a', 'b'],
    },
  })
  await sending.search({ body: { words: ['a', 'b c'] } })
  await sending.search({ body: 'a b', contentType: 'text/plain' })
  t.same(
    sent.map(({ headers, body }) => [
      headers.get('content-type')!.replace(/form-[0-9a-f]{32}/, 'x'),
      body
        .replace(/form-[0-9a-f]{32}/g, 'x')
        .replaceAll('\r\n', '|')
        .replaceAll('Content-Type: application/octet-stream', 'BYTES'),
    ]),
    [
      ['image/gif', 'abc'],
      ['application/octet-stream', 'streamed'],
      [
        'multipart/form-data; boundary=x',
        '--x|Content-Disposition: form-data; name="about"|Content-Type: application/json||{"size":2}|' +
          '--x|Content-Disposition: form-data; name="tags"||a,b|' +
          '--x|Content-Disposition: form-data; name="photo"; filename="a.txt"|BYTES||A|' +
          '--x|Content-Disposition: form-data; name="pages"; filename="pages"|BYTES||1|' +
          '--x|Content-Disposition: form-data; name="pages"; filename="pages"|BYTES||2|' +
          '--x--|',
      ],
      ['application/x-www-form-urlencoded', 'words=a&words=b+c'],
      ['text/plain', 'a b'],
    ],
  )
  t.equal(new URL(sent[0].url).pathname, '/api/files/a%2Fb')
  await t.rejects(sending.sendForm({ body: { photo: 'a' } }), {
    name: 'TypeError',
    message: /must be a Blob/,
  })
})

t.test('an error has the status, the body and the message of the response', async (t) => {
  const refused = await client.notesCreate({ body: { text: '' } }).catch((error: unknown) => error)
  t.ok(isErrorOf(refused, 'notesCreate') && !isErrorOf(refused, 'notesGet'))
  t.match(refused, {
    name: 'ValidationError',
    status: 400,
    operation: 'notesCreate',
    body: { detail: String },
  })
  const { client: refusing } = answered([
    () => Response.json({ error: { code: 'gone', message: 'It is gone.' } }, { status: 404 }),
    () => new Response(null, { status: 404, statusText: 'Not Found', headers: { 'request-id': 'r1' } }),
  ])
  const get = (): Promise<Json> => refusing.notesGet({ path: { id: '1' } }).catch((error: unknown) => error)
  t.match(await get(), { message: 'It is gone.', code: 'gone' })
  const plain = await get()
  t.match(plain, { message: 'notesGet failed: 404 Not Found.', requestId: 'r1', body: undefined })
  t.ok(plain instanceof NotFoundError)
})

t.test('the log and the messages have no query: it may have a key or the signature of a URL', async (t) => {
  const html = { status: 404, headers: { 'content-type': 'text/html' } }
  const foreign = (): Response =>
    Object.defineProperty(new Response('<html>', html), 'url', { value: 'http://s3.test/x?sig=secret' })
  const urls: string[] = []
  const { client: logging, sent } = answered([foreign], {
    auth: { header_key: 'h', query_key: 'secret' },
    log: ({ url }: Json) => void urls.push(url),
  })
  const error = await logging.notesGet({ path: { id: '1' } }).catch((thrown: unknown) => thrown)
  t.match(error.message, /http:\/\/s3\.test\/x is not from the API/)
  t.match(sent[0].url, /key=secret/)
  t.same(urls, ['https://notes.example.com/api/notes/1'])
})

t.test('a request is repeated after 429, a POST with the same key', async (t) => {
  const late = (): Response => new Response(null, { status: 429, headers: { 'retry-after': '0' } })
  const { client: retrying, sent } = answered([late, answer({ id: '1', text: 'a' })])
  t.match(await retrying.notesCreate({ body: { text: 'a' } }), { id: '1' })
  const [first, second] = sent.map(({ headers }) => headers.get('idempotency-key'))
  t.match(first, /^[0-9a-f]{32}$/)
  t.equal(second, first)
  const { client: once, sent: attempts } = answered([late, late])
  await t.rejects(once.answer({ body: {} }), RateLimitError)
  t.equal(attempts.length, 1, 'a POST without a key is not repeated')
})

t.test('a certificate is no part of a request, and a scheme of another kind sends its value', async (t) => {
  const { client: authorized, sent } = answered([], { auth: { header_key: 'h', signature: 'hmac x' } })
  await authorized.certified()
  const { client: signing, sent: signed } = answered([], { auth: { signature: 'hmac x' } })
  await signing.certified()
  t.same([sent[0].headers.get('x-key'), signed[0].headers.get('authorization')], ['h', 'hmac x'])
})

t.test('the credentials go where the document says', async (t) => {
  const cases: Array<[object, object, string]> = [
    [{ token: async () => 'new' }, { authorization: 'Bearer new' }, ''],
    [{ header_key: 'h', query_key: 'q q' }, { 'x-key': 'h' }, '?key=q%20q'],
    [
      { basic: { username: 'ü', password: 'p' } },
      { authorization: `Basic ${Buffer.from('ü:p').toString('base64')}` },
      '',
    ],
    [{ cookie_key: 'c' }, { cookie: 'session=c' }, ''],
    [{ query_key: 'q' }, {}, ''],
  ]
  for (const [auth, headers, search] of cases) {
    const { client: authorized, sent } = answered([answer({}), answer('found')], {
      auth,
      headers: { 'x-all': '1' },
    })
    await authorized.notesGet({ path: { id: '1' } })
    await authorized.search({ body: 'a', contentType: 'text/plain' })
    t.match(Object.fromEntries(sent[0].headers), {
      ...headers,
      'x-all': '1',
      'user-agent': 'note-keeper-client/2.0.1',
    })
    t.equal(new URL(sent[0].url).search, search)
    t.notOk(
      ['authorization', 'x-key', 'cookie'].some((name) => sent[1].headers.has(name)),
      'none where none is needed',
    )
  }
})
