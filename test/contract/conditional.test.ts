// Conditional requests: If-None-Match saves the body of a read, If-Match rejects a write to an old version.
// In `npm test` one operation of each kind gets all values of these headers, and the others one that matches
// and one that does not; in `npm run faults` all get all.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { paymentsNow } from '../../services/payments/clock.ts'
import {
  requestFor,
  operationInfos,
  pathOf,
  send,
  successStatus,
} from '../support/operations/operation-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { recordChanges } from '../support/server/changes.ts'
import { createDocument } from '../support/database/db-fixtures.ts'
import { oneOfEachKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const changes = await recordChanges(t, server)
const otherEtag = '"AAAAAAAAAAAAAAAAAAAAAAAAAAA"'

const writes = operationInfos.filter((info) => info.ifMatch !== null)
const reads = operationInfos.filter((info) => info.etag && info.method === 'GET')
const withAllValues = [
  ...oneOfEachKind(writes, ({ method, body }) => [method, body?.contentTypes]),
  ...oneOfEachKind(reads, ({ replies, produces, static: isStatic }) => [
    replies[200]?.binary,
    replies[200]?.volatile !== undefined,
    produces,
    isStatic,
  ]),
].map(({ id }) => id)
/** In the short form, only some operations get all values. */
const valuesFor = <T>(id: OperationId, values: T[]): T[] =>
  isLongForm || withAllValues.includes(id) ? values : values.slice(0, 1)

for (const { id, ifMatch, method } of writes) {
  const prepare = async () => {
    const request = await requestFor(server, id)
    const read = async () => await send({ ...request, id: ifMatch as OperationId, body: undefined })
    return { request, read, etag: (await read()).headers.get('etag')! }
  }

  t.test(`${id} rejects an If-Match that does not match the ETag`, async (t) => {
    const { request, read, etag } = await prepare()
    const before = await changes()
    for (const value of valuesFor(id, [
      otherEtag,
      `W/${etag}`,
      `${otherEtag}, W/${etag}`,
      etag.replaceAll('"', ''),
      `"${etag}"`,
      etag.toLowerCase() === etag ? otherEtag : etag.toLowerCase(),
      '"*"',
      'nothing',
    ])) {
      const reply = await send(request, { headers: { 'if-match': value } })
      t.equal(reply.status, 412, value)
      t.match(
        reply.body.error,
        { code: 'PRECONDITION_FAILED', details: { field: 'If-Match', constraint: 'etag' } },
        value,
      )
    }
    t.same(await changes(), before, 'nothing changes')
    t.equal((await read()).headers.get('etag'), etag)
  })

  t.test(`${id} accepts an If-Match that matches the ETag`, async (t) => {
    for (const value of valuesFor(id, [
      (etag: string) => etag,
      () => '*',
      (etag: string) => `${otherEtag}, ${etag}`,
      (etag: string) => `W/${otherEtag},${etag}`,
    ])) {
      const { request, read, etag } = await prepare()
      const reply = await send(request, { headers: { 'if-match': value(etag) } })
      t.equal(reply.status, successStatus(id), `${value(etag)} ${reply.text.slice(0, 200)}`)
      if (reply.status !== 200 || method === 'DELETE') continue
      t.not(reply.headers.get('etag'), etag, 'the ETag changes')
      t.equal(reply.headers.get('etag'), (await read()).headers.get('etag'), 'a read returns the new ETag')
      t.equal(
        (await send(request, { headers: { 'if-match': etag } })).status,
        412,
        'the old ETag no longer matches',
      )
    }
  })

  t.test(`${id} succeeds once for concurrent requests with the same If-Match`, async (t) => {
    const { request, etag } = await prepare()
    const replies = await Promise.all(
      Array.from({ length: 4 }, () => send(request, { headers: { 'if-match': etag } })),
    )
    const statuses = replies.map(({ status }) => status)
    t.equal(statuses.filter((status) => status === successStatus(id)).length, 1, String(statuses))
    t.ok(
      statuses.every((status) => [successStatus(id), 412, 404, 403, 401].includes(status)),
      String(statuses),
    )
  })
}

for (const { id, produces, scopes, replies } of reads) {
  const { binary = false, volatile = [] } = replies[200]
  t.test(`${id} answers 304 when the client has the current version`, async (t) => {
    const request = await requestFor(server, id)
    const first = await send(request)
    const etag = first.headers.get('etag')!
    t.match(etag, /^"[^"]+"$/, 'the ETag is strong')
    t.equal((await send(request)).headers.get('etag'), etag, 'the ETag stays the same while nothing changes')
    const matching = [etag, `W/${etag}`, '*', `${otherEtag}, ${etag}`, `${otherEtag},W/${etag}`]
    for (const value of valuesFor(id, matching)) {
      const reply = await send(request, { headers: { 'if-none-match': value } })
      t.equal(reply.status, 304, value)
      t.equal(reply.text, '', `${value}: no body`)
      t.equal(reply.headers.get('etag'), etag, value)
      t.equal(reply.headers.get('content-type'), null, value)
      t.equal(reply.headers.get('cache-control'), first.headers.get('cache-control'), value)
    }
    for (const value of valuesFor(id, [otherEtag, `W/${otherEtag}`, etag.replaceAll('"', '')])) {
      const reply = await send(request, { headers: { 'if-none-match': value } })
      t.equal(reply.status, 200, value)
      if (volatile.length === 0) t.equal(reply.text, first.text, value)
    }
    if (scopes !== null)
      t.equal(
        (await send(request, { key: null, headers: { 'if-none-match': '*' } })).status,
        401,
        '401 without a key',
      )
    if (!binary) t.equal(first.headers.get('content-type'), `${produces[0]}; charset=utf-8`)
  })
}

for (const { id } of operationInfos.filter((info) => info.replies[200]?.binary === true)) {
  t.test(`${id} honors dates, ranges and If-Range`, async (t) => {
    const request = await requestFor(server, id)
    const { bytes, headers: found } = await send(request)
    const [etag, modified] = [found.get('etag')!, found.get('last-modified')!]
    const later = new Date(Date.parse(modified) + 1000).toUTCString()
    const earlier = new Date(Date.parse(modified) - 1000).toUTCString()
    for (const [status, headers] of [
      [304, { 'if-modified-since': modified }],
      [304, { 'if-modified-since': later }],
      [200, { 'if-modified-since': earlier }],
      [200, { 'if-modified-since': 'nothing' }],
      [200, { 'if-modified-since': later, 'if-none-match': otherEtag }],
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
      [200, { range: 'bytes=0-0', 'if-range': otherEtag }],
      [200, { range: 'bytes=0-0', 'if-range': `W/${etag}` }],
      [206, { range: 'bytes=0-0', 'if-range': modified }],
      [200, { range: 'bytes=0-0', 'if-range': later }],
      [200, { range: 'bytes=99999999-', 'if-range': otherEtag }],
    ] as Array<[number, Record<string, string>]>) {
      const reply = await send(request, { headers })
      const what = JSON.stringify(headers)
      t.equal(reply.status, status, what)
      if (status === 200) t.same(reply.bytes, bytes, `${what}: all bytes`)
      if (status === 304) t.equal(reply.text, '', `${what}: nothing`)
      if (status !== 206) continue
      const [, start, end, length] = /^bytes (\d+)-(\d+)\/(\d+)$/
        .exec(reply.headers.get('content-range')!)!
        .map(Number)
      t.equal(length, bytes.length, what)
      t.same(reply.bytes, bytes.subarray(start, end + 1), `${what}: the requested bytes`)
    }
  })
}

/** Changes the volatile fields of a resource, as other requests would. */
const useSessions = () =>
  server.services.database.prisma.signIn.updateMany({
    data: { lastUsedAt: new Date(), expiresAt: new Date(Date.now() + 1e9), ip: '192.0.2.1' },
  })
const changeVolatileFields: Partial<Record<OperationId, (id: string) => Promise<unknown>>> = {
  getApiKey: (id) =>
    server.services.database.prisma.apiKey.update({
      where: { id },
      data: { lastUsedAt: new Date(), lastUsedIp: '192.0.2.1' },
    }),
  getServiceAccountKey: () =>
    server.services.database.prisma.apiKey.updateMany({
      data: { lastUsedAt: new Date(), lastUsedIp: '192.0.2.1' },
    }),
  getCurrentSession: () => useSessions(),
  getSignIn: () => useSessions(),
  getTrashedFile: (id) =>
    server.services.database.prisma.file.update({ where: { id }, data: { downloadCount: { increment: 1 } } }),
  getIdentity: (id) =>
    server.services.database.prisma.identity.update({ where: { id }, data: { lastUsedAt: new Date(0) } }),
  getPasskey: (id) =>
    server.services.database.prisma.passkey.update({ where: { id }, data: { lastUsedAt: new Date() } }),
  getFile: (id) =>
    server.services.database.prisma.file.update({ where: { id }, data: { downloadCount: { increment: 1 } } }),
  getFileLink: (id) =>
    server.services.database.prisma.fileLink.update({
      where: { id },
      data: { downloadCount: { increment: 1 } },
    }),
  getUploadLink: (id) =>
    server.services.database.prisma.uploadLink.update({
      where: { id },
      data: { fileCount: { increment: 1 } },
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
  getKnowledgeBase: (id) => createDocument(server, id),
  getTestClock: async () => {
    const before = await paymentsNow(server.services.database)
    await waitUntil(
      async () => (await paymentsNow(server.services.database)) > before,
      'the test clock to move on',
    )
  },
}

for (const { id, replies } of operationInfos.filter(
  ({ method, replies }) => method === 'GET' && replies[200]?.volatile !== undefined,
)) {
  t.test(`${id} keeps its ETag, and If-Match accepts it, when only volatile fields change`, async (t) => {
    const own = writes.filter(({ ifMatch }) => ifMatch === id)
    for (const write of own.length === 0 ? [{ id }] : own) {
      const request = await requestFor(server, write.id)
      const read = async () => await send({ ...request, id, body: undefined })
      const before = await read()
      const etag = before.headers.get('etag')!
      await changeVolatileFields[id]!(Object.values(request.params ?? {}).at(-1) ?? '')
      const after = await read()
      for (const field of replies[200].volatile!)
        t.notSame(after.body[field], before.body[field], `${field} changed`)
      t.equal(after.headers.get('etag'), etag, 'the ETag is the same')
      t.equal(
        (await send({ ...request, id, body: undefined }, { headers: { 'if-none-match': etag } })).status,
        304,
      )
      if (own.length > 0)
        t.equal(
          (await send(request, { headers: { 'if-match': etag } })).status,
          successStatus(write.id),
          `${write.id} accepts the ETag`,
        )
    }
  })
}

t.test('HEAD answers like GET without a body', async (t) => {
  const gets = operationInfos.filter(({ method }) => method === 'GET')
  const kindOf = ({ scopes, produces, etag, paged, static: isStatic, replies }: OperationInfo) => [
    [scopes === null, produces, etag, paged, isStatic],
    [replies[200]?.binary, replies[200]?.events !== undefined],
  ]
  for (const info of isLongForm ? gets : oneOfEachKind(gets, kindOf)) {
    const request = await requestFor(server, info.id)
    // The first use of a key changes the list of keys. Write it before the two answers are compared.
    await send(request)
    await server.services.lastUsed.flush()
    const get = await send(request)
    const head = (key: string | null, headers: Record<string, string> = {}) =>
      createClient(server.url, key).call('HEAD', pathOf(request), {
        headers: { ...request.headers, ...headers },
      })
    const { status, headers, text } = await head(request.caller.key)
    t.equal(status, successStatus(info.id), info.id)
    t.equal(text, '', info.id)
    for (const name of ['etag', 'content-type', 'link', 'cache-control', 'x-content-type-options'])
      t.equal(headers.get(name), get.headers.get(name), `${info.id} ${name}`)
    const length = info.replies[successStatus(info.id)].events === undefined ? String(get.bytes.length) : null
    t.equal(
      headers.get('content-length'),
      length,
      `${info.id} has the Content-Length of GET, except for streams`,
    )
    if (info.etag)
      t.equal(
        (await head(request.caller.key, { 'if-none-match': headers.get('etag')! })).status,
        304,
        info.id,
      )
    if (info.scopes !== null) t.equal((await head(null)).status, 401, info.id)
  }
})
