// The sales of all users, as operators list, read and change them; and what everyone else sees.
import t from 'tap'
import { runRetention } from '../../infra/jobs/retention.ts'
import { salesCountTasks } from '../../services/payments/retention.ts'
import {
  catalogFor,
  insertedCheckout,
  insertedCustomer,
  insertedOrder,
  insertedRefund,
  insertedSubscription,
} from '../support/database/db-fixtures-payments.ts'
import { createApiKey, createMember } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { createShop } from '../support/payments/shops.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { admin } = server
const { database } = server.services
const lists = ['orders', 'checkout', 'subscriptions', 'refunds'] as const
type List = (typeof lists)[number]

/** One sale of each kind. */
async function sell(person: Person, projectId: string | null = null): Promise<Record<List, string>> {
  const orders = await insertedOrder(server, person.id, { projectId, status: 'paid' })
  return {
    orders,
    checkout: await insertedCheckout(server, await insertedOrder(server, person.id, { projectId })),
    subscriptions: await insertedSubscription(server, person.id, { projectId }),
    refunds: await insertedRefund(server, orders),
  }
}

const idsOf = async ({ client }: Pick<Person, 'client'>, list: List, query = ''): Promise<string[]> => {
  const { status, body, text } = await client.get(`/payments/${list}?limit=100${query}`)
  if (status !== 200) throw new Error(text)
  return body.data.map(({ id }: { id: string }) => id)
}
const withKey = async (person: Person, scopes: any[], projectIds: string[] | null = null) => ({
  client: createClient(server.url, (await createApiKey(server, person.id, { scopes, projectIds })).secret),
})

const [ada, bob] = [await server.person(), await server.person()]
const { body: shop } = await ada.client.post('/projects', { name: 'Shop' })
const { body: other } = await bob.client.post('/projects', { name: 'Another shop' })
const adas = await sell(ada)
const bobs = await sell(bob)
const inShop = await sell(ada, shop.id)
const inOther = await sell(bob, other.id)

t.test('an operator lists the sales of all users, of a user and of a project', async (t) => {
  for (const list of lists) {
    const all = await idsOf(admin, list)
    for (const sale of [adas, bobs, inShop, inOther]) t.ok(all.includes(sale[list]), list)
    const ofBob = await idsOf(admin, list, `&user_id=${bob.id}`)
    t.ok(ofBob.includes(bobs[list]) && ofBob.includes(inOther[list]), `${list} of a user`)
    t.notOk(ofBob.includes(adas[list]) || ofBob.includes(inShop[list]), `${list} of no other user`)
    const ofShop = await idsOf(admin, list, `&project_id=${shop.id}`)
    t.ok(ofShop.includes(inShop[list]), `${list} of a project`)
    t.notOk(ofShop.includes(adas[list]) || ofShop.includes(inOther[list]), `${list} of no other project`)
    t.same(await idsOf(admin, list, `&project_id=${shop.id}&user_id=${bob.id}`), [])
    t.match(await admin.client.get(`/payments/${list}?user_id=${bob.id}`), {
      body: { data: [{ user_id: bob.id }] },
    })
  }
  t.match(await admin.client.get('/payments/orders?project_id=prj_01jd6y8m5qe8btc4y5w1r0n3fz'), {
    status: 404,
  })
})

t.test('everyone else lists only their own sales and those of their projects', async (t) => {
  const viewer = await server.person()
  await createMember(server, shop.id, viewer.id, 'viewer')
  for (const list of lists) {
    const own = await idsOf(ada, list)
    t.ok(own.includes(adas[list]), list)
    for (const sale of [bobs, inShop, inOther]) t.notOk(own.includes(sale[list]), list)
    t.same(await idsOf(ada, list, `&user_id=${ada.id}`), own, 'your own id is allowed')
    t.ok((await idsOf(viewer, list, `&project_id=${shop.id}`)).includes(inShop[list]))
    t.same(await idsOf(viewer, list, `&project_id=${shop.id}&user_id=${viewer.id}`), [])
    t.match(
      await ada.client.get(`/payments/${list}?user_id=${bob.id}`),
      { status: 403, body: { error: { details: { constraint: 'owner', field: 'user_id' } } } },
      `${list} of another user`,
    )
    t.equal(
      (await viewer.client.get(`/payments/${list}?project_id=${shop.id}&user_id=${ada.id}`)).status,
      403,
    )
    t.match(await bob.client.get(`/payments/${list}?project_id=${shop.id}`), {
      status: 403,
      body: { error: { details: { constraint: 'role' } } },
    })
  }
})

