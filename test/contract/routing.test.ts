// What is no operation: 404 for paths nobody knows, 405 with Allow for methods nobody declared, in the one error shape;
// and the request id, which is on every answer.
import t from 'tap'
import { askFor, infos, pathOf, send } from '../support/operation-fixtures.ts'
import { sendLines } from '../support/contract-wire.ts'
import { createDump } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
const paths = new Map<string, Set<string>>()
for (const { path, method } of infos) paths.set(path, (paths.get(path) ?? new Set()).add(method))
const madeId = /^req_[0-9a-f]{32}$/

t.test('a method that a path does not have is 405 with the ones it has', async (t) => {
  const before = await dump()
  for (const [path, methods] of paths) {
    const allowed = new Set([...methods, ...(methods.has('GET') ? ['HEAD'] : [])])
    const real = path.replace(/\{\w+\}/g, 'prj_01jd6y8m5qe8btc4y5w1r0n3fz')
    for (const method of [
      'GET',
      'HEAD',
      'POST',
      'PUT',
      'DELETE',
      'PATCH',
      'OPTIONS',
      'TRACE',
      'PROPFIND',
      'QUERY',
    ]) {
      if (allowed.has(method)) continue
      const reply = await sendLines(server, `${method} ${real} HTTP/1.1`, [
        `authorization: Bearer ${server.key}`,
      ])
      t.equal(reply.status, 405, `${method} ${path}`)
      t.same(new Set(reply.headers.get('allow')?.[0].split(', ')), allowed, `${method} ${path} allows`)
      t.same(reply.headers.get('x-content-type-options'), ['nosniff'])
      if (method === 'HEAD') continue
      t.match(
        reply.body?.error,
        { code: 'METHOD_NOT_ALLOWED', details: { request_id: reply.headers.get('x-request-id')![0] } },
        `${method} ${path}`,
      )
    }
  }
  t.same(await dump(), before, 'nothing is written')
})

t.test('a path nobody knows is 404, whoever asks and however', async (t) => {
  for (const path of [
    '/',
    '/v1',
    '/v1/',
    '/v2/projects',
    '/projects',
    '/v1/Projects',
    '/V1/projects',
    '//v1/projects',
    '/v1//projects',
    '/v1/projects;x=1',
    '/v1/user',
    '/v1/nothing',
    '/v1/projects/x/y/z',
    '/.env',
    '/v1/user/profile/',
    '/v1/projects/',
    '/v1/projects//members',
    '/v1/../etc/passwd',
    '/healthz/x',
    '/metrics',
    '/docs/nothing.js',
  ]) {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      const reply = await sendLines(server, `${method} ${path} HTTP/1.1`, [
        `authorization: Bearer ${server.key}`,
      ])
      t.equal(reply.status, 404, `${method} ${path}`)
      t.match(
        reply.body?.error,
        { code: 'NOT_FOUND', details: { request_id: reply.headers.get('x-request-id')![0] } },
        `${method} ${path}`,
      )
      t.same(reply.headers.get('x-content-type-options'), ['nosniff'])
      t.same(reply.headers.get('cache-control'), ['no-store'])
    }
    t.equal((await sendLines(server, `GET ${path} HTTP/1.1`)).status, 404, `${path} with no key`)
  }
})

t.test('what is no operation is said before anything of its body is read', async (t) => {
  const json = 'content-type: application/json'
  for (const [what, headers, body] of [
    ['half a body', [json], '{'],
    ['a body of another type', ['content-type: text/plain'], 'x'],
    ['a body too large', [json, 'content-length: 2000000'], ''],
  ] as const) {
    t.equal(
      (await sendLines(server, 'POST /v1/nothing HTTP/1.1', [...headers], body)).status,
      404,
      `404 with ${what}`,
    )
    t.equal(
      (await sendLines(server, 'PATCH /v1/user/profile HTTP/1.1', [...headers], body)).status,
      405,
      `405 with ${what}`,
    )
  }
})

