// Response coverage: every status that the spec declares for an operation occurs at least once over real HTTP
// and matches the spec. An operation or status that no test reaches fails the run by name.
import t from 'tap'
import pg from 'pg'
import { bodyLimit } from '../../app/http/errors.ts'
import { idempotencyFingerprint } from '../../app/http/idempotency.ts'
import { handlers } from '../../generated/routes.ts'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { Operations, HandlerServices } from '../../services/handler.ts'
import { newId } from '../../infra/ids.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { provideEmbeddings } from '../support/operations/operation-fixtures-ai.ts'
import { providerOperations } from '../support/operations/operation-fixtures-auth.ts'
import { stripeEnv, unconfiguredOperations } from '../support/operations/operation-fixtures-payments.ts'
import {
  fixtures,
  operationIds,
  pathOf,
  send,
  requestFor,
  served,
  sharedDataOf,
  encodedBody,
  operationInfos,
  toUnknownId,
  unrelatedScope,
  successStatus,
} from '../support/operations/operation-fixtures.ts'
import type { Fixture, OperationRequest } from '../support/operations/operation-fixture.ts'
import { type Reply, assertMatchesSpec, coveredResponses } from '../support/http/client.ts'
import { codesByStatus, uncoveredResponses } from '../support/contract/contract-statuses.ts'
import { createApiKey } from '../support/database/db-fixtures.ts'
import { createDatabaseProxy } from '../support/database/database-proxy.ts'
import { sendRaw } from '../support/http/raw-http.ts'
import { oneOfEachKind, pipelineKind } from '../support/operations/kinds.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

// Other files that this process ran covered responses, too.
coveredResponses.clear()
const server = await startServer(t, { env: { UPLOAD_MAX_BYTES: String(4 * 1024 * 1024) } })
/** The connection that holds idempotency keys. */
const locks = new pg.Client({ connectionString: server.databaseUrl })
await locks.connect()
t.teardown(() => locks.end())
const declares = (status: number) => operationInfos.filter((info) => info.replies[status] !== undefined)

/** A valid request, sent to a server on which the operation is available. */
async function validRequestFor(id: OperationId): Promise<OperationRequest> {
  const request = await requestFor(server, id)
  return unconfiguredOperations.includes(id) ? { ...request, server: stripeServer } : request
}

/** One subtest per status: each operation that declares it answers with it, in the common error shape. */
function testStatus(status: number, how: string, produce: (id: OperationId) => Promise<Reply>): void {
  t.test(`${status}: ${how}`, async (t) => {
    for (const { id } of declares(status)) {
      const reply = await produce(id)
      t.equal(reply.status, status, `${id} ${reply.text.slice(0, 200)}`)
      if (status >= 400 && reply.body?.error !== undefined) {
        t.ok(
          codesByStatus[status].includes(reply.body.error.code),
          `${id} ${status} ${reply.body.error.code}`,
        )
        t.equal(
          reply.body.error.details.request_id,
          reply.headers.get('x-request-id'),
          `${id} ${status} has the request id`,
        )
      }
    }
  })
}

const sendForStatus = (status: number) => async (id: OperationId) =>
  await send(
    await requestFor(server, id, fixtures[id].byStatus?.[status] === undefined ? {} : { forStatus: status }),
  )
const sharedRequests = new Map<OperationId, OperationRequest>()
/**
 * Rejected and reading requests change nothing, so their tests share one fixture per operation. A code of the
 * second factor would expire between two tests.
 */
async function sharedRequest(id: OperationId): Promise<OperationRequest> {
  const request = sharedRequests.get(id) ?? (await requestFor(server, id))
  if (id !== 'confirmTotp') sharedRequests.set(id, request)
  return request
}

function withInvalidQuery(request: OperationRequest): OperationRequest {
  // Identity providers add parameters of their own.
  const wrong: Record<string, string> =
    request.id === 'finishOidcSignIn' ? { state: 'a'.repeat(300) } : { surprise: '1' }
  return { ...request, query: { ...request.query, ...wrong } }
}

