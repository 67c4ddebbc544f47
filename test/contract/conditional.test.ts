// ETags: a read that is still fresh costs no body, and a write that has not seen the latest changes nothing.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { askFor, infos, pathOf, send, successOf } from '../support/contract.ts'
import { createClient } from '../support/client.ts'
import { createDump } from '../support/contract-rows.ts'
import { startServer } from '../support/server.ts'

const server = await startServer(t)
const dump = await createDump(t, server)
const unseen = '"AAAAAAAAAAAAAAAAAAAAAAAAAAA"'

for (const { id, ifMatch } of infos.filter((info) => info.ifMatch !== null)) {
  const made = async () => {
    const ask = await askFor(server, id)
    const read = async () => await send({ ...ask, id: ifMatch as OperationId, body: undefined })
    return { ask, read, etag: (await read()).headers.get('etag')! }
  }

  t.test(`${id} refuses an If-Match that is not the resource's`, async (t) => {
    const { ask, read, etag } = await made()
    const before = await dump()
    for (const value of [unseen, `W/${etag}`, `${unseen}, W/${etag}`, etag.replaceAll('"', ''), `"${etag}"`, etag.toLowerCase() === etag ? unseen : etag.toLowerCase(), '"*"', 'nothing']) {
      const reply = await send(ask, { headers: { 'if-match': value } })
      t.equal(reply.status, 412, value)
      t.match(reply.body.error, { code: 'PRECONDITION_FAILED', details: { field: 'If-Match', constraint: 'etag' } }, value)
    }
    t.same(await dump(), before, 'nothing changes')
    t.equal((await read()).headers.get('etag'), etag)
  })

  t.test(`${id} takes an If-Match that is the resource's`, async (t) => {
    for (const value of [(etag: string) => etag, () => '*', (etag: string) => `${unseen}, ${etag}`, (etag: string) => `W/${unseen},${etag}`]) {
      const { ask, read, etag } = await made()
      const reply = await send(ask, { headers: { 'if-match': value(etag) } })
      t.equal(reply.status, successOf(id), `${value(etag)} ${reply.text.slice(0, 200)}`)
      if (reply.status !== 200) continue
      t.not(reply.headers.get('etag'), etag, 'the ETag is another')
      t.equal(reply.headers.get('etag'), (await read()).headers.get('etag'), 'and the one that a read gives')
      t.equal((await send(ask, { headers: { 'if-match': etag } })).status, 412, 'the old one is stale')
    }
  })

  t.test(`${id} by two who have seen the same lets one through`, async (t) => {
    const { ask, etag } = await made()
    const replies = await Promise.all(Array.from({ length: 4 }, () => send(ask, { headers: { 'if-match': etag } })))
    const statuses = replies.map(({ status }) => status)
    t.equal(statuses.filter((status) => status === successOf(id)).length, 1, String(statuses))
    t.ok(statuses.every((status) => [successOf(id), 412, 404, 403, 401].includes(status)), String(statuses))
  })
}

for (const { id, etag: _, produces, scopes } of infos.filter((info) => info.etag && info.method === 'GET')) {
  t.test(`${id} answers 304 to who has it already`, async (t) => {
    const ask = await askFor(server, id)
    const first = await send(ask)
    const etag = first.headers.get('etag')!
    t.match(etag, /^"[^"]+"$/, 'the ETag is strong')
    t.equal((await send(ask)).headers.get('etag'), etag, 'and the same while nothing changes')
    for (const value of [etag, `W/${etag}`, '*', `${unseen}, ${etag}`, `${unseen},W/${etag}`]) {
      const reply = await send(ask, { headers: { 'if-none-match': value } })
      t.equal(reply.status, 304, value)
      t.equal(reply.text, '', `${value}: no body`)
      t.equal(reply.headers.get('etag'), etag, value)
      t.equal(reply.headers.get('content-type'), null, value)
      t.equal(reply.headers.get('cache-control'), first.headers.get('cache-control'), value)
    }
    for (const value of [unseen, `W/${unseen}`, etag.replaceAll('"', '')]) {
      const reply = await send(ask, { headers: { 'if-none-match': value } })
      t.equal(reply.status, 200, value)
      t.equal(reply.text, first.text, value)
    }
    if (scopes !== null) t.equal((await send(ask, { key: null, headers: { 'if-none-match': '*' } })).status, 401, 'nothing for who has no key')
    t.equal(first.headers.get('content-type'), `${produces[0]}; charset=utf-8`)
  })
}

t.test('HEAD is GET without the body, for every operation that reads', async (t) => {
  for (const info of infos.filter(({ method }) => method === 'GET')) {
    const ask = await askFor(server, info.id)
    // The first use of a key shows in the list of keys, once it is written.
    await send(ask)
    await server.services.lastUsed.flush()
    const get = await send(ask)
    const head = (key: string | null, headers: Record<string, string> = {}) => createClient(server.url, key).call('HEAD', pathOf(ask), { headers })
    const { status, headers, text } = await head(ask.caller.key)
    t.equal(status, 200, info.id)
    t.equal(text, '', info.id)
    for (const name of ['etag', 'content-type', 'link', 'cache-control', 'x-content-type-options']) t.equal(headers.get(name), get.headers.get(name), `${info.id} ${name}`)
    const length = info.replies[200].events === undefined ? String(Buffer.byteLength(get.text)) : null
    t.equal(headers.get('content-length'), length, `${info.id} says how long it would be, if it would end`)
    if (info.etag) t.equal((await head(ask.caller.key, { 'if-none-match': headers.get('etag')! })).status, 304, info.id)
    if (info.scopes !== null) t.equal((await head(null)).status, 401, info.id)
  }
})
