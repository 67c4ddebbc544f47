// The TypeScript client against a real server: requests, results, errors, and retries.
import { ApiError as ServerError, type Details, type ErrorCode } from '../../../infra/errors.ts'
import t from 'tap'
import {
  ConnectionError,
  createPlatformClient,
  PlatformError,
  TimeoutError,
  ValidationError,
} from '../../../generated/client/index.js'
import { startServer } from '../../../test/support/server/server.ts'
import { instantClock, apiErrorOf, typedClient } from '../../../test/support/http/typed-client.ts'
import { waitUntil } from '../../../test/support/server/wait.ts'

const server = await startServer(t)
const person = await server.person()
const client = typedClient(server.url, person.key)

/** A fetch that answers or fails the first requests itself, and records all requests. */
function faulty(faults: Array<(request: Request) => Promise<Response>>) {
  const sent: Request[] = []
  const fetch = async (request: Request): Promise<Response> => {
    sent.push(request.clone())
    const fault = faults.shift()
    return fault === undefined ? await globalThis.fetch(request) : await fault(request)
  }
  return { sent, fetch }
}

const headers = {
  'content-type': 'application/json',
  'x-request-id': 'req_1',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  ratelimit: '"default";r=0;t=1',
  'ratelimit-policy': '"default";q=600;w=60',
}
const limit = { name: 'requests_default', limit: 600, used: 600, resets_at: '2026-11-21T10:00:00Z' }
const refusal =
  (status: number, code: ErrorCode, more: Record<string, string> = {}, details: Details = {}) =>
  async () => {
    const all = status === 429 ? { constraint: 'rate_limit', limit, ...details } : details
    const isLater = [429, 503].includes(status) || details.constraint === 'in_progress'
    const fields = { ...headers, ...(isLater && { 'retry-after': '0' }), ...more }
    const error = new ServerError(status, code, 'Not now.', all, fields)
    return new Response(JSON.stringify(error.toBody('req_1')), { status, headers: error.toHeaders() })
  }
/** Executes the request but loses the response. */
const lost = async (request: Request): Promise<Response> => {
  await (await fetch(request)).arrayBuffer()
  throw new TypeError('fetch failed', { cause: new Error('other side closed') })
}
const unreached = async (): Promise<Response> => {
  throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })
}

