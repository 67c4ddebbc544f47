// Benchmark of usage: the events that PostgreSQL takes per second of its CPU, in batches of 1,000, what
// adding them up costs, and a check of an entitlement as a multiple of `getProject`.
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import * as customersSql from '../../generated/sql/customers.ts'
import * as metersSql from '../../generated/sql/meters.ts'
import { openDatabase, type Database } from '../../infra/database/database.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { runRetention } from '../../infra/jobs/retention.ts'
import { recordUsage } from '../../services/payments/usage/record-usage.ts'
import { usageFoldTasks } from '../../services/payments/usage/retention.ts'
import { fire, type Cost } from './cost.ts'
import { atLeast, atMost, type Goal, type Result } from './goals.ts'
import { addPeople, createDatabase } from './population.ts'
import { leastOfRounds } from './rounds.ts'
import { serve } from './serve.ts'
import { largest, statementsOf } from './spent.ts'
import { postgresCpu, type Stage } from './stage.ts'
import { count, table } from './table.ts'

const perBatch = 1_000
const customers = 200
const hourMs = 3_600_000
/** The events are of the last hours. */
const hours = 6
const regions = 4

const main = join(import.meta.dirname, '../../app/main.ts')

export async function benchUsage(
  stage: Stage,
  { rounds, batches }: { rounds: number; batches: number },
): Promise<Result> {
  const { url: serverUrl, dataDir } = await stage.postgres()
  const url = await createDatabase(serverUrl, 'bench_usage')
  const database = openDatabase({ url, poolSize: 2 })
  try {
    const ids = await addSeller(database)
    const record = async (n: number): Promise<void> => {
      for (let i = 0; i < n; i++) {
        const events = newEvents(ids)
        await database.transaction(async (tx) => await recordUsage(tx, null, events, { windowDays: 35 }))
      }
    }
    const fold = async (): Promise<unknown> =>
      await runRetention(database, { tasks: usageFoldTasks(), leads: () => true })
    await record(batches)
    await fold()
    const best = { record: Infinity, server: Infinity, fold: Infinity }
    for (let round = 0; round < rounds; round++) {
      const own = process.cpuUsage()
      const postgres = await cpuOf(dataDir, () => record(batches))
      const { user, system } = process.cpuUsage(own)
      best.record = Math.min(best.record, postgres / (batches * perBatch))
      best.server = Math.min(best.server, (user + system) / 1e6 / (batches * perBatch))
      best.fold = Math.min(best.fold, (await cpuOf(dataDir, fold)) / (batches * perBatch))
    }
    const spent = await statementsOf({ url, dataDir }, async () => {
      await record(batches)
      await fold()
    })
    const text = [
      `CPU of an event of usage in µs, in batches of ${count(perBatch)} for ${customers} customers, ` +
        `${hours} hours and ${regions} regions: the least of ${rounds} rounds of ${batches} batches.`,
      '',
      table(
        ['', 'PostgreSQL', 'the server, without HTTP'],
        [
          ['recorded', (best.record * 1e6).toFixed(1), (best.server * 1e6).toFixed(1)],
          ['added up', (best.fold * 1e6).toFixed(1), ''],
        ],
      ),
    ].join('\n')
    const goal = atLeast(20_000, {
      name: 'events of usage per second of the CPU of PostgreSQL, recorded and added up',
      value: 1 / (best.record + best.fold),
      digits: 0,
      timeSpent: largest(spent),
    })
    const check = await benchCheck(stage, { url, dataDir, rounds, seconds: Math.min(0.3, rounds / 10) })
    return { text: `${text}\n\n${check.text}`, goals: [goal, ...check.goals] }
  } finally {
    await database.close()
  }
}

interface Sale {
  customer: string
  product: string
  price: string
  feature: string
}

/** Copies the rows of a sale, so that tables and statistics are those of a server with customers. */
async function addSales(url: string, sale: Sale): Promise<void> {
  const copies = (table: string, key: string, id: string, changed: string): string =>
    `INSERT INTO ${table} SELECT (jsonb_populate_record(t, jsonb_build_object(${changed}))).*
     FROM ${table} t, generate_series(1, 2000) n WHERE t.${key} = '${id}'`
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { customer, product, price, feature } = sale
    await client.query(copies('customers', 'id', customer, `'id', 'cus_' || n, 'external_id', n::text`))
    await client.query(copies('products', 'id', product, `'id', 'prd_' || n`))
    await client.query(copies('prices', 'id', price, `'id', 'prc_' || n, 'product_id', 'prd_' || n`))
    await client.query(copies('features', 'id', feature, `'id', 'feat_' || n, 'key', 'feature_' || n`))
    await client.query(
      copies(
        'product_features',
        'product_id',
        product,
        `'product_id', 'prd_' || n, 'feature_id', 'feat_' || n`,
      ),
    )
    await client.query(
      copies('subscriptions', 'customer_id', customer, `'id', 'sub_' || n, 'customer_id', 'cus_' || n`),
    )
    await client.query('ANALYZE')
  } finally {
    await client.end()
  }
}

