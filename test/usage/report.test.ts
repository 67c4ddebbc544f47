// GET /usage/report: the quantities by day, project, model and credential, who sees them, and their limits.
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { newId } from '../../infra/ids.ts'
import { RequestRecorder } from '../../services/usage/recorder.ts'
import { usageRetentionTasks } from '../../services/usage/usage.ts'
import { startChatFixture } from '../support/ai/chat.ts'
import { startDocumentWorker } from '../support/ai/document-worker.ts'
import {
  createApiKey,
  createFile,
  createMember,
  createProject,
  createUsage,
  requestOf,
} from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { operationInfos, requestFor, send, sharedDataOf } from '../support/operations/operation-fixtures.ts'
import { addMemberTo, createOrganization } from '../support/operations/operation-fixtures-organizations.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const fixture = await startChatFixture(t, { embeddings: { model: 'embedder', dimensions: 64 } })
const { server } = fixture
const { database, requestRecorder } = server.services
const { prisma } = database

const dayOf = (daysAgo: number): string =>
  new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)

/** The quantities of a report, by the fields of its groups and the meter. */
async function reportOf(
  { client }: { client: Client },
  query: string,
  flushed: TestServer[] = [server],
): Promise<Record<string, number>> {
  for (const { services } of flushed) await services.requestRecorder.flush()
  const reply = await client.get(`/usage/report?limit=100&${query}`)
  t.equal(reply.status, 200, reply.text)
  const groups = new URLSearchParams(query).getAll('group_by')
  return Object.fromEntries(
    reply.body.data.map(({ quantity, ...row }: any) => [
      [...groups.map((name) => row[name]), row.meter].join(' '),
      quantity,
    ]),
  )
}

const keyOf = async ({ id: userId }: Person): Promise<string> =>
  (await prisma.apiKey.findFirstOrThrow({ where: { userId }, orderBy: { id: 'asc' } })).id

t.test('requests, errors and downloads count to their credential and project', async (t) => {
  const person = await server.person()
  const { client } = person
  const key = await keyOf(person)
  const { id: second, secret } = await createApiKey(server, person.id)
  const project = (await client.post('/projects', { name: 'One' })).body.id
  const file = await createFile(server, person.id, { projectId: project, content: 'twelve bytes' })
  await client.get(`/projects/${project}`)
  await client.get(`/storage/files/${file}/download`)
  await client.get(`/storage/files?project_id=${project}`)
  await client.get(`/projects/${project}/members/${newId('mem')}`)
  await createClient(server.url, secret).delete(`/storage/files/${file}`)
  await client.get(`/projects/${newId('prj')}`)
  t.strictSame(await reportOf(person, 'group_by=project_id&group_by=credential_id'), {
    [`${project} ${key} requests`]: 4,
    [`${project} ${key} errors`]: 1,
    [`${project} ${key} downloaded_bytes`]: 12,
    [`${project} ${second} requests`]: 1,
    [` ${key} requests`]: 2,
    [` ${key} errors`]: 1,
  })
  t.strictSame(await reportOf(person, 'group_by=day&meter=errors'), { [`${dayOf(0)} errors`]: 2 })
  const [today] = (await client.get('/usage?days=1')).body.days
  await requestRecorder.flush()
  const { ' requests': requests } = await reportOf(person, 'group_by=model&meter=requests')
  // The requests of the reports themselves count, too.
  t.equal(requests, 10)
  t.equal(today.downloaded_bytes, 12)
})

