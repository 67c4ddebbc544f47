// The tests of the tests: an answer that the spec does not declare is caught, by the server and by the client here, and
// the gate names what nothing has reached.
import t from 'tap'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { handlers } from '../../generated/routes.ts'
import { operations, type OperationId, type Operations } from '../../generated/operations.ts'
import { createClient, holdAgainstSpec, seen } from '../support/client.ts'
import { askFor, infos, send, successOf } from '../support/contract.ts'
import { declaredPairs, unseen } from '../support/contract-statuses.ts'
import { startServer } from '../support/server.ts'

type Answer = { status: number, body?: any, headers?: Record<string, string> }
/** The real handlers, their answers bent. */
const bent = (bend: (answer: Answer) => Answer): Operations => Object.fromEntries(Object.entries(handlers).map(([id, handle]) =>
  [id, async (request: never, services: never) => bend(await (handle as (...args: never[]) => Promise<Answer>)(request, services))])) as unknown as Operations
const withJson = infos.filter(({ id }) => operations[id].replies[successOf(id)].serializer !== undefined && id !== 'getOpenapiJson' && id !== 'getReadiness')

t.test('an undeclared field makes the answer a 500, and the log names it', async (t) => {
  const server = await startServer(t, { handlers: bent((answer) => ({ ...answer, ...(answer.body && { body: { ...answer.body, password_hash: 'secret' } }) })) })
  for (const { id } of withJson) {
    const reply = await send(await askFor(server, id))
    t.equal(reply.status, 500, id)
    t.notMatch(reply.text, /password_hash|secret/, id)
    t.ok(server.logs.some((line) => line.includes(`${id} answered a ${successOf(id)} body that breaks the spec`) && line.includes('password_hash')), id)
  }
})

t.test('in production an undeclared field is left out', async (t) => {
  const server = await startServer(t, {
    env: { VALIDATE_RESPONSES: 'false' },
    handlers: bent((answer) => ({ ...answer, ...(answer.body && { body: { ...answer.body, password_hash: 'secret' } }) }))
  })
  for (const { id } of withJson) {
    const reply = await send(await askFor(server, id))
    t.equal(reply.status, successOf(id), id)
    t.notMatch(reply.text, /password_hash|secret/, id)
  }
})

t.test('a missing field makes the answer a 500', async (t) => {
  const server = await startServer(t, {
    handlers: bent((answer) => {
      if (answer.body === undefined || typeof answer.body !== 'object') return answer
      const [first] = Object.keys(answer.body)
      const { [first]: _, ...body } = answer.body
      return { ...answer, body }
    })
  })
  for (const { id } of withJson) t.equal((await send(await askFor(server, id))).status, 500, id)
})

t.test('an undeclared status makes the answer a 500, whether answers are held against the spec or not', async (t) => {
  for (const strict of ['true', 'false']) {
    const server = await startServer(t, { env: { VALIDATE_RESPONSES: strict }, handlers: bent((answer) => ({ ...answer, status: 299 })) })
    for (const { id } of infos) {
      const reply = await send(await askFor(server, id))
      t.equal(reply.status, 500, id)
      t.ok(server.logs.some((line) => line.includes(`${id} answered 299, which the spec does not declare`)), id)
    }
  }
})

t.test('the client throws at every answer that the spec does not declare', async (t) => {
  const good = { 'content-type': 'application/json', 'x-request-id': 'x', 'x-content-type-options': 'nosniff', 'cache-control': 'no-store', etag: '"x"', link: '<x>; rel="first"' }
  const truth = { status: 200, headers: good as Record<string, string>, body: '{"status":"ok"}' }
  let answer = truth
  const liar = createServer((_request, response) => response.writeHead(answer.status, answer.headers).end(answer.body))
  await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve))
  t.teardown(() => liar.close())
  const { get } = createClient(`http://127.0.0.1:${(liar.address() as AddressInfo).port}`, null)
  const { etag: _etag, ...noEtag } = good
  const { link: _link, ...noLink } = good
  const { 'x-request-id': _id, ...noId } = good
  const { 'x-content-type-options': _nosniff, ...noNosniff } = good
  const error = JSON.stringify({ error: { code: 'NOT_FOUND', message: 'x', details: { request_id: 'x' } } })
  const page = '{"data":[],"pagination":{"page":1,"limit":20,"total":0,"total_pages":0}}'

  await get('/healthz')
  for (const [what, path, lie, complaint] of [
    ['status', '/healthz', { status: 418 }, /getHealth answered 418/],
    ['field', '/healthz', { body: '{"status":"ok","uptime":1}' }, /getHealth 200 breaks the spec/],
    ['value', '/healthz', { body: '{"status":"fine"}' }, /getHealth 200 breaks the spec/],
    ['empty body', '/healthz', { body: '' }, /getHealth 200 breaks the spec/],
    ['media type', '/healthz', { headers: { ...good, 'content-type': 'text/html' } }, /getHealth 200 is text\/html/],
    ['lack of a request id', '/healthz', { headers: noId }, /no X-Request-ID/],
    ['lack of nosniff', '/healthz', { headers: noNosniff }, /no X-Content-Type-Options/],
    ['lack of a Link', '/projects', { headers: noLink, body: page }, /listProjects 200 has no Link/],
    ['lack of an ETag', '/openapi.json', { headers: noEtag, body: '{}' }, /getOpenapiJson 200 has no ETag/],
    ['error that may be cached', '/user/profile', { status: 403, headers: { ...good, 'cache-control': 'public' }, body: error }, /getProfile 403 could be cached/],
    ['body of a 304', '/user/profile', { status: 304, body: '' }, null]
  ] as const) {
    answer = { ...truth, ...lie }
    if (complaint === null) await t.resolves(get(path), what)
    else await t.rejects(get(path), { message: complaint }, what)
  }
  t.throws(() => holdAgainstSpec('deleteProject', 204, new Headers(good), { left: 'over' }), /has a body/)
})

t.test('the gate names each operation and status that nothing has reached', async (t) => {
  const all = declaredPairs()
  t.ok(all.includes('getProject 200') && all.includes('addMember 202') && all.includes('updateMember 412'))
  t.equal(new Set(all).size, all.length)
  t.same(unseen(new Set(all)), [])
  t.same(unseen(new Set(all.filter((pair) => pair !== 'addMember 202'))), ['addMember 202'])
  t.same(unseen(new Set(all.filter((pair) => !pair.startsWith('getProject ')))), Object.keys(operations.getProject.replies).map((status) => `getProject ${status}`))
  t.notOk(seen.has('getHealth 418'), 'and what the spec does not declare is never counted as seen')
  const known: OperationId = 'getHealth'
  t.ok(seen.has(`${known} 200`))
})
