// Tests of the test support: the server and the test client both reject an answer that the spec does not
// declare, and the coverage check names each operation and status that no test reached. `npm test` breaks the
// answers of one operation of each kind, `npm run faults` those of all.
import t from 'tap'
import { createServer } from 'node:http'
import { handlers } from '../../generated/routes.ts'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Operations } from '../../services/handler.ts'
import { createClient, assertMatchesSpec, coveredResponses } from '../support/http/client.ts'
import { requestFor, send, served, successStatus } from '../support/operations/operation-fixtures.ts'
import { oneOfEachKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { isEndless } from '../support/contract/contract-schema.ts'
import { declaredResponses, uncoveredResponses } from '../support/contract/contract-statuses.ts'
import { createEventParser, openStream } from '../support/http/event-stream.ts'
import { startServer } from '../support/server/server.ts'
import { listen } from '../support/http/listen.ts'

type Answer = { status: number; body?: any; headers?: Record<string, string> }
/** The real handlers with modified answers. */
const withAnswers = (change: (answer: Answer) => Answer): Operations =>
  Object.fromEntries(
    Object.entries(handlers).map(([id, handle]) => [
      id,
      async (request: never, services: never) =>
        change(await (handle as (...args: never[]) => Promise<Answer>)(request, services)),
    ]),
  ) as unknown as Operations
/** Operations whose answers take the same path through the server. */
const answerKind = (info: OperationInfo & { id: OperationId }): unknown => {
  const { serializer, volatile, events, binary } = info.replies[successStatus(info.id)]
  const { etag, paged, idempotent, handlesIdempotency, produces, secretAnswer, static: isStatic } = info
  return [
    successStatus(info.id),
    serializer !== undefined,
    volatile !== undefined,
    events !== undefined,
    binary,
    [etag, paged, idempotent, handlesIdempotency, produces, secretAnswer, isStatic],
  ]
}
const broken = isLongForm ? served : oneOfEachKind(served, answerKind)
const withJson = broken.filter(
  ({ id }) =>
    operations[id].replies[successStatus(id)].serializer !== undefined &&
    id !== 'getOpenapiJson' &&
    id !== 'getReadiness',
)

t.test('an undeclared field in an answer becomes a 500, and the log names the field', async (t) => {
  const server = await startServer(t, {
    handlers: withAnswers((answer) => ({
      ...answer,
      ...(answer.body && { body: { ...answer.body, password_hash: 'canary' } }),
    })),
  })
  for (const { id } of withJson) {
    const reply = await send(await requestFor(server, id))
    t.equal(reply.status, 500, id)
    t.notMatch(reply.text, /password_hash|canary/, id)
    t.ok(
      server.logs.some(
        (line) =>
          line.includes(`the body of ${id} ${successStatus(id)} does not match the spec`) &&
          line.includes('password_hash'),
      ),
      id,
    )
  }
})

t.test('an undeclared field is removed from the answer in production', async (t) => {
  const server = await startServer(t, {
    env: { VALIDATE_RESPONSES: 'false' },
    handlers: withAnswers((answer) => ({
      ...answer,
      ...(answer.body && { body: { ...answer.body, password_hash: 'canary' } }),
    })),
  })
  for (const { id } of withJson) {
    const reply = await send(await requestFor(server, id))
    t.equal(reply.status, successStatus(id), id)
    t.notMatch(reply.text, /password_hash|canary/, id)
  }
})

t.test('a missing field in an answer becomes a 500', async (t) => {
  const server = await startServer(t, {
    handlers: withAnswers((answer) => {
      if (answer.body === undefined || typeof answer.body !== 'object') return answer
      const [first] = Object.keys(answer.body)
      const { [first]: _, ...body } = answer.body
      return { ...answer, body }
    }),
  })
  for (const { id } of withJson) t.equal((await send(await requestFor(server, id))).status, 500, id)
})

t.test('an undeclared status becomes a 500, with VALIDATE_RESPONSES on or off', async (t) => {
  for (const strict of ['true', 'false']) {
    const server = await startServer(t, {
      env: { VALIDATE_RESPONSES: strict },
      handlers: withAnswers((answer) => ({ ...answer, status: 299 })),
    })
    for (const { id } of broken) {
      const reply = await send(await requestFor(server, id))
      t.equal(reply.status, 500, id)
      t.ok(
        server.logs.some((line) => line.includes(`${id} answered 299, which the spec does not declare`)),
        id,
      )
    }
  }
})

t.test('the test client throws on every answer that the spec does not declare', async (t) => {
  const good = {
    'content-type': 'application/json',
    'x-request-id': 'x',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    etag: '"x"',
    link: '<x>; rel="first"',
  }
  const rateLimits = { ratelimit: '"read";r=1;t=1', 'ratelimit-policy': '"read";q=1;w=60' }
  const validAnswer = { status: 200, headers: good as Record<string, string>, body: '{"status":"ok"}' }
  let answer = validAnswer
  const fakeServer = createServer((_request, response) =>
    response.writeHead(answer.status, answer.headers).end(answer.body),
  )
  const port = await listen(t, fakeServer)
  const { get } = createClient(`http://127.0.0.1:${port}`, null)
  const { etag: _etag, ...noEtag } = good
  const { link: _link, ...noLink } = good
  const { 'x-request-id': _id, ...noId } = good
  const { 'x-content-type-options': _nosniff, ...noNosniff } = good
  const bytes = {
    ...good,
    'content-type': 'image/png',
    'content-length': '1',
    'last-modified': 'x',
    'accept-ranges': 'bytes',
    'content-disposition': 'x',
  }
  const part = { ...bytes, 'content-range': 'bytes 0-0/2' }
  const without = (headers: Record<string, string>, missing: string) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name !== missing))
  const download = '/storage/files/file_01jd6y8m5qe8btc4y5w1r0n3fz/download'
  const details = { reason: 'not_found', request_id: 'x' }
  const error = JSON.stringify({ error: { code: 'NOT_FOUND', message: 'x', details } })
  const pagination = { page: 1, limit: 20, total: 0, total_pages: 0, next_cursor: null, has_more: false }
  const page = JSON.stringify({ data: [], pagination })

  const isCounted = (path: string): boolean => path !== '/healthz'

  await get('/healthz')
  for (const [what, path, override, expectedError] of [
    ['status', '/healthz', { status: 418 }, /getHealth answered 418/],
    ['field', '/healthz', { body: '{"status":"ok","uptime":1}' }, /getHealth 200 does not match the spec/],
    ['value', '/healthz', { body: '{"status":"fine"}' }, /getHealth 200 does not match the spec/],
    ['empty body', '/healthz', { body: '' }, /getHealth 200 does not match the spec/],
    [
      'media type',
      '/healthz',
      { headers: { ...good, 'content-type': 'text/html' } },
      /getHealth 200 is text\/html/,
    ],
    ['missing request id', '/healthz', { headers: noId }, /no X-Request-ID/],
    ['missing nosniff', '/healthz', { headers: noNosniff }, /no X-Content-Type-Options/],
    ['missing Link', '/projects', { headers: noLink, body: page }, /listProjects 200 has no Link/],
    ['missing ETag', '/openapi.json', { headers: noEtag, body: '{}' }, /getOpenapiJson 200 has no ETag/],
    [
      'error that may be cached',
      '/user/profile',
      { status: 403, headers: { ...good, 'cache-control': 'public' }, body: error },
      /getProfile 403 could be cached/,
    ],
    [
      'missing declared header',
      '/user/profile',
      { status: 401, body: error },
      /getProfile 401 has no WWW-Authenticate/,
    ],
    ['bytes of any type', download, { headers: bytes, body: '{' }, null],
    [
      'bytes that are JSON',
      download,
      { headers: { ...bytes, 'content-type': 'application/json' }, body: '{' },
      null,
    ],
    [
      'bytes without a type',
      download,
      { headers: without(bytes, 'content-type'), body: 'x' },
      /downloadFile 200 has no Content-Type/,
    ],
    [
      'bytes without an ETag',
      download,
      { headers: without(bytes, 'etag'), body: 'x' },
      /downloadFile 200 has no ETag/,
    ],
    [
      'bytes without a file name',
      download,
      { headers: without(bytes, 'content-disposition'), body: 'x' },
      /downloadFile 200 has no Content-Disposition/,
    ],
    [
      'bytes without Accept-Ranges',
      download,
      { headers: { ...bytes, 'accept-ranges': 'none' }, body: 'x' },
      /downloadFile 200 has Accept-Ranges: none, the spec declares bytes/,
    ],
    ['range', download, { status: 206, headers: part, body: 'x' }, null],
    [
      '206 without Content-Range',
      download,
      { status: 206, headers: without(part, 'content-range'), body: 'x' },
      /downloadFile 206 has no Content-Range/,
    ],
    [
      '416 without Content-Range',
      download,
      { status: 416, body: error },
      /downloadFile 416 has no Content-Range/,
    ],
    ['redirect without Location', download, { status: 302, body: '' }, /downloadFile 302 has no Location/],
    ['body of a 304', '/user/profile', { status: 304, body: '' }, null],
  ] as const) {
    answer = { ...validAnswer, ...override }
    if (isCounted(path)) answer.headers = { ...answer.headers, ...rateLimits }
    if (expectedError === null) await t.resolves(get(path), what)
    else await t.rejects(get(path), { message: expectedError }, what)
  }
  t.throws(() => assertMatchesSpec('deleteProject', 204, new Headers(good), { left: 'over' }), /has a body/)
})