t.test('answers and embeddings count to their model and project', async (t) => {
  const person = await server.person()
  const { client } = person
  const key = await keyOf(person)
  startDocumentWorker(t, server)
  const project = (await client.post('/projects', { name: 'One' })).body.id
  const own = (await client.post('/ai/chat', { message: 'Hello', model: 'small' })).body
  const inProject = { message: 'Hello again', model: 'small', project_id: project }
  const first = (await client.post('/ai/chat', inProject)).body
  const follow = { message: 'And again', session_id: first.session_id, model: 'extractive-1' }
  const next = (await client.post('/ai/chat', follow)).body
  const tokensOf = ({ usage }: any) => [usage.prompt_tokens, usage.completion_tokens]
  const tokens = [own, first, next].map(tokensOf)
  const groups = 'group_by=project_id&group_by=model&group_by=credential_id'
  const meters = 'meter=answers&meter=prompt_tokens&meter=completion_tokens'
  const nonzero = (report: Record<string, number>) =>
    Object.fromEntries(Object.entries(report).filter(([, quantity]) => quantity !== 0))
  t.strictSame(
    await reportOf(person, `${groups}&${meters}`),
    nonzero({
      [` small ${key} answers`]: 1,
      [` small ${key} prompt_tokens`]: tokens[0][0],
      [` small ${key} completion_tokens`]: tokens[0][1],
      [`${project} small ${key} answers`]: 1,
      [`${project} small ${key} prompt_tokens`]: tokens[1][0],
      [`${project} small ${key} completion_tokens`]: tokens[1][1],
      [`${project} extractive-1 ${key} answers`]: 1,
      [`${project} extractive-1 ${key} prompt_tokens`]: tokens[2][0],
      [`${project} extractive-1 ${key} completion_tokens`]: tokens[2][1],
    }),
  )
  const usage = (await client.get('/ai/usage')).body
  const byMeter = await reportOf(person, `group_by=day&${meters}`)
  t.equal(byMeter[`${dayOf(0)} prompt_tokens`], usage.prompt_tokens)
  t.equal(byMeter[`${dayOf(0)} completion_tokens`], usage.completion_tokens)
  t.equal(byMeter[`${dayOf(0)} answers`], usage.requests)

  const base = (await client.post('/ai/knowledge', { name: 'Notes', project_id: project })).body.id
  const document = (await client.post(`/ai/knowledge/${base}/documents`, { text: 'We open at nine.' })).body
    .id
  const isReady = async () =>
    (await client.get(`/ai/knowledge/${base}/documents/${document}`)).body.status === 'ready'
  await waitUntil(isReady, 'the document')
  await client.post(`/ai/knowledge/${base}/search`, { query: 'opening hours' })
  const embedded = await reportOf(person, `${groups}&meter=prompt_tokens`)
  t.ok(embedded[`${project} embedder  prompt_tokens`] > 0, 'the document has no credential')
  t.ok(embedded[`${project} embedder ${key} prompt_tokens`] > 0, 'the search has that of its request')
  const sum = Object.values(embedded).reduce((total, quantity) => total + quantity, 0)
  t.equal(sum, (await client.get('/ai/usage')).body.prompt_tokens)
})

t.test('every operation on a project, or on something in it, counts to the project', async (t) => {
  const caller = await server.person()
  const recorded = new Map<string, string | null>()
  const { record } = requestRecorder
  requestRecorder.record = (request) => recorded.set(request.operation, request.projectId)
  t.teardown(() => {
    requestRecorder.record = record
  })
  const operations = operationInfos.filter(
    ({ projectAccess, path, needsSession }) =>
      projectAccess !== null && path.includes('{') && needsSession !== true && projectAccess.role !== 'none',
  )
  for (const { id } of operations)
    await send(await requestFor(server, id as OperationId, { caller, role: 'owner' }))
  await waitUntil(async () => operations.every(({ id }) => recorded.has(id)), 'the last request')
  t.strictSame(
    operations.filter(({ id }) => recorded.get(id) === null).map(({ id }) => id),
    [],
  )
})

