// Every status that the spec declares for an operation is answered at least once, over HTTP, and held against the spec.
// An operation or a status that nothing here reaches fails the run by name.
import t from 'tap'
import pg from 'pg'
import { idempotencyFingerprint } from '../../app/http/idempotency.ts'
import { handlers } from '../../generated/routes.ts'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { Operations, HandlerServices } from '../../services/handler.ts'
import { newId } from '../../infra/ids.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { codes, unseen } from '../support/contract-statuses.ts'
import { stripeEnv, unconfiguredOperations } from '../support/operation-fixtures-payments.ts'
import { askFor, beside, contentOf, fixtures, infos, nobodys, operationIds, otherScope, pathOf, send, successOf } from '../support/operation-fixtures.ts'
import { type Ask, type Fixture } from '../support/operation-fixture.ts'
import { insertedKey } from '../support/db-fixtures.ts'
import { createWire } from '../support/contract-proxy.ts'
import { sendLines } from '../support/contract-wire.ts'
import { holdAgainstSpec, seen, type Reply } from '../support/client.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const server = await startServer(t, { env: { UPLOAD_MAX_BYTES: String(4 * 1024 * 1024) } })
const declares = (status: number) => infos.filter((info) => info.replies[status] !== undefined)

/** A request that is right, of a server that has what it is about. */
async function rightFor(id: OperationId): Promise<Ask> {
  const ask = await askFor(server, id)
  return unconfiguredOperations.includes(id) ? { ...ask, server: byStripe } : ask
}

/** One subtest a status: what `produce` gets for each operation that declares it is that status in the one error shape. */
function produced(status: number, how: string, produce: (id: OperationId) => Promise<Reply>): void {
  t.test(`${status}: ${how}`, async (t) => {
    for (const { id } of declares(status)) {
      const reply = await produce(id)
      t.equal(reply.status, status, `${id} ${reply.text.slice(0, 200)}`)
      if (status >= 400 && reply.body?.error !== undefined) {
        t.ok(codes[status].includes(reply.body.error.code), `${id} ${status} ${reply.body.error.code}`)
        t.equal(
          reply.body.error.details.request_id,
          reply.headers.get('x-request-id'),
          `${id} ${status} names the request`,
        )
      }
    }
  })
}

const other = (status: number) => async (id: OperationId) =>
  await send(await askFor(server, id, fixtures[id].others?.[status] === undefined ? {} : { other: status }))
const shared = new Map<OperationId, Ask>()
/** A request that is bent until it is refused leaves what it is about as it was, so one serves for all refusals. */
async function refused(id: OperationId): Promise<Ask> {
  const ask = shared.get(id) ?? (await askFor(server, id))
  shared.set(id, ask)
  return ask
}

/** What belongs to one gateway is not there with another. */
const ofGateways: OperationId[] = ['getTestClock', 'advanceTestClock', 'receiveStripeEvent']
/** A gateway with pages of its own; everything else is as it is. */
const withAnother = Object.fromEntries(
  operationIds.map((id) => [
    id,
    async (request: never, { gateways, ...services }: HandlerServices) => {
      const another = {
        ...gateways.current,
        name: 'another',
        page: async () => 'https://pay.example/session',
      }
      return await handlers[id](request, {
        ...services,
        gateways: { ...gateways, current: another, of: () => another },
      } as never)
    },
  ]),
) as unknown as Operations
const elsewhere = await startServer(t, { ...beside(server), handlers: withAnother })
const byStripe = await startServer(t, { ...beside(server), env: { ...beside(server).env, ...stripeEnv } })

t.test('every operation has a fixture', async (t) => {
  t.same(
    operationIds.filter((id) => !(id in fixtures)),
    [],
  )
  t.same(
    Object.keys(fixtures).filter((id) => !(id in operations)),
    [],
    'and no fixture is left over',
  )
})

