// PATCH does the same as PUT: every update is published and served with both methods.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { withPatchOperations } from '../../scripts/generate/patch-operations.ts'
import { requestFor, send, successStatus } from '../support/operations/operation-fixtures.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const document = JSON.parse(
  readFileSync(new URL('../../generated/openapi.json', import.meta.url), 'utf8'),
) as any
// A PUT that may create replaces, and so do some others.
const updates = Object.values<OperationInfo>(operations).filter(
  ({ method, path, replies }) =>
    method === 'PUT' &&
    replies[201] === undefined &&
    document.paths[path.replace('/v1', '')].put['x-replaces'] !== true,
)

t.test('every PUT is published as PATCH', async (t) => {
  t.ok(updates.length >= 13)
  for (const { id, path } of updates) {
    const { put, patch } = document.paths[path.replace('/v1', '')]
    const { operationId, summary, description, ...rest } = patch
    t.equal(operationId, id.replace('update', 'patch'))
    t.match(put.description, /`PATCH` does the same\.$/)
    t.same(rest, {
      ...Object.fromEntries(Object.entries(put).filter(([key]) => key in rest)),
      'x-same-as': id,
    })
    t.same(
      Object.keys(put).filter((key) => !(key in patch)),
      [],
    )
  }
})

t.test('a PUT that replaces has no PATCH, and a PATCH of the spec stays', async (t) => {
  const put = { operationId: 'updateX', summary: 'X', description: 'X.' }
  const paths = {
    '/replaced': { put: { ...put, 'x-replaces': true } },
    '/both': { put, patch: { operationId: 'patchX' } },
    '/read': { get: {} },
  }
  t.same(withPatchOperations(paths), paths)
})

for (const { id, url, ifMatch } of updates as Array<OperationInfo & { id: keyof typeof operations }>)
  t.test(`${id} by PATCH`, async (t) => {
    const options = { method: 'PATCH' }
    const request = await requestFor(server, id)
    t.equal((await send(request, { ...options, key: null })).status, 401)
    const reader = await server.person({ scopes: ['webhooks:read'] })
    t.equal((await send(request, { ...options, key: reader.key })).status, 403)
    const invalid = await send({ ...request, body: { ...request.body, surprise: 1 } }, options)
    t.equal(invalid.status, 400)
    if (ifMatch !== null) {
      const stale = await send(request, { ...options, headers: { 'if-match': '"stale"' } })
      t.equal(stale.status, 412)
    }
    const reply = await send(request, options)
    t.equal(reply.status, successStatus(id), `${url} ${reply.text}`)
    t.equal(reply.operation, id)
    t.equal(reply.headers.get('ratelimit-policy')?.includes('write'), true)
    const again = await send(request)
    t.equal(again.status, reply.status, 'PUT has the same result')
    if (reply.headers.get('etag') !== null) t.ok(again.headers.get('etag'))
  })