t.test('the days of a report are those of UTC; both ends are in it, and there are 92 at most', async (t) => {
  const person = await server.person()
  const own = new RequestRecorder(database, { interval: 2 ** 31 - 1 })
  const { now } = Date
  const midnight = Date.parse(dayOf(1))
  for (const at of [midnight - 1, midnight, midnight + 86_399_999]) {
    Date.now = () => at
    own.record(requestOf(person.id))
  }
  Date.now = now
  await own.close()
  const of = (from: string, to: string) => reportOf(person, `group_by=day&from=${from}&to=${to}`)
  t.strictSame(await of(dayOf(2), dayOf(1)), { [`${dayOf(2)} requests`]: 1, [`${dayOf(1)} requests`]: 2 })
  t.strictSame(await of(dayOf(1), dayOf(1)), { [`${dayOf(1)} requests`]: 2 })
  t.strictSame(await of(dayOf(5), dayOf(3)), {})
  await createUsage(server, person.id, { day: new Date(dayOf(29)), requests: 9 })
  await createUsage(server, person.id, { day: new Date(dayOf(30)), requests: 9 })
  const byDefault = await reportOf(person, 'group_by=day&meter=requests')
  t.strictSame(
    Object.keys(byDefault).sort(),
    [29, 2, 1, 0].map((ago) => `${dayOf(ago)} requests`),
  )
  const get = async (query: string) => (await person.client.get(`/usage/report?${query}`)).body.error?.details
  t.equal(await get(`from=${dayOf(91)}&to=${dayOf(0)}`), undefined)
  t.match(await get(`from=${dayOf(92)}&to=${dayOf(0)}`), { field: 'from', constraint: 'maximum' })
  t.match(await get(`from=${dayOf(0)}&to=${dayOf(1)}`), { field: 'to', constraint: 'minimum' })
  for (const query of ['from=2026-02-30', 'group_by=user_id', 'meter=x'])
    t.match(await get(query), { field: query.split('=')[0] }, query)
})

t.test('two servers add to the same groups at once', async (t) => {
  const second = await startServer(t, sharedDataOf(server))
  const people = await Promise.all(Array.from({ length: 4 }, () => server.person()))
  const projects = await Promise.all(people.map((caller) => createProject({ server, caller, role: 'owner' })))
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      people.flatMap(({ key }, i) =>
        [server, second].map(({ url }) => createClient(url, key).get(`/projects/${projects[i]}`)),
      ),
    )
    await Promise.all([server, second].map(({ services }) => services.requestRecorder.flush()))
  }
  for (const [i, person] of people.entries()) {
    const report = await reportOf(person, 'group_by=project_id&meter=requests', [server, second])
    t.equal(report[`${projects[i]} requests`], 10)
  }
})

t.test('admins of a project see what all used in it, and others do not', async (t) => {
  const [owner, admin, editor, stranger] = await Promise.all(Array.from({ length: 4 }, () => server.person()))
  const project = (await owner.client.post('/projects', { name: 'Shared' })).body.id
  await createMember(server, project, admin.id, 'admin')
  await createMember(server, project, editor.id, 'editor')
  for (const { client } of [owner, admin, editor, stranger]) await client.get(`/projects/${project}`)
  const query = `group_by=credential_id&meter=requests&project_id=${project}`
  const expected = Object.fromEntries(
    await Promise.all([owner, admin, editor].map(async (each) => [`${await keyOf(each)} requests`, 1])),
  )
  for (const person of [owner, admin]) t.strictSame(await reportOf(person, query), expected)
  for (const { client } of [editor, stranger])
    t.equal((await client.get(`/usage/report?${query}`)).status, 403)
  const { secret } = await createApiKey(server, owner.id, { scopes: ['user:read'] })
  t.match(await createClient(server.url, secret).get(`/usage/report?${query}`), {
    status: 403,
    body: { error: { details: { constraint: 'scope' } } },
  })
  const own = await reportOf(stranger, 'group_by=project_id&meter=requests')
  t.notOk(`${project} requests` in own, 'a refused request counts to no project')
  await server.admin.client.delete(`/users/${editor.id}`)
  t.strictSame(await reportOf(owner, query), expected, 'the usage of a project outlives its users')
  t.equal(await prisma.usageCount.count({ where: { userId: editor.id, projectId: '' } }), 0)
})

