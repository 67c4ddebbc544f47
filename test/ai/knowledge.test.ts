// Knowledge bases through the API: who may make, see, change and delete one, and that its documents go with it.
import { hash } from 'node:crypto'
import t from 'tap'
import { requireKnowledgeBases } from '../../services/ai/knowledge/access.ts'
import { knowledgeRetentionTasks } from '../../services/ai/knowledge/retention.ts'
import { runRetention } from '../support/retention.ts'
import { coreRetentionTasks } from '../../services/retention-tasks.ts'
import { newId } from '../../infra/ids.ts'
import { startServer, type Person } from '../support/server.ts'

const server = await startServer(t)
const { database, principals } = server.services
const { prisma } = database

async function project(owner: Person, members: Array<[Person, string]> = []): Promise<string> {
  const { id } = (await owner.client.post('/projects', { name: 'Shared' })).body
  for (const [person, role] of members)
    await owner.client.post(`/projects/${id}/members`, { user_id: person.id, role })
  return id
}

async function base(person: Person, body: object = {}): Promise<any> {
  const reply = await person.client.post('/ai/knowledge', { name: 'Handbook', ...body })
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body
}

/** Documents as they are after their reading, without one. */
async function documents(baseId: string, count: number, status: 'ready' | 'queued' = 'ready'): Promise<void> {
  await prisma.document.createMany({
    data: Array.from({ length: count }, () => {
      const id = newId('doc')
      return {
        id,
        knowledgeBaseId: baseId,
        name: id,
        contentType: 'text/plain',
        status,
        sha256: hash('sha256', id),
        source: id,
      }
    }),
  })
}

const eventsOf = async (id: string) =>
  (await prisma.event.findMany({ orderBy: { position: 'asc' } })).filter(
    ({ data }) => (data as any).object.id === id,
  )

t.test('one is made, listed, changed and deleted, each with its event', async (t) => {
  const person = await server.person()
  const made = await person.client.post('/ai/knowledge', {
    name: 'Handbook',
    description: 'Of the house',
    metadata: { edition: '1' },
  })
  t.equal(made.status, 201)
  const { id } = made.body
  t.equal(made.headers.get('location'), `/v1/ai/knowledge/${id}`)
  t.match(made.body, {
    id: /^kb_/,
    project_id: null,
    name: 'Handbook',
    description: 'Of the house',
    chunking: { max_tokens: 400, overlap_tokens: 60 },
    document_counts: { queued: 0, processing: 0, ready: 0, failed: 0 },
    metadata: { edition: '1' },
  })
  const read = await person.client.get(`/ai/knowledge/${id}`)
  t.same(read.body, made.body)
  t.equal(
    (
      await person.client.get(`/ai/knowledge/${id}`, {
        headers: { 'if-none-match': read.headers.get('etag')! },
      })
    ).status,
    304,
  )
  await documents(id, 2)
  await documents(id, 1, 'queued')
  const counted = await person.client.get(`/ai/knowledge/${id}`)
  t.same(counted.body.document_counts, { queued: 1, processing: 0, ready: 2, failed: 0 })
  t.equal(counted.headers.get('etag'), read.headers.get('etag'), 'counts have no part in the ETag')

  const changed = await person.client.put(
    `/ai/knowledge/${id}`,
    { description: null, chunking: { max_tokens: 100, overlap_tokens: 50 } },
    { headers: { 'if-match': read.headers.get('etag')! } },
  )
  t.match(changed.body, {
    name: 'Handbook',
    description: null,
    chunking: { max_tokens: 100, overlap_tokens: 50 },
    metadata: { edition: '1' },
  })
  t.equal(
    (
      await person.client.put(
        `/ai/knowledge/${id}`,
        { name: 'Other' },
        { headers: { 'if-match': read.headers.get('etag')! } },
      )
    ).status,
    412,
  )
  t.equal(
    (
      await person.client.delete(`/ai/knowledge/${id}`, {
        headers: { 'if-match': read.headers.get('etag')! },
      })
    ).status,
    412,
  )
  t.equal(
    (
      await person.client.delete(`/ai/knowledge/${id}`, {
        headers: { 'if-match': changed.headers.get('etag')! },
      })
    ).status,
    204,
  )
  t.equal((await person.client.get(`/ai/knowledge/${id}`)).status, 404)
  t.equal(await prisma.document.count({ where: { knowledgeBaseId: id } }), 0)
  const events = await eventsOf(id)
  t.same(
    events.map(({ type }) => type),
    ['knowledge_base.created', 'knowledge_base.updated', 'knowledge_base.deleted'],
  )
  t.same((events[1].data as any).previous_attributes.chunking, { max_tokens: 400, overlap_tokens: 60 })
  t.ok(events.every(({ userId, projectId }) => userId === person.id && projectId === null))
})

t.test('a list has the own ones or those of a project, sorted, searched and paged', async (t) => {
  const person = await server.person()
  const shared = await project(person)
  for (const name of ['beta', 'Alpha', 'gamma'])
    await base(person, { name, description: name === 'gamma' ? '100%' : null })
  const inProject = await base(person, { name: 'delta', project_id: shared })
  const names = async (query: string) =>
    (await person.client.get(`/ai/knowledge${query}`)).body.data.map(({ name }: any) => name)
  t.same(await names(''), ['gamma', 'Alpha', 'beta'])
  t.same(await names('?sort=name&order=asc'), ['Alpha', 'beta', 'gamma'])
  t.same(await names('?q=ALP'), ['Alpha'])
  t.same(await names('?q=%25'), ['gamma'], 'what LIKE would take for a pattern is text')
  t.same(await names(`?project_id=${shared}`), ['delta'])
  const page = (await person.client.get('/ai/knowledge?limit=2&page=2')).body
  t.match(page, { data: [{ name: 'beta' }], pagination: { page: 2, limit: 2, total: 3, total_pages: 2 } })
  t.match((await person.client.get('/ai/knowledge?page=9')).body, { data: [], pagination: { total: 3 } })
  t.equal(inProject.project_id, shared)
})

