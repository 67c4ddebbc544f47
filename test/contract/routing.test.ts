// Routing: unknown paths are 404, undeclared methods 405 with Allow. Every answer has a request id. `npm
// test` tries one undeclared method on each path, in turns, and the X-Request-ID on one operation of each
// kind; `npm run faults` tries all.
import { methodsOf } from '../../infra/contract/operations-by-path.ts'
import { patternOf } from '../../infra/validation/path-template.ts'
import t from 'tap'
import { requestFor, operationInfos, pathOf, send } from '../support/operations/operation-fixtures.ts'
import { oneOfEachKind, pipelineKind } from '../support/operations/kinds.ts'
import { sendRaw } from '../support/http/raw-http.ts'
import { recordChanges } from '../support/server/changes.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
const paths = new Map<string, Set<string>>()
for (const info of operationInfos)
  paths.set(info.path, new Set([...(paths.get(info.path) ?? []), ...methodsOf(info)]))
/** In the short form, one of each way to answer. */
const answering = isLongForm
  ? operationInfos
  : oneOfEachKind(operationInfos, (info) => [
      pipelineKind(info),
      info.method,
      Object.entries(info.replies).map(([status, { contentType, binary, events }]) =>
        Number(status) < 400 ? [contentType, binary, events !== undefined] : [],
      ),
    ])
const allMethods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY']
const generatedId = /^req_[0-9a-f]{32}$/

t.test('a method that a path does not declare is answered with 405 and the declared methods', async (t) => {
  const before = await changes()
  for (const [i, path] of [...paths.keys()].entries()) {
    const real = path.replace(/\{\w+\}/g, 'prj_01jd6y8m5qe8btc4y5w1r0n3fz')
    // A word may stand in the place of a parameter: GET …/documents/batch gets the document `batch`.
    const methods = [...paths].flatMap(([each, own]) => (patternOf(each).test(real) ? [...own] : []))
    const allowed = new Set([...methods, ...(methods.includes('GET') ? ['HEAD'] : [])])
    const undeclared = allMethods.filter((method) => !allowed.has(method))
    for (const method of isLongForm ? undeclared : [undeclared[i % undeclared.length]]) {
      const reply = await sendRaw(server, `${method} ${real} HTTP/1.1`, [
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
  t.same(await changes(), before, 'nothing is written to the database')
})

t.test('an unknown path is answered with 404, for every method and with or without a key', async (t) => {
  for (const path of [
    '/v1',
    '/v1/',
    '/v2/projects',
    '/projects',
    '/v1/Projects',
    '/V1/projects',
    '//v1/projects',
    '/v1//projects',
    '/v1/projects;x=1',
    '/v1/storage',
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
      const reply = await sendRaw(server, `${method} ${path} HTTP/1.1`, [
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
    t.equal((await sendRaw(server, `GET ${path} HTTP/1.1`)).status, 404, `${path} with no key`)
  }
})

t.test('404 and 405 are answered before the body is read', async (t) => {
  const json = 'content-type: application/json'
  for (const [what, headers, body] of [
    ['half a body', [json], '{'],
    ['another Content-Type', ['content-type: text/plain'], 'x'],
    ['a body too large', [json, 'content-length: 2000000'], ''],
  ] as const) {
    t.equal(
      (await sendRaw(server, 'POST /v1/nothing HTTP/1.1', [...headers], body)).status,
      404,
      `404 with ${what}`,
    )
    t.equal(
      (await sendRaw(server, 'POST /v1/user/profile HTTP/1.1', [...headers], body)).status,
      405,
      `405 with ${what}`,
    )
  }
})

t.test('a path segment that is longer than any id is answered with 400 or 404', async (t) => {
  for (const length of [31, 100, 101, 500, 501, 4000]) {
    const reply = await sendRaw(server, `GET /v1/projects/${'a'.repeat(length)} HTTP/1.1`, [
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

t.test('a malformed percent-encoding in the path is answered with 400 and the common headers', async (t) => {
  for (const path of ['/v1/projects/%zz', '/v1/projects/%', '/v1/projects/%ff', '/%zz']) {
    const reply = await sendRaw(server, `GET ${path} HTTP/1.1`, [
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

t.test('a valid X-Request-ID is returned with every answer, errors included', async (t) => {
  for (const id of [
    'a',
    'mine-42',
    'x'.repeat(128),
    'a b',
    '~!@#$%^&*()_+{}|:"<>?',
    'req_01jd6y8m5qe8btc4y5w1r0n3fz',
  ]) {
    for (const info of id === 'mine-42'
      ? answering
      : operationInfos.filter(({ id }) => id === 'getProfile')) {
      const request = await requestFor(server, info.id, { caller: server.admin })
      const good = await send(request, { headers: { 'x-request-id': id } })
      t.equal(good.headers.get('x-request-id'), id, info.id)
      if (info.scopes === null) continue
      const bad = await send(request, { key: null, headers: { 'x-request-id': id } })
      t.equal(bad.headers.get('x-request-id'), id, info.id)
      t.equal(bad.body.error.details.request_id, id, info.id)
      t.ok(
        server.logs.some((line) => line.includes(JSON.stringify(id))),
        `${info.id}: the log has the request id`,
      )
    }
  }
})

t.test('an invalid X-Request-ID is replaced', async (t) => {
  const request = await requestFor(server, 'getProfile')
  for (const id of ['', 'x'.repeat(129), 'a\tb', 'é', '\u0080', 'x'.repeat(5000)]) {
    const reply = await sendRaw(server, `GET ${pathOf(request)} HTTP/1.1`, [
      `authorization: Bearer ${request.caller.key}`,
      `x-request-id: ${id}`,
    ])
    t.equal(reply.status, 200, JSON.stringify(id.slice(0, 20)))
    t.match(reply.headers.get('x-request-id')![0], generatedId, JSON.stringify(id.slice(0, 20)))
    t.equal(reply.headers.get('x-request-id')!.length, 1)
  }
  const reply = await sendRaw(server, 'GET /v1/user/profile HTTP/1.1')
  t.match(reply.headers.get('x-request-id')![0], generatedId, 'a request without an id gets one')
  t.notOk(
    server.logs.some((line) => line.includes('x'.repeat(129))),
    'the log does not have the invalid id',
  )
})

t.test('every request gets a unique request id', async (t) => {
  const request = await requestFor(server, 'getProfile')
  const ids = await Promise.all(
    Array.from({ length: 50 }, async () => (await send(request)).headers.get('x-request-id')),
  )
  t.equal(new Set(ids).size, 50)
})

t.test('malformed HTTP is answered with 400 in the common error shape', async (t) => {
  for (const line of ['trash', 'GET /v1/projects HTTP/9.9', 'GET  HTTP/1.1', 'FOO /v1/projects HTTP/1.1']) {
    const reply = await sendRaw(server, line)
    t.equal(reply.status, 400, line)
    t.match(
      reply.body?.error,
      { code: 'INVALID_REQUEST', details: { request_id: reply.headers.get('x-request-id')?.[0] } },
      line,
    )
    t.same(reply.headers.get('x-content-type-options'), ['nosniff'])
  }
})
