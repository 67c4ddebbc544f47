// ETags: a read that is still fresh costs no body, and a write that has not seen the latest changes nothing.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { paymentsNow } from '../../services/payments/clock.ts'
import { askFor, infos, pathOf, send, successOf } from '../support/operation-fixtures.ts'
import { createClient } from '../support/client.ts'
import { createDump, insertedDocument } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

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
    for (const value of [
      unseen,
      `W/${etag}`,
      `${unseen}, W/${etag}`,
      etag.replaceAll('"', ''),
      `"${etag}"`,
      etag.toLowerCase() === etag ? unseen : etag.toLowerCase(),
      '"*"',
      'nothing',
    ]) {
      const reply = await send(ask, { headers: { 'if-match': value } })
      t.equal(reply.status, 412, value)
      t.match(
        reply.body.error,
        { code: 'PRECONDITION_FAILED', details: { field: 'If-Match', constraint: 'etag' } },
        value,
      )
    }
    t.same(await dump(), before, 'nothing changes')
    t.equal((await read()).headers.get('etag'), etag)
  })

  t.test(`${id} takes an If-Match that is the resource's`, async (t) => {
    for (const value of [
      (etag: string) => etag,
      () => '*',
      (etag: string) => `${unseen}, ${etag}`,
      (etag: string) => `W/${unseen},${etag}`,
    ]) {
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
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => send(ask, { headers: { 'if-match': etag } })),
    )
    const statuses = replies.map(({ status }) => status)
    t.equal(statuses.filter((status) => status === successOf(id)).length, 1, String(statuses))
    t.ok(
      statuses.every((status) => [successOf(id), 412, 404, 403, 401].includes(status)),
      String(statuses),
    )
  })
}

for (const { id, produces, scopes, replies } of infos.filter((info) => info.etag && info.method === 'GET')) {
  const { binary = false, volatile = [] } = replies[200]
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
      if (volatile.length === 0) t.equal(reply.text, first.text, value)
    }
    if (scopes !== null)
      t.equal(
        (await send(ask, { key: null, headers: { 'if-none-match': '*' } })).status,
        401,
        'nothing for who has no key',
      )
    if (!binary) t.equal(first.headers.get('content-type'), `${produces[0]}; charset=utf-8`)
  })
}

for (const { id } of infos.filter((info) => info.replies[200]?.binary === true)) {
  t.test(`${id} answers by date, by range and by both only while they hold`, async (t) => {
    const ask = await askFor(server, id)
    const { bytes, headers: found } = await send(ask)
    const [etag, modified] = [found.get('etag')!, found.get('last-modified')!]
    const later = new Date(Date.parse(modified) + 1000).toUTCString()
    const earlier = new Date(Date.parse(modified) - 1000).toUTCString()
    for (const [status, headers] of [
      [304, { 'if-modified-since': modified }],
      [304, { 'if-modified-since': later }],
      [200, { 'if-modified-since': earlier }],
      [200, { 'if-modified-since': 'nothing' }],
      [200, { 'if-modified-since': later, 'if-none-match': unseen }],
      [304, { 'if-modified-since': earlier, 'if-none-match': etag }],
      [206, { range: 'bytes=0-0' }],
      [206, { range: 'bytes=-1' }],
      [206, { range: 'bytes=1-' }],
      [206, { range: 'bytes=0-99999999' }],
      [200, { range: 'bytes=0-0,2-3' }],
      [200, { range: 'lines=0-1' }],
      [200, { range: 'bytes=3-1' }],
      [200, { range: 'bytes=x' }],
      [416, { range: 'bytes=99999999-' }],
      [304, { range: 'bytes=0-0', 'if-none-match': etag }],
      [206, { range: 'bytes=0-0', 'if-range': etag }],
      [200, { range: 'bytes=0-0', 'if-range': unseen }],
      [200, { range: 'bytes=0-0', 'if-range': `W/${etag}` }],
      [206, { range: 'bytes=0-0', 'if-range': modified }],
      [200, { range: 'bytes=0-0', 'if-range': later }],
      [200, { range: 'bytes=99999999-', 'if-range': unseen }],
    ] as Array<[number, Record<string, string>]>) {
      const reply = await send(ask, { headers })
      const what = JSON.stringify(headers)
      t.equal(reply.status, status, what)
      if (status === 200) t.same(reply.bytes, bytes, `${what}: the whole`)
      if (status === 304) t.equal(reply.text, '', `${what}: nothing`)
      if (status !== 206) continue
      const [, start, end, length] = /^bytes (\d+)-(\d+)\/(\d+)$/
        .exec(reply.headers.get('content-range')!)!
        .map(Number)
      t.equal(length, bytes.length, what)
      t.same(reply.bytes, bytes.subarray(start, end + 1), `${what}: these bytes`)
    }
  })
}