t.test('the event stream parser follows the WHATWG standard, for any split into chunks', async (t) => {
  const text = [
    '\ufeff: hello\n',
    'data: 1\n\n',
    'id: 7\r\nevent: a:b\r\ndata:{"x":\r\ndata:  2}\r\n\r\n',
    ': \r',
    'id:8\rid: no\0ne\rdata\rdata\r\r',
    'id: 9\n\n',
    'event: lost\n\n',
    'data: no colon\ndatas: x\n retry: 5\nretry: 5\n\n',
    'data: é😀\nid\n\n',
    'data: never whole\n',
  ].join('')
  const bytes = Buffer.from(text)
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const parser = createEventParser()
    const found = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      parser.write(bytes.subarray(i * size, (i + 1) * size)),
    ).flat()
    t.same(
      found,
      [
        { id: '', event: 'comment', data: '', comment: 'hello' },
        { id: '', event: 'message', data: '1' },
        { id: '7', event: 'a:b', data: '{"x":\n 2}' },
        { id: '7', event: 'comment', data: '', comment: '' },
        { id: '8', event: 'message', data: '\n' },
        { id: '9', event: 'message', data: 'no colon' },
        { id: '', event: 'message', data: 'é😀' },
      ],
      `${size} bytes at a time`,
    )
    t.equal(parser.lastEventId, '')
  }
})