produced(401, 'no key', async (id) => await send(await refused(id), { key: null }))
produced(403, "a key without the scope, or what is somebody else's", async (id) => {
  if (fixtures[id].others?.[403] !== undefined) return await other(403)(id)
  const ask = await refused(id)
  const { secret } = await insertedKey(server, ask.caller.id, { scopes: [otherScope(id)] })
  return await send(ask, { key: secret })
})
produced(400, 'a query parameter that nobody knows', async (id) => {
  const ask = await refused(id)
  return await send({ ...ask, query: { ...ask.query, surprise: '1' } })
})
produced(404, "the last id of the path is of nothing, or it is another gateway's", async (id) => {
  if (ofGateways.includes(id)) return await send({ ...(await refused(id)), server: elsewhere })
  if (fixtures[id].others?.[404] !== undefined) return await other(404)(id)
  const ask = await refused(id)
  const [name, value] = Object.entries(ask.params!).findLast(([, value]) => nobodys(value) !== value)!
  return await send({ ...ask, params: { ...ask.params, [name]: nobodys(value) } })
})
produced(
  406,
  'a media type that the operation does not give',
  async (id) => await send(await refused(id), { headers: { accept: 'image/png' } }),
)
produced(410, 'what was asked for is no longer kept', other(410))
produced(412, "an ETag that is not the resource's, or another version", async (id) => {
  if (fixtures[id].others?.[412] !== undefined) return await other(412)(id)
  return await send(await refused(id), { headers: { 'if-match': '"stale"' } })
})
produced(460, 'other bytes than the checksum says', other(460))
produced(413, 'a body over 1 MiB, a file over what it may have', async (id) => {
  if (fixtures[id].others?.[413] !== undefined) return await other(413)(id)
  const { form } = (operations[id] as OperationInfo).body ?? {}
  const ask = form === undefined ? await refused(id) : await askFor(server, id, { form: true })
  if (form !== undefined)
    return await send({
      ...ask,
      body: {
        ...ask.body,
        [form.file]: { filename: 'large.bin', type: 'image/png', bytes: Buffer.alloc(6 * 1024 * 1024, 'x') },
      },
    })
  return await send(ask, {
    raw: `"${'x'.repeat(1024 * 1024)}"`,
    headers: { 'content-type': contentOf(ask)?.type ?? 'application/json' },
  })
})
produced(
  415,
  "a body that is none of the operation's by its type",
  async (id) => await send(await refused(id), { raw: '{}', headers: { 'content-type': 'text/plain' } }),
)

produced(409, 'a state that stands against it', async (id) => {
  if (fixtures[id].others?.[409] !== undefined) return await other(409)(id)
  return await whileRunning(await refused(id))
})

t.test('409: the first request with the idempotency key is still running', async (t) => {
  // A stream that is still told is followed by its repetition; what is stopped a second time is stopped.
  for (const { id } of infos.filter(
    (info) => info.idempotent && info.id !== 'streamChat' && info.id !== 'cancelMessage',
  )) {
    const reply = await whileRunning(await refused(id))
    t.equal(reply.status, 409, id)
    t.equal(reply.body.error.details.constraint, 'in_progress', id)
  }
})

produced(
  422,
  'the idempotency key was used with another body, a form is to be filled in again',
  async (id) => {
    if (fixtures[id].others?.[422] !== undefined) return await other(422)(id)
    const ask = await askFor(server, id)
    const headers = { 'idempotency-key': `mismatch-${id}` }
    t.equal((await send(ask, { headers })).status, successOf(id), id)
    const { otherBody }: Fixture = fixtures[id]
    const { body, headers: said } =
      otherBody === undefined
        ? await askFor(server, id, { caller: ask.caller })
        : { ...ask, body: otherBody() }
    t.notSame({ body, said }, { body: ask.body, said: ask.headers }, `${id}: the fixture's bodies differ`)
    return await send({ ...ask, body, headers: said }, { headers })
  },
)

produced(303, "a page that sends on, be it to another gateway's", async (id) => {
  const ask = await askFor(server, id)
  const reply = await send(successOf(id) === 303 ? ask : { ...ask, server: elsewhere })
  t.match(
    reply.headers.get('location'),
    successOf(id) === 303 ? ask.params!.id : 'https://pay.example/session',
    id,
  )
  t.equal(reply.headers.get('cache-control'), 'no-store', id)
  return reply
})

for (const status of [200, 201, 202, 204]) {
  produced(status, 'a request that is right', async (id) =>
    status === successOf(id) ? await send(await rightFor(id)) : await other(status)(id),
  )
}