t.test('a method returns the body, and withResponse() the response too', async (t) => {
  const made = await client.createProject({ body: { name: 'Launch', tags: ['q4'] } })
  t.match(made, { name: 'Launch', tags: ['q4'], your_role: 'owner' })
  const { data, response } = await client.getProject({ path: { id: made.id } }).withResponse()
  t.equal(data.id, made.id)
  t.equal(response.status, 200)
  const etag = response.headers.get('ETag')!
  t.match(etag, /^"/)
  const changed = await client.updateProject({
    path: { id: made.id },
    headers: { 'If-Match': etag },
    body: { name: 'Start' },
  })
  t.equal(changed.name, 'Start')
  t.equal(await client.deleteProject({ path: { id: made.id } }), undefined)
  t.match(await client.getHealth(), { status: 'ok' }, 'and outside of /v1')
})

t.test('an error response is thrown as a PlatformError with all its fields', async (t) => {
  const error = (await client
    .createProject({ body: { name: '' } })
    .catch((it: unknown) => it)) as PlatformError
  t.ok(error instanceof ValidationError && error instanceof PlatformError)
  t.match(error, {
    name: 'ValidationError',
    operation: 'createProject',
    status: 400,
    code: 'INVALID_REQUEST',
    message: 'name is required',
    retryAfter: null,
    details: { field: 'name', constraint: 'required' },
  })
  t.match(error.requestId, /^req_/)
  t.equal(error.requestId, error.details?.request_id)
  const { data: project, response } = await client.createProject({ body: { name: 'Known' } }).withResponse()
  t.equal(response.status, 201)
  const { response: got } = await client.getProject({ path: { id: project.id } }).withResponse()
  const same = { path: { id: project.id }, headers: { 'If-None-Match': got.headers.get('ETag')! } }
  t.match(await apiErrorOf(client.getProject(same)), { status: 304, code: null }, 'nothing new is no project')
  t.match(
    await apiErrorOf(client.getProject(same).withResponse()),
    { status: 304 },
    'the request is sent once',
  )
  await t.rejects(client.getProject({ path: { id: '' } }), TypeError, 'an empty path parameter is an error')
})

t.test(
  'a POST whose response is lost is retried with the same Idempotency-Key and executed once',
  async (t) => {
    const { sent, fetch } = faulty([unreached, lost])
    const again = typedClient(server.url, person.key, { fetch, clock: instantClock() })
    const name = `once ${Date.now()}`
    const { data, response } = await again.createProject({ body: { name } }).withResponse()
    t.equal(data.name, name)
    t.equal(response.headers.get('idempotent-replayed'), 'true')
    t.equal(sent.length, 3)
    t.equal(new Set(sent.map((request) => request.headers.get('idempotency-key'))).size, 1)
    t.match(sent[0].headers.get('idempotency-key'), /^[0-9a-f]{32}$/)
    t.equal((await client.listProjects({ query: { q: name } })).pagination.total, 1)
  },
)

t.test('each call has its own Idempotency-Key unless the caller sets one', async (t) => {
  const { sent, fetch } = faulty([])
  const own = typedClient(server.url, person.key, { fetch })
  await own.createProject({ body: { name: 'Own' }, headers: { 'Idempotency-Key': `own-${Date.now()}` } })
  await own.createProject({ body: { name: 'Made' } })
  await own.createProject({ body: { name: 'Made' } })
  const keys = sent.map((request) => request.headers.get('idempotency-key'))
  t.match(keys[0], /^own-/)
  t.equal(new Set(keys).size, 3)
})

t.test('a call whose response breaks off is retried', async (t) => {
  const cuts = [true, false]
  const fetch = async (request: Request): Promise<Response> => {
    const response = await globalThis.fetch(request)
    if (cuts.shift() !== true) return response
    const bytes = new Uint8Array(await response.arrayBuffer())
    const half = new ReadableStream({
      start(controller) {
        controller.enqueue(bytes.slice(0, 20))
        controller.error(new TypeError('terminated'))
      },
    })
    return new Response(half, { status: response.status, headers: response.headers })
  }
  // Not validated against the spec, because the response is incomplete.
  const again = createPlatformClient({
    baseUrl: server.url,
    apiKey: person.key,
    fetch,
    clock: instantClock(),
  })
  t.equal((await again.createProject({ body: { name: 'Halved' } })).name, 'Halved')
  t.equal((await client.listProjects({ query: { q: 'Halved' } })).pagination.total, 1)
})

t.test('the client waits for a first attempt that is still in progress', async (t) => {
  const { sent, fetch } = faulty([
    unreached,
    refusal(409, 'CONFLICT', {}, { field: 'Idempotency-Key', constraint: 'in_progress' }),
  ])
  const again = typedClient(server.url, person.key, { fetch, clock: instantClock() })
  t.equal((await again.createProject({ body: { name: 'Waited for' } })).name, 'Waited for')
  t.equal(sent.length, 3)
  const other = faulty([refusal(409, 'CONFLICT', {}, { constraint: 'member_exists' })])
  t.match(
    await apiErrorOf(
      typedClient(server.url, person.key, { fetch: other.fetch, clock: instantClock() }).createProject({
        body: { name: 'x' },
      }),
    ),
    { status: 409 },
  )
  t.equal(other.sent.length, 1, 'another conflict is none that passes')
})

t.test('a response with X-Should-Retry: false is not repeated', async (t) => {
  const { sent, fetch } = faulty([refusal(503, 'UNAVAILABLE', { 'x-should-retry': 'false' })])
  const final = createPlatformClient({
    baseUrl: server.url,
    apiKey: person.key,
    fetch,
    clock: instantClock(),
  })
  t.match(await apiErrorOf(final.getProfile()), { status: 503 })
  t.equal(sent.length, 1)
})

t.test('the client waits as long as Retry-After says, in seconds or until a date', async (t) => {
  const now = Date.parse('2026-11-21T10:00:00Z')
  const waits: number[] = []
  const { fetch } = faulty([
    refusal(429, 'RATE_LIMITED', { 'retry-after': '7' }),
    refusal(503, 'UNAVAILABLE', { 'retry-after': new Date(now + 4000).toUTCString() }),
  ])
  // A proxy may send a date; this server's contract has seconds, so the response is not validated.
  const patient = createPlatformClient({
    baseUrl: server.url,
    apiKey: person.key,
    fetch,
    timeout: null,
    clock: { ...instantClock(waits), now: () => now },
  })
  t.match(await patient.getProfile(), { id: person.id })
  t.strictSame(waits, [7000, 4000])
})

t.test('without Retry-After the client uses exponential backoff with jitter', async (t) => {
  const waits: number[] = []
  const { sent, fetch } = faulty(Array.from({ length: 9 }, () => unreached))
  const randoms = [0, 0.999, 0.5, 0.5, 0.5, 0.5]
  const patient = typedClient(server.url, person.key, {
    fetch,
    retries: 6,
    clock: { ...instantClock(waits), random: () => randoms.shift()! },
  })
  const error = (await patient.getProfile().catch((it: unknown) => it)) as Error
  t.ok(error instanceof ConnectionError)
  t.match(
    error.message,
    /GET \/v1\/user\/profile has no complete response from http:.*: connect ECONNREFUSED/,
  )
  t.equal((error.cause as Error).message, 'fetch failed')
  t.equal(sent.length, 7)
  t.strictSame(waits, [0, 999, 1000, 2000, 4000, 4000])
})

t.test('a Retry-After that is too long or beyond the deadline is thrown at once', async (t) => {
  const waits: number[] = []
  for (const [seconds, timeout] of [
    ['121', null],
    ['20', 10_000],
  ] as Array<[string, number | null]>) {
    const { sent, fetch } = faulty([refusal(429, 'RATE_LIMITED', { 'retry-after': seconds })])
    const patient = typedClient(server.url, person.key, { fetch, timeout, clock: instantClock(waits) })
    t.match(await apiErrorOf(patient.getProfile()), {
      status: 429,
      code: 'RATE_LIMITED',
      retryAfter: Number(seconds),
    })
    t.equal(sent.length, 1)
  }
  t.strictSame(waits, [])
})

t.test('requests that cannot be repeated safely are sent once', async (t) => {
  const project = await client.createProject({ body: { name: 'Careful' } })
  const { data: file } = await client
    .uploadFile({ body: { file: new Blob(['bytes']), name: 'a.txt' } })
    .withResponse()
  t.equal(file.bytes, 5)
  const once: Array<[string, (careful: typeof client) => Promise<unknown>]> = [
    [
      'a PUT with If-Match that may have been executed',
      (careful) =>
        careful.updateProject({
          path: { id: project.id },
          headers: { 'If-Match': '"x"' },
          body: { name: 'x' },
        }),
    ],
    [
      'an append to an upload',
      (careful) =>
        careful.appendUpload({
          path: { id: 'upl_01jd6y8m5qe8btc4y5w1r0n3fz' },
          headers: { 'Tus-Resumable': '1.0.0', 'Upload-Offset': 0 },
          body: new Blob(['x']),
        }),
    ],
  ]
  for (const [what, call] of once) {
    const { sent, fetch } = faulty([unreached])
    await t.rejects(
      call(typedClient(server.url, person.key, { fetch, clock: instantClock() })),
      { name: 'ConnectionError' },
      what,
    )
    t.equal(sent.length, 1, what)
  }
  const { sent, fetch } = faulty([unreached, unreached])
  const raw = typedClient(server.url, person.key, { fetch, clock: instantClock() })
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"name": "x"}'))
      controller.close()
    },
  })
  await t.rejects(
    raw.api.POST('/projects', {
      body: body as never,
      bodySerializer: (it: unknown) => it,
      headers: { 'Idempotency-Key': 'streamed' },
      duplex: 'half',
    } as never),
    { name: 'ConnectionError' },
    'a body that is a consumed stream',
  )
  t.equal(sent.length, 1, 'a stream that was consumed')
})

