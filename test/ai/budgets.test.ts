// Budgets: who sets them, what they refuse, when they start again, and what they notify of.
import t from 'tap'
import { runRetention } from '../../infra/jobs/retention.ts'
import { embedWithinLimit } from '../../services/ai/chat/embeddings.ts'
import { budgetRetentionTasks, budgetTasks } from '../../services/budgets/budgets.ts'
import { createApiKey, createBudget, createProject } from '../support/database/db-fixtures.ts'
import { insertedCustomer } from '../support/database/db-fixtures-payments.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t, {
  env: { RATE_LIMIT_AI: '1000000', RATE_LIMIT_WRITE: '1000000', AI_STREAMS_PER_USER: '300' },
})
const { admin, services } = server
const { database } = services
const { prisma } = database
const path = '/payments/budgets'

const ask = async (client: Client, body: object = {}) =>
  await client.post('/ai/chat', { message: 'What is a budget?', ...body })
const keyOf = async ({ id }: Pick<Person, 'id'>) => {
  const key = await createApiKey(server, id)
  return { id: key.id, client: createClient(server.url, key.secret) }
}
const read = async ({ client }: { client: Client }, id: string) => (await client.get(`${path}/${id}`)).body
const refused = (name: string) => ({
  status: 429,
  body: { error: { code: 'RATE_LIMITED', details: { constraint: 'budget', limit: { name } } } },
})

t.test('200 answers at once exceed a budget of 10 by no one', { timeout: 120_000 }, async (t) => {
  const person = await server.person()
  const key = await keyOf(person)
  const budget = await createBudget(server, person.id, { subject_id: key.id, unit: 'answers', amount: '10' })
  const replies = await Promise.all(Array.from({ length: 200 }, () => ask(key.client)))
  const statuses = replies.map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 200).length, 10)
  t.equal(statuses.filter((status) => status === 429).length, 190)
  t.match(
    replies.find(({ status }) => status === 429),
    refused(budget),
  )
  t.match(await read(person, budget), { used: '10', reserved: '0' })
  t.equal((await ask(person.client)).status, 200, 'other keys of the user go on')
})

t.test('the smallest of the budgets of a user, key, project and organization decides', async (t) => {
  const person = await server.person()
  const key = await keyOf(person)
  const { body: organization } = await person.client.post('/organizations', { name: 'Lab' })
  const { body: project } = await person.client.post('/projects', {
    name: 'Notes',
    organization_id: organization.id,
  })
  const customer = await insertedCustomer(server, { user_id: person.id })
  const set = async (client: Client, subject_id: string, amount: string): Promise<string> => {
    const fields = { subject_id, unit: 'answers', amount, period: 'day' }
    const { status, body, text } = await client.post(path, fields)
    if (status !== 201) throw new Error(text)
    return body.id
  }
  const budgets = [
    await set(admin.client, person.id, '6'),
    await set(admin.client, customer, '5'),
    await set(person.client, organization.id, '4'),
    await set(person.client, project.id, '3'),
    await set(person.client, key.id, '2'),
  ]
  const inProject = { project_id: project.id }
  for (const status of [200, 200, 429]) t.equal((await ask(key.client, inProject)).status, status)
  t.match(await ask(key.client, inProject), refused(budgets[4]))
  t.equal((await ask(person.client, inProject)).status, 200)
  t.match(await ask(person.client, inProject), refused(budgets[3]))
  const used = await Promise.all(budgets.map(async (id, i) => (await read(i < 2 ? admin : person, id)).used))
  t.same(used, ['3', '3', '3', '3', '2'])
})

t.test('a subject cannot lift its budget, and others do not see it', async (t) => {
  const person = await server.person()
  const stranger = await server.person()
  const key = await createApiKey(server, person.id, {
    scopes: ['user:read', 'keys:write', 'projects:read', 'projects:write'],
  })
  const own = createClient(server.url, key.secret)
  const fields = { unit: 'tokens', amount: '100', period: 'month' }
  const ofKey = await createBudget(server, person.id, { subject_id: key.id })
  t.equal((await own.get(`${path}/${ofKey}`)).status, 200)
  t.equal((await own.put(`${path}/${ofKey}`, { amount: '999' })).status, 403)
  t.equal((await own.delete(`${path}/${ofKey}`)).status, 403)
  t.equal((await own.post(path, { ...fields, subject_id: key.id })).status, 403)
  const ofUser = await createBudget(server, admin.id, { subject_id: person.id, subject_type: 'user' })
  t.equal((await person.client.get(`${path}/${ofUser}`)).status, 200)
  t.equal((await person.client.put(`${path}/${ofUser}`, { amount: '999' })).status, 404)
  t.equal((await person.client.delete(`${path}/${ofUser}`)).status, 404)
  for (const id of [ofKey, ofUser]) {
    t.equal((await stranger.client.get(`${path}/${id}`)).status, 404)
    t.equal((await stranger.client.put(`${path}/${id}`, { amount: '1' })).status, 404)
    t.equal((await stranger.client.delete(`${path}/${id}`)).status, 404)
  }
  for (const subject_id of [key.id, person.id, 'prj_01jd6y8m5qe8btc4y5w1r0n3fz'])
    t.equal((await stranger.client.post(path, { ...fields, subject_id })).status, 404, subject_id)
  const editor = await server.person()
  const project = await createProject({ server, caller: editor, role: 'editor' })
  t.equal((await editor.client.post(path, { ...fields, subject_id: project })).status, 403)
  t.equal((await editor.client.get(`${path}?subject_id=${project}`)).status, 403)
})

