// The quotas of a user: requests at once end exactly at the limit, what is deleted is free again, and
// GET /user/limits shows it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import contract from '../../generated/openapi.json' with { type: 'json' }
import { statement } from '../../infra/database/statements.ts'
import { settings } from '../../infra/config/settings.ts'
import { countTokens } from '../../services/ai/chat/token-estimate.ts'
import { userLimits } from '../../services/users/limits.ts'
import { quotaNames, quotas, type QuotaName } from '../../services/users/quotas.ts'
import { insertedOrder } from '../support/database/db-fixtures-payments.ts'
import {
  addPrice,
  advanceTo,
  cards,
  createCatalog,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import { startChatFixture } from '../support/ai/chat.ts'
import { createClient, type Reply } from '../support/http/client.ts'
import { createApiKey, createMember } from '../support/database/db-fixtures.ts'
import { runRetention } from '../support/database/retention.ts'
import { reachedLimitTasks } from '../../services/events/reached-limits.ts'
import { startServer, type Person } from '../support/server/server.ts'
import { openConnection, upload, uploadForm, uploadHead } from '../support/storage/storage.ts'
import { encodeMetadata } from '../support/http/tus.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const functions = resolve(import.meta.dirname, '../../prisma/sql/functions')
/** How many requests are sent at once. */
const attempts = isLongForm ? 400 : 20
const maxItems = 5
/** The quotas that are not `maxItems`. */
const otherMaximums: Record<string, number> = { document_bytes: 50, storage_bytes: 500_000 }
const maximumOf = (name: string): number => otherMaximums[name] ?? maxItems
const quotaEnv = quotas.map(({ name, setting }) => [settings[setting].variable, String(maximumOf(name))])
const server = await startServer(t, {
  env: {
    ...Object.fromEntries(quotaEnv),
    STORAGE_QUOTA_USER: String(maximumOf('storage_bytes')),
    STORAGE_QUOTA_PROJECT: '500000',
  },
})
let count = 0
const unique = (): string => `${count++}`

interface Case {
  /** How much of the quota the user has used before the requests. */
  before?: number
  /** How much of the quota a request takes. Default 1. */
  amount?: number
  role?: 'user' | 'admin'
  /** Creates what the requests need, and returns a request that takes one from the quota. */
  prepare: (person: Person) => Promise<() => Promise<Reply>> | (() => Promise<Reply>)
  /** The path of what was created. */
  remove?: (created: Reply) => [method: 'DELETE' | 'POST', path: string, body?: object]
}

const tus = { 'tus-resumable': '1.0.0' }

const project = async ({ client }: Person): Promise<string> =>
  (await client.post('/projects', { name: unique() })).body.id

// Organizations have products and prices: test/payments/sellers.test.ts.
const cases: Record<Exclude<QuotaName, 'products' | 'prices'> | 'storage_bytes', Case> = {
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
  members: {
    role: 'admin',
    prepare: async (person) => {
      const id = await project(person)
      const users: string[] = []
      for (let i = 0; i < 3 * attempts; i++) users.push((await server.person()).id)
      return () => person.client.post(`/projects/${id}/members`, { user_id: users.pop(), role: 'viewer' })
    },
    remove: ({ body }) => ['DELETE', `/projects/${body.project_id}/members/${body.id}`],
  },
  invitations: {
    prepare: async (person) => {
      const id = await project(person)
      return () =>
        person.client.post(`/projects/${id}/members`, { email: `${unique()}@example.org`, role: 'viewer' })
    },
    remove: ({ body }) => ['DELETE', `/projects/${body.project_id}/invitations/${body.id}`],
  },
  organizations: {
    prepare:
      ({ client }) =>
      () =>
        client.post('/organizations', { name: unique() }),
  },
  organization_members: {
    prepare: async ({ client }) => {
      const { id } = (await client.post('/organizations', { name: unique() })).body
      return () =>
        client.post(`/organizations/${id}/members`, { email: `${unique()}@example.org`, role: 'member' })
    },
    remove: ({ body }) => ['DELETE', `/organizations/${body.organization_id}/members/${body.id}`],
  },
  custom_roles: {
    prepare: async ({ client }) => {
      const { id } = (await client.post('/organizations', { name: unique() })).body
      const permissions = { projects: 'read', storage: 'none', ai: 'none', payments: 'none' }
      return () => client.post(`/organizations/${id}/roles`, { name: unique(), permissions })
    },
    remove: ({ body }) => ['DELETE', `/organizations/${body.organization_id}/roles/${body.id}`],
  },
  service_accounts: {
    prepare: async (person) => {
      const id = await project(person)
      return () => person.client.post('/service-accounts', { name: unique(), project_id: id, role: 'viewer' })
    },
    remove: ({ body }) => ['DELETE', `/service-accounts/${body.id}`],
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
    remove: ({ body }) => ['DELETE', `/storage/files/${body.id}?permanent=true`],
  },
  file_links: {
    prepare: async (person) => {
      const { id } = (await upload(person.client, { bytes: 'five!' })).body
      return () => person.client.post(`/storage/files/${id}/links`, {})
    },
    remove: ({ body }) => ['DELETE', `/storage/files/${body.file_id}/links/${body.id}`],
  },
  upload_links: {
    prepare:
      ({ client }) =>
      () =>
        client.post('/storage/upload-links', {}),
    remove: ({ body }) => ['DELETE', `/storage/upload-links/${body.id}`],
  },
  uploads: {
    prepare:
      ({ client }) =>
      () =>
        client.call('POST', '/storage/uploads', {
          headers: {
            ...tus,
            'upload-length': '5',
            'upload-metadata': encodeMetadata({ filename: 'five.txt' }),
          },
        }),
    remove: ({ headers }) => ['DELETE', headers.get('location')!.replace(/^.*\/v1/, '')],
  },
  storage_bytes: {
    amount: 250_000,
    prepare:
      ({ client }) =>
      () =>
        upload(client, { bytes: Buffer.alloc(250_000) }),
    remove: ({ body }) => ['DELETE', `/storage/files/${body.id}?permanent=true`],
  },
  knowledge_bases: {
    prepare:
      ({ client }) =>
      () =>
        client.post('/ai/knowledge', { name: unique() }),
    remove: ({ body }) => ['DELETE', `/ai/knowledge/${body.id}`],
  },
  documents: {
    prepare: async ({ client }) => {
      const { id } = (await client.post('/ai/knowledge', { name: unique() })).body
      return () => client.post(`/ai/knowledge/${id}/documents`, { text: unique() })
    },
    remove: ({ body }) => ['DELETE', `/ai/knowledge/${body.knowledge_base_id}/documents/${body.id}`],
  },
  document_bytes: {
    amount: 25,
    prepare: async ({ client }) => {
      const { id } = (await client.post('/ai/knowledge', { name: unique() })).body
      return () => client.post(`/ai/knowledge/${id}/documents`, { text: unique().padStart(25, 'x') })
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
  messages: {
    prepare:
      ({ client }) =>
      () =>
        client.post('/ai/chat', { messages: [{ role: 'user', content: unique() }] }),
  },
  customers: {
    role: 'admin',
    prepare:
      ({ client }) =>
      () =>
        client.post('/payments/customers', { name: unique() }),
    remove: ({ body }) => ['DELETE', `/payments/customers/${body.id}`],
  },
  meters: {
    role: 'admin',
    prepare:
      ({ client }) =>
      () =>
        client.post('/payments/meters', { key: `m${unique()}`, name: 'Tokens', aggregation: 'count' }),
  },
  features: {
    role: 'admin',
    prepare:
      ({ client }) =>
      () =>
        client.post('/payments/features', { key: `f${unique()}`, name: 'Projects', type: 'limit' }),
  },
  pending_orders: {
    prepare: async ({ client }) => {
      const { price } = await createCatalog(server)
      return () => client.post('/payments/orders', { items: [{ price_id: price, quantity: 1 }] })
    },
    remove: ({ body }) => ['POST', `/payments/orders/${body.id}/cancel`],
  },
  // Free ones need no further request to renew.
  subscriptions: {
    prepare: async ({ client }) => {
      const { product } = await createCatalog(server)
      const recurring = { interval: 'month', interval_count: 1 }
      const free = await addPrice(server.admin.client, product, { unit_amount: 0, recurring })
      return () => client.post('/payments/subscriptions', { items: [{ price_id: free, quantity: 1 }] })
    },
    remove: ({ body }) => ['POST', `/payments/subscriptions/${body.id}/cancel`, { at_period_end: false }],
  },
}

async function useOf(person: Person, name: string): Promise<{ limit: number; used: number }> {
  const { limits } = (await person.client.get('/user/limits')).body
  return limits.find((each: { name: string }) => each.name === name)
}

/** The statements of the migration with this name. */
function readMigration(name: string): string {
  const migrations = resolve(import.meta.dirname, '../../prisma/migrations')
  const folder = readdirSync(migrations).find((each) => each.endsWith(`_${name}`))!
  return readFileSync(`${migrations}/${folder}/migration.sql`, 'utf8')
}

const errorOf = (name: string) => {
  const { status, code, constraint } = userLimits.find((limit) => limit.name === name)!.error
  return { status, code, details: { constraint, reason: 'limit_reached', limit: { name } } }
}

/** The events of the limit, as the user reads them. */
async function reachedBy({ client }: Person, name: string): Promise<object[]> {
  const { data } = (await client.get('/events?type=limit.reached')).body
  const objects: Array<{ name: string }> = data.map((event: any) => event.data.object)
  return objects.filter((object) => object.name === name)
}

const atOnce = async <T>(n: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  await Promise.all(Array.from({ length: n }, (_, i) => work(i)))
/** On a busy machine a request may wait too long for the lock of the limit: clients send it again. */
const decided = async (request: () => Promise<Reply>): Promise<Reply> => {
  const reply = await request()
  return reply.status === 503 ? await decided(request) : reply
}
const isAccepted = ({ status }: Reply): boolean => status < 300

for (const [name, { before = 0, amount = 1, role, prepare, remove }] of Object.entries(cases)) {
  t.test(`${name}: ${attempts} requests at once end exactly at the limit`, async (t: Test) => {
    const person = await server.person({ role })
    const request = await prepare(person)
    const maximum = maximumOf(name)
    const replies = await atOnce(attempts, () => decided(request))
    const accepted = replies.filter(isAccepted)
    t.equal(accepted.length, maximum / amount - before)
    for (const { status, body } of replies.filter((reply) => !isAccepted(reply)))
      t.match({ status, ...body.error }, errorOf(name))
    t.match(await useOf(person, name), { limit: maximum, used: maximum })
    const expected = [{ name, limit: maximum, user_id: person.id, project_id: null, organization_id: null }]
    t.match(await reachedBy(person, name), expected, 'the requests at once emit one event')
    if (remove === undefined) return

    const removeOne = async (created: Reply): Promise<Reply> => {
      const [method, path, body] = remove(created)
      return await person.client.call(method, path, { body, headers: name === 'uploads' ? tus : {} })
    }
    t.ok(isAccepted(await removeOne(accepted.pop()!)))
    t.match(await useOf(person, name), { used: maximum - amount }, 'what is removed is free again')
    accepted.push(await request())
    t.equal((await request()).status, errorOf(name).status)

    // Both at once: what is free is taken again, and never counted twice.
    const [removed, again] = await Promise.all([
      Promise.all(accepted.map(removeOne)),
      atOnce(attempts, request),
    ])
    t.ok(removed.every(isAccepted))
    const left = again.filter(isAccepted)
    t.match(await useOf(person, name), { used: (before + left.length) * amount })
    t.ok(left.length * amount <= maximum)
    t.ok((await Promise.all(left.map(removeOne))).every(isAccepted))
    t.match(await useOf(person, name), { used: before * amount }, 'all is free again')
    t.equal((await reachedBy(person, name)).length, 1, 'one event a day')
  })
}

const slow = await startChatFixture(t, {
  script: { pieces: Array.from({ length: 2000 }, () => 'word '), piecesPerSecond: 10 },
  env: {
    STREAMS_PER_USER: String(maxItems),
    UPLOADS_PER_USER: String(maxItems),
    AI_STREAMS_PER_USER: String(maxItems),
  },
})

/** Opens something many times at once, which stays open, and closes it. */
async function assertOpenLimit(
  t: Test,
  name: string,
  open: (person: Person) => Promise<{ status: number; error: unknown; close: () => unknown }>,
): Promise<void> {
  const person = await slow.server.person()
  const all = await atOnce(attempts, () => open(person))
  const opened = all.filter(({ status }) => status === 200)
  t.equal(opened.length, maxItems)
  for (const { status, error } of all.filter(({ status }) => status !== 200))
    t.match({ status, ...(error as object) }, errorOf(name))
  t.match(await useOf(person, name), { limit: maxItems, used: maxItems })
  for (const { close } of opened) await close()
  await waitUntil(async () => (await useOf(person, name)).used === 0, `${name} to be free`)
  const again = await open(person)
  t.equal(again.status, 200)
  await again.close()
}

t.test(`event_streams: ${attempts} at once end exactly at the limit`, async (t) => {
  await assertOpenLimit(t, 'event_streams', async ({ key }) => {
    const over = new AbortController()
    const headers = { authorization: `Bearer ${key}` }
    const reply = await fetch(`${slow.server.url}/v1/events/stream`, { headers, signal: over.signal })
    const error = reply.status === 200 ? null : ((await reply.json()) as any).error
    return { status: reply.status, error, close: () => over.abort() }
  })
})

t.test(`open_answers: ${attempts} at once end exactly at the limit`, async (t) => {
  await assertOpenLimit(t, 'open_answers', async ({ key }) => {
    const over = new AbortController()
    const reply = await fetch(`${slow.server.url}/v1/ai/chat/stream`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Count!' }] }),
      signal: over.signal,
    })
    const error = reply.status === 200 ? null : ((await reply.json()) as any).error
    return { status: reply.status, error, close: () => over.abort() }
  })
})

t.test(`open_uploads: ${attempts} at once end exactly at the limit`, async (t) => {
  await assertOpenLimit(t, 'open_uploads', async ({ key }) => {
    const { body, boundary } = uploadForm({ bytes: 'content' })
    const connection = await openConnection(t, slow.server.url)
    await connection.write(uploadHead(key, boundary, body.length))
    await connection.write(body.subarray(0, -5))
    // A refused upload is answered at once, an accepted one waits for its end.
    await Promise.race([connection.reply(), sleep(attempts * 25)])
    const close = (): unknown => connection.socket.destroy()
    if (connection.received() === '') return { status: 200, error: null, close }
    const { status, body: answer } = await connection.reply()
    return { status, error: answer.error, close }
  })
})

t.test(`tokens_per_day: ${attempts} searches at once end at the limit`, async (t) => {
  const query = 'ten words '.repeat(5).trim()
  const { person } = await startChatFixture(t, {
    embeddings: { model: 'embedder', dimensions: 64 },
    env: { AI_TOKENS_PER_DAY: String(maxItems * countTokens(query)) },
  })
  const { id } = (await person.client.post('/ai/knowledge', { name: unique() })).body
  const replies = await atOnce(attempts, () => person.client.post(`/ai/knowledge/${id}/search`, { query }))
  t.equal(replies.filter(isAccepted).length, maxItems)
  for (const { status, body } of replies.filter((reply) => !isAccepted(reply)))
    t.match({ status, ...body.error }, errorOf('tokens_per_day'))
  const { limit, used } = await useOf(person, 'tokens_per_day')
  t.equal(used, limit)
  t.match(await reachedBy(person, 'tokens_per_day'), [
    { limit, used: limit, resets_at: /T00:00:00\.000Z$/, user_id: person.id },
  ])
})

t.test('limit.reached of a project: for its members, to webhooks, and again on the next day', async (t) => {
  const { prisma } = server.services.database
  const [owner, member, stranger] = [await server.person(), await server.person(), await server.person()]
  const project_id = await project(owner)
  await createMember(server, project_id, member.id, 'viewer')
  const { secret } = await createApiKey(server, member.id, { projectIds: [project_id] })
  const limited = createClient(server.url, secret)
  const url = 'https://example.com/'
  const { id: endpointId } = (
    await member.client.post('/webhooks/endpoints', { url, event_types: ['limit.reached'] })
  ).body
  const refused = (): Promise<Reply> =>
    upload(owner.client, { bytes: Buffer.alloc(250_000), fields: { project_id } })
  await atOnce(2, refused)
  const replies = await atOnce(2, refused)
  for (const { status, body } of replies)
    t.match({ status, body }, { status: 413, body: { error: { details: { limit: { limit: 500_000 } } } } })

  const name = 'project_storage_bytes'
  const object = { name, limit: 500_000, used: 500_000, resets_at: null, user_id: null, project_id }
  t.match(await reachedBy(owner, name), [object])
  t.match(await reachedBy(member, name), [object])
  t.match((await limited.get('/events?type=limit.reached')).body.data, [
    { project_id, actor: { user_id: owner.id }, data: { object } },
  ])
  t.same(await reachedBy(stranger, name), [])
  t.equal(await prisma.webhookDelivery.count({ where: { endpointId } }), 1)

  await prisma.$executeRaw`UPDATE reached_limits SET day = day - 1 WHERE subject_id = ${project_id}`
  await Promise.all(replies.map(refused))
  t.equal((await reachedBy(owner, name)).length, 2, 'one event of the next day')
  await prisma.$executeRaw`UPDATE reached_limits SET day = day - 1`
  await runRetention(server.services.database, { tasks: reachedLimitTasks() })
  t.equal(await prisma.notedLimit.count(), 0)
})

t.test('limits of a minute emit no event', async (t) => {
  const few = await startServer(t, { env: { RATE_LIMIT_WRITE: '1' } })
  const person = await few.person()
  const replies = await atOnce(3, () => person.client.post('/projects', { name: unique() }))
  t.ok(replies.some(({ status }) => status === 429))
  t.same((await person.client.get('/events?type=limit.reached')).body.data, [])
})

t.test('GET /user/limits, the list of limits, the spec and the triggers have the same names', async (t) => {
  const person = await server.person()
  const { limits } = (await person.client.get('/user/limits')).body
  t.same(
    limits.map(({ name }: { name: string }) => name),
    userLimits.map(({ name }) => name),
  )
  const codes = contract['x-error-codes'] as Record<string, { constraints?: object }>
  for (const { error, setting } of userLimits) {
    t.ok(Object.hasOwn(codes[error.code].constraints!, error.constraint), error.constraint)
    t.ok(Object.hasOwn(settings, setting), setting)
  }
  const { rows } = await server.services.database.pool.query<{ name: string }>(
    `SELECT DISTINCT split_part(encode(tgargs, 'escape'), '\\000', 1) AS name FROM pg_trigger
     WHERE tgfoid = 'count_quota'::regproc`,
  )
  t.same(rows.map(({ name }) => name).toSorted(), quotaNames.toSorted())
  for (const { test } of userLimits) t.ok(existsSync(resolve(import.meta.dirname, '../..', test)), test)
})

t.test('the limits of one user do not touch another, and all keys of a user count together', async (t) => {
  const person = await server.person()
  const other = await server.person()
  for (let i = 0; i < maxItems; i++) await person.client.post('/ai/sessions', { title: unique() })
  t.equal((await person.client.post('/ai/sessions', { title: unique() })).status, 403)
  t.equal((await other.client.post('/ai/sessions', { title: unique() })).status, 201)
  const { limits } = (await person.client.get('/user/limits')).body
  const requests = limits.find((each: { name: string }) => each.name === 'requests_write')
  t.ok(requests.used >= maxItems + 1 && requests.resets_at !== null)
  t.equal(requests.reset_at, requests.resets_at)
})

t.test('document_bytes counts the new text of a document, which is refused over the limit', async (t) => {
  const person = await server.person()
  const { id } = (await person.client.post('/ai/knowledge', { name: unique() })).body
  const { body } = await person.client.post(`/ai/knowledge/${id}/documents`, { text: 'short' })
  const path = `/ai/knowledge/${id}/documents/${body.id}`
  const change = async (length: number): Promise<Reply> =>
    await person.client.put(path, { text: 'é'.repeat(length) })
  t.equal((await change(25)).status, 200)
  t.match(await useOf(person, 'document_bytes'), { used: 50 })
  t.match(await change(26), { status: 403, body: { error: { details: { constraint: 'document_bytes' } } } })
  t.equal((await change(1)).status, 200)
  t.match(await useOf(person, 'document_bytes'), { used: 2 })
  t.equal((await person.client.delete(path)).status, 204)
  t.match(await useOf(person, 'document_bytes'), { used: 0 })
})

t.test('a user with as many unpaid orders as allowed still renews subscriptions', async (t) => {
  const { price, monthly } = await createCatalog(server)
  const person = await server.person()
  const { client } = person
  const { id, order: first } = await subscribe(server, person, monthly, { card: cards.renewalDeclined })
  const order = () => client.post('/payments/orders', { items: [{ price_id: price, quantity: 1 }] })
  for (let i = 0; i < maxItems; i++) t.equal((await order()).status, 201)
  const read = async () => (await client.get(`/payments/subscriptions/${id}`)).body
  await advanceTo(server, (await read()).current_period_end)
  const renewed = await read()
  t.match(renewed, { status: 'past_due' })
  t.not(renewed.latest_order_id, first)
  t.match(await useOf(person, 'pending_orders'), { used: maxItems }, 'the renewal does not count')
  t.match(await order(), { status: 403, body: { error: { details: { constraint: 'pending_orders' } } } })
  await client.post(`/payments/subscriptions/${id}/cancel`, { at_period_end: false })
  t.match(await useOf(person, 'pending_orders'), { used: maxItems }, 'nor does its end free a place')
})

t.test('what a user has by the counters is what the tables have', async (t) => {
  const { database } = server.services
  const { prisma, pool } = database
  const usedOf = statement<{ used: number }>(
    'SELECT coalesce(sum(used), 0)::int AS used FROM quota_usage WHERE quota = $1',
  )
  const used = async (quota: string): Promise<number> => (await database.sql(usedOf, [quota]))[0].used
  t.equal(await used('api_keys'), await prisma.apiKey.count({ where: { revokedAt: null } }))
  t.equal(await used('projects'), await prisma.project.count())
  t.equal(await used('files'), await prisma.file.count())
  t.equal(await used('sessions'), await prisma.session.count())
  t.equal(await used('documents'), await prisma.document.count())
  t.equal(await used('invitations'), await prisma.invitation.count({ where: { status: 'pending' } }))
  const createdOrders = { status: 'pending' as const, createdBy: { not: null } }
  t.equal(await used('pending_orders'), await prisma.order.count({ where: createdOrders }))

  // A migration with a new quota counts the rows that are there.
  await pool.query(`DROP TRIGGER quota_sessions_added ON ai_sessions;
    DELETE FROM quota_changes WHERE quota = 'sessions'; DELETE FROM quota_totals WHERE quota = 'sessions'`)
  t.equal(await used('sessions'), 0)
  await pool.query(readFileSync(resolve(functions, 'count-quota.sql'), 'utf8'))
  t.ok((await used('sessions')) > 0)
  t.equal(await used('sessions'), await prisma.session.count())
})

t.test('the migration takes the orders that no caller created off the counts', async (t) => {
  const person = await server.person()
  await insertedOrder(server, person.id)
  const { pool } = server.services.database
  await pool.query("INSERT INTO quota_changes (user_id, quota, change) VALUES ($1, 'pending_orders', 1)", [
    person.id,
  ])
  t.match(await useOf(person, 'pending_orders'), { used: 1 }, 'as before the migration')
  await pool.query(readMigration('quota_of_created_orders'))
  t.match(await useOf(person, 'pending_orders'), { used: 0 })
})

t.test('the migration counts the present texts of documents', async (t) => {
  const person = await server.person()
  const { id } = (await person.client.post('/ai/knowledge', { name: unique() })).body
  await person.client.post(`/ai/knowledge/${id}/documents`, { text: 'a' })
  const { pool } = server.services.database
  await pool.query('DROP TRIGGER quota_document_bytes_moved ON documents')
  await pool.query("UPDATE documents SET source = 'a longer text' WHERE knowledge_base_id = $1", [id])
  t.match(await useOf(person, 'document_bytes'), { used: 1 }, 'as before the migration')
  await pool.query(readMigration('bytes_of_changed_documents'))
  t.match(await useOf(person, 'document_bytes'), { used: 13 })
})