produced(206, 'a range of the bytes', async (id) => {
  const ask = await askFor(server, id)
  const whole = await send(ask)
  const part = await send(ask, { headers: { range: 'bytes=1-3' } })
  t.same(part.bytes, whole.bytes.subarray(1, 4), id)
  t.equal(part.headers.get('content-range'), `bytes 1-3/${whole.bytes.length}`, id)
  t.equal(part.headers.get('etag'), whole.headers.get('etag'), id)
  return part
})

produced(416, 'a range after the end', async (id) => {
  const reply = await send(await askFor(server, id), { headers: { range: 'bytes=1000000-' } })
  t.match(reply.headers.get('content-range'), /^bytes \*\/\d+$/, id)
  return reply
})

produced(304, 'the ETag is the one that the caller has', async (id) => {
  const ask = await askFor(server, id)
  const { headers } = await send(ask)
  return await send(ask, { headers: { 'if-none-match': headers.get('etag')! } })
})

t.test('302: the store gives the bytes itself', async (t) => {
  // A store with addresses of its own; everything else is as it is.
  const blobs = { redirects: true, presign: async (key: string) => `https://store.example/${key}?signed` }
  const sendsOn = Object.fromEntries(
    operationIds.map((id) => [
      id,
      async (request: never, services: HandlerServices) =>
        await handlers[id](request, {
          ...services,
          storage: { ...services.storage, blobStore: async () => blobs },
        } as never),
    ]),
  ) as unknown as Operations
  const redirecting = await startServer(t, { ...beside(server), handlers: sendsOn })
  for (const { id } of declares(302)) {
    const reply = await send({ ...(await askFor(server, id)), server: redirecting })
    t.equal(reply.status, 302, `${id} ${reply.text}`)
    t.match(reply.headers.get('location'), /^https:\/\/store\.example\/file_\w+\?signed$/, id)
    t.match(reply.headers.get('cache-control'), /no-store|no-cache/, id)
    t.equal(reply.text, '', id)
  }
})

