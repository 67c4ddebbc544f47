// The quotas of a user: requests at once end exactly at the limit, what is deleted is free again, and
// GET /user/limits shows it.
import t, { type Test } from 'tap'
import { quotaNames, type QuotaName } from '../../services/users/quotas.ts'
import { createCatalog } from '../support/catalog-fixtures.ts'
import type { Reply } from '../support/client.ts'
import { startServer, type Person } from '../support/server.ts'
import { upload } from '../support/storage.ts'
import { encodeMetadata } from '../support/tus.ts'

/** How many requests are sent at once. */
const attempts = process.env.FAULTS === 'long' ? 400 : 20
const limit = 5
const settings = quotaNames.map((name) => [
  name === 'webhook_endpoints' ? 'WEBHOOK_ENDPOINTS_PER_USER' : `QUOTA_${name.toUpperCase()}`,
  String(limit),
])
const server = await startServer(t, {
  env: {
    ...Object.fromEntries(settings),
    QUOTA_DOCUMENT_BYTES: '50',
    QUOTA_DOCUMENTS: '1000',
    RATE_LIMIT_WRITE: '100000',
    RATE_LIMIT_UPLOAD: '100000',
    RATE_LIMIT_AI: '100000',
    AI_STREAMS_PER_USER: '1000',
  },
})
let count = 0
const unique = (): string => `${count++}`

interface Case {
  /** What the user has before the requests. */
  before?: number
  /** Creates what the requests need, and returns a request that takes one from the quota. */
  prepare: (person: Person) => Promise<() => Promise<Reply>> | (() => Promise<Reply>)
  /** The path of what was created. */
  remove?: (created: Reply) => [method: 'DELETE' | 'POST', path: string]
}

const project = async ({ client }: Person): Promise<string> =>
  (await client.post('/projects', { name: unique() })).body.id

const cases: Partial<Record<QuotaName, Case>> = {
  api_keys: {
    before: 1,
    prepare:
      ({ client }) =>
      () =>
        client.post('/user/api-keys', { name: unique(), scopes: ['user:read'] }),
    remove: ({ body }) => ['DELETE', `/user/api-keys/${body.id}`],
  },
  projects: {
    prepare:
      ({ client }) =>
      () =>
        client.post('/projects', { name: unique() }),
  },
  invitations: {
    prepare: async (person) => {
      const id = await project(person)
      return () =>
        person.client.post(`/projects/${id}/members`, { email: `${unique()}@example.org`, role: 'viewer' })
    },
    remove: ({ body }) => ['DELETE', `/projects/${body.project_id}/invitations/${body.id}`],
  },
  webhook_endpoints: {
    prepare:
      ({ client }) =>
      () =>
        client.post('/webhooks/endpoints', { url: 'https://example.com/', event_types: ['file.deleted'] }),
    remove: ({ body }) => ['DELETE', `/webhooks/endpoints/${body.id}`],
  },
  files: {
    prepare:
      ({ client }) =>
      () =>
        upload(client, { bytes: 'five!' }),
    remove: ({ body }) => ['DELETE', `/storage/files/${body.id}`],
  },
  file_links: {
    prepare: async (person) => {
      const { id } = (await upload(person.client, { bytes: 'five!' })).body
      return () => person.client.post(`/storage/files/${id}/links`, {})
    },
    remove: ({ body }) => ['DELETE', `/storage/files/${body.file_id}/links/${body.id}`],
  },
  uploads: {
    prepare:
      ({ client }) =>
      () =>
        client.call('POST', '/storage/uploads', {
          headers: {
            'tus-resumable': '1.0.0',
            'upload-length': '5',
            'upload-metadata': encodeMetadata({ filename: 'five.txt' }),
          },
        }),
  },
  knowledge_bases: {
    prepare:
      ({ client }) =>
      () =>
        client.post('/ai/knowledge', { name: unique() }),
    remove: ({ body }) => ['DELETE', `/ai/knowledge/${body.id}`],
  },
  document_bytes: {
    prepare: async ({ client }) => {
      const { id } = (await client.post('/ai/knowledge', { name: unique() })).body
      return () => client.post(`/ai/knowledge/${id}/documents`, { text: unique().padStart(10, 'x') })
    },
    remove: ({ body }) => ['DELETE', `/ai/knowledge/${body.knowledge_base_id}/documents/${body.id}`],
  },
  sessions: {
    prepare:
      ({ client }) =>
      () =>
        client.post('/ai/sessions', { title: unique() }),
    remove: ({ body }) => ['DELETE', `/ai/sessions/${body.id}`],
  },
  pending_orders: {
    prepare: async ({ client }) => {
      const { price } = await createCatalog(server)
      return () => client.post('/payments/orders', { items: [{ price_id: price, quantity: 1 }] })
    },
    remove: ({ body }) => ['POST', `/payments/orders/${body.id}/cancel`],
  },
}

async function useOf(person: Person, name: string): Promise<{ limit: number; used: number }> {
  const { limits } = (await person.client.get('/user/limits')).body
  return limits.find((each: { name: string }) => each.name === name)
}

for (const [name, { before = 0, prepare, remove }] of Object.entries(cases)) {
  t.test(`${name}: ${attempts} requests at once end exactly at the limit`, async (t: Test) => {
    const person = await server.person()
    const request = await prepare(person)
    const replies = await Promise.all(Array.from({ length: attempts }, request))
    const accepted = replies.filter(({ status }) => status < 300)
    const refused = replies.filter(({ status }) => status >= 300)
    t.equal(accepted.length, limit - before)
    for (const { status, body } of refused)
      t.match({ status, ...body.error }, { status: 403, code: 'FORBIDDEN', details: { constraint: name } })
    const unit = name === 'document_bytes' ? 10 : 1
    t.match(await useOf(person, name), { limit: limit * unit, used: limit * unit })
    if (remove === undefined) return
    const [method, path] = remove(accepted[0])
    t.ok((await person.client.call(method, path)).status < 300)
    t.match(await useOf(person, name), { used: (limit - 1) * unit }, 'what is removed is free again')
    t.ok((await request()).status < 300)
    t.equal((await request()).status, 403)
  })
}

t.test('the limits of one user do not touch another, and all keys of a user count together', async (t) => {
  const person = await server.person()
  const other = await server.person()
  for (let i = 0; i < limit; i++) await person.client.post('/ai/sessions', { title: unique() })
  t.equal((await person.client.post('/ai/sessions', { title: unique() })).status, 403)
  t.equal((await other.client.post('/ai/sessions', { title: unique() })).status, 201)
  const { limits } = (await person.client.get('/user/limits')).body
  const requests = limits.find((each: { name: string }) => each.name === 'requests_write')
  t.ok(requests.used >= limit + 1 && requests.reset_at !== null)
  t.same(
    limits
      .map((each: { name: string }) => each.name)
      .filter((name: string) => quotaNames.includes(name as QuotaName)),
    quotaNames,
  )
})

t.test('what a user has by the counters is what the tables have', async (t) => {
  const { prisma } = server.services.database
  const used = async (quota: string): Promise<number> =>
    Number((await prisma.quotaUsage.aggregate({ _sum: { used: true }, where: { quota } }))._sum.used ?? 0)
  t.equal(await used('api_keys'), await prisma.apiKey.count({ where: { revokedAt: null } }))
  t.equal(await used('projects'), await prisma.project.count())
  t.equal(await used('files'), await prisma.file.count())
  t.equal(await used('sessions'), await prisma.session.count())
  t.equal(await used('documents'), await prisma.document.count())
  t.equal(await used('invitations'), await prisma.invitation.count({ where: { status: 'pending' } }))
})