/** Operations of one gateway. They are 404 on a server with another gateway. */
const gatewayOperations: OperationId[] = ['getTestClock', 'advanceTestClock', 'receiveStripeEvent']
/** The real handlers, with a payment gateway that has its own checkout pages. */
const otherGatewayHandlers = Object.fromEntries(
  operationIds.map((id) => [
    id,
    async (request: never, { gateways, ...services }: HandlerServices) => {
      const otherGateway = {
        ...gateways.current,
        name: 'another',
        paymentPageUrl: async () => 'https://pay.example/session',
      }
      return await handlers[id](request, {
        ...services,
        gateways: { ...gateways, current: otherGateway, of: () => otherGateway },
      } as never)
    },
  ]),
) as unknown as Operations
const otherGatewayServer = await startServer(t, { ...sharedDataOf(server), handlers: otherGatewayHandlers })
const stripeServer = await startServer(t, {
  ...sharedDataOf(server),
  env: { ...sharedDataOf(server).env, ...stripeEnv },
})

t.test('every operation has a fixture', async (t) => {
  t.same(
    operationIds.filter((id) => !(id in fixtures)),
    [],
  )
  t.same(
    Object.keys(fixtures).filter((id) => !(id in operations)),
    [],
    'no fixture is left over',
  )
})

testStatus(401, 'there is no key, or the token is unknown', async (id) =>
  fixtures[id].byStatus?.[401] !== undefined
    ? await sendForStatus(401)(id)
    : await send(await sharedRequest(id), { key: null }),
)
testStatus(
  403,
  'the key lacks the scope or is for other addresses, or the resource belongs to another user',
  async (id) => {
    if (fixtures[id].byStatus?.[403] !== undefined) return await sendForStatus(403)(id)
    const request = await sharedRequest(id)
    const limit =
      operations[id].scopes?.length === 0
        ? { allowedAddresses: ['192.0.2.1'] }
        : { scopes: [unrelatedScope(id)] }
    const { secret } = await createApiKey(server, request.caller.id, limit)
    return await send(request, { key: secret })
  },
)
testStatus(
  400,
  'a query parameter is unknown, or too long',
  async (id) => await send(withInvalidQuery(await sharedRequest(id))),
)
testStatus(404, 'the last id of the path does not exist, or the gateway is another one', async (id) => {
  if (gatewayOperations.includes(id))
    return await send({ ...(await sharedRequest(id)), server: otherGatewayServer })
  if (fixtures[id].byStatus?.[404] !== undefined) return await sendForStatus(404)(id)
  const request = await sharedRequest(id)
  const [name, value] = Object.entries(request.params!).findLast(([, value]) => toUnknownId(value) !== value)!
  return await send({ ...request, params: { ...request.params, [name]: toUnknownId(value) } })
})
testStatus(
  406,
  'Accept does not match the media type of the operation',
  async (id) => await send(await sharedRequest(id), { headers: { accept: 'image/png' } }),
)
testStatus(410, 'the resource has expired or was deleted', sendForStatus(410))
testStatus(412, 'If-Match is not the current ETag, or the tus version is not supported', async (id) => {
  if (fixtures[id].byStatus?.[412] !== undefined) return await sendForStatus(412)(id)
  return await send(await sharedRequest(id), { headers: { 'if-match': '"stale"' } })
})
testStatus(460, 'the bytes do not match the checksum', sendForStatus(460))
testStatus(413, 'a body, or a file, exceeds its limit', async (id) => {
  if (fixtures[id].byStatus?.[413] !== undefined) return await sendForStatus(413)(id)
  const { form, maxBytes = bodyLimit } = (operations[id] as OperationInfo).body ?? {}
  const request = form === undefined ? await sharedRequest(id) : await requestFor(server, id, { form: true })
  if (form !== undefined)
    return await send({
      ...request,
      body: {
        ...request.body,
        [form.file]: { filename: 'large.bin', type: 'image/png', bytes: Buffer.alloc(6 * 1024 * 1024, 'x') },
      },
    })
  return await send(request, {
    raw: `"${'x'.repeat(maxBytes)}"`,
    headers: { 'content-type': encodedBody(request)?.type ?? 'application/json' },
  })
})
testStatus(
  415,
  'the operation does not accept the Content-Type',
  async (id) => await send(await sharedRequest(id), { raw: '{}', headers: { 'content-type': 'text/plain' } }),
)

testStatus(409, 'the state of the resource does not allow it', async (id) => {
  if (fixtures[id].byStatus?.[409] !== undefined) return await sendForStatus(409)(id)
  return await whileRunning(await sharedRequest(id))
})

