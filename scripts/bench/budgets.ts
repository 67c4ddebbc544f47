// The costs of the hottest operations in counts, which are the same on every machine, and their budgets in
// test/budgets.json. `test/app/budgets.test.ts` compares the two; `npm run bench -- budgets` prints them.
import { readFileSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import http, { Agent } from 'node:http'
import { join } from 'node:path'
import pg from 'pg'
import { openDatabase } from '../../infra/database/database.ts'
import { ADMINISTRATOR, passwordFile } from '../../infra/postgres/cluster.ts'
import { addPeople, createDatabase } from './population.ts'
import { addDocument } from './retrieval/retrieval-fixtures.ts'
import { serve } from './serve.ts'
import type { ServerCounts } from './servers/counted.ts'
import type { Stage } from './stage.ts'
import { count, table } from './table.ts'
import { payWithTestCard } from './test-card.ts'

/** The costs of one request. Rows and bytes are of the write-ahead log, without images of whole pages. */
export interface Cost extends ServerCounts {
  rows_logged: number
  wal_bytes: number
}
export type Costs = Record<string, Cost>

/**
 * A budget in bytes is the measured cost times this factor: a longer id is no failure, and memory depends on
 * the version of Node.js.
 */
const slack = { wal_bytes: 1.05, bytes_logged: 1.05, bytes_allocated: 1.3, bytes_kept: 1.7 }
/** Below this part of its budget, a cost in bytes must be written down again. */
const stale = { wal_bytes: 0.8, bytes_logged: 0.8, bytes_allocated: 0.5, bytes_kept: 0.2 }
const exact = ['statements', 'round_trips', 'rows_logged', 'timers'] as const
const inBytes = ['wal_bytes', 'bytes_logged', 'bytes_allocated', 'bytes_kept'] as const

export const budgetFile = join(import.meta.dirname, '../../test/budgets.json')
const here = import.meta.dirname

/**
 * How often each operation is measured. The minimum counts, because not every request splits a page or renews
 * a key.
 */
const repeats = 9
const warmups = 5

interface Call {
  method: string
  path: string
  status: number
  body?: unknown
  form?: FormData
  isAdmin?: boolean
}

type Send = (call: Call) => Promise<any>

const post = (path: string, body: unknown, status = 201): Call => ({ method: 'POST', path, body, status })
const asAdmin = (call: Call): Call => ({ ...call, isAdmin: true })

export async function measureCosts(stage: Stage): Promise<Costs> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_budgets')
  const [person] = await addPeople(url, ['caller'])
  const [admin] = await addPeople(url, ['admin'], { role: 'admin' })
  const observer = await openObserver(url, dataDir)
  const { program, port } = await serve(stage, 'counted', join(here, 'servers/counted.ts'), {
    DATABASE_URL: url,
    NODE_OPTIONS: '--max-semi-space-size=128',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_ALLOWED_PORTS: '1-65535',
  })
  const sender = (key: string): Send => createSend({ port, key })
  try {
    const [own, admins] = [sender(person.key), sender(admin.key)]
    const send: Send = (call) => (call.isAdmin === true ? admins : own)(call)
    const operations = await prepare(url, send)
    await subscribe(send, port)
    await program.ask('freeze', 'frozen')
    const costs: Costs = {}
    for (const [name, next] of Object.entries(operations)) {
      for (let i = 0; i < warmups; i++) await send(next())
      const measured: Cost[] = []
      for (let i = 0; i < repeats; i++) {
        const call = next()
        await program.ask('reset', 'reset')
        const from = await positionOf(observer)
        await send(call)
        const counts = await program.ask<ServerCounts>('read', 'counts')
        measured.push({ ...counts, ...(await walBetween(observer, from, await positionOf(observer))) })
      }
      costs[name] = leastOf(measured)
    }
    return costs
  } finally {
    await program.stop()
    await observer.end()
  }
}

/** Sends each request with its body in one write: a body in two parts renews a timer. */
function createSend({ port, key }: { port: number; key: string }): Send {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return async ({ method, path, status, body, form }) => {
    const encoded = new Response(form ?? (body === undefined ? null : JSON.stringify(body)))
    const content = Buffer.from(await encoded.arrayBuffer())
    const type = form === undefined ? 'application/json' : encoded.headers.get('content-type')!
    const headers = {
      authorization: `Bearer ${key}`,
      ...(content.length > 0 && { 'content-type': type, 'content-length': content.length }),
    }
    const request = http.request({ agent, host: '127.0.0.1', port, path: `/v1${path}`, method, headers })
    request.end(content.toString('latin1'), 'latin1')
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    const text = Buffer.concat(await response.toArray()).toString()
    if (response.statusCode !== status)
      throw new Error(`${method} ${path} returned ${response.statusCode}: ${text}`)
    return response.headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : null
  }
}