t.test('only an admin with the scope admin is an operator', async (t) => {
  const reader = await withKey(await server.person({ role: 'admin' }), ['payments:read'])
  t.same(await idsOf(reader, 'orders'), [], 'a key without the scope')
  t.equal((await reader.client.get(`/payments/orders/${bobs.orders}`)).status, 403)
  const user = await withKey(ada, ['payments:read', 'admin'])
  t.notOk((await idsOf(user, 'orders')).includes(bobs.orders), 'a user who is no admin')
  t.equal((await user.client.get(`/payments/orders/${bobs.orders}`)).status, 403)
  const writer = await withKey(admin, ['payments:write', 'admin'])
  t.equal((await writer.client.get('/payments/orders')).status, 403, 'a key that may not read payments')
})

t.test('an operator reads every sale, and what they made', async (t) => {
  const order = await insertedOrder(server, bob.id, { status: 'paid' })
  const { status, body, headers } = await admin.client.post(`/payments/orders/${order}/refunds`, {
    amount: 5,
  })
  t.equal(status, 201)
  t.same((await admin.client.get(headers.get('location')!.replace(/^.*\/v1/, ''))).body, body)
  t.ok((await idsOf(admin, 'refunds', `&order_id=${order}`)).includes(body.id))
  for (const { orders, checkout, subscriptions, refunds } of [bobs, inOther]) {
    for (const path of [
      `orders/${orders}`,
      `orders/${orders}/refunds`,
      `orders/${orders}/refunds/${refunds}`,
      `orders/${orders}/receipt`,
      `checkout/${checkout}`,
      `subscriptions/${subscriptions}`,
    ]) {
      t.equal((await admin.client.get(`/payments/${path}`)).status, 200, path)
      t.equal((await ada.client.get(`/payments/${path}`)).status, 403, `${path}, another user`)
    }
  }
})

t.test('an operator cancels sales in projects of every status', async (t) => {
  const { body: project } = await bob.client.post('/projects', { name: 'Closed' })
  const [own, archived, deleted] = [
    await sellable(bob),
    await sellable(bob, project.id),
    await sellable(bob, project.id),
  ]
  const stranger = ada
  for (const path of own) t.equal((await stranger.client.post(path)).status, 403, path)
  for (const path of own) t.equal((await admin.client.post(path)).status, 200, path)
  await bob.client.post(`/projects/${project.id}/archive`)
  for (const path of archived) t.equal((await bob.client.post(path)).status, 409, `${path}, the customer`)
  for (const path of archived) t.equal((await admin.client.post(path)).status, 200, path)
  await bob.client.delete(`/projects/${project.id}`)
  for (const path of deleted) t.equal((await bob.client.post(path)).status, 404, `${path}, the customer`)
  for (const path of deleted) t.equal((await admin.client.post(path)).status, 200, path)
})

/** The paths that end an order, a session and a subscription. */
async function sellable(person: Person, projectId: string | null = null): Promise<string[]> {
  const session = await insertedCheckout(server, await insertedOrder(server, person.id, { projectId }))
  return [
    `/payments/orders/${await insertedOrder(server, person.id, { projectId })}/cancel`,
    `/payments/checkout/${session}/expire`,
    `/payments/subscriptions/${await insertedSubscription(server, person.id, { projectId })}/cancel`,
  ]
}

t.test('a key that is limited to projects stays limited, with the scope admin too', async (t) => {
  const scopes = ['payments:read', 'payments:write', 'admin']
  const limited = await withKey(admin, scopes, [shop.id])
  for (const list of lists) {
    const denied = { status: 403, body: { error: { details: { constraint: 'project_ids' } } } }
    t.match(await limited.client.get(`/payments/${list}`), denied, list)
    t.match(await limited.client.get(`/payments/${list}?user_id=${ada.id}`), denied, list)
    t.match(await limited.client.get(`/payments/${list}?project_id=${other.id}`), denied, list)
    t.ok((await idsOf(limited, list, `&project_id=${shop.id}`)).includes(inShop[list]), list)
  }
  t.equal((await limited.client.get(`/payments/orders/${inShop.orders}`)).status, 200)
  for (const id of [adas.orders, inOther.orders])
    t.equal((await limited.client.get(`/payments/orders/${id}`)).status, 403)
  t.equal((await limited.client.post(`/payments/subscriptions/${bobs.subscriptions}/cancel`)).status, 403)
})