t.test('an overlap of more than a half is refused', async (t) => {
  const person = await server.person()
  const wrong = { chunking: { max_tokens: 100, overlap_tokens: 51 } }
  t.match((await person.client.post('/ai/knowledge', { name: 'a', ...wrong })).body.error.details, {
    field: 'chunking.overlap_tokens',
    constraint: 'maximum',
  })
  const { id } = await base(person)
  t.equal((await person.client.put(`/ai/knowledge/${id}`, wrong)).status, 400)
})

t.test('the same Idempotency-Key makes one', async (t) => {
  const person = await server.person()
  const headers = { 'idempotency-key': 'once' }
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => person.client.post('/ai/knowledge', { name: 'a' }, { headers })),
  )
  t.ok(replies.every(({ status }) => status === 201 || status === 409))
  t.equal((await person.client.get('/ai/knowledge')).body.pagination.total, 1)
  t.equal((await person.client.post('/ai/knowledge', { name: 'b' }, { headers })).status, 422)
})

t.test("outside of projects it is its owner's alone; in one the role decides, and its state", async (t) => {
  const [owner, viewer, stranger] = [await server.person(), await server.person(), await server.person()]
  const shared = await project(owner, [[viewer, 'viewer']])
  const [own, theirs] = [await base(owner), await base(owner, { project_id: shared })]
  const statuses = async ({ client }: Person, id: string) => [
    (await client.get(`/ai/knowledge/${id}`)).status,
    (await client.put(`/ai/knowledge/${id}`, { name: 'x' })).status,
    (await client.post(`/ai/knowledge/${id}/documents`, { text: `by ${client}` })).status,
    (await client.delete(`/ai/knowledge/${id}`)).status,
  ]
  t.same(await statuses(stranger, own.id), [403, 403, 403, 403])
  t.same(await statuses(stranger, theirs.id), [403, 403, 403, 403])
  t.same(await statuses(viewer, theirs.id), [200, 403, 403, 403])
  t.equal((await viewer.client.post('/ai/knowledge', { name: 'a', project_id: shared })).status, 403)
  t.equal((await stranger.client.get(`/ai/knowledge?project_id=${shared}`)).status, 403)
  t.same(await statuses(stranger, newId('kb')), [404, 404, 404, 404])

  const bound = await server.person({ projectIds: [shared] })
  t.equal(
    (await bound.client.post('/ai/knowledge', { name: 'a' })).status,
    403,
    'a key for projects makes none outside of them',
  )
  await owner.client.post(`/projects/${shared}/archive`)
  t.same(await statuses(viewer, theirs.id), [200, 403, 403, 403])
  t.same(await statuses(owner, theirs.id), [200, 409, 409, 409])
  await prisma.project.update({
    where: { id: shared },
    data: { status: 'deleted', deletedAt: new Date(), archivedAt: null },
  })
  t.same(await statuses(owner, theirs.id), [404, 404, 404, 404])
})

t.test('many documents go in small steps, and none before If-Match holds', async (t) => {
  const person = await server.person()
  const { id } = await base(person)
  await documents(id, 900)
  t.equal(
    (await person.client.delete(`/ai/knowledge/${id}`, { headers: { 'if-match': '"stale"' } })).status,
    412,
  )
  t.equal(await prisma.document.count({ where: { knowledgeBaseId: id } }), 900)
  t.equal((await person.client.delete(`/ai/knowledge/${id}`)).status, 204)
  t.equal(await prisma.document.count({ where: { knowledgeBaseId: id } }), 0)
  t.equal(await prisma.documentCount.count({ where: { knowledgeBaseId: id } }), 0)
})

t.test('a purged project and a deleted user take theirs with them', async (t) => {
  const person = await server.person()
  const shared = await project(person)
  const [own, theirs] = [await base(person), await base(person, { project_id: shared })]
  for (const { id } of [own, theirs]) await documents(id, 250)
  await prisma.project.update({
    where: { id: shared },
    data: { status: 'deleted', deletedAt: new Date(Date.now() - 31 * 86_400_000) },
  })
  t.match(await runRetention(database, { tasks: coreRetentionTasks() }), { projects: 1 })
  t.equal(await prisma.knowledgeBase.count({ where: { id: theirs.id } }), 0)
  t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
  t.match(await runRetention(database, { tasks: knowledgeRetentionTasks() }), {
    'knowledge bases of deleted users': 1,
  })
  t.equal(await prisma.knowledgeBase.count({ where: { id: own.id } }), 0)
})

t.test("a session draws on what its owner may read, and in a project on that project's alone", async (t) => {
  const [person, other] = [await server.person(), await server.person()]
  const [shared, foreign] = [await project(person), await project(other)]
  const [own, theirs, others] = [
    await base(person),
    await base(person, { project_id: shared }),
    await base(other, { project_id: foreign }),
  ]
  const principal = await principals.authenticate(`Bearer ${person.key}`)
  const draw = async (ids: string[], projectId: string | null) =>
    await requireKnowledgeBases(database, principal, ids, projectId)
  await draw([own.id, theirs.id], null)
  await draw([theirs.id], shared)
  const refusal = async (ids: string[], projectId: string | null) =>
    await draw(ids, projectId).catch(({ status, details: { constraint } }) => [status, constraint])
  t.same(await refusal([own.id], shared), [400, 'project'])
  t.same(await refusal([others.id], null), [403, 'role'])
  t.same(await refusal([others.id, newId('kb')], shared), [404, undefined])
})
