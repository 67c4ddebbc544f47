// Recorded usage: events count once, all of a request or none, and voided events do not count.
import t, { type Test } from 'tap'
import { runRetention } from '../../infra/jobs/retention.ts'
import { meterRetentionTasks, usageFoldTasks } from '../../services/payments/usage/retention.ts'
import { insertedCustomer } from '../support/database/db-fixtures-payments.ts'
import { createShop } from '../support/payments/shops.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { client } = server.admin
const { database } = server.services
const { prisma, pool } = database
const hourMs = 3_600_000

let count = 0
const fresh = (): string => `u${count++}`

/** Adds up what was recorded, as the leader does every second. */
const fold = async (): Promise<unknown> => await runRetention(database, { tasks: usageFoldTasks() })

interface Tally {
  key: string
  id: string
  customer: string
  /** Records events with these properties and times, and returns the answer. */
  record(...events: Array<{ id?: string; at?: string; properties?: object }>): Promise<any>
  /** What the customer used in a time; by default until tomorrow. */
  quantity(from?: string, to?: string): Promise<string>
}

const start = new Date(Math.floor(Date.now() / hourMs - 30) * hourMs)
/** A time so many minutes after the first hour of the tests. */
const minute = (n: number): string => new Date(start.getTime() + n * 60_000).toISOString()
const tomorrow = new Date(Date.now() + 24 * hourMs).toISOString()

async function createTally(fields: object = {}): Promise<Tally> {
  const key = fresh()
  const meter = { key, name: 'Tokens', aggregation: 'sum', property: 'n', ...fields }
  const created = await client.post('/payments/meters', meter)
  if (created.status !== 201) throw new Error(created.text)
  const { id } = created.body
  const customer = await insertedCustomer(server)
  return {
    key,
    id,
    customer,
    async record(...events) {
      const all = events.map((event) => ({ id: fresh(), meter: key, customer_id: customer, ...event }))
      return await client.post('/payments/usage', { events: all })
    },
    async quantity(from = minute(0), to = tomorrow) {
      const { rows } = await pool.query('SELECT meter_quantity($1, $2, $3, $4)::text AS quantity', [
        id,
        customer,
        from,
        to,
      ])
      return rows[0].quantity
    },
  }
}

const used = (n: number | string): { properties: { n: number | string } } => ({ properties: { n } })

t.test('a sum is exact, before and after it is added up', async (t: Test) => {
  const tally = await createTally()
  t.equal(await tally.quantity(), '0')
  const reply = await tally.record(
    used('0.1'),
    used('0.2'),
    used(3),
    used('12345678901234567890.000000000001'),
  )
  t.match(reply, { status: 200, body: { accepted: 4, duplicates: 0 } })
  const sum = '12345678901234567893.300000000001'
  t.equal(await tally.quantity(), sum)
  await fold()
  t.equal(await tally.quantity(), sum)
  await tally.record(used(1e-7))
  t.equal(await tally.quantity(), '12345678901234567893.300000100001')
})

const kinds: Array<[string, object, Array<number | string>, string]> = [
  ['count', { aggregation: 'count', property: null }, [5, 5, 7], '3'],
  ['max', { aggregation: 'max' }, [5, 7.5, 6], '7.5'],
  ['last', { aggregation: 'last' }, [5, 7, 6], '6'],
  ['unique', { aggregation: 'unique' }, ['ada', 'bob', 'ada', 'x'.repeat(200)], '3'],
]
for (const [kind, fields, values, expected] of kinds) {
  t.test(`the quantity of a meter with the aggregation ${kind}`, async (t: Test) => {
    const tally = await createTally(fields)
    const events = values.map((n, i) => ({ ...used(n), at: minute(i * 45 + 1) }))
    for (const event of events) t.match(await tally.record(event), { status: 200 })
    t.equal(await tally.quantity(), expected)
    await fold()
    t.equal(await tally.quantity(), expected)
    t.equal(await tally.quantity(minute(0), minute(0)), '0')
  })
}

t.test('a period may begin and end inside an hour', async (t: Test) => {
  for (const aggregation of ['sum', 'max', 'last', 'unique']) {
    const tally = await createTally({ aggregation })
    const expected = { sum: '14', max: '8', last: '8', unique: '3' }[aggregation]
    const values = [1, 2, 4, 8, 16]
    await tally.record(...values.map((n, i) => ({ ...used(n), at: minute(10 + i * 37) })))
    for (const step of [async () => {}, fold]) {
      await step()
      t.equal(await tally.quantity(minute(47), minute(158)), expected, aggregation)
      t.equal(await tally.quantity(minute(47), minute(48)), aggregation === 'unique' ? '1' : '2')
      t.equal(await tally.quantity(minute(48), minute(50)), '0')
    }
  }
})