/** Creates what the operations need. @returns a maker of requests for each of the hottest operations. */
async function prepare(url: string, send: Send): Promise<Record<string, () => Call>> {
  const get = (path: string) => (): Call => ({ method: 'GET', path, status: 200 })
  let turn = 100
  const project = { description: 'Everything for the launch', tags: ['q4'], metadata: { team: 'bench' } }
  const projects: string[] = []
  for (let i = 0; i < 30; i++)
    projects.push((await send(post('/projects', { name: `P${i}`, ...project }))).id)
  const upload = (): Call => {
    const form = new FormData()
    form.set('file', new File(['platform '.repeat(1_000)], `file-${turn++}.txt`, { type: 'text/plain' }))
    return { method: 'POST', path: '/storage/upload', form, status: 201 }
  }
  const files: string[] = []
  for (let i = 0; i < 30; i++) files.push((await send(upload())).id)
  const base = (await send(post('/ai/knowledge', { name: 'Shelf' }))).id
  const database = openDatabase({ url, poolSize: 1 })
  await addDocument(database, base, 'Events are kept for thirty days.\n\nFiles are kept until deleted.')
  await database.close()
  const session = (await send(post('/ai/sessions', { title: 'Questions', knowledge_base_ids: [base] }))).id
  const items = await itemsOf(send)
  const order = (): Call => post('/payments/orders', { items })
  let orderId = ''
  for (let i = 0; i < 30; i++) orderId = (await send(order())).id
  const endpoint = (): Call =>
    post('/webhooks/endpoints', { url: `http://127.0.0.1:1/${turn++}`, event_types: ['project.restored'] })
  const endpointId = (await send(endpoint())).id
  return {
    getProject: get(`/projects/${projects[0]}`),
    listProjects: get('/projects'),
    createProject: () => post('/projects', { name: `Launch ${turn++}`, ...project }),
    updateProject: () => ({
      method: 'PUT',
      path: `/projects/${projects[1]}`,
      body: { name: `Launch ${turn++}` },
      status: 200,
    }),
    deleteProject: () => ({ method: 'DELETE', path: `/projects/${projects.pop()}`, status: 204 }),
    listMembers: get(`/projects/${projects[0]}/members`),
    getProfile: get('/user/profile'),
    listApiKeys: get('/user/api-keys'),
    createApiKey: () => post('/user/api-keys', { name: `Key ${turn++}`, scopes: ['projects:read'] }),
    listFiles: get('/storage/files'),
    getFile: get(`/storage/files/${files[0]}`),
    uploadFile: upload,
    downloadFile: get(`/storage/files/${files[0]}/download`),
    listEvents: get('/events'),
    listWebhookEndpoints: get('/webhooks/endpoints'),
    getWebhookEndpoint: get(`/webhooks/endpoints/${endpointId}`),
    createWebhookEndpoint: endpoint,
    searchKnowledgeBase: () =>
      post(`/ai/knowledge/${base}/search`, { query: `How long are events kept? ${turn++}` }, 200),
    createChat: () => post('/ai/chat', { session_id: session, message: `How long? ${turn++}` }, 200),
    listSessions: get('/ai/sessions'),
    listOrders: get('/payments/orders'),
    getOrder: get(`/payments/orders/${orderId}`),
    createOrder: order,
    // Each move of the clock renews one subscription.
    advanceTestClock: () => asAdmin(post('/payments/test-clock/advance', { by_seconds: 86_400 }, 200)),
    createCheckout: () => post('/payments/checkout', { items, ...pages }),
  }
}

const pages = { success_url: 'https://example.com/done', cancel_url: 'https://example.com/back' }

/** The items of a sale: a new product. */
async function itemsOf(send: Send, recurring?: object): Promise<object[]> {
  const product = (await send(asAdmin(post('/payments/products', { name: 'Seat' })))).id
  const price = { product_id: product, unit_amount: 500, currency: 'usd', recurring }
  return [{ price_id: (await send(asAdmin(post('/payments/prices', price)))).id, quantity: 1 }]
}

/** Subscribes the caller to a daily plan, with a card that can be charged. */
async function subscribe(send: Send, port: number): Promise<void> {
  const items = await itemsOf(send, { interval: 'day', interval_count: 1 })
  const { id } = await send(post('/payments/checkout', { mode: 'subscription', items, ...pages }))
  await payWithTestCard(port, id)
}

