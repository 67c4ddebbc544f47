// No operation does anything for a caller without a good key, or with one that lacks the operation's scope.
import t, { type Test } from 'tap'
import { operations } from '../../generated/operations.ts'
import { newSecret } from '../../infra/api-key-format.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { allScopes, type Scope } from '../../services/users/api-keys.ts'
import { askFor, fixtures, secured, send, successOf } from '../support/operation-fixtures.ts'
import { type Ask, type Fixture } from '../support/operation-fixture.ts'
import { createDump, insertedKey } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
const asks: Ask[] = []
for (const { id } of secured) asks.push(await askFor(server, id))
const sent = () => server.statements.filter((text) => !/last_used_at = u\.at|number_events/.test(text))
const scopesOf = (id: string) => secured.find((info) => info.id === id)!.scopes!

/** Every operation refuses the credentials with 401 and the reason, and nothing changes. */
async function refuses(
  t: Test,
  reason: string,
  authorization: (ask: Ask) => string | null | Promise<string | null>,
  { lookUp }: { lookUp: boolean },
): Promise<void> {
  const headers: Array<Record<string, string>> = []
  for (const ask of asks) {
    const value = await authorization(ask)
    headers.push(value === null ? {} : { authorization: value })
  }
  const before = await dump()
  for (const [i, ask] of asks.entries()) {
    server.statements.length = 0
    const reply = await send(ask, { key: null, headers: headers[i] })
    t.equal(reply.status, 401, ask.id)
    t.match(reply.body, { error: { code: 'UNAUTHORIZED', details: { reason } } }, ask.id)
    t.equal(
      reply.headers.get('www-authenticate'),
      reason === 'missing' ? 'Bearer' : 'Bearer error="invalid_token"',
      ask.id,
    )
    // Without a key at all it takes a look at the file to know that it is not public.
    const looks =
      lookUp ||
      ((operations[ask.id] as OperationInfo).keyOptional === true && headers[i].authorization === undefined)
    t.same(sent().length, looks ? 1 : 0, `${ask.id} asks the database ${looks ? 'once' : 'nothing'}`)
  }
  t.same(await dump(), before, 'nothing is written')
}

t.test('no key is 401 missing, for every operation', async (t) => {
  await refuses(t, 'missing', () => null, { lookUp: false })
  await refuses(t, 'missing', () => '', { lookUp: false })
})

t.test('a malformed key is 401 malformed and never looked up', async (t) => {
  const flipped = (secret: string) => secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')
  await refuses(t, 'malformed', ({ caller }) => caller.key, { lookUp: false })
  await refuses(t, 'malformed', ({ caller }) => `Basic ${caller.key}`, { lookUp: false })
  await refuses(t, 'malformed', () => 'Bearer', { lookUp: false })
  await refuses(t, 'malformed', ({ caller }) => `Bearer ${flipped(caller.key)}`, { lookUp: false })
  await refuses(t, 'malformed', ({ caller }) => `Bearer ${caller.key.replace('test', 'live')}`, {
    lookUp: false,
  })
  await refuses(t, 'malformed', ({ caller }) => `Bearer ${caller.key}, Bearer ${caller.key}`, {
    lookUp: false,
  })
})

t.test('a well-formed key that was never given out is 401 unknown', async (t) => {
  await refuses(t, 'unknown', () => `Bearer ${newSecret('test')}`, { lookUp: true })
})

t.test('a revoked key is 401 revoked', async (t) => {
  await refuses(
    t,
    'revoked',
    async ({ caller }) => `Bearer ${(await insertedKey(server, caller.id, { revoked: true })).secret}`,
    { lookUp: true },
  )
})

t.test('an expired key is 401 expired', async (t) => {
  await refuses(
    t,
    'expired',
    async ({ caller }) =>
      `Bearer ${(await insertedKey(server, caller.id, { expiresAt: new Date(Date.now() - 1) })).secret}`,
    { lookUp: true },
  )
})

t.test('the key of a disabled owner is 401 disabled', async (t) => {
  const owner = await server.person({ role: 'admin' })
  await server.services.database.prisma.user.update({ where: { id: owner.id }, data: { status: 'disabled' } })
  await refuses(t, 'disabled', () => `Bearer ${owner.key}`, { lookUp: true })
})

t.test("a key with every scope but the operation's is 403, and nothing changes", async (t) => {
  const keys = new Map<Ask, string>()
  for (const ask of asks.filter(({ id }) => scopesOf(id).length > 0)) {
    keys.set(
      ask,
      (
        await insertedKey(server, ask.caller.id, {
          scopes: allScopes.filter((scope) => !scopesOf(ask.id).includes(scope)),
        })
      ).secret,
    )
  }
  const before = await dump()
  for (const [ask, key] of keys) {
    const reply = await send(ask, { key })
    t.equal(reply.status, 403, ask.id)
    t.match(reply.body, { error: { code: 'FORBIDDEN', details: { constraint: 'scope' } } }, ask.id)
  }
  t.same(await dump(), before, 'nothing is written')
})

t.test('the scope admin is nothing in the hands of a user who is none', async (t) => {
  const pretender = await server.person()
  const { secret } = await insertedKey(server, pretender.id, { scopes: [...allScopes] })
  const before = await dump()
  for (const ask of asks.filter(({ id }) => scopesOf(id).includes('admin'))) {
    t.equal((await send(ask, { key: secret })).status, 403, ask.id)
  }
  t.same(await dump(), before, 'nothing is written')
})

t.test("a key with the operation's scope alone is enough, and with that of what it is about", async (t) => {
  for (const { id, scopes: declared } of secured) {
    const caller = declared!.includes('admin') ? server.admin : await server.person()
    const { reads = [] }: Fixture = fixtures[id]
    const scopes = [...(declared as Scope[]), ...reads]
    const { secret } = await insertedKey(server, caller.id, { scopes })
    const ask = await askFor(server, id, { caller })
    // A key makes none that may do more than itself.
    if (id === 'createApiKey') ask.body = { name: 'mine', scopes }
    if (id === 'rotateApiKey') ask.params = { id: (await insertedKey(server, caller.id, { scopes })).id }
    for (const missing of reads) {
      const { secret: less } = await insertedKey(server, caller.id, {
        scopes: scopes.filter((scope) => scope !== missing),
      })
      t.equal((await send(ask, { key: less })).status, 403, `${id} without ${missing}`)
    }
    const reply = await send(ask, { key: secret })
    t.equal(reply.status, successOf(id), `${id} ${reply.text}`)
  }
})

t.test('a key that was good a moment ago is refused from the next request on', async (t) => {
  const get = asks.find(({ id }) => id === 'getProject')!
  const { client } = server.admin
  for (const [how, reason, change] of [
    ['revoked', 'revoked', (keyId: string) => get.caller.client.delete(`/user/api-keys/${keyId}`)],
    ['rotated', 'revoked', (keyId: string) => get.caller.client.post(`/user/api-keys/${keyId}/rotate`)],
    ['its owner disabled', 'disabled', () => client.put(`/users/${get.caller.id}`, { status: 'disabled' })],
    ['its owner deleted', 'unknown', () => client.delete(`/users/${get.caller.id}`)],
  ] as const) {
    const { id, secret } = await insertedKey(server, get.caller.id)
    t.equal((await send(get, { key: secret })).status, 200, `${how}: good before`)
    t.ok((await change(id)).status < 300, how)
    const reply = await send(get, { key: secret })
    t.equal(reply.status, 401, how)
    t.equal(reply.body.error.details.reason, reason, how)
    if (reason === 'disabled') await client.put(`/users/${get.caller.id}`, { status: 'active' })
  }
})