t.test('a repeated id is a duplicate, whatever it contains', async (t: Test) => {
  const tally = await createTally()
  const other = await createTally()
  const id = fresh()
  t.match((await tally.record({ id, ...used(1) }, { id, ...used(2) })).body, { accepted: 1, duplicates: 1 })
  t.match((await tally.record({ id, ...used(4) }, used(8))).body, { accepted: 1, duplicates: 1 })
  t.match((await other.record({ id, ...used(16) })).body, { accepted: 0, duplicates: 1 })
  t.equal(await tally.quantity(), '9')
  t.equal(await other.quantity(), '0')
  const shop = await createShop(server)
  const meter = { key: 'pages', name: 'Pages', aggregation: 'count', organization_id: shop.id }
  await shop.client.post('/payments/meters', meter)
  const { id: customer_id } = (await shop.client.post('/payments/customers', { organization_id: shop.id }))
    .body
  const theirs = { organization_id: shop.id, events: [{ id, meter: 'pages', customer_id }] }
  t.match(
    (await shop.client.post('/payments/usage', theirs)).body,
    { accepted: 1 },
    'of another seller it is new',
  )
})

t.test('a request is stored completely or not at all, and the error names the event', async (t: Test) => {
  const tally = await createTally({ dimensions: ['region'] })
  const archived = await createTally()
  await client.put(`/payments/meters/${archived.id}`, { active: false })
  const fed = fresh()
  await client.post('/payments/meters', { key: fed, name: 'Fed', aggregation: 'sum', source: 'answers' })
  const shop = await createShop(server)
  const theirs = (await shop.client.post('/payments/customers', { organization_id: shop.id })).body.id
  const days = (n: number): string => new Date(Date.now() + n * 24 * hourMs).toISOString()
  const cases: Array<[object, number, string]> = [
    [{ meter: 'unknown' }, 404, 'meter'],
    [{ meter: archived.key }, 400, 'meter'],
    [{ meter: fed }, 400, 'meter'],
    [{ customer_id: theirs }, 404, 'customer_id'],
    [{ customer_id: undefined }, 400, 'customer_id'],
    [{ customer_external_id: 'crm-1' }, 400, 'customer_id'],
    [{ customer_id: undefined, customer_external_id: fresh() }, 404, 'customer_external_id'],
    [{ at: days(-36) }, 400, 'at'],
    [{ at: days(1) }, 400, 'at'],
    [{ properties: {} }, 400, 'properties.n'],
    [{ properties: { n: -1 } }, 400, 'properties.n'],
    [{ properties: { n: 'many' } }, 400, 'properties.n'],
    [{ properties: { n: 1e21 } }, 400, 'properties.n'],
    [{ properties: { n: 1e-13 } }, 400, 'properties.n'],
    [{ properties: { n: 1, region: 'x'.repeat(101) } }, 400, 'properties.region'],
    [{ properties: { __proto: 1 } }, 400, 'properties.n'],
    [{ meter: 'constructor' }, 404, 'meter'],
  ]
  for (const [change, status, field] of cases) {
    const good = { id: fresh(), meter: tally.key, customer_id: tally.customer, ...used(1) }
    const events = [good, { ...good, id: fresh() }, { ...good, id: fresh(), ...change }]
    const reply = await client.post('/payments/usage', { events })
    t.match(reply, { status, body: { error: { details: { field: `events[2].${field}` } } } }, reply.text)
  }
  t.equal(await tally.quantity(), '0')
  t.equal(await prisma.usageEvent.count({ where: { customerId: tally.customer } }), 0)
})

t.test('a customer is named by an id of the seller’s own', async (t: Test) => {
  const tally = await createTally()
  const external = fresh()
  const customer = await insertedCustomer(server, { external_id: external })
  const event = { id: fresh(), meter: tally.key, customer_external_id: external, ...used(3) }
  t.match(await client.post('/payments/usage', { events: [event] }), { body: { accepted: 1 } })
  const { data } = (await client.get(`/payments/meters/${tally.id}/usage?group_by=customer_id`)).body
  t.match(data, [{ customer_id: customer, quantity: '3', start: null }])
})