t.test('the client leaves a stream without x-stream-ends after its first chunk, and reads any other', (t) => {
  t.ok(isEndless('streamEvents'))
  t.notOk(isEndless('streamChat'))
  t.notOk(isEndless('listEvents'))
  t.end()
})

t.test('the event stream parser throws on every event that the spec does not declare', async (t) => {
  const head = {
    'content-type': 'text/event-stream',
    'x-request-id': 'x',
    'x-content-type-options': 'nosniff',
    ratelimit: '"read";r=1;t=1',
    'ratelimit-policy': '"read";q=1;w=60',
  }
  let sent = ''
  const fakeServer = createServer((_request, response) => response.writeHead(200, head).end(sent))
  const port = await listen(t, fakeServer)
  const open = async (text: string) => {
    sent = text
    return await openStream(`http://127.0.0.1:${port}`, null)
  }
  for (const [text, expectedError] of [
    ['data: {}\n\n', /the event message of streamEvents does not match the spec/],
    [
      'event: end\ndata: {"reason":"shutdown","more":1}\n\n',
      /the event end of streamEvents does not match the spec/,
    ],
    ['event: other\ndata: {}\n\n', /streamEvents sent the event other, which the spec does not declare/],
    ['event: end\ndata: {\n\n', /JSON/],
    ['', /has ended/],
  ] as const)
    await t.rejects((await open(text)).next(), { message: expectedError }, text)
  const received: unknown[] = []
  for await (const event of (await open('id: 3\nevent: end\ndata: {"reason":"shutdown"}\n\n')).events)
    received.push(event)
  t.same(received, [{ id: '3', event: 'end', data: { reason: 'shutdown' } }])
})

t.test('the coverage check names each operation and status that no test reached', async (t) => {
  const all = declaredResponses()
  t.ok(all.includes('getProject 200') && all.includes('addMember 202') && all.includes('updateMember 412'))
  t.equal(new Set(all).size, all.length)
  t.same(uncoveredResponses(new Set(all)), [])
  t.same(uncoveredResponses(new Set(all.filter((pair) => pair !== 'addMember 202'))), ['addMember 202'])
  t.same(
    uncoveredResponses(new Set(all.filter((pair) => !pair.startsWith('getProject ')))),
    Object.keys(operations.getProject.replies).map((status) => `getProject ${status}`),
  )
  t.notOk(coveredResponses.has('getHealth 418'), 'an undeclared status is never counted as covered')
  const known: OperationId = 'getHealth'
  t.ok(coveredResponses.has(`${known} 200`))
})