/** A check of an entitlement against `getProject`, by the same caller over HTTP. */
async function benchCheck(
  stage: Stage,
  { url, dataDir, ...timing }: { url: string; dataDir: string; rounds: number; seconds: number },
): Promise<{ text: string; goals: Goal[] }> {
  const [seller] = await addPeople(url, ['seller'], { role: 'admin' })
  const { key } = seller
  const server = await serve(stage, 'this server', main, { DATABASE_URL: url })
  const send = async (method: string, path: string, json: object): Promise<any> => {
    const response = await fetch(`http://127.0.0.1:${server.port}/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify(json),
    })
    if (!response.ok) throw new Error(await response.text())
    return await response.json()
  }
  const project = await send('POST', '/projects', { name: 'Bench' })
  const feature = await send('POST', '/payments/features', { key: 'seats', name: 'Seats', type: 'limit' })
  const product = await send('POST', '/payments/products', { name: 'Plan' })
  const features = [{ feature_id: feature.id, limit: '5' }]
  await send('PUT', `/payments/products/${product.id}/features`, { features })
  const recurring = { interval: 'month', interval_count: 1 }
  const price = { product_id: product.id, currency: 'eur', unit_amount: 0, recurring }
  const { id: price_id } = await send('POST', '/payments/prices', price)
  const customer = await send('POST', '/payments/customers', { external_id: 'checked' })
  await send('POST', '/payments/subscriptions', { customer_id: customer.id, items: [{ price_id }] })
  await addSales(url, { customer: customer.id, product: product.id, price: price_id, feature: feature.id })
  const paths = [
    `/v1/projects/${project.id}`,
    `/v1/payments/customers/${customer.id}/entitlements/${feature.key}`,
  ]
  const [read, check] = await leastOfRounds(paths, timing.rounds, async (path, isWarmup) => {
    const seconds = isWarmup ? 2 : timing.seconds
    return await fire(server, {
      next: () => ({ method: 'GET', path, key }),
      status: 200,
      connections: 32,
      seconds,
      dataDir,
    })
  })
  await server.program.stop()
  const micros = ({ server, postgres }: Cost): string[] => [count(server * 1e6), count(postgres * 1e6)]
  const rows = [
    ['`getProject`', ...micros(read)],
    ['a check of an entitlement', ...micros(check)],
  ]
  const both = ({ server, postgres }: Cost): number => server + postgres
  return {
    text: [
      'CPU of a request in µs, on 32 connections.',
      '',
      table(['', 'the server', 'PostgreSQL'], rows),
    ].join('\n'),
    goals: [
      atMost(1.5, {
        name: 'a check of an entitlement, server and PostgreSQL together, as a multiple of `getProject`',
        value: both(check) / both(read),
        timeSpent: `server ${micros(check)[0]} µs, PostgreSQL ${micros(check)[1]} µs`,
      }),
    ],
  }
}

async function cpuOf(dataDir: string, work: () => Promise<unknown>): Promise<number> {
  const before = postgresCpu(dataDir)
  await work()
  return postgresCpu(dataDir) - before
}

/** A meter of the operator with a dimension, and customers. @returns the ids of the customers. */
async function addSeller(database: Database): Promise<string[]> {
  const meter = newId('mtr')
  await metersSql.insert(database, {
    id: meter,
    organization_id: null,
    key: 'tokens',
    name: 'Tokens',
    aggregation: 'sum',
    property: 'tokens',
    unit: 'token',
    dimensions: ['region'],
    source: null,
    active: true,
    metadata: {},
    created_by: null,
    created_at: timeOf(meter),
  })
  const ids = Array.from({ length: customers }, () => newId('cus'))
  for (const [i, id] of ids.entries())
    await customersSql.insert(database, {
      id,
      organization_id: null,
      user_id: null,
      buyer_organization_id: null,
      external_id: `crm-${i}`,
      email: null,
      name: null,
      address: null,
      tax_ids: [],
      locale: null,
      metadata: {},
      created_by: null,
      created_at: timeOf(id),
    })
  return ids
}

let next = 0

function newEvents(ids: string[]) {
  const now = Date.now()
  return Array.from({ length: perBatch }, () => ({
    id: `call-${next++}`,
    meter: 'tokens',
    customer_id: ids[randomInt(ids.length)],
    at: new Date(now - randomInt(hours * hourMs)).toISOString(),
    properties: { tokens: randomInt(10_000), region: `r${randomInt(regions)}` },
  }))
}