t.test('a thousand events with twenty properties fit into a request', async (t: Test) => {
  const tally = await createTally()
  const others = Object.fromEntries(Array.from({ length: 19 }, (_, i) => [`p${i}`, i]))
  const events = Array.from({ length: 1000 }, () => ({ properties: { n: 1, ...others } }))
  t.match(await tally.record(...events), { status: 200, body: { accepted: 1000 } })
  t.equal(await tally.quantity(), '1000')
  t.match(await tally.record(...events, used(1)), { status: 400 })
})

t.test('an hour has at most a hundred combinations of dimensions', async (t: Test) => {
  const tally = await createTally({ dimensions: ['region', 'model'] })
  const at = minute(5)
  const events = Array.from({ length: 1000 }, (_, i) => ({
    properties: { n: 1, region: `r${i % 40}`, model: i },
    at,
  }))
  t.match(await tally.record(...events), { body: { accepted: 1000 } })
  await fold()
  const first = await prisma.usageHour.findFirstOrThrow({
    where: { meterId: tally.id, dimensions: { not: '' } },
  })
  const [region, model] = JSON.parse(first.dimensions)
  await tally.record({ properties: { n: 1, region, model }, at })
  await tally.record({ properties: { n: 1, region: 'late', model: 'late' }, at })
  await fold()
  const hours = await prisma.usageHour.findMany({ where: { meterId: tally.id } })
  t.equal(hours.length, 101)
  t.equal(hours.find(({ dimensions }) => dimensions === '')!.quantity.toString(), '901')
  t.equal(await tally.quantity(), '1002')
  t.equal(hours.find(({ dimensions }) => dimensions === first.dimensions)!.quantity.toString(), '2')
  const groups = await client.get(`/payments/meters/${tally.id}/usage?group_by=model`)
  t.equal(groups.body.pagination.total, 101)
  const voided = await prisma.usageEvent.findFirstOrThrow({
    where: { meterId: tally.id, dimensions: '["r39","999"]' },
  })
  t.match(await client.post(`/payments/usage/${voided.id}/void`, undefined), { status: 200 })
  await fold()
  t.equal(await tally.quantity(), '1001')
  t.equal(await prisma.usageHour.count({ where: { meterId: tally.id } }), 101)
})

t.test('a report has groups, pages and whole hours', async (t: Test) => {
  const tally = await createTally({ dimensions: ['region', 'model'] })
  const eu = { region: 'eu', model: 'large' }
  await tally.record(
    { properties: { n: 1, ...eu }, at: minute(1) },
    { properties: { n: 2, ...eu }, at: minute(61) },
    { properties: { n: 4, region: 'us' }, at: minute(62) },
  )
  const from = minute(0)
  const list = async (query: string): Promise<any> =>
    await client.get(`/payments/meters/${tally.id}/usage?from=${from}&${query}`)
  for (const step of [async () => {}, fold]) {
    await step()
    t.match((await list('group_by=hour')).body.data, [
      { start: minute(60), quantity: '6', dimensions: {}, customer_id: null },
      { start: minute(0), quantity: '1' },
    ])
    const byRegion = (await list('group_by=region&group_by=customer_id')).body.data
    t.same(
      byRegion
        .map(({ dimensions, quantity, customer_id }: any) => [dimensions, quantity, customer_id])
        .toSorted(),
      [
        [{ region: 'eu' }, '3', tally.customer],
        [{ region: 'us' }, '4', tally.customer],
      ],
    )
    t.match((await list('group_by=model')).body.pagination, { total: 2 })
    t.match((await list(`group_by=hour&to=${minute(60)}`)).body.data, [{ quantity: '1' }])
    t.match((await list(`customer_id=${await insertedCustomer(server)}`)).body.data, [])
  }
  const refusals = [
    [`to=${minute(61)}`, 'to'],
    [`to=${from}`, 'to'],
    ['group_by=size', 'group_by'],
    ['group_by=hour&group_by=day', 'group_by'],
    ['to=2090-01-01T00:00:00Z', 'from'],
  ]
  for (const [query, field] of refusals)
    t.match(await list(query), { status: 400, body: { error: { details: { field } } } }, query)
})

t.test('a voided event counts no more', async (t: Test) => {
  const expected = { sum: '9', count: '2', max: '8', last: '1', unique: '2' }
  for (const [aggregation, rest] of Object.entries(expected)) {
    for (const isFolded of [true, false]) {
      const property = aggregation === 'count' ? null : 'n'
      const tally = await createTally({ aggregation, property, dimensions: ['region'] })
      const id = fresh()
      await tally.record(
        { ...used(8), at: minute(1) },
        { ...used(1), at: minute(2) },
        { id, ...used(16), at: minute(3) },
      )
      if (isFolded) await fold()
      const path = `/payments/usage/${id}/void`
      const voided = await client.post(path, undefined)
      t.match(voided, { status: 200, body: { id, voided_at: /Z$/, meter_id: tally.id } }, voided.text)
      t.equal(await tally.quantity(), rest, aggregation)
      await fold()
      t.same((await client.post(path, undefined)).body, voided.body, 'once')
      await fold()
      t.equal(await tally.quantity(), rest, aggregation)
      t.equal(await tally.quantity(minute(1), minute(50)), rest, aggregation)
      t.match((await tally.record({ id, ...used(16) })).body, { duplicates: 1 })
    }
  }
})