/** A connection that may read the write-ahead log. */
async function openObserver(url: string, dataDir: string): Promise<pg.Client> {
  const address = new URL(url)
  address.username = ADMINISTRATOR
  address.password = readFileSync(passwordFile(dataDir), 'utf8').trim()
  const client = new pg.Client({ connectionString: address.href })
  await client.connect()
  await client.query('CREATE EXTENSION IF NOT EXISTS pg_walinspect')
  return client
}

async function positionOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query('SELECT pg_current_wal_insert_lsn()::text AS at')
  return rows[0].at
}

/** The records of transactions in a part of the log. */
async function walBetween(
  client: pg.Client,
  from: string,
  to: string,
): Promise<Pick<Cost, 'rows_logged' | 'wal_bytes'>> {
  if (from === to) return { rows_logged: 0, wal_bytes: 0 }
  // The end of the log may not be written yet: a message is, with everything before it.
  await client.query("SELECT pg_logical_emit_message(false, 'end', 'end', true)")
  const { rows } = await client.query(
    `SELECT coalesce(sum(record_length - fpi_length), 0)::int AS wal_bytes,
      count(*) FILTER (WHERE resource_manager IN ('Heap', 'Heap2')
        AND record_type ~ '^(INSERT|UPDATE|HOT_UPDATE|DELETE|MULTI_INSERT)')::int AS rows_logged
    FROM pg_get_wal_records_info($1, $2) WHERE xid <> '0'`,
    [from, to],
  )
  return rows[0]
}

function leastOf(costs: Cost[]): Cost {
  const least = (name: keyof Cost): number => Math.min(...costs.map((cost) => cost[name]))
  const kept = costs.map(({ bytes_kept }) => bytes_kept).filter((bytes) => bytes > 0)
  return {
    ...(Object.fromEntries([...exact, ...inBytes].map((name) => [name, least(name)])) as unknown as Cost),
    bytes_allocated: middleOf(costs.map(({ bytes_allocated }) => bytes_allocated)),
    // The minimum, because memory that every request keeps is in each measurement.
    bytes_kept: kept.length === 0 ? 0 : Math.min(...kept),
  }
}

/** The median, without the requests during which memory was freed. */
function middleOf(values: number[]): number {
  const grown = values.filter((value) => value > 0).sort((a, b) => a - b)
  return grown[Math.floor(grown.length / 2)]
}

/** The costs over their budget, or so far below it that the budget must be lowered. */
export function budgetProblems(costs: Costs, budgets: Costs): string[] {
  const problems: string[] = []
  for (const [operation, cost] of Object.entries(costs)) {
    for (const name of [...exact, ...inBytes]) {
      const budget = budgets[operation]?.[name]
      const at = `${operation}: ${name} is ${cost[name]}, the budget is ${budget ?? 'missing'}`
      if (budget === undefined || cost[name] > budget) problems.push(at)
      else if (cost[name] < lowest(name, budget)) problems.push(`${at}: tighten it`)
    }
  }
  for (const operation of Object.keys(budgets))
    if (costs[operation] === undefined) problems.push(`${operation} has a budget, but is not measured`)
  return problems
}

function lowest(name: keyof Cost, budget: number): number {
  return isInBytes(name) ? stale[name] * budget : budget
}

function isInBytes(name: keyof Cost): name is (typeof inBytes)[number] {
  return (inBytes as readonly string[]).includes(name)
}

export function readBudgets(): Costs {
  return JSON.parse(readFileSync(budgetFile, 'utf8')) as Costs
}

export async function benchBudgets(stage: Stage, { update }: { update: boolean }): Promise<string> {
  const costs = await measureCosts(stage)
  if (update) writeBudgets(costs)
  const problems = budgetProblems(costs, readBudgets())
  const names = [...exact, ...inBytes]
  return [
    'Costs of a request in counts, which are the same on every machine; test/budgets.json has their budgets.',
    '',
    table(
      ['operation', ...names.map((name) => name.replaceAll('_', ' '))],
      Object.entries(costs).map(([name, cost]) => [name, ...names.map((field) => count(cost[field]))]),
    ),
    ...(problems.length > 0 ? ['', ...problems] : []),
  ].join('\n')
}

function writeBudgets(costs: Costs): void {
  const rounded = (name: keyof Cost, value: number): number => {
    return isInBytes(name) ? Math.ceil((value * slack[name]) / 10) * 10 : value
  }
  const budgets = Object.fromEntries(
    Object.entries(costs).map(([operation, cost]) => [
      operation,
      Object.fromEntries([...exact, ...inBytes].map((name) => [name, rounded(name, cost[name])])),
    ]),
  )
  writeFileSync(budgetFile, `${JSON.stringify(budgets, null, 2)}\n`)
}
