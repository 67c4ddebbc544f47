// GET /requests: what is recorded of a request, who sees it, and what happens with many requests at once.
import { connect } from 'node:net'
import t from 'tap'
import { newId, newIdAt } from '../../infra/ids.ts'
import { runRetention } from '../support/database/retention.ts'
import { surplusRequestTasks, usageRetentionTasks } from '../../services/usage/usage.ts'
import { RequestRecorder } from '../../services/usage/recorder.ts'
import { createClient } from '../support/http/client.ts'
import { createApiKey, createApiRequest, requestOf } from '../support/database/db-fixtures.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { waitForLock, waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const { database, requestRecorder } = server.services
const { prisma } = database

/** The requests that the person reads after all were written, oldest first. */
async function listed({ client }: Pick<Person, 'client'>, query = ''): Promise<any[]> {
  await requestRecorder.flush()
  return (await client.get(`/requests?order=asc&limit=100${query}`)).body.data
}

t.test('a request is listed with its operation, status, error and key, and without data', async (t) => {
  const person = await server.person()
  const { id: keyId } = await prisma.apiKey.findFirstOrThrow({ where: { userId: person.id } })
  await person.client.get('/projects?q=private-search', { headers: { 'x-request-id': 'mine-1' } })
  await person.client.post('/projects', { name: 'private-name' })
  await person.client.get(`/projects/${newId('prj')}`)
  await person.client.post('/projects', { name: '' })
  const requests = await listed(person)
  t.match(requests, [
    { operation: 'listProjects', method: 'GET', status: 200, error_code: null, client_request_id: 'mine-1' },
    { operation: 'createProject', method: 'POST', status: 201, error_code: null, client_request_id: null },
    { operation: 'getProject', method: 'GET', status: 404, error_code: 'NOT_FOUND' },
    { operation: 'createProject', method: 'POST', status: 400, error_code: 'INVALID_REQUEST' },
  ])
  for (const { requests: count, request_id: id, duration_ms: ms, ...credential } of requests) {
    t.match(credential, { credential_id: keyId, key_id: keyId })
    t.equal(count, 1)
    t.match(id, /^req_[0-9a-f]{32}$/)
    t.ok(ms >= 0 && ms < 60_000)
    t.ok(
      server.logs.some((line) => line.includes(id)),
      'the id is in the log',
    )
  }
  t.notMatch(JSON.stringify(await prisma.apiRequest.findMany()), 'private')
})

t.test('the newest request is the first; a cursor continues while others arrive', async (t) => {
  const person = await server.person()
  for (let i = 0; i < 5; i++) await createApiRequest(server, person.id, { durationMs: i })
  const first = (await person.client.get('/requests?limit=2')).body
  await requestRecorder.flush()
  const rest = (await person.client.get(`/requests?limit=10&cursor=${first.pagination.next_cursor}`)).body
  t.strictSame(
    [...first.data, ...rest.data].map((request: any) => request.duration_ms),
    [4, 3, 2, 1, 0],
  )
})

t.test('requests without a valid key, and of paths that do not exist, are not recorded', async (t) => {
  await requestRecorder.flush()
  const before = await prisma.apiRequest.count()
  const strangers = [createClient(server.url, 'plat_test_nonsense'), createClient(server.url, null)]
  for (const client of strangers) t.equal((await client.get('/projects')).status, 401)
  await strangers[1].get('/healthz')
  await (await server.person()).client.get('/nothing' as '/projects')
  await requestRecorder.flush()
  t.equal(await prisma.apiRequest.count(), before)
})

t.test('refused requests of a valid key are recorded: scope and rate limit', async (t) => {
  const limited = await startServer(t, { env: { RATE_LIMIT_DEFAULT: '2' } })
  const person = await limited.person({ scopes: ['user:read'] })
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await person.client.get('/projects')).status)
  t.strictSame(statuses, [403, 403, 429])
  await limited.services.requestRecorder.flush()
  const rows = await limited.services.database.prisma.apiRequest.findMany({ orderBy: { id: 'asc' } })
  t.strictSame(
    rows.map(({ status, errorCode }) => [status, errorCode]),
    [
      [403, 'FORBIDDEN'],
      [403, 'FORBIDDEN'],
      [429, 'RATE_LIMITED'],
    ],
  )
})