t.test('408: the body stops arriving', async (t) => {
  const impatient = await startServer(t, {
    ...beside(server),
    env: { ...beside(server).env, REQUEST_TIMEOUT: '1' },
  })
  const asked = declares(408).flatMap((info) =>
    info.body?.form === undefined || info.body.contentTypes.length === 1
      ? [info]
      : [info, { ...info, form: true }],
  )
  await Promise.all(
    asked.map(async ({ id, method, form = false }: OperationInfo & { id: OperationId; form?: boolean }) => {
      const ask = await askFor(
        server,
        id,
        fixtures[id].others?.[408] === undefined ? { form } : { other: 408 },
      )
      const { raw, type } = contentOf(ask)!
      const headers = [
        ...Object.entries(ask.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
        `authorization: Bearer ${ask.caller.key}`,
        `content-type: ${type}`,
        `content-length: ${Buffer.byteLength(raw as Uint8Array)}`,
      ]
      const reply = await sendLines(
        impatient,
        `${method} ${pathOf(ask)} HTTP/1.1`,
        headers,
        raw.slice(0, -10),
      )
      t.equal(reply.status, 408, `${id} ${reply.text}`)
      t.match(
        reply.body.error,
        { code: 'REQUEST_TIMEOUT', details: { request_id: reply.headers.get('x-request-id')![0] } },
        id,
      )
      holdAgainstSpec(
        id,
        reply.status,
        new Headers([...reply.headers].map(([name, [value]]) => [name, value] as [string, string])),
        reply.body,
      )
    }),
  )
})

t.test('429: the key has no request left', async (t) => {
  const policies = ['DEFAULT', 'WRITE', 'UPLOAD', 'AI', 'PAGE', 'GATEWAY'].map((name) => [
    `RATE_LIMIT_${name}`,
    '1',
  ])
  const limited = await startServer(t, { env: Object.fromEntries(policies) })
  for (const { id } of declares(429)) {
    const ask = await askFor(limited, id)
    const { secret } = await insertedKey(limited, ask.caller.id)
    await send(ask, { key: secret, headers: { accept: 'image/png' } })
    const reply = await send(ask, { key: secret })
    t.equal(reply.status, 429, `${id} ${reply.text}`)
    t.equal(reply.body.error.code, 'RATE_LIMITED', id)
    t.ok(Number(reply.headers.get('retry-after')) > 0, `${id} says when to come back`)
  }
})

t.test('500: the handler throws, and nothing of it is told', async (t) => {
  const throwing = Object.fromEntries(
    operationIds.map((id) => [
      id,
      async () => {
        throw new Error(`secret inside of ${id}`)
      },
    ]),
  ) as unknown as Operations
  const broken = await startServer(t, { handlers: throwing })
  for (const { id } of declares(500)) {
    const reply = await send(await askFor(broken, id))
    t.equal(reply.status, 500, id)
    t.equal(reply.body.error.code, 'SERVER_ERROR', id)
    t.notMatch(reply.text, /secret inside/, id)
    t.ok(
      broken.logs.some(
        (line) =>
          line.includes(`secret inside of ${id}`) && line.includes(reply.headers.get('x-request-id')!),
      ),
      `${id}: the log has it under the request id`,
    )
  }
})

t.test('503: the database is gone', async (t) => {
  const apart = await startServer(t)
  const wire = await createWire(t, apart.databaseUrl)
  const cutOff = await startServer(t, { ...beside(apart), databaseUrl: wire.url })
  const asks = new Map<OperationId, Ask>()
  for (const { id } of declares(503).filter(({ id }) => !unconfiguredOperations.includes(id)))
    asks.set(id, { ...(await askFor(apart, id)), server: cutOff })
  await wire.cut()
  for (const [id, ask] of asks) {
    const reply = await send(ask)
    t.equal(reply.status, 503, `${id} ${reply.text}`)
    t.ok(Number(reply.headers.get('retry-after')) > 0, `${id} says when to come back`)
  }
  await wire.mend()
  for (const [id, ask] of asks) {
    const reply = await send(ask)
    t.equal(
      reply.status,
      successOf(id),
      `${id} serves again at once, and the refused one had no effect: ${reply.text}`,
    )
  }
  await waitUntil(() => cutOff.services.principals.listening, 'the server hears of revoked keys again')
})

t.test('503: the gateway is not to be asked', async (t) => {
  for (const id of unconfiguredOperations) {
    const reply = await send({ ...(await askFor(server, id, { other: 503 })), server: byStripe })
    t.equal(reply.status, 503, `${id} ${reply.text}`)
    t.ok(Number(reply.headers.get('retry-after')) > 0, `${id} says when to come back`)
  }
})

t.test('nothing that the spec declares is left unseen', async (t) => {
  t.same(unseen(seen), [])
})

/** The answer while another request with the same idempotency key runs. */
async function whileRunning(ask: Ask): Promise<Reply> {
  return await ((operations[ask.id] as OperationInfo).handlesIdempotency === true
    ? whileWritten(ask)
    : whileLocked(ask))
}

/** The message that it answers with is still being written. */
async function whileWritten(ask: Ask): Promise<Reply> {
  const { digest, bodyHash } = idempotencyFingerprint({
    key: 'running',
    method: operations[ask.id].method,
    path: pathOf(ask),
    body: ask.body,
  })
  await server.services.database.prisma.message.create({
    data: {
      id: newId('msg'),
      userId: ask.caller.id,
      role: 'assistant',
      status: 'in_progress',
      model: 'extractive-1',
      heartbeatAt: new Date(),
      keyDigest: new Uint8Array(digest),
      bodyHash: new Uint8Array(bodyHash),
    },
  })
  return await send(ask, { headers: { 'idempotency-key': 'running' } })
}

/** Its lock is held from outside. */
async function whileLocked(ask: Ask): Promise<Reply> {
  const client = new pg.Client({ connectionString: server.databaseUrl })
  await client.connect()
  try {
    const { method } = operations[ask.id]
    const path = operations[ask.id].path.replace(/\{([^}]+)\}/g, (_, name: string) => ask.params![name])
    await client.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [
      `idempotency ${ask.caller.id} ${method} ${path} running`,
    ])
    return await send(ask, { headers: { 'idempotency-key': 'running' } })
  } finally {
    await client.end()
  }
}
