// The TypeScript client's options and errors: defaults from the environment, what a wrong URL or key says, a
// class per kind of error, and the log.
import { createServer } from 'node:http'
import t from 'tap'
import * as client from '../../../generated/client/index.js'
import { startServer } from '../../../test/support/server/server.ts'
import { instantClock } from '../../../test/support/http/typed-client.ts'
import { listen } from '../../../test/support/http/listen.ts'

const { createPlatformClient, PlatformError } = client
const server = await startServer(t)
const person = await server.person()

async function errorOf(call: Promise<unknown>): Promise<client.PlatformError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof PlatformError)) throw error
  return error
}

t.test('the URL and the key come from the environment unless they are given', async (t) => {
  t.teardown(() => {
    delete process.env['PLATFORM_BASE_URL']
    delete process.env['PLATFORM_API_KEY']
  })
  t.throws(() => createPlatformClient(), { name: 'ConfigurationError', message: /PLATFORM_BASE_URL/ })
  process.env['PLATFORM_BASE_URL'] = `${server.url}/v1/`
  t.match(
    await createPlatformClient().getHealth(),
    { status: 'ok' },
    'no key is needed for public operations',
  )
  t.match(await errorOf(createPlatformClient().getProfile()), { name: 'AuthenticationError', status: 401 })
  process.env['PLATFORM_API_KEY'] = ` ${person.key}\n`
  t.match(await createPlatformClient().user.profile.get(), { id: person.id })
  t.match(await errorOf(createPlatformClient({ apiKey: null }).getProfile()), { status: 401 })
})

t.test('a URL that cannot be right is refused, and /v1 at its end is accepted', async (t) => {
  for (const end of ['', '/', '/v1', '/v1/'])
    t.match(
      await createPlatformClient({ baseUrl: server.url + end, apiKey: person.key }).getProfile(),
      { id: person.id },
      end,
    )
  for (const baseUrl of ['', 'api.example.com', 'localhost:3000', '/v1', 'ftp://x', 'http://x/?a=1', 7, {}])
    t.throws(
      () => createPlatformClient({ baseUrl: baseUrl as string, apiKey: person.key }),
      { name: 'ConfigurationError', message: /baseUrl/ },
      JSON.stringify(baseUrl),
    )
})

t.test('a key that cannot be right is refused without being shown', async (t) => {
  const wrong = ['', `Bearer ${person.key}`, `${person.key}\n${person.key}`, `"${person.key}"`, 'plat_…', 7]
  for (const apiKey of wrong) {
    const error = t.throws(() => createPlatformClient({ baseUrl: server.url, apiKey: apiKey as string }), {
      name: 'ConfigurationError',
      message: /^The API key is .*plat_live_/,
    })
    t.notMatch((error as Error).message, person.key.slice(10))
  }
})

t.test('a key on a web page is refused unless it is allowed', async (t) => {
  const page = globalThis as { document?: object }
  page.document = {}
  t.teardown(() => delete page.document)
  const options = { baseUrl: server.url, apiKey: person.key }
  t.throws(() => createPlatformClient(options), { name: 'ConfigurationError', message: /web page/ })
  t.ok(createPlatformClient({ ...options, dangerouslyAllowBrowser: true }))
  t.ok(createPlatformClient({ baseUrl: server.url }), 'without a key')
})

t.test('a server that is not the API is named', async (t) => {
  const other = createServer((request, response) => {
    const status = request.url!.includes('profile') ? 200 : 404
    response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>')
  })
  const port = await listen(t, other)
  const baseUrl = `http://127.0.0.1:${port}`
  const foreign = createPlatformClient({ baseUrl, apiKey: person.key, retries: 0 })
  for (const call of [foreign.getProfile(), foreign.listProjects(), foreign.events.stream().next()]) {
    const { message, code } = await errorOf(call)
    t.match(
      message,
      /http:\/\/127\.0\.0\.1:\d+\/v1\/.* is not from the API \(\d+ [\w ]+, text\/html\)\. Check/,
    )
    t.equal(code, null)
  }
  const nowhere = createPlatformClient({ baseUrl: 'http://127.0.0.1:9', apiKey: person.key, retries: 0 })
  t.match(await errorOf(nowhere.getProfile()), {
    name: 'ConnectionError',
    message: /GET \/v1\/user\/profile has no complete response from http:\/\/127\.0\.0\.1:9: /,
    status: null,
  })
})