t.test('other errors are not retried', async (t) => {
  for (const status of [400, 401, 403, 404, 412, 500]) {
    const { sent, fetch } = faulty([refusal(status, status === 500 ? 'SERVER_ERROR' : 'NOT_FOUND')])
    t.match(
      await apiErrorOf(
        createPlatformClient({
          baseUrl: server.url,
          apiKey: person.key,
          fetch,
          clock: instantClock(),
        }).getProfile(),
      ),
      { status },
    )
    t.equal(sent.length, 1, String(status))
  }
})

t.test(
  'the time-out includes all attempts, and an aborted call rejects with the reason of its signal as cause',
  async (t) => {
    const hanging = typedClient(server.url, person.key, { fetch: () => new Promise(() => {}) })
    const late = await hanging.getProfile({ timeout: 50 }).catch((it: unknown) => it)
    t.ok(late instanceof TimeoutError)
    const gone = new AbortController()
    const call = hanging.getProfile({ signal: gone.signal })
    gone.abort(new Error('the page is closed'))
    await t.rejects(call, { name: 'AbortError', cause: { message: 'the page is closed' } })
    const waiting = new AbortController()
    const { sent, fetch } = faulty([refusal(429, 'RATE_LIMITED', { 'retry-after': '60' })])
    const asleep = typedClient(server.url, person.key, { fetch }).getProfile({ signal: waiting.signal })
    await waitUntil(() => sent.length === 1)
    waiting.abort(new Error('enough'))
    await t.rejects(asleep, { name: 'AbortError', cause: { message: 'enough' } }, 'while it waits, too')
    t.equal(sent.length, 1)
  },
)

t.test('client.api has authentication, Idempotency-Keys and retries', async (t) => {
  const { sent, fetch } = faulty([unreached])
  const raw = typedClient(server.url, person.key, { fetch, clock: instantClock(), userAgent: 'shop/2.0' })
  const { data, error } = await raw.api.POST('/projects', { body: { name: 'Raw' } })
  t.equal(data?.name, 'Raw')
  t.equal(error, undefined)
  t.equal(sent.length, 2)
  t.match(sent[1].headers.get('idempotency-key'), /^[0-9a-f]{32}$/)
  t.equal(sent[1].headers.get('user-agent'), 'shop/2.0')
  const refused = await raw.api.GET('/projects/{id}', {
    params: { path: { id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } },
  })
  t.equal(refused.error?.error.code, 'NOT_FOUND')
  const form = new FormData()
  form.set('path', 'raw')
  form.set('file', new File(['bytes'], 'raw.txt'))
  const { sent: formsSent, fetch: forms } = faulty([unreached])
  const uploaded = await typedClient(server.url, person.key, {
    fetch: forms,
    clock: instantClock(),
  }).api.POST('/storage/upload', { body: form as never, bodySerializer: (it: unknown) => it })
  t.match(uploaded.data, { name: 'raw.txt', path: 'raw', bytes: 5 }, 'the form is encoded again')
  t.equal(formsSent.length, 2)
})