t.test('409: the first request with the idempotency key is still running', async (t) => {
  // streamChat answers a repeated request by joining the stream, advanceTestClock by moving to the same time;
  // cancelMessage has nothing more to cancel.
  const joining = ['streamChat', 'advanceTestClock', 'cancelMessage']
  const idempotent = operationInfos.filter(({ id, idempotent }) => idempotent && !joining.includes(id))
  for (const { id } of isLongForm ? idempotent : oneOfEachKind(idempotent, pipelineKind)) {
    const reply = await whileRunning(await sharedRequest(id))
    t.equal(reply.status, 409, id)
    t.equal(reply.body.error.details.constraint, 'in_progress', id)
  }
})

testStatus(303, 'the answer redirects, also to the page of another gateway', async (id) => {
  const isPay = id === 'showPayPage'
  const forStatus = fixtures[id].byStatus?.[303] === undefined ? undefined : 303
  const request = await requestFor(server, id, { forStatus })
  const reply = await send(isPay ? { ...request, server: otherGatewayServer } : request)
  // The pages of the account and the portal also lead to the page without a session.
  const hasSession = ['account-pages', 'portal-pages'].includes(operations[id].tag)
  const to = isPay ? 'https://pay.example/session' : ((hasSession ? undefined : request.params?.id) ?? /./)
  t.match(reply.headers.get('location'), to, id)
  t.equal(reply.headers.get('cache-control'), 'no-store', id)
  return reply
})

testStatus(206, 'the request asks for a range', async (id) => {
  const request = await sharedRequest(id)
  const whole = await send(request)
  const part = await send(request, { headers: { range: 'bytes=1-3' } })
  t.same(part.bytes, whole.bytes.subarray(1, 4), id)
  t.equal(part.headers.get('content-range'), `bytes 1-3/${whole.bytes.length}`, id)
  t.equal(part.headers.get('etag'), whole.headers.get('etag'), id)
  return part
})

testStatus(416, 'the range starts after the end', async (id) => {
  const reply = await send(await sharedRequest(id), { headers: { range: 'bytes=1000000-' } })
  t.match(reply.headers.get('content-range'), /^bytes \*\/\d+$/, id)
  return reply
})

testStatus(304, 'If-None-Match is the current ETag', async (id) => {
  const request = await sharedRequest(id)
  const { headers } = await send(request)
  return await send(request, { headers: { 'if-none-match': headers.get('etag')! } })
})

t.test('302: the object store serves the bytes itself', async (t) => {
  // The real handlers, with a store that has presigned URLs.
  const blobs = {
    redirects: true,
    sizeOf: async () => 1,
    presign: async (key: string) => `https://store.example/${key}?signed`,
  }
  const redirectingHandlers = Object.fromEntries(
    operationIds.map((id) => [
      id,
      async (request: never, services: HandlerServices) =>
        await handlers[id](request, {
          ...services,
          storage: { ...services.storage, blobStore: async () => blobs },
        } as never),
    ]),
  ) as unknown as Operations
  const redirecting = await startServer(t, { ...sharedDataOf(server), handlers: redirectingHandlers })
  for (const { id } of declares(302)) {
    const reply = await send({ ...(await requestFor(server, id)), server: redirecting })
    t.equal(reply.status, 302, `${id} ${reply.text}`)
    t.match(reply.headers.get('location'), /^https:\/\/store\.example\/file_\w+\?signed$/, id)
    t.match(reply.headers.get('cache-control'), /no-store|no-cache/, id)
    t.equal(reply.text, '', id)
  }
})

t.test('307: files have an origin of their own', async (t) => {
  const { databaseUrl, env } = sharedDataOf(server)
  const separate = await startServer(t, {
    databaseUrl,
    env: { ...env, FILES_URL: 'https://files.example' },
  })
  for (const { id } of declares(307)) {
    const request = { ...(await requestFor(server, id)), server: separate }
    const reply = await send(request, { key: null })
    t.equal(reply.status, 307, `${id} ${reply.text}`)
    t.equal(reply.headers.get('location'), `https://files.example${pathOf(request)}`, id)
    t.equal(reply.text, '', id)
  }
})