t.test('admins of an organization see the usage in its projects', async (t) => {
  const [admin, member] = [await server.person(), await server.person()]
  const organization = await createOrganization({ server, caller: admin, role: 'admin' })
  await addMemberTo(server, organization, { userId: member.id })
  const body = { name: 'Of the organization', organization_id: organization }
  const [one, two] = [await admin.client.post('/projects', body), await admin.client.post('/projects', body)]
  for (const { body: project } of [one, two]) await admin.client.get(`/projects/${project.id}`)
  await createUsage(server, member.id, { projectId: one.body.id, requests: 5 })
  const query = `group_by=project_id&meter=requests&organization_id=${organization}`
  const ofOne = { [`${one.body.id} requests`]: 6 }
  t.strictSame(await reportOf(admin, query), { ...ofOne, [`${two.body.id} requests`]: 1 })
  t.strictSame(await reportOf(admin, `${query}&project_id=${one.body.id}`), ofOne)
  const elsewhere = await createProject({ server, caller: admin, role: 'owner' })
  await createUsage(server, admin.id, { projectId: elsewhere })
  t.strictSame(await reportOf(admin, `${query}&project_id=${elsewhere}`), {})
  for (const { client } of [member, await server.person()])
    t.equal((await client.get(`/usage/report?${query}`)).status, 403)
  const { secret } = await createApiKey(server, admin.id, { projectIds: [one.body.id] })
  t.equal((await createClient(server.url, secret).get(`/usage/report?${query}`)).status, 403)
})

t.test('a key that is limited to projects sees only the usage in these', async (t) => {
  const person = await server.person()
  const [one, two] = await Promise.all(
    ['One', 'Two'].map(async (name) => (await person.client.post('/projects', { name })).body.id),
  )
  for (const id of [one, two]) await person.client.get(`/projects/${id}`)
  const { secret } = await createApiKey(server, person.id, { projectIds: [one] })
  const limited = { client: createClient(server.url, secret) }
  t.strictSame(await reportOf(limited, 'group_by=project_id&meter=requests'), { [`${one} requests`]: 1 })
  t.strictSame(await reportOf(limited, `group_by=project_id&project_id=${one}`), { [`${one} requests`]: 1 })
  t.match(await limited.client.get(`/usage/report?project_id=${two}`), {
    status: 403,
    body: { error: { details: { constraint: 'project_ids' } } },
  })
})

t.test(
  'a user has a limited number of rows on a day; further usage counts without a credential',
  async (t) => {
    const person = await server.person()
    const project = await createProject({ server, caller: person, role: 'owner' })
    await database.pool.query(
      `INSERT INTO usage_counts SELECT $1, $2, 'key_' || n, '', '', 1, 0, 0, 0, 0, 0, 0
     FROM generate_series(1, 1000) n`,
      [person.id, dayOf(0)],
    )
    for (let i = 0; i < 50; i++) requestRecorder.record(requestOf(person.id, { projectId: project }))
    requestRecorder.record(requestOf(person.id, { keyId: 'key_7' }))
    const rows = (): Promise<number> => prisma.usageCount.count({ where: { userId: person.id } })
    t.strictSame(await reportOf(person, 'group_by=project_id&meter=requests'), {
      [`${project} requests`]: 50,
      ' requests': 1001,
    })
    t.equal(await rows(), 1001)
    await database.pool.query(
      `INSERT INTO usage_counts SELECT $1, $2, '', 'prj_' || n, '', 1, 0, 0, 0, 0, 0, 0
     FROM generate_series(1, 1000) n`,
      [person.id, dayOf(0)],
    )
    for (let i = 0; i < 50; i++) requestRecorder.record(requestOf(person.id, { projectId: newId('prj') }))
    await requestRecorder.flush()
    t.equal(await rows(), 2002)
  },
)

t.test('in a batch, a user has a limited number of credentials and projects', async (t) => {
  const person = await server.person()
  for (let i = 0; i < 1_500; i++) requestRecorder.record(requestOf(person.id))
  await requestRecorder.flush()
  const rows = await prisma.usageCount.count({ where: { userId: person.id } })
  t.ok([1000, 1001].includes(rows), `${rows} rows: the one without a credential is among the 1,000, or after`)
  const { _sum: sum } = await prisma.usageCount.aggregate({
    where: { userId: person.id },
    _sum: { requests: true },
  })
  t.equal(sum.requests, 1_500n)
})

t.test('usage is kept for 400 days', async (t) => {
  const person = await server.person()
  for (const daysAgo of [402, 398]) await createUsage(server, person.id, { day: new Date(dayOf(daysAgo)) })
  await runRetention(database, { tasks: usageRetentionTasks({ days: 7 }) })
  t.match(await prisma.usageCount.findMany({ where: { userId: person.id } }), [{ day: new Date(dayOf(398)) }])
})