t.test('a request whose client leaves before the answer has the status 499', async (t) => {
  const person = await server.person()
  const held = await prisma.project.create({
    data: { id: newId('prj'), name: 'Held', ownerId: person.id, members: { create: ownerOf(person) } },
  })
  const lock = await database.openSession()
  await lock.query('BEGIN')
  await lock.query('SELECT 1 FROM projects WHERE id = $1 FOR UPDATE', [held.id])
  const body = '{"name":"New"}'
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  socket.write(
    `PUT /v1/projects/${held.id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${person.key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await waitForLock(database, { part: 'projects' })
  socket.destroy()
  const requests = await waitUntil(async () => {
    const found = await listed(person, '&operation=updateProject')
    return found.length > 0 && found
  }, 'the request')
  t.match(requests, [{ method: 'PUT', status: 499, error_code: null }])
  const [line] = server.logs.filter((each) => each.includes('"status":499'))
  t.match(JSON.parse(line), { msg: 'request', operation: 'updateProject', user_id: person.id })
  await lock.query('ROLLBACK')
  await lock.end()
})

const ownerOf = ({ id: userId }: Person) => ({ id: newId('mem'), userId, role: 'owner' as const })

t.test('another tenant sees nothing; a key for some projects sees what it sent itself', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  const { body: project } = await person.client.post('/projects', { name: 'Mine' })
  const { id: limitedId, secret } = await createApiKey(server, person.id, { projectIds: [project.id] })
  const limited = { client: createClient(server.url, secret) }
  await limited.client.get(`/projects/${project.id}`)
  t.match(await listed(limited), [{ operation: 'getProject', key_id: limitedId }])
  const { key_id: keyId } = (await listed(person))[0]
  t.not(keyId, limitedId)
  t.strictSame(await listed(limited, `&key_id=${keyId}`), [])
  t.ok((await listed(person, `&key_id=${limitedId}`)).length > 0, 'the owner sees the requests of all keys')
  for (const each of await listed(other)) t.notOk([keyId, limitedId].includes(each.key_id))
  t.strictSame(await listed(other, `&key_id=${keyId}`), [])
  const two = await person.client.get(`/requests?key_id=${keyId}&credential_id=${limitedId}`)
  t.match(two, { status: 400, body: { error: { details: { field: 'key_id', constraint: 'one_of' } } } })
})

t.test('a key without user:read sees nothing', async (t) => {
  const person = await server.person({ scopes: ['projects:read'] })
  for (const path of ['/requests', '/usage'] as const) t.equal((await person.client.get(path)).status, 403)
})

t.test('in a burst, requests that are alike share a row, and the sum is right', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  await requestRecorder.flush()
  const errors = 7
  await Promise.all([
    ...Array.from({ length: 100 }, () => person.client.get('/projects')),
    ...Array.from({ length: errors }, () => person.client.get(`/projects/${newId('prj')}`)),
    other.client.get('/projects'),
  ])
  const requests = await listed(person)
  t.ok(requests.length < 20, `${requests.length} rows`)
  const sum = (rows: any[]): number => rows.reduce((total, row) => total + row.requests, 0)
  t.equal(sum(requests), 100 + errors)
  t.equal(sum(requests.filter(({ status }) => status === 404)), errors)
  t.match(await listed(other), [{ requests: 1 }])
})

t.test('a request that lasts for a month is recorded, with the others of its batch', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  requestRecorder.record(requestOf(person.id, { durationMs: 30 * 86_400_000 }))
  requestRecorder.record(requestOf(other.id))
  t.match(await listed(person), [{ duration_ms: 2 ** 31 - 1 }])
  t.match(await listed(other), [{ duration_ms: 1 }])
})

t.test('a user with all kinds of requests has no more rows in a batch than others can spare', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  for (let i = 0; i < 1000; i++) requestRecorder.record(requestOf(person.id, { operation: `operation${i}` }))
  requestRecorder.record(requestOf(other.id))
  await requestRecorder.flush()
  t.equal(await prisma.apiRequest.count({ where: { userId: person.id } }), 50)
  t.equal(await prisma.apiRequest.count({ where: { userId: other.id } }), 1)
  t.match(await prisma.usageDay.findMany({ where: { userId: person.id } }), [{ requests: 1000n }])
})

t.test('a request sends no statement; the requests of a second are written in one', async (t) => {
  const people = [await server.person(), await server.person()]
  await requestRecorder.flush()
  server.statements.length = 0
  for (let i = 0; i < 30; i++) await people[i % 2].client.get('/key')
  const written = (): number => server.statements.filter((text) => text.includes('INTO api_requests')).length
  t.equal(written(), 0)
  await requestRecorder.flush()
  await requestRecorder.flush()
  t.equal(written(), 1)

  // A request that is recorded during a write waits for the next one.
  requestRecorder.record(requestOf(people[0].id))
  const flushing = requestRecorder.flush()
  requestRecorder.record(requestOf(people[0].id))
  await flushing
  t.equal(written(), 2)
})

t.test('requests are written by themselves, and at the end of the server', async (t) => {
  const person = await server.person()
  const own = new RequestRecorder(database, { interval: 10 })
  own.record(requestOf(person.id))
  const count = (): Promise<number> => prisma.apiRequest.count({ where: { userId: person.id } })
  await waitUntil(async () => (await count()) === 1, 'the row')
  await own.close()

  const second = await startServer(t, { databaseUrl: server.databaseUrl })
  await createClient(second.url, person.key).get('/key')
  t.equal(await count(), 1)
  await second.close()
  t.equal(await count(), 2)
})

t.test('old requests, and those beyond the number for a user, are deleted', async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  const daysAgo = (days: number): Date => new Date(Date.now() - days * 86_400_000)
  const at = async (days: number): Promise<string> => {
    const id = newIdAt('arq', daysAgo(days))
    return await createApiRequest(server, person.id, { id, createdAt: daysAgo(days) })
  }
  await at(4)
  const recent = [await at(2), await at(0.3), await at(0.2), await at(0.1)]
  await createApiRequest(server, other.id)
  await runRetention(database, { tasks: usageRetentionTasks({ days: 3 }) })
  const left = async (userId: string): Promise<string[]> =>
    (await prisma.apiRequest.findMany({ where: { userId }, orderBy: { id: 'asc' } })).map(({ id }) => id)
  t.strictSame(await left(person.id), recent)
  recent.push(await createApiRequest(server, person.id))
  await runRetention(database, { tasks: surplusRequestTasks(2) })
  t.strictSame(await left(person.id), recent.slice(-2))
  t.equal((await left(other.id)).length, 1)
})

t.test('the requests and the usage of a deleted user are deleted, and none is written later', async (t) => {
  const person = await server.person()
  await person.client.get('/key')
  await requestRecorder.flush()
  await person.client.get('/key')
  t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
  await requestRecorder.flush()
  t.equal(await prisma.apiRequest.count({ where: { userId: person.id } }), 0)
  t.equal(await prisma.usageDay.count({ where: { userId: person.id } }), 0)
})