t.test('an operator changes sales only with a key that is not limited to projects', async (t) => {
  const { body: project } = await bob.client.post('/projects', { name: 'Limited' })
  const scopes = ['payments:read', 'payments:write', 'admin']
  const limited = await withKey(admin, scopes, [project.id])
  const paid = await insertedOrder(server, bob.id, { projectId: project.id, status: 'paid' })
  const refund = { amount: 1 }
  t.match(await limited.client.post(`/payments/orders/${paid}/refunds`, refund), {
    status: 403,
    body: { error: { details: { constraint: 'project_ids' } } },
  })
  const sales = await sellable(bob, project.id)
  for (const path of sales)
    t.match(await limited.client.post(path), {
      status: 403,
      body: { error: { details: { constraint: 'role' } } },
    })
  await createMember(server, project.id, admin.id, 'editor')
  for (const path of sales) t.equal((await limited.client.post(path)).status, 200, `${path}, as an editor`)
  t.equal((await limited.client.post(`/payments/orders/${paid}/refunds`, refund)).status, 403)
  t.equal((await admin.client.post(`/payments/orders/${paid}/refunds`, refund)).status, 201)
})

t.test('sales stay visible to operators when their user and project are deleted', async (t) => {
  const [leaving, owner] = [await server.person(), await server.person()]
  const { body: project } = await owner.client.post('/projects', { name: 'For a while' })
  await createMember(server, project.id, leaving.id, 'editor')
  const sales = [await sell(leaving), await sell(leaving, project.id)]
  t.equal((await admin.client.delete(`/users/${leaving.id}`)).status, 204)
  t.equal((await owner.client.delete(`/projects/${project.id}`)).status, 204)
  for (const list of lists) {
    const found = await idsOf(admin, list, `&user_id=${leaving.id}`)
    for (const sale of sales) t.ok(found.includes(sale[list]), list)
    t.ok((await idsOf(admin, list, `&project_id=${project.id}`)).includes(sales[1][list]), list)
  }
})

t.test('the totals of all sales are exact, before and after the counts are merged', async (t) => {
  const tables = {
    orders: 'orders',
    checkout: 'checkouts',
    subscriptions: 'subscriptions',
    refunds: 'refunds',
  }
  const shop = await createShop(server)
  const sellers = [
    { client: admin.client, seller: null, filter: '' },
    { client: shop.client, seller: shop.id, filter: `&seller_organization_id=${shop.id}` },
  ]
  const check = async (when: string): Promise<void> => {
    for (const list of lists)
      for (const { client, seller, filter } of sellers) {
        const { rows } = await database.pool.query<{ status: string; n: number }>(
          `SELECT status::text, count(*)::int AS n FROM ${tables[list]}
           WHERE seller_organization_id IS NOT DISTINCT FROM $1 GROUP BY status`,
          [seller],
        )
        const totalOf = async (query: string): Promise<number> =>
          (await client.get(`/payments/${list}?limit=1${filter}${query}`)).body.pagination.total
        t.equal(
          await totalOf(''),
          rows.reduce((sum, { n }) => sum + n, 0),
          `${list} ${when}`,
        )
        for (const { status, n } of rows) t.equal(await totalOf(`&status=${status}`), n, `${status} ${when}`)
      }
  }
  const { price } = await catalogFor(server)
  const order = async () => {
    const { body } = await bob.client.post('/payments/orders', { items: [{ price_id: price }] })
    await bob.client.post(`/payments/orders/${body.id}/cancel`)
    const customer = await insertedCustomer(server, { organization_id: shop.id })
    await insertedOrder(server, customer, { status: 'paid' })
  }
  await check('before')
  await Promise.all([...Array(40)].map(order))
  await check('after concurrent orders')
  const [merged] = await Promise.all([runRetention(database, { tasks: salesCountTasks() }), order(), order()])
  t.ok(merged['sales counts'] > 100)
  await check('after the merge')
  await database.transaction(async (tx) => {
    await tx.prisma.order.updateMany({ where: { id: adas.orders }, data: { checkoutId: null } })
  })
  await check('after an update without another status')
})