t.test('each kind of error has its class', async (t) => {
  const api = createPlatformClient({ baseUrl: server.url, apiKey: person.key })
  const missing = 'prj_01jd6y8m5qe8btc4y5w1r0n3fz'
  const project = await api.projects.create({ name: 'Kinds' })
  const archived = await api.projects.create({ name: 'Archived' })
  await api.projects.archive(archived.id)
  const unknownKey = createPlatformClient({ baseUrl: server.url, apiKey: `plat_live_${'0'.repeat(49)}` })
  const headers = { 'If-Match': '"old"' }
  const cases: Array<[() => Promise<unknown>, new (...values: any[]) => Error, object]> = [
    [() => api.createProject({ body: { name: '' } }), client.ValidationError, { status: 400 }],
    [() => unknownKey.getProfile(), client.AuthenticationError, { status: 401, code: 'UNAUTHORIZED' }],
    [() => api.users.list(), client.PermissionError, { status: 403, code: 'FORBIDDEN' }],
    [() => api.projects.get(missing), client.NotFoundError, { status: 404, code: 'NOT_FOUND' }],
    [() => api.projects.update(archived.id, { name: 'x' }), client.ConflictError, { status: 409 }],
    [
      () => api.projects.update(project.id, { name: 'x' }, { headers }),
      client.PreconditionFailedError,
      { status: 412, code: 'PRECONDITION_FAILED' },
    ],
  ]
  for (const [call, Kind, expected] of cases) {
    const error = await errorOf(call())
    t.ok(error instanceof Kind && error instanceof client.ApiError, Kind.name)
    t.equal(error.name, Kind.name)
    t.match(error, { ...expected, requestId: /^req_/ })
  }
  for (const [status, name] of [
    [410, 'GoneError'],
    [413, 'ApiError'],
    [429, 'RateLimitError'],
    [502, 'ServerError'],
  ] as const) {
    const fetch = async (): Promise<Response> => new Response('', { status, headers: { 'retry-after': '9' } })
    const refused = createPlatformClient({ baseUrl: server.url, apiKey: person.key, fetch, retries: 0 })
    t.match(await errorOf(refused.getProfile()), { name, status, retryAfter: 9 })
  }
})

t.test('the log has an entry for each attempt and never the key', async (t) => {
  const entries: client.LogEntry[] = []
  let failures = 1
  const fetch = async (request: Request): Promise<Response> => {
    if (failures-- > 0) throw new TypeError('fetch failed', { cause: new Error('reset') })
    return await globalThis.fetch(request)
  }
  const log = (entry: client.LogEntry): void => void entries.push(entry)
  const options = { baseUrl: server.url, apiKey: person.key, fetch, log, clock: instantClock() }
  const logged = createPlatformClient(options)
  await logged.createProject({ body: { name: 'Logged' } })
  await errorOf(logged.projects.get('prj_01jd6y8m5qe8btc4y5w1r0n3fz'))
  t.match(entries, [
    {
      operation: 'createProject',
      method: 'POST',
      attempt: 1,
      status: null,
      retryIn: 250,
      error: { message: /reset/ },
    },
    { operation: 'createProject', attempt: 2, status: 201, retryIn: null, error: null, requestId: /^req_/ },
    { operation: 'getProject', method: 'GET', url: /\/v1\/projects\/prj_/, attempt: 1, status: 404 },
  ])
  t.equal(entries.length, 3)
  t.ok(entries.every(({ milliseconds }) => milliseconds >= 0))
  t.notMatch(JSON.stringify(entries), person.key)
})

t.test(
  'a method by resource takes the parameters of the path, the body or query, and the options',
  async (t) => {
    const api = createPlatformClient({ baseUrl: server.url, apiKey: person.key })
    const names = ['one', 'two', 'three']
    for (const name of names) await api.projects.create({ name, tags: ['by-resource'] })
    const query = { tag: 'by-resource', sort: 'name', order: 'asc', limit: 2 } as const
    const page = await api.projects.list(query)
    t.strictSame(
      page.data.map(({ name }) => name),
      ['one', 'three'],
    )
    const all: string[] = []
    for await (const { name } of api.projects.list(query)) all.push(name)
    t.strictSame(all, ['one', 'three', 'two'])
    const sizes: number[] = []
    for await (const { data } of api.projects.list(query).pages()) sizes.push(data.length)
    t.strictSame(sizes, [2, 1])
    const [first] = page.data
    const { data, response } = await api.projects.get(first.id).withResponse()
    const headers = { 'If-Match': response.headers.get('etag')! }
    t.equal((await api.projects.update(data.id, { name: 'uno' }, { headers })).name, 'uno')
    const members = await api.projects.members.list(first.id, { role: ['owner'] }, { timeout: 60_000 })
    t.equal(members.data.length, 1)
    t.match(await api.projects.members.get(first.id, members.data[0].id), { role: 'owner' })
    await t.rejects(api.projects.get({ path: first } as never), {
      name: 'TypeError',
      message: 'getProject requires the path parameter id, a string.',
    })
    for (const id of ['.', '..'])
      await t.rejects(api.storage.files.delete(id), {
        name: 'TypeError',
        message: /^deleteFile cannot have `\.` or `\.\.` as a segment of its path: /,
      })
  },
)
