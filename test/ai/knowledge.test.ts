// Knowledge bases through the API: permissions, events, and deletion with all documents.
import { hash } from 'node:crypto'
import t from 'tap'
import { requireKnowledgeBases } from '../../services/ai/knowledge/access.ts'
import { knowledgeRetentionTasks } from '../../services/ai/knowledge/retention.ts'
import type { Role } from '../support/server/team.ts'
import { createMember } from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { coreRetentionTasks } from '../../services/deletion/retention-tasks.ts'
import { newId } from '../../infra/ids.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { database, principals } = server.services
const { prisma } = database

async function project(owner: Person, members: Array<[Person, Role]> = []): Promise<string> {
  const { id } = (await owner.client.post('/projects', { name: 'Shared' })).body
  for (const [person, role] of members) await createMember(server, id, person.id, role)
  return id
}

async function base(person: Person, body: object = {}): Promise<any> {
  const reply = await person.client.post('/ai/knowledge', { name: 'Handbook', ...body })
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body
}

/** Inserts documents without text and chunks. */
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

t.test('a knowledge base is created, updated and deleted, each with an event', async (t) => {
  const person = await server.person()
  const created = await person.client.post('/ai/knowledge', {
    name: 'Handbook',
    description: 'Of the house',
    metadata: { edition: '1' },
  })
  t.equal(created.status, 201)
  const { id } = created.body
  t.equal(created.headers.get('location'), `${server.url}/v1/ai/knowledge/${id}`)
  t.match(created.body, {
    id: /^kb_/,
    project_id: null,
    name: 'Handbook',
    description: 'Of the house',
    chunking: { max_tokens: 400, overlap_tokens: 60 },
    document_counts: { queued: 0, processing: 0, ready: 0, failed: 0 },
    metadata: { edition: '1' },
  })
  const fetched = await person.client.get(`/ai/knowledge/${id}`)
  t.same(fetched.body, created.body)
  t.equal(
    (
      await person.client.get(`/ai/knowledge/${id}`, {
        headers: { 'if-none-match': fetched.headers.get('etag')! },
      })
    ).status,
    304,
  )
  await documents(id, 2)
  await documents(id, 1, 'queued')
  const counted = await person.client.get(`/ai/knowledge/${id}`)
  t.same(counted.body.document_counts, { queued: 1, processing: 0, ready: 2, failed: 0 })
  t.equal(counted.headers.get('etag'), fetched.headers.get('etag'), 'the ETag does not depend on the counts')

  const changed = await person.client.put(
    `/ai/knowledge/${id}`,
    { description: null, chunking: { max_tokens: 100, overlap_tokens: 50 } },
    { headers: { 'if-match': fetched.headers.get('etag')! } },
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
        { headers: { 'if-match': fetched.headers.get('etag')! } },
      )
    ).status,
    412,
  )
  t.equal(
    (
      await person.client.delete(`/ai/knowledge/${id}`, {
        headers: { 'if-match': fetched.headers.get('etag')! },
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

t.test(
  'a list contains the own knowledge bases or those of a project, sorted, searched and paged',
  async (t) => {
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
    t.same(await names('?q=%25'), ['gamma'], 'wildcards of LIKE are escaped')
    t.same(await names(`?project_id=${shared}`), ['delta'])
    const page = (await person.client.get('/ai/knowledge?limit=2&page=2')).body
    t.match(page, { data: [{ name: 'beta' }], pagination: { page: 2, limit: 2, total: 3, total_pages: 2 } })
    t.match((await person.client.get('/ai/knowledge?page=9')).body, { data: [], pagination: { total: 3 } })
    t.equal(inProject.project_id, shared)
  },
)

t.test('an overlap of more than half of a chunk is rejected', async (t) => {
  const person = await server.person()
  const wrong = { chunking: { max_tokens: 100, overlap_tokens: 51 } }
  t.match((await person.client.post('/ai/knowledge', { name: 'a', ...wrong })).body.error.details, {
    field: 'chunking.overlap_tokens',
    constraint: 'maximum',
  })
  const { id } = await base(person)
  t.equal((await person.client.put(`/ai/knowledge/${id}`, wrong)).status, 400)
})

t.test('an Idempotency-Key creates one knowledge base', async (t) => {
  const person = await server.person()
  const headers = { 'idempotency-key': 'once' }
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => person.client.post('/ai/knowledge', { name: 'a' }, { headers })),
  )
  t.ok(replies.every(({ status }) => status === 201 || status === 409))
  t.equal((await person.client.get('/ai/knowledge')).body.pagination.total, 1)
  t.equal((await person.client.post('/ai/knowledge', { name: 'b' }, { headers })).status, 422)
})

t.test(
  'without a project only the owner has access; in a project the role and the project state decide',
  async (t) => {
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
      'an API key for some projects cannot create one without a project',
    )
    await owner.client.post(`/projects/${shared}/archive`)
    t.same(await statuses(viewer, theirs.id), [200, 403, 403, 403])
    t.same(await statuses(owner, theirs.id), [200, 409, 409, 409])
    await prisma.project.update({
      where: { id: shared },
      data: { status: 'deleted', deletedAt: new Date(), archivedAt: null },
    })
    t.same(await statuses(owner, theirs.id), [404, 404, 404, 404])
  },
)

t.test('many documents are deleted in batches, and only if If-Match matches', async (t) => {
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

t.test('purging a project or a deleted user deletes the knowledge bases', async (t) => {
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

t.test(
  'a session uses knowledge bases that its owner may read, in a project only those of the project',
  async (t) => {
    const [person, other] = [await server.person(), await server.person()]
    const [shared, foreign] = [await project(person), await project(other)]
    const [own, theirs, others] = [
      await base(person),
      await base(person, { project_id: shared }),
      await base(other, { project_id: foreign }),
    ]
    const principal = await principals.authenticate(`Bearer ${person.key}`)
    const requireAll = async (ids: string[], projectId: string | null) =>
      await requireKnowledgeBases(database, principal, ids, projectId)
    await requireAll([own.id, theirs.id], null)
    await requireAll([theirs.id], shared)
    const rejection = async (ids: string[], projectId: string | null) =>
      await requireAll(ids, projectId).catch(({ status, details: { constraint } }) => [status, constraint])
    t.same(await rejection([own.id], shared), [400, 'project'])
    t.same(await rejection([others.id], null), [403, 'role'])
    t.same(await rejection([others.id, newId('kb')], shared), [404, undefined])
  },
)
