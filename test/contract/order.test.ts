// A request that is wrong in two ways is told the earlier one: key 401, rate 429, scope 403, shape 400, existence 404,
// permission 403, state 409 or 412, and only then the work.
import t from 'tap'
import {
  askFor,
  contentOf,
  fixtures,
  infos,
  ofNothing,
  otherScope,
  secured,
  send,
  withBody,
  withFields,
} from '../support/operation-fixtures.ts'
import type { Ask } from '../support/operation-fixture.ts'
import { createDump, insertedKey } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
const policies = Object.fromEntries(
  ['DEFAULT', 'WRITE', 'UPLOAD', 'AI'].map((name) => [`RATE_LIMIT_${name}`, '1']),
)
const surprised = (ask: Ask): Ask => ({ ...ask, query: { ...ask.query, surprise: '1' } })
/** A body that ends too early, under its own type; only from operations that have one. */
const halfOf = (ask: Ask) => {
  const { raw, type } = contentOf(ask)!
  return { raw: raw.slice(0, Math.ceil(raw.length / 2)), headers: { 'content-type': type } }
}
const largeOf = (ask: Ask) => ({
  ...halfOf(ask),
  raw: new Uint8Array(
    Buffer.concat([Buffer.from(contentOf(ask)!.raw as string), Buffer.alloc(1024 * 1024, 'x')]),
  ),
})
const needsScope = ({ scopes }: { scopes: string[] | null }) => scopes!.length > 0
const asks = new Map<string, Ask>()
for (const { id } of secured) asks.set(id, await askFor(server, id))

t.test('401 comes before 429: who has no key learns nothing of the limit of a key', async (t) => {
  const limited = await startServer(t, { env: policies })
  for (const info of secured) {
    const { id } = info
    const ask = await askFor(limited, id)
    const { secret } = await insertedKey(limited, ask.caller.id)
    await send(ask, { key: secret })
    t.equal((await send(ask, { key: secret })).status, 429, `${id}: the key has no request left`)
    t.equal((await send(ask, { key: `${secret}x` })).status, 401, id)
    // Where a key may be left out, who has none is counted by the address.
    if (info.keyOptional !== true) t.equal((await send(ask, { key: null })).status, 401, id)
  }
})

t.test('429 comes before 403: a request without the scope counts and is limited', async (t) => {
  const limited = await startServer(t, { env: policies })
  for (const { id } of secured.filter(needsScope)) {
    const ask = await askFor(limited, id)
    const { secret } = await insertedKey(limited, ask.caller.id, { scopes: [otherScope(id)] })
    t.equal((await send(ask, { key: secret })).status, 403, id)
    t.equal((await send(ask, { key: secret })).status, 429, id)
  }
})

t.test('401 and 403 for the scope come before 400, 404, 406, 413 and 415', async (t) => {
  const keys = new Map<string, string>()
  for (const { id } of secured)
    keys.set(id, (await insertedKey(server, asks.get(id)!.caller.id, { scopes: [otherScope(id)] })).secret)
  const before = await dump()
  for (const info of secured) {
    const { id } = info
    const ask = asks.get(id)!
    // With no key at all a public file is given to anyone, so that its request is read first.
    for (const [key, status] of [
      ...(info.keyOptional === true ? [] : [[null, 401] as const]),
      ['none', 401] as const,
      ...(needsScope(info) ? [[keys.get(id)!, 403] as const] : []),
    ] as const) {
      t.equal((await send(surprised(ask), { key })).status, status, `${id} with an unknown parameter`)
      t.equal(
        (await send(ask, { key, headers: { accept: 'image/png' } })).status,
        status,
        `${id} with another Accept`,
      )
      if (ask.params !== undefined)
        t.equal((await send(ofNothing(ask), { key })).status, status, `${id} of nothing`)
      if (ask.body === undefined) continue
      t.equal((await send(ask, { key, ...halfOf(ask) })).status, status, `${id} with half a body`)
      t.equal(
        (await send(ask, { key, raw: '{}', headers: { 'content-type': 'text/plain' } })).status,
        status,
        `${id} with a body of another type`,
      )
      t.equal((await send(ask, { key, ...largeOf(ask) })).status, status, `${id} with too large a body`)
    }
  }
  t.same(await dump(), before, 'nothing is written')
})