t.test('a subject has at most ten budgets', async (t) => {
  const person = await server.person()
  const { id: subject_id } = await keyOf(person)
  const fields = { subject_id, unit: 'tokens', amount: '5', period: 'day' }
  const replies = await Promise.all(Array.from({ length: 14 }, () => person.client.post(path, fields)))
  t.equal(replies.filter(({ status }) => status === 201).length, 10)
  t.match(
    replies.find(({ status }) => status !== 201),
    {
      status: 403,
      body: { error: { details: { reason: 'limit_reached', limit: { name: 'budgets', limit: 10 } } } },
    },
  )
  t.equal((await person.client.get(`${path}?subject_id=${subject_id}`)).body.pagination.total, 10)
})

t.test('a period begins at a fixed instant', async (t) => {
  const cases = [
    ['month', '2026-01-31T10:00:00Z', '2026-02-28T09:59:59Z', '2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z'],
    ['month', '2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z', '2026-02-28T10:00:00Z', '2026-03-31T10:00:00Z'],
    ['month', '2024-01-31T00:00:00Z', '2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z', '2024-03-31T00:00:00Z'],
    ['week', '2026-11-02T00:00:00Z', '2026-11-28T12:00:00Z', '2026-11-23T00:00:00Z', '2026-11-30T00:00:00Z'],
    ['day', '2026-03-28T01:30:00Z', '2026-03-30T01:29:59Z', '2026-03-29T01:30:00Z', '2026-03-30T01:30:00Z'],
    ['none', '2026-03-28T01:30:00Z', '2030-01-01T00:00:00Z', '2026-03-28T01:30:00Z', null],
    ['day', '2026-03-28T01:30:00Z', '2026-03-28T01:29:59Z', null, '2026-03-28T01:30:00Z'],
  ] as const
  for (const [period, start, at, since, until] of cases) {
    const { rows } = await database.pool.query('SELECT since, until FROM budget_period($1, $2, $3)', [
      period,
      start,
      at,
    ])
    const time = (value: Date | null): string | null =>
      value === null ? null : new Date(value).toISOString().replace('.000', '')
    t.same([time(rows[0].since), time(rows[0].until)], [since, until], `${period} at ${at}`)
  }
  const person = await server.person()
  const key = await keyOf(person)
  const soon = new Date(Date.now() + 1500 - 86_400_000)
  const budget = await createBudget(server, person.id, {
    subject_id: key.id,
    unit: 'answers',
    amount: '1',
    period: 'day',
    starts_at: soon.toISOString(),
  })
  t.equal((await ask(key.client)).status, 200)
  t.match(await ask(key.client), refused(budget))
  const { resets_at: resetsAt } = await read(person, budget)
  t.equal(Date.parse(resetsAt), soon.getTime() + 86_400_000)
  await new Promise((resolve) => setTimeout(resolve, Date.parse(resetsAt) - Date.now() + 5))
  t.equal((await ask(key.client)).status, 200, 'it starts again')
  t.match(await read(person, budget), { used: '1' })
})

t.test('a correction of tokens counts to the period that they were counted to', async (t) => {
  const person = await server.person()
  const ends = Date.now() + 500
  const budget = await createBudget(server, person.id, {
    subject_id: person.id,
    period: 'day',
    starts_at: new Date(ends - 86_400_000).toISOString(),
  })
  const embed = async (texts: string[], _signal?: AbortSignal, onTokens?: (tokens: number) => void) => {
    await new Promise((resolve) => setTimeout(resolve, ends - Date.now() + 5))
    onTokens?.(1)
    return texts.map(() => [0])
  }
  const account = { userId: person.id, credentialId: null, projectId: null, tokensPerDay: 0 }
  const model = { model: 'embedder', dimensions: 1, provider: 'fake', price: null }
  await embedWithinLimit(database, Object.assign(embed, model), account, ['more than three short words'])
  const periods = await prisma.budgetPeriod.findMany({ where: { budgetId: budget } })
  t.match(
    periods.map(({ used }) => Number(used)),
    [1],
  )
  t.match(await read(person, budget), { used: '0' }, 'the next period')
})