/** How what others move is moved. */
const moved: Partial<Record<OperationId, (id: string) => Promise<unknown>>> = {
  getApiKey: (id) =>
    server.services.database.prisma.apiKey.update({ where: { id }, data: { lastUsedAt: new Date() } }),
  getFile: (id) =>
    server.services.database.prisma.file.update({ where: { id }, data: { downloadCount: { increment: 1 } } }),
  getFileLink: (id) =>
    server.services.database.prisma.fileLink.update({
      where: { id },
      data: { downloadCount: { increment: 1 } },
    }),
  getSession: (id) =>
    server.services.database.prisma.session.update({
      where: { id },
      data: {
        messageCount: { increment: 1 },
        lastMessageAt: new Date(),
        promptTokens: { increment: 1 },
        updatedAt: new Date(Date.now() + 1_000),
      },
    }),
  getKnowledgeBase: (id) => insertedDocument(server, id),
  getTestClock: async () => {
    const before = await paymentsNow(server.services.database)
    await waitUntil(async () => (await paymentsNow(server.services.database)) > before, 'the clock goes on')
  },
}

for (const { id, replies } of infos.filter(
  ({ method, replies }) => method === 'GET' && replies[200]?.volatile !== undefined,
)) {
  t.test(
    `${id} has the same ETag, and takes it in If-Match, while only what others move is another`,
    async (t) => {
      const writes = infos.filter(({ ifMatch }) => ifMatch === id)
      for (const write of writes.length === 0 ? [{ id }] : writes) {
        const ask = await askFor(server, write.id)
        const read = async () => await send({ ...ask, id, body: undefined })
        const before = await read()
        const etag = before.headers.get('etag')!
        await moved[id]!(Object.values(ask.params ?? {}).at(-1) ?? '')
        const after = await read()
        for (const field of replies[200].volatile!)
          t.notSame(after.body[field], before.body[field], `${field} is another`)
        t.equal(after.headers.get('etag'), etag, 'the ETag is the same')
        t.equal(
          (await send({ ...ask, id, body: undefined }, { headers: { 'if-none-match': etag } })).status,
          304,
        )
        if (writes.length > 0)
          t.equal(
            (await send(ask, { headers: { 'if-match': etag } })).status,
            successOf(write.id),
            `${write.id} takes it`,
          )
      }
    },
  )
}

t.test('HEAD is GET without the body, for every operation that reads', async (t) => {
  for (const info of infos.filter(({ method }) => method === 'GET')) {
    const ask = await askFor(server, info.id)
    // The first use of a key shows in the list of keys, once it is written.
    await send(ask)
    await server.services.lastUsed.flush()
    const get = await send(ask)
    const head = (key: string | null, headers: Record<string, string> = {}) =>
      createClient(server.url, key).call('HEAD', pathOf(ask), { headers })
    const { status, headers, text } = await head(ask.caller.key)
    t.equal(status, successOf(info.id), info.id)
    t.equal(text, '', info.id)
    for (const name of ['etag', 'content-type', 'link', 'cache-control', 'x-content-type-options'])
      t.equal(headers.get(name), get.headers.get(name), `${info.id} ${name}`)
    const length = info.replies[successOf(info.id)].events === undefined ? String(get.bytes.length) : null
    t.equal(headers.get('content-length'), length, `${info.id} says how long it would be, if it would end`)
    if (info.etag)
      t.equal((await head(ask.caller.key, { 'if-none-match': headers.get('etag')! })).status, 304, info.id)
    if (info.scopes !== null) t.equal((await head(null)).status, 401, info.id)
  }
})