t.test('an Idempotency-Key of a void is refused for the event of another seller', async (t: Test) => {
  const [tally, shop] = [await createTally(), await createShop(server)]
  const id = fresh()
  await tally.record({ id, ...used(1) })
  const path = `/payments/usage/${id}/void`
  const once = { headers: { 'idempotency-key': fresh() } }
  const voided = await client.post(path, undefined, once)
  t.match(voided, { status: 200 })
  t.same((await client.post(path, undefined, once)).body, voided.body)
  t.match(await client.post(`${path}?organization_id=${shop.id}`, undefined, once), {
    status: 422,
    body: { error: { code: 'IDEMPOTENCY_MISMATCH' } },
  })
})

t.test('a value that another event has stays after a void', async (t: Test) => {
  const tally = await createTally({ aggregation: 'unique' })
  const [first, second] = [fresh(), fresh()]
  await tally.record(
    { id: first, ...used('ada'), at: minute(1) },
    { id: second, ...used('ada'), at: minute(2) },
  )
  await client.post(`/payments/usage/${first}/void`, undefined)
  t.equal(await tally.quantity(), '1')
  await client.post(`/payments/usage/${second}/void`, undefined)
  t.equal(await tally.quantity(), '0')
})

t.test('only the seller records and voids usage', async (t: Test) => {
  const tally = await createTally()
  const id = fresh()
  await tally.record({ id, ...used(1) })
  const shop = await createShop(server)
  const stranger = await server.person()
  const event = { id: fresh(), meter: tally.key, customer_id: tally.customer, ...used(1) }
  for (const person of [stranger, shop]) {
    t.match(await person.client.post('/payments/usage', { events: [event] }), { status: 403 })
    t.match(await person.client.post(`/payments/usage/${id}/void`, undefined), { status: 403 })
    t.match(await person.client.get(`/payments/meters/${tally.id}/usage`), { status: 404 })
  }
  const of = { organization_id: shop.id, events: [event] }
  t.match(await stranger.client.post('/payments/usage', of), { status: 404 })
  t.match(await shop.client.post('/payments/usage', of), { status: 404 }, 'meters of others do not exist')
  const other = `/payments/usage/${id}/void?organization_id=${shop.id}`
  t.match(await shop.client.post(other, undefined), { status: 404 })
  t.match(await stranger.client.post(other, undefined), { status: 404 })
  t.equal(await tally.quantity(), '1')
})

t.test('the time of an event is in the window of the time of its customer', async (t: Test) => {
  const tally = await createTally()
  const ahead = { customer_id: tally.customer, by_seconds: 40 * 86_400 }
  t.match(await client.post('/payments/test-clock/advance', ahead), { status: 200 })
  t.match(await tally.record({ ...used(1), at: new Date().toISOString() }), { status: 400 })
  t.match(await tally.record(used(2)), { status: 200 })
  const later = new Date(Date.now() + 41 * 24 * hourMs).toISOString()
  t.equal(await tally.quantity(tomorrow, later), '2')
})