t.test('each threshold is notified once in a period, by an event and an e-mail', async (t) => {
  const person = await server.person()
  const key = await keyOf(person)
  const budget = await createBudget(server, person.id, {
    subject_id: key.id,
    unit: 'answers',
    amount: '4',
    thresholds: [50, 100],
    enforced: false,
  })
  const notify = async (): Promise<void> => {
    await runRetention(database, { tasks: budgetTasks(services) })
  }
  const thresholds = async (): Promise<number[]> => {
    const { body } = await person.client.get('/events?type=budget.threshold_reached&order=asc')
    return body.data.map(({ data }: any) => data.object.threshold)
  }
  await ask(key.client)
  await notify()
  t.same(await thresholds(), [])
  for (let i = 0; i < 2; i++) await ask(key.client)
  await Promise.all([notify(), notify()])
  t.same(await thresholds(), [50])
  for (let i = 0; i < 3; i++) t.equal((await ask(key.client)).status, 200, 'it only notifies')
  await notify()
  await notify()
  t.same(await thresholds(), [50, 100])
  t.match(await read(person, budget), { used: '6' })
  const mails = await database.prisma.mail.findMany({
    where: { kind: 'budget_threshold_reached', recipient: person.email },
  })
  t.equal(mails.length, 2)
})

t.test('the reservation of a process that died ends', async (t) => {
  const person = await server.person()
  const key = await keyOf(person)
  const budget = await createBudget(server, person.id, { subject_id: key.id, unit: 'answers', amount: '2' })
  await ask(key.client)
  const { rowCount } = await database.pool.query(
    `UPDATE ai_messages SET status = 'in_progress', heartbeat_at = now()
     WHERE user_id = $1 AND role = 'assistant'`,
    [person.id],
  )
  t.equal(rowCount, 1)
  t.match(await read(person, budget), { used: '1', reserved: '1' })
  t.match(await ask(key.client), refused(budget))
  await database.pool.query(
    `UPDATE ai_messages SET heartbeat_at = now() - interval '2 minutes'
     WHERE user_id = $1 AND status = 'in_progress'`,
    [person.id],
  )
  t.equal((await ask(key.client)).status, 200)
})

t.test('the budget of a key counts the keys made with it and those that replace it', async (t) => {
  const person = await server.person()
  const scopes = ['keys:write', 'ai:read', 'ai:write'] as never
  const key = await createApiKey(server, person.id, { scopes })
  const own = createClient(server.url, key.secret)
  const budget = await createBudget(server, person.id, { subject_id: key.id, unit: 'answers', amount: '3' })
  const made = (await own.post('/user/api-keys', { name: 'made', scopes: ['keys:write', 'ai:write'] })).body
  const withMade = createClient(server.url, made.key)
  t.equal((await ask(withMade)).status, 200)
  t.equal((await withMade.delete(`${path}/${budget}`)).status, 403)
  const rotated = await own.post(`/user/api-keys/${key.id}/rotate`, { overlap_seconds: 3600 })
  t.equal(rotated.status, 201)
  const replacement = createClient(server.url, rotated.body.key)
  for (const client of [replacement, own]) t.equal((await ask(client)).status, 200)
  for (const client of [replacement, own, withMade]) t.match(await ask(client), refused(budget))
  t.equal((await replacement.delete(`${path}/${budget}`)).status, 403)
  t.equal((await ask(person.client)).status, 200, 'other keys of the user go on')
})

t.test('budgets of deleted subjects and old periods are deleted', async (t) => {
  const person = await server.person()
  const [kept, gone] = [await keyOf(person), await keyOf(person)]
  const of = { unit: 'answers', amount: '10' } as const
  const budget = await createBudget(server, person.id, { subject_id: kept.id, ...of })
  const other = await createBudget(server, person.id, { subject_id: gone.id, ...of })
  await prisma.budgetPeriod.createMany({
    data: [500, 450, 100].map((days) => ({
      budgetId: budget,
      since: new Date(Date.now() - days * 86_400_000),
      used: 1,
    })),
  })
  await prisma.apiKey.delete({ where: { id: gone.id } })
  await runRetention(database, { tasks: budgetRetentionTasks(), leads: () => true })
  t.equal(await prisma.budgetPeriod.count({ where: { budgetId: budget } }), 1)
  t.ok(await prisma.budget.findUnique({ where: { id: budget } }))
  t.equal(await prisma.budget.findUnique({ where: { id: other } }), null)
})