t.test('a segment longer than any id is no id', async (t) => {
  for (const length of [31, 100, 101, 500, 501, 4000]) {
    const reply = await sendLines(server, `GET /v1/projects/${'a'.repeat(length)} HTTP/1.1`, [
      `authorization: Bearer ${server.key}`,
    ])
    t.ok([400, 404].includes(reply.status), `${length} characters: ${reply.status}`)
    t.equal(
      reply.body?.error.details.request_id,
      reply.headers.get('x-request-id')?.[0],
      `${length} characters`,
    )
  }
})

t.test('an address that cannot be read is 400 with all that every answer has', async (t) => {
  for (const path of ['/v1/projects/%zz', '/v1/projects/%', '/v1/projects/%ff', '/%zz']) {
    const reply = await sendLines(server, `GET ${path} HTTP/1.1`, [
      `authorization: Bearer ${server.key}`,
      'x-request-id: mine',
    ])
    t.equal(reply.status, 400, path)
    t.match(reply.body?.error, { code: 'INVALID_REQUEST', details: { request_id: 'mine' } }, path)
    t.same(reply.headers.get('x-request-id'), ['mine'], path)
    t.same(reply.headers.get('x-content-type-options'), ['nosniff'], path)
    t.same(reply.headers.get('cache-control'), ['no-store'], path)
  }
})

t.test('a valid request id comes back on every answer, an error or not', async (t) => {
  for (const id of [
    'a',
    'mine-42',
    'x'.repeat(128),
    'a b',
    '~!@#$%^&*()_+{}|:"<>?',
    'req_01jd6y8m5qe8btc4y5w1r0n3fz',
  ]) {
    for (const info of infos) {
      if (id !== 'mine-42' && info.id !== 'getProfile') continue
      const ask = await askFor(server, info.id, { caller: server.admin })
      const good = await send(ask, { headers: { 'x-request-id': id } })
      t.equal(good.headers.get('x-request-id'), id, info.id)
      if (info.scopes === null) continue
      const bad = await send(ask, { key: null, headers: { 'x-request-id': id } })
      t.equal(bad.headers.get('x-request-id'), id, info.id)
      t.equal(bad.body.error.details.request_id, id, info.id)
      t.ok(
        server.logs.some((line) => line.includes(JSON.stringify(id))),
        `${info.id}: and it is in the log`,
      )
    }
  }
})

t.test('a request id that is none is replaced', async (t) => {
  const ask = await askFor(server, 'getProfile')
  for (const id of ['', 'x'.repeat(129), 'a\tb', 'é', '\u0080', 'x'.repeat(5000)]) {
    const reply = await sendLines(server, `GET ${pathOf(ask)} HTTP/1.1`, [
      `authorization: Bearer ${ask.caller.key}`,
      `x-request-id: ${id}`,
    ])
    t.equal(reply.status, 200, JSON.stringify(id.slice(0, 20)))
    t.match(reply.headers.get('x-request-id')![0], madeId, JSON.stringify(id.slice(0, 20)))
    t.equal(reply.headers.get('x-request-id')!.length, 1)
  }
  const reply = await sendLines(server, 'GET /v1/user/profile HTTP/1.1')
  t.match(reply.headers.get('x-request-id')![0], madeId, 'and one is made where there is none')
  t.notOk(
    server.logs.some((line) => line.includes('x'.repeat(129))),
    'and it is not in the log',
  )
})

t.test('two requests never get the same request id', async (t) => {
  const ask = await askFor(server, 'getProfile')
  const ids = await Promise.all(
    Array.from({ length: 50 }, async () => (await send(ask)).headers.get('x-request-id')),
  )
  t.equal(new Set(ids).size, 50)
})

t.test('what is no HTTP is 400 in the one error shape', async (t) => {
  for (const line of ['trash', 'GET /v1/projects HTTP/9.9', 'GET  HTTP/1.1', 'FOO /v1/projects HTTP/1.1']) {
    const reply = await sendLines(server, line)
    t.equal(reply.status, 400, line)
    t.match(
      reply.body?.error,
      { code: 'INVALID_REQUEST', details: { request_id: reply.headers.get('x-request-id')?.[0] } },
      line,
    )
    t.same(reply.headers.get('x-content-type-options'), ['nosniff'])
  }
})
