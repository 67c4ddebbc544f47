// API keys: no operation has an effect without a valid key that has the scope of the operation. The key is
// checked before the handler: `npm test` tries invalid keys on one operation of each kind, `npm run faults`
// on all. Both try a missing key, a key without the scope, and one with it, on all.
import t, { type Test } from 'tap'
import { operations } from '../../generated/operations.ts'
import { newSecret } from '../../infra/encryption/api-key-format.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { allScopes, isOperatorScope, withIncluded, type Scope } from '../../services/users/scopes.ts'
import {
  fixtures,
  secured,
  send,
  requestFor,
  successStatus,
} from '../support/operations/operation-fixtures.ts'
import type { Fixture, OperationRequest } from '../support/operations/operation-fixture.ts'
import { recordChanges } from '../support/server/changes.ts'
import { createApiKey } from '../support/database/db-fixtures.ts'
import { oneOfEachKind, pipelineKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
/** The operations that an API key may call. */
const withKey = secured.filter(({ needsSession }) => needsSession !== true)
const requests: OperationRequest[] = []
for (const { id } of withKey) requests.push(await requestFor(server, id))
const kinds = oneOfEachKind(withKey, pipelineKind).map(({ id }) => id)
/** Requests for one operation of each kind. */
const some = isLongForm ? requests : requests.filter(({ id }) => kinds.includes(id))
const sentStatements = () =>
  server.statements.filter((text) => !/last_used_at = u\.at|number_events/.test(text))
const scopesOf = (id: string) => secured.find((info) => info.id === id)!.scopes!

/**
 * Asserts that the operations answer the credentials with 401 and this reason, and that nothing changes.
 */
async function assertUnauthorized(
  t: Test,
  reason: string,
  authorization: (request: OperationRequest) => string | null | Promise<string | null>,
  { lookUp, asked = some }: { lookUp: boolean; asked?: OperationRequest[] },
): Promise<void> {
  const headers: Array<Record<string, string>> = []
  for (const request of asked) {
    const value = await authorization(request)
    headers.push(value === null ? {} : { authorization: value })
  }
  const before = await changes()
  for (const [i, request] of asked.entries()) {
    server.statements.length = 0
    const reply = await send(request, { key: null, headers: headers[i] })
    t.equal(reply.status, 401, request.id)
    t.match(reply.body, { error: { code: 'UNAUTHORIZED', details: { reason } } }, request.id)
    t.equal(
      reply.headers.get('www-authenticate'),
      reason === 'missing' ? 'Bearer' : 'Bearer error="invalid_token"',
      request.id,
    )
    // Without a key, an operation with an optional key loads the file to see whether it is public.
    const needsQuery =
      lookUp ||
      ((operations[request.id] as OperationInfo).keyOptional === true &&
        headers[i].authorization === undefined)
    t.same(
      sentStatements().length,
      needsQuery ? 1 : 0,
      `${request.id} sends ${needsQuery ? 'one query' : 'no query'} to the database`,
    )
  }
  t.same(await changes(), before, 'nothing is written to the database')
}

t.test('every operation answers 401 missing without a key', async (t) => {
  await assertUnauthorized(t, 'missing', () => null, { lookUp: false, asked: requests })
  await assertUnauthorized(t, 'missing', () => '', { lookUp: false })
})

t.test('a malformed key is answered with 401 malformed and is not looked up', async (t) => {
  const flipped = (secret: string) => secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')
  await assertUnauthorized(t, 'malformed', ({ caller }) => caller.key, { lookUp: false })
  await assertUnauthorized(t, 'malformed', ({ caller }) => `Basic ${caller.key}`, { lookUp: false })
  await assertUnauthorized(t, 'malformed', () => 'Bearer', { lookUp: false })
  await assertUnauthorized(t, 'malformed', ({ caller }) => `Bearer ${flipped(caller.key)}`, { lookUp: false })
  await assertUnauthorized(t, 'malformed', ({ caller }) => `Bearer ${caller.key.replace('test', 'live')}`, {
    lookUp: false,
  })
  await assertUnauthorized(t, 'malformed', ({ caller }) => `Bearer ${caller.key}, Bearer ${caller.key}`, {
    lookUp: false,
  })
})

t.test('a well-formed key that was never issued is answered with 401 unknown', async (t) => {
  await assertUnauthorized(t, 'unknown', () => `Bearer ${newSecret('test')}`, { lookUp: true })
})

t.test('a revoked key is answered with 401 revoked', async (t) => {
  await assertUnauthorized(
    t,
    'revoked',
    async ({ caller }) => `Bearer ${(await createApiKey(server, caller.id, { revoked: true })).secret}`,
    { lookUp: true },
  )
})

t.test('an expired key is answered with 401 expired', async (t) => {
  await assertUnauthorized(
    t,
    'expired',
    async ({ caller }) =>
      `Bearer ${(await createApiKey(server, caller.id, { expiresAt: new Date(Date.now() - 1) })).secret}`,
    { lookUp: true },
  )
})

t.test('the key of a disabled owner is answered with 401 disabled', async (t) => {
  const owner = await server.person({ role: 'admin' })
  await server.services.database.prisma.user.update({ where: { id: owner.id }, data: { status: 'disabled' } })
  await assertUnauthorized(t, 'disabled', () => `Bearer ${owner.key}`, { lookUp: true })
})

t.test("a key with every scope except the operation's is answered with 403", async (t) => {
  const keys = new Map<OperationRequest, string>()
  for (const request of requests.filter(({ id }) => scopesOf(id).length > 0)) {
    keys.set(
      request,
      (
        await createApiKey(server, request.caller.id, {
          scopes: allScopes.filter(
            (scope) => !scopesOf(request.id).some((needed) => withIncluded([scope]).has(needed)),
          ),
        })
      ).secret,
    )
  }
  const before = await changes()
  for (const [request, key] of keys) {
    const reply = await send(request, { key })
    t.equal(reply.status, 403, request.id)
    t.match(reply.body, { error: { code: 'FORBIDDEN', details: { constraint: 'scope' } } }, request.id)
  }
  t.same(await changes(), before, 'nothing is written to the database')
})

t.test('the scopes of operators give no rights to a user who is not an admin', async (t) => {
  const pretender = await server.person()
  const { secret } = await createApiKey(server, pretender.id, { scopes: [...allScopes] })
  const before = await changes()
  for (const request of requests.filter(({ id }) => scopesOf(id).some(isOperatorScope))) {
    t.ok([403, 404].includes((await send(request, { key: secret })).status), request.id)
  }
  t.same(await changes(), before, 'nothing is written to the database')
})

t.test(
  "a key with the operation's own scopes, and those of the resource it is about, is enough",
  async (t) => {
    for (const { id, scopes: declared } of withKey) {
      const caller = declared!.some(isOperatorScope) ? server.admin : await server.person()
      const { extraScopes: reads = [] }: Fixture = fixtures[id]
      const scopes = [...(declared as Scope[]), ...reads]
      const { secret } = await createApiKey(server, caller.id, { scopes })
      const request = await requestFor(server, id, { caller })
      // A key cannot create a key with more scopes than its own.
      if (id === 'createApiKey') request.body = { name: 'mine', scopes }
      if (id === 'updateApiKey') request.body = { scopes: scopes.slice(0, 1) }
      // An admin could do more.
      if (id === 'updateUser') request.body = { name: 'Renamed' }
      if (id === 'rotateApiKey' || id === 'updateApiKey')
        request.params = { id: (await createApiKey(server, caller.id, { scopes })).id }
      for (const missing of reads) {
        const { secret: less } = await createApiKey(server, caller.id, {
          scopes: scopes.filter((scope) => scope !== missing),
        })
        t.equal((await send(request, { key: less })).status, 403, `${id} without ${missing}`)
      }
      const reply = await send(request, { key: secret })
      t.equal(reply.status, successStatus(id), `${id} ${reply.text}`)
    }
  },
)

t.test('an operation that needs a session refuses every API key', async (t) => {
  const ids = secured.filter(({ needsSession }) => needsSession === true).map(({ id }) => id)
  t.same(ids, [
    'getCurrentSession',
    'signOut',
    'startPasskey',
    'addPasskey',
    'updatePasskey',
    'removePasskey',
    'removeIdentity',
    'changePassword',
    'requestEmailChange',
    'confirmEmailChange',
    'startTotp',
    'removeTotp',
    'confirmTotp',
    'deleteCurrentUser',
  ])
  for (const id of ids) {
    const request = await requestFor(server, id)
    const { secret } = await createApiKey(server, request.caller.id)
    const before = await changes()
    const reply = await send(request, { key: secret })
    t.match(reply, { status: 403, body: { error: { details: { constraint: 'session' } } } }, id)
    t.same(await changes(), before, 'nothing is written to the database')
    t.equal((await send(request)).status, successStatus(id), id)
  }
})

t.test('a key stops working with the next request after it is revoked', async (t) => {
  const get = requests.find(({ id }) => id === 'getProject')!
  const { client } = server.admin
  for (const [how, reason, change] of [
    ['revoked', 'revoked', (keyId: string) => get.caller.client.delete(`/user/api-keys/${keyId}`)],
    ['rotated', 'revoked', (keyId: string) => get.caller.client.post(`/user/api-keys/${keyId}/rotate`)],
    ['its owner disabled', 'disabled', () => client.put(`/users/${get.caller.id}`, { status: 'disabled' })],
    ['its owner deleted', 'unknown', () => client.delete(`/users/${get.caller.id}`)],
  ] as const) {
    const { id, secret } = await createApiKey(server, get.caller.id)
    t.equal((await send(get, { key: secret })).status, 200, `${how}: the key works before`)
    t.ok((await change(id)).status < 300, how)
    const reply = await send(get, { key: secret })
    t.equal(reply.status, 401, how)
    t.equal(reply.body.error.details.reason, reason, how)
    if (reason === 'disabled') await client.put(`/users/${get.caller.id}`, { status: 'active' })
  }
})

t.test('GET /key names the operations that are not refused because of the key', async (t) => {
  const { id: userId } = await server.person()
  const { id: projectId } = (await (await server.person()).client.post('/projects', { name: 'Other' })).body
  const keys = {
    'a key without scopes': { scopes: [] },
    'a key with one scope': { scopes: ['projects:read' as const] },
    'a key with all scopes': {},
    'a key that is limited to a project': { projectIds: [projectId] },
  }
  for (const [what, options] of Object.entries(keys)) {
    const { id, secret } = await createApiKey(server, userId, options)
    const { status, body } = await send(await requestFor(server, 'getCurrentApiKey'), { key: secret })
    t.equal(status, 200, what)
    t.match(body, { id, user_id: userId })
    const allowed = new Set(body.operations)
    const named = oneOfEachKind(requests, ({ id }) => {
      const { scopes, projectAccess, unlimitedKey, keyOptional } = operations[id] as OperationInfo
      return [scopes, projectAccess === null, unlimitedKey, keyOptional]
    })
    for (const request of isLongForm ? requests : named) {
      // An event needs the scope of its type: the handler looks at it.
      if (scopesOf(request.id).length === 0) {
        t.ok(allowed.has(request.id), request.id)
        continue
      }
      const { error } = (await send(request, { key: secret })).body ?? {}
      const isRefused = error?.message.startsWith('This operation requires ') === true
      t.equal(allowed.has(request.id), !isRefused, `${what}: ${request.id}`)
    }
    for (const info of Object.values<OperationInfo>(operations))
      if (info.scopes === null) t.ok(allowed.has(info.id), info.id)
  }
})