t.test('400 comes before 404', async (t) => {
  for (const { id } of secured.filter((info) => info.path.includes('{'))) {
    const ask = ofNothing(asks.get(id)!)
    t.equal((await send(surprised(ask))).status, 400, `${id} with an unknown parameter`)
    if (ask.body !== undefined)
      t.equal(
        (await send({ ...ask, body: { ...ask.body, surprise: 1 } })).status,
        400,
        `${id} with an unknown field`,
      )
  }
})

t.test('400 comes before 403 for the permission, 409 and 412', async (t) => {
  for (const { id, ifMatch } of infos.filter(
    (info) => info.projectAccess !== null && info.projectAccess.role !== 'none',
  )) {
    t.equal(
      (await send(surprised(await askFor(server, id, { rank: 'none' })))).status,
      400,
      `${id} of a stranger`,
    )
    if (ifMatch !== null)
      t.equal(
        (await send(surprised(asks.get(id)!), { headers: { 'if-match': '"stale"' } })).status,
        400,
        `${id} of what has changed`,
      )
  }
})

t.test('404 comes before 403 for the permission, 409 and 412', async (t) => {
  const viewer = await server.person()
  for (const { id, ifMatch, scopes } of secured.filter((info) => info.path.includes('{'))) {
    const nowhere = ofNothing(asks.get(id)!)
    if (!scopes!.includes('admin'))
      t.equal((await send(nowhere, { key: viewer.key })).status, 404, `${id} of nothing by anyone`)
    if (ifMatch !== null)
      t.equal(
        (await send(nowhere, { headers: { 'if-match': '"stale"' } })).status,
        404,
        `${id} of nothing with an old ETag`,
      )
  }
})

t.test('403 for the permission comes before 409 and 412', async (t) => {
  for (const info of infos.filter(
    (info) => info.projectAccess !== null && info.projectAccess.role !== 'none',
  )) {
    const ask = await askFor(server, info.id, { rank: 'none' })
    if (info.ifMatch !== null)
      t.equal(
        (await send(ask, { headers: { 'if-match': '"stale"' } })).status,
        403,
        `${info.id} with an old ETag`,
      )
    // What is for every state is 409 only while its repetition is running.
    if (
      info.replies[409] === undefined ||
      (info.projectAccess!.states === undefined && fixtures[info.id].others?.[409] === undefined)
    )
      continue
    const standing = await askFor(server, info.id, { rank: 'none', other: 409 })
    t.equal((await send(standing)).status, 403, `${info.id} in the wrong state`)
  }
})

t.test('409 and 412 come before the work', async (t) => {
  for (const { id } of infos.filter((info) => info.ifMatch !== null)) {
    const ask = await askFor(server, id)
    const before = await dump()
    t.equal((await send(ask, { headers: { 'if-match': '"stale"' } })).status, 412, id)
    t.same(await dump(), before, `${id} changes nothing`)
  }
  const taken = await askFor(server, 'updateUser', { other: 409 })
  t.equal(
    (await send(taken, { headers: { 'if-match': '"stale"' } })).status,
    412,
    'an old ETag before an address that is taken',
  )
})

t.test(
  'a body is read as what it should be before its fields are looked at, and all of that before the resource',
  async (t) => {
    for (const { id, form } of withBody) {
      const ask = await askFor(server, id, { form })
      const nowhere = ofNothing(ask)
      t.equal(
        (await send(surprised(nowhere), { raw: '{}', headers: { 'content-type': 'text/plain' } })).status,
        415,
        `${id} by type`,
      )
      if (!withFields.some((info) => info.id === id))
        t.equal((await send(surprised(nowhere), halfOf(ask))).status, 400, `${id} by text`)
      t.equal(
        (await send({ ...nowhere, body: { ...ask.body, surprise: '1' } })).status,
        400,
        `${id} by its fields`,
      )
    }
  },
)