t.test('408: the body stops arriving', async (t) => {
  const shortTimeoutServer = await startServer(t, {
    ...sharedDataOf(server),
    env: { ...sharedDataOf(server).env, REQUEST_TIMEOUT: '1' },
  })
  const targets = declares(408).flatMap((info) =>
    info.body?.form === undefined || info.body.contentTypes.length === 1
      ? [info]
      : [info, { ...info, form: true }],
  )
  await Promise.all(
    targets.map(async ({ id, method, form = false }: OperationInfo & { id: OperationId; form?: boolean }) => {
      const ofStatus = fixtures[id].byStatus?.[408] !== undefined
      // An upload keeps the bytes that arrived.
      const request = await requestFor(server, id, ofStatus ? { forStatus: 408 } : { form })
      const { raw, type } = encodedBody(request)!
      const headers = [
        ...Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}`),
        `authorization: Bearer ${request.caller.key}`,
        `content-type: ${type}`,
        `content-length: ${Buffer.byteLength(raw as Uint8Array)}`,
      ]
      const reply = await sendRaw(
        shortTimeoutServer,
        `${method} ${pathOf(request)} HTTP/1.1`,
        headers,
        raw.slice(0, -10),
      )
      t.equal(reply.status, 408, `${id} ${reply.text}`)
      t.match(
        reply.body.error,
        { code: 'REQUEST_TIMEOUT', details: { request_id: reply.headers.get('x-request-id')![0] } },
        id,
      )
      assertMatchesSpec(
        id,
        reply.status,
        new Headers([...reply.headers].map(([name, [value]]) => [name, value] as [string, string])),
        reply.body,
      )
    }),
  )
})

t.test('429: the rate limit of the key is used up', async (t) => {
  const names = [
    'DEFAULT',
    'WRITE',
    'UPLOAD',
    'AI',
    'PAGE',
    'GATEWAY',
    'HEALTH',
    'ADDRESS',
    'AUTH',
    'MAIL',
    'PASSWORD',
    'REFRESH',
  ]
  const policies = names.map((name) => [`RATE_LIMIT_${name}`, '1'])
  const limited = await startServer(t, {
    ...sharedDataOf(server),
    env: { ...sharedDataOf(server).env, ...Object.fromEntries(policies) },
  })
  for (const { id } of declares(429)) {
    const request = { ...(await sharedRequest(id)), server: limited }
    const first = await send(withInvalidQuery(request))
    const reply = first.status === 429 ? first : await send(request)
    t.equal(reply.status, 429, `${id} ${reply.text}`)
    t.equal(reply.body.error.code, 'RATE_LIMITED', id)
    t.ok(Number(reply.headers.get('retry-after')) > 0, `${id} has a Retry-After`)
  }
})

t.test('500: the handler throws, and the answer shows nothing of the error', async (t) => {
  const throwing = Object.fromEntries(
    operationIds.map((id) => [
      id,
      async () => {
        throw new Error(`secret inside of ${id}`)
      },
    ]),
  ) as unknown as Operations
  const failingServer = await startServer(t, { ...sharedDataOf(server), handlers: throwing })
  for (const { id } of declares(500)) {
    const reply = await send({ ...(await sharedRequest(id)), server: failingServer })
    t.equal(reply.status, 500, id)
    t.equal(reply.body.error.code, 'SERVER_ERROR', id)
    t.notMatch(reply.text, /secret inside/, id)
    t.ok(
      failingServer.logs.some(
        (line) =>
          line.includes(`secret inside of ${id}`) && line.includes(reply.headers.get('x-request-id')!),
      ),
      `${id}: the log has the error with the request id`,
    )
  }
})

/** The operations with an idempotency key send it while the database is unreachable, and later again. */
const keyOf = (id: OperationId): Record<string, string> =>
  (operations[id] as OperationInfo).idempotent ? { 'idempotency-key': `outage-${id}` } : {}
/** The answers to the valid requests that were first sent while the database was unreachable. */
const afterOutage = new Map<OperationId, Reply>()

t.test('503: the database is unreachable', async (t) => {
  const proxy = await createDatabaseProxy(t, server.databaseUrl)
  const proxiedServer = await startServer(t, { ...sharedDataOf(server), databaseUrl: proxy.url })
  provideEmbeddings(proxiedServer)
  const asked = declares(503).filter(({ id }) => served.some((one) => one.id === id))
  // A few at a time, because codes of the second factor are valid for half a minute.
  for (let i = 0; i < asked.length; i += 50) {
    const requests = new Map<OperationId, OperationRequest>()
    for (const { id } of asked.slice(i, i + 50))
      requests.set(id, { ...(await sharedRequest(id)), server: proxiedServer })
    await proxy.cut()
    for (const [id, request] of requests) {
      const reply = await send(request, { headers: keyOf(id) })
      t.equal(reply.status, 503, `${id} ${reply.text}`)
      t.ok(Number(reply.headers.get('retry-after')) > 0, `${id} has a Retry-After`)
    }
    await proxy.restore()
    // Its checks run once a second.
    const readiness = requests.get('getReadiness')
    if (readiness !== undefined)
      await waitUntil(async () => (await send(readiness)).status === 200, 'the server to be ready')
    for (const [id, request] of requests) {
      const reply = await send(request, { headers: keyOf(id) })
      afterOutage.set(id, reply)
      t.equal(
        reply.status,
        successStatus(id),
        `${id} succeeds at once after the outage; the failed request had no effect: ${reply.text}`,
      )
    }
  }
  await waitUntil(
    () => proxiedServer.services.principals.listening,
    'the server to listen for revoked keys again',
  )
})

testStatus(
  422,
  'the idempotency key was used with another body or query, or the page shows its form again',
  async (id) => {
    if (fixtures[id].byStatus?.[422] !== undefined) return await sendForStatus(422)(id)
    const request = await sharedRequest(id)
    const { differentBody: otherBody, differentQuery }: Fixture = fixtures[id]
    if (differentQuery !== undefined)
      return await send({ ...request, query: differentQuery() }, { headers: keyOf(id) })
    const { body, headers } =
      otherBody === undefined
        ? await requestFor(server, id, { caller: request.caller })
        : { ...request, body: otherBody() }
    t.notSame(
      { body, said: headers },
      { body: request.body, said: request.headers },
      `${id}: the fixture's bodies differ`,
    )
    return await send({ ...request, body, headers }, { headers: keyOf(id) })
  },
)

for (const status of [200, 201, 202, 204]) {
  testStatus(status, 'the request is valid', async (id) => {
    if (status !== successStatus(id)) return await sendForStatus(status)(id)
    return afterOutage.get(id) ?? (await send(await validRequestFor(id)))
  })
}

t.test('503: the payment gateway, or the identity provider, is unreachable', async (t) => {
  for (const id of [...unconfiguredOperations, ...providerOperations]) {
    const request = await requestFor(server, id, { forStatus: 503 })
    const reply = await send(
      unconfiguredOperations.includes(id) ? { ...request, server: stripeServer } : request,
    )
    t.equal(reply.status, 503, `${id} ${reply.text}`)
    t.ok(Number(reply.headers.get('retry-after')) > 0, `${id} has a Retry-After`)
  }
})

t.test('every declared status of every operation was covered', async (t) => {
  t.same(uncoveredResponses(coveredResponses), [])
})

/** The answer while another request with the same idempotency key is running. */
async function whileRunning(request: OperationRequest): Promise<Reply> {
  return await ((operations[request.id] as OperationInfo).handlesIdempotency === true
    ? whileMessageInProgress(request)
    : whileLocked(request))
}

/** Inserts a message in progress with the idempotency key; the AI operations look for such a message. */
async function whileMessageInProgress(request: OperationRequest): Promise<Reply> {
  const key = newId('msg')
  const { digest, bodyHash } = idempotencyFingerprint({
    key,
    method: operations[request.id].method,
    path: pathOf(request),
    body: request.body,
  })
  await server.services.database.prisma.message.create({
    data: {
      id: newId('msg'),
      userId: request.caller.id,
      role: 'assistant',
      status: 'in_progress',
      model: 'extractive-1',
      heartbeatAt: new Date(),
      keyDigest: new Uint8Array(digest),
      bodyHash: new Uint8Array(bodyHash),
    },
  })
  return await send(request, { headers: { 'idempotency-key': key } })
}

/** Takes the advisory lock of the idempotency key on another connection. */
async function whileLocked(request: OperationRequest): Promise<Reply> {
  const { method } = operations[request.id]
  const path = operations[request.id].path.replace(/\{([^}]+)\}/g, (_, name: string) => request.params![name])
  const name = [`idempotency ${request.caller.id} ${method} ${path} running`]
  await locks.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', name)
  try {
    return await send(request, { headers: { 'idempotency-key': 'running' } })
  } finally {
    await locks.query('SELECT pg_advisory_unlock(hashtextextended($1, 0))', name)
  }
}
