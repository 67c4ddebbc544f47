// Every POST can be repeated safely: with the same key and body it has one effect and one answer.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { allScopes, type Scope } from '../../services/users/api-keys.ts'
import { askFor, infos, otherScope, send, successOf } from '../support/operation-fixtures.ts'
import { createDump, insertedKey } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
const posts = infos.filter(({ method, scopes }) => method === 'POST' && scopes !== null)
/** What changes nothing is asked anew, by whoever may then. */
const questions: OperationId[] = ['searchKnowledgeBase']
/** What takes longer than a transaction, and is done again. */
const anew: OperationId[] = ['advanceTestClock']
const once = posts.filter(({ id }) => ![...questions, ...anew].includes(id))
const keyed = (key: string) => ({ headers: { 'idempotency-key': key } })

t.test('every POST with a key takes an Idempotency-Key', async (t) => {
  t.same(
    posts.filter(({ idempotent }) => !idempotent).map(({ id }) => id),
    [...questions, ...anew],
  )
  for (const id of [...questions, ...anew])
    t.equal((await send(await askFor(server, id), keyed('two words'))).status, 400, id)
})

for (const id of questions) {
  t.test(`${id} repeated is another question`, async (t) => {
    const ask = await askFor(server, id)
    const before = await dump()
    const first = await send(ask, keyed('once'))
    t.equal(first.status, successOf(id))
    t.same(await dump(), before, 'nothing is remembered')
    const again = await send(ask, keyed('once'))
    t.equal(again.text, first.text)
    t.equal(again.headers.get('idempotent-replayed'), null)
    const { secret } = await insertedKey(server, ask.caller.id, { projectIds: [] })
    t.equal(
      (await send(ask, { ...keyed('once'), key: secret })).status,
      403,
      'a key that may not ask is refused',
    )
  })
}

t.test('the clock moves again with each request', async (t) => {
  const ask = await askFor(server, 'advanceTestClock')
  const remembered = () => server.services.database.prisma.idempotencyRecord.count()
  const before = await remembered()
  const first = await send(ask, keyed('once'))
  const again = await send(ask, keyed('once'))
  t.same([first.status, again.status], [200, 200])
  t.ok(Date.parse(again.body.now) >= Date.parse(first.body.now) + 1000, 'by its second')
  t.equal(again.headers.get('idempotent-replayed'), null)
  t.equal(await remembered(), before, 'nothing is remembered')
})

for (const { id, scopes, secretAnswer } of once) {
  t.test(`${id} repeated is the same answer and no second effect`, async (t) => {
    const ask = await askFor(server, id)
    const first = await send(ask, keyed('once'))
    t.equal(first.status, successOf(id))
    t.equal(first.headers.get('idempotent-replayed'), null)
    const after = await dump()
    // An answer with a secret is repeated only to a key that may do as much as the first.
    const { secret } = await insertedKey(server, ask.caller.id, {
      scopes: secretAnswer ? [...allScopes] : (scopes as Scope[]),
    })
    const withSpare = await dump()
    for (const key of [ask.caller.key, secret]) {
      const again = await send(ask, { ...keyed('once'), key })
      t.equal(again.status, first.status, 'also by another key of the same owner')
      t.equal(again.text, first.text, 'byte by byte')
      t.equal(again.headers.get('idempotent-replayed'), 'true')
      for (const name of ['location', 'etag', 'content-type'])
        t.equal(again.headers.get(name), first.headers.get(name), name)
      t.not(
        again.headers.get('x-request-id'),
        first.headers.get('x-request-id'),
        'but under its own request id',
      )
    }
    t.same(await dump(), withSpare, 'nothing is written again')
    t.match({ ...withSpare, api_keys: 0 }, { ...after, api_keys: 0 })
    if (!secretAnswer) return
    const { secret: less } = await insertedKey(server, ask.caller.id, { scopes: scopes as Scope[] })
    const withLess = await dump()
    t.match(
      await send(ask, { ...keyed('once'), key: less }),
      { status: 403, body: { error: { details: { constraint: 'scope' } } } },
      'a key that may do less does not get the secret',
    )
    t.same(await dump(), withLess, 'and has no effect either')
  })

  t.test(`${id} refused is not remembered`, async (t) => {
    const ask = await askFor(server, id)
    const { secret } = await insertedKey(server, ask.caller.id, { scopes: [otherScope(id)] })
    const before = await dump()
    t.equal((await send({ ...ask, query: { surprise: '1' } }, keyed('later'))).status, 400)
    t.equal((await send(ask, { ...keyed('later'), key: secret })).status, 403)
    t.equal((await send(ask, { ...keyed('later'), key: null })).status, 401)
    t.same(await dump(), before, 'nothing is written')
    const reply = await send(ask, keyed('later'))
    t.equal(reply.status, successOf(id), 'the same key then has its effect')
    t.equal(reply.headers.get('idempotent-replayed'), null)
  })

  t.test(`${id} under one key by another owner is another request`, async (t) => {
    const [mine, theirs] = [await askFor(server, id), await askFor(server, id)]
    const first = await send(mine, keyed('shared'))
    const second = await send(theirs, keyed(theirs.caller.id === mine.caller.id ? 'another' : 'shared'))
    t.equal(second.status, first.status)
    t.equal(second.headers.get('idempotent-replayed'), null)
    t.not(second.text, first.text)
  })
}

t.test('an Idempotency-Key is 1 to 255 visible characters', async (t) => {
  for (const key of ['a', 'x'.repeat(255), '!"#$%&/()=?']) {
    t.equal((await send(await askFor(server, 'createProject'), keyed(key))).status, 201, key.slice(0, 20))
  }
  const ask = await askFor(server, 'createProject')
  for (const key of ['', 'x'.repeat(256), 'two words', 'é', 'a\tb']) {
    const reply = await send(ask, keyed(key))
    t.equal(reply.status, 400, JSON.stringify(key.slice(0, 20)))
    t.match(
      reply.body.error.details.errors,
      [{ field: 'idempotency-key', location: 'header' }],
      JSON.stringify(key.slice(0, 20)),
    )
  }
})