t.test('the platform feeds meters with what the user of a customer uses', async (t: Test) => {
  const sources = {
    requests: 'requests',
    downloaded_bytes: 'downloaded_bytes',
    answers: 'answers',
    prompt_tokens: 'prompt_tokens',
    completion_tokens: 'completion_tokens',
    tokens: 'prompt_tokens + completion_tokens',
    cost_micros: 'cost_micros',
  }
  const person = await server.person()
  const { id: organizationId } = (await person.client.post('/organizations', { name: 'Buyer' })).body
  const { id: project } = (await person.client.post('/projects', { name: 'Own' })).body
  const shared = (await person.client.post('/projects', { name: 'Shared', organization_id: organizationId }))
    .body
  await server.services.requestRecorder.flush()
  const user = await insertedCustomer(server, { user_id: person.id })
  const buyer = await insertedCustomer(server, { buyer_organization_id: organizationId })
  const meters = new Map<string, string>()
  for (const source of Object.keys(sources)) {
    const fields = {
      key: fresh(),
      name: 'Fed',
      aggregation: 'sum',
      source,
      dimensions: ['project_id', 'model'],
    }
    const { body } = await client.post('/payments/meters', fields)
    t.equal(body.source, source)
    meters.set(source, body.id)
  }
  const { rows: before } = await pool.query('SELECT * FROM usage_counts WHERE user_id = $1', [person.id])
  const chat = async (project_id?: string): Promise<void> => {
    t.match(await person.client.post('/ai/chat', { message: 'How are you?', project_id }), { status: 200 })
  }
  await chat()
  await chat(project)
  await chat(shared.id)
  await person.client.get('/user')
  await (await server.person()).client.post('/ai/chat', { message: 'Not a customer' })
  await server.services.requestRecorder.flush()
  const tomorrow = new Date(Date.now() + 24 * hourMs)
  for (const step of [async () => {}, fold]) {
    await step()
    for (const [source, columns] of Object.entries(sources)) {
      for (const [customer, isShared] of [
        [user, false],
        [buyer, true],
      ] as const) {
        const sum = (rows: any[]): number =>
          rows
            .filter((row) => (row.project_id === shared.id) === isShared)
            .reduce((n, row) => columns.split(' + ').reduce((m, name) => m + Number(row[name]), n), 0)
        const { rows: after } = await pool.query('SELECT * FROM usage_counts WHERE user_id = $1', [person.id])
        const { rows } = await pool.query('SELECT meter_quantity($1, $2, $3, $4)::int AS n', [
          meters.get(source),
          customer,
          // In the middle of the hour: the whole hour counts where it begins.
          minute(30),
          tomorrow,
        ])
        t.equal(rows[0].n, sum(after) - sum(before), `${source} ${customer}`)
        if (source === 'answers') t.equal(rows[0].n, isShared ? 1 : 2)
      }
    }
  }
  const report = `/payments/meters/${meters.get('answers')}/usage?group_by=project_id&customer_id=${user}`
  t.same(
    (await client.get(report)).body.data.map((row: any) => row.dimensions.project_id).toSorted(),
    [null, project].toSorted(),
  )
  await client.put(`/payments/meters/${meters.get('answers')}`, { active: false })
  await chat()
  const { pagination } = (await client.get(report)).body
  t.equal(pagination.total, 2, 'an archived meter is not fed')
})

t.test('the usage of a deleted customer is deleted', async (t: Test) => {
  const tallies = [await createTally(), await createTally({ aggregation: 'unique' })]
  for (const { record } of tallies) await record(used(1))
  await fold()
  for (const { record, customer } of tallies) {
    await record(used(2))
    t.match(await client.delete(`/payments/customers/${customer}`), { status: 204 })
    t.match(await record(used(3)), { status: 404 })
  }
  const ids = tallies.map(({ customer }) => customer)
  const tasks = meterRetentionTasks({ eventDays: 90 })
  await runRetention(database, { tasks })
  t.equal(await prisma.usageEvent.count({ where: { customerId: { in: ids } } }), 4, 'requests may be running')
  await pool.query("UPDATE customers SET deleted_at = now() - interval '1 hour' WHERE id = ANY($1)", [ids])
  await runRetention(database, { tasks })
  for (const id of ids)
    for (const table of ['usage_events', 'usage_deltas', 'usage_hours', 'usage_values', 'forgotten_usage']) {
      const { rows } = await pool.query(`SELECT count(*)::int FROM ${table} WHERE customer_id = $1`, [id])
      t.equal(rows[0].count, 0, table)
    }
})

t.test('old events are deleted, and the usage of their hours stays', async (t: Test) => {
  const tally = await createTally()
  const id = fresh()
  await tally.record({ id, ...used(1), at: minute(1) }, used(2))
  await fold()
  await pool.query("UPDATE usage_events SET at = at - interval '100 days' WHERE id = $1", [id])
  t.match(await client.post(`/payments/usage/${id}/void`, undefined), { status: 404 })
  await runRetention(database, { tasks: meterRetentionTasks({ eventDays: 90 }) })
  t.equal(await prisma.usageEvent.count({ where: { meterId: tally.id } }), 1)
  t.equal(await tally.quantity(), '3')
  await pool.query("UPDATE usage_hours SET hour = hour - interval '26 months' WHERE meter_id = $1", [
    tally.id,
  ])
  await runRetention(database, { tasks: meterRetentionTasks({ eventDays: 90 }) })
  t.equal(await prisma.usageHour.count({ where: { meterId: tally.id } }), 0)
})
