// The scopes `payments:sell` and `users:admin`: what a key with one of them may do, what it may not, and
// who can have one.
import t from 'tap'
import { newId } from '../../infra/ids.ts'
import type { Scope } from '../../services/users/scopes.ts'
import { catalogFor, insertedOrder } from '../support/database/db-fixtures-payments.ts'
import { createApiKey } from '../support/database/db-fixtures.ts'
import { cards, payWithCard } from '../support/operations/catalog-fixtures.ts'
import { createClient, type Client } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const { admin } = server
const refusal = (constraint: string) => ({
  status: 403,
  body: { error: { code: 'FORBIDDEN', details: { constraint } } },
})

async function withKey({ id }: Pick<Person, 'id'>, scopes: Scope[], projectIds: string[] | null = null) {
  return createClient(server.url, (await createApiKey(server, id, { scopes, projectIds })).secret)
}

const fields = () => ({ email: `${Math.random()}@example.com`, name: 'Someone' })
const seller: Scope[] = ['payments:read', 'payments:write', 'payments:sell', 'keys:write']
const manager: Scope[] = ['users:admin', 'keys:write', 'user:read']

/** A sale of another user, paid in the sandbox. */
async function paidOrder(): Promise<{ orderId: string; buyer: Person }> {
  const buyer = await server.person()
  const { price } = await catalogFor(server)
  const { body: order } = await buyer.client.post('/payments/orders', {
    items: [{ price_id: price, quantity: 1 }],
  })
  const { body: checkout } = await buyer.client.post('/payments/checkout', {
    order_id: order.id,
    success_url: 'https://example.com/ok',
    cancel_url: 'https://example.com/no',
  })
  await payWithCard(server, checkout.id, cards.succeeds)
  return { orderId: order.id, buyer }
}

/** What a seller does. */
async function assertSells(client: Client): Promise<void> {
  const { orderId, buyer } = await paidOrder()
  t.equal((await client.post('/payments/products', { name: 'Book' })).status, 201)
  t.equal((await client.get(`/payments/orders/${orderId}`)).status, 200)
  t.match((await client.get(`/payments/orders?user_id=${buyer.id}`)).body.data, [{ id: orderId }])
  t.match((await client.get('/payments/orders?limit=1')).body.data, [{}])
  t.equal((await client.post(`/payments/orders/${orderId}/refunds`, { amount: 100 })).status, 201)
  t.equal((await client.get('/payments/test-clock')).status, 200)
  const { data } = (await client.get('/events?type=order.refunded&order=desc&limit=1')).body
  t.equal(data[0].data.object.id, orderId, 'it reads the events of all sales')
}

t.test('payments:sell sells, refunds and sees all sales, and does not touch users', async (t) => {
  const client = await withKey(admin, seller)
  await assertSells(client)
  const target = await server.person()
  for (const refused of [
    await client.get('/users'),
    await client.post('/users', fields()),
    await client.get(`/users/${target.id}`),
    await client.put(`/users/${target.id}`, { status: 'disabled' }),
    await client.delete(`/users/${target.id}`),
  ])
    t.match(refused, refusal('scope'))
  t.match(
    await (await withKey(admin, ['payments:read'])).get(`/payments/orders?user_id=${target.id}`),
    refusal('owner'),
  )
})

t.test('users:admin manages users, and sells nothing', async (t) => {
  const client = await withKey(admin, manager)
  const { status, body } = await client.post('/users', fields())
  t.equal(status, 201)
  t.equal((await client.get('/users?limit=1')).status, 200)
  t.match((await client.put(`/users/${body.id}`, { status: 'disabled' })).body, { status: 'disabled' })
  t.equal((await client.delete(`/users/${body.id}`)).status, 204)
  const reader = await withKey(admin, [...manager, 'payments:read'])
  const orderId = await insertedOrder(server, (await server.person()).id)
  t.match(await client.post('/payments/products', { name: 'Book' }), refusal('scope'))
  t.match(await client.get('/payments/test-clock'), refusal('scope'))
  t.match(await client.post(`/payments/orders/${orderId}/refunds`), refusal('scope'))
  t.match(await reader.get(`/payments/orders/${orderId}`), refusal('owner'))
  t.same((await reader.get('/payments/orders')).body.data, [])
})

t.test('users:admin neither makes nor changes an admin', async (t) => {
  const client = await withKey(admin, manager)
  const other = await server.person({ role: 'admin' })
  const user = await server.person()
  for (const refused of [
    await client.post('/users', { ...fields(), role: 'admin' }),
    await client.put(`/users/${user.id}`, { role: 'admin' }),
    await client.put(`/users/${other.id}`, { name: 'Renamed' }),
    await client.put(`/users/${other.id}`, { email: fields().email }),
    await client.put(`/users/${other.id}`, { role: 'user' }),
    await client.put(`/users/${other.id}`, { status: 'disabled' }),
    await client.delete(`/users/${other.id}`),
    await client.put(`/users/${admin.id}`, { bio: 'own' }),
  ])
    t.match(refused, refusal('scope'))
  t.match((await admin.client.get(`/users/${other.id}`)).body, { role: 'admin', status: 'active' })
})

t.test('neither makes a key with more rights', async (t) => {
  for (const [own, others] of [
    [seller, ['admin', 'users:admin', 'storage:read']],
    [manager, ['admin', 'payments:sell', 'storage:read']],
  ] as const) {
    const client = await withKey(admin, [...own])
    const { body: key } = await client.post('/user/api-keys', { name: 'same', scopes: own })
    t.equal(key.scopes?.length, own.length)
    for (const scope of others) {
      t.match(await client.post('/user/api-keys', { name: 'more', scopes: [scope] }), refusal('scope'))
      t.match(await client.put(`/user/api-keys/${key.id}`, { scopes: [...own, scope] }), refusal('scope'))
    }
    const { body: keys } = await admin.client.get('/user/api-keys?limit=100')
    const strong = keys.data.find(({ scopes }: any) => scopes.includes('admin'))
    t.match(await client.post(`/user/api-keys/${strong.id}/rotate`), refusal('scope'))
  }
})

t.test('admin includes both, and a key can be narrowed to one of them', async (t) => {
  const root = await withKey(admin, ['admin', 'keys:write', 'payments:read', 'payments:write', 'user:read'])
  await assertSells(root)
  t.equal((await root.get('/users')).status, 200)
  const { body: current } = await root.get('/key')
  t.ok(['payments:sell', 'users:admin'].every((scope) => current.scopes.includes(scope)))
  const { body: key } = await root.post('/user/api-keys', { name: 'k', scopes: ['admin', 'user:read'] })
  t.same(key.scopes, ['admin', 'user:read'], 'the key has the scopes of the request')
  const narrowed = await root.put(`/user/api-keys/${key.id}`, { scopes: ['users:admin'] })
  t.match(narrowed, { status: 200, body: { scopes: ['users:admin'] } })
  const client = createClient(server.url, key.key)
  t.equal((await client.get('/users')).status, 200)
  t.match(await client.post('/payments/products', { name: 'Book' }), refusal('scope'))
})

t.test('a key that is limited to projects does neither', async (t) => {
  const { body: project } = await admin.client.post('/projects', { name: 'p' })
  const client = await withKey(admin, [...seller, 'users:admin'], [project.id])
  t.match(await client.post('/payments/products', { name: 'Book' }), refusal('project_ids'))
  t.match(await client.get('/payments/orders'), refusal('project_ids'))
  t.match(await client.get('/users'), refusal('project_ids'))
})

t.test('a user who is no admin has neither, and loses them with the role', async (t) => {
  const user = await server.person()
  const pretender = await withKey(user, [...seller, 'users:admin'])
  t.match(await pretender.get('/users'), refusal('scope'))
  t.match(await pretender.post('/payments/products', { name: 'Book' }), refusal('scope'))
  const allowed = await user.client.post('/user/api-keys', { name: 'k', scopes: seller })
  t.equal(allowed.status, 201, 'everyone may have the scope')
  const own = createClient(server.url, allowed.body.key)
  const { orderId } = await paidOrder()
  t.match(await own.post('/payments/products', { name: 'Book' }), refusal('scope'))
  t.match(await own.get('/payments/test-clock'), refusal('scope'))
  t.match(await own.get(`/payments/orders/${orderId}`), refusal('owner'))
  t.same((await own.get('/payments/orders')).body.data, [])
  t.same((await own.get('/events?type=order.paid')).body.data, [])
  t.match(
    await own.post('/payments/orders', { customer_id: newId('cus'), items: [{ price_id: newId('prc') }] }),
    refusal('owner'),
  )
  const demoted = await server.person({ role: 'admin' })
  const client = await withKey(demoted, ['users:admin'])
  t.equal((await client.get('/users')).status, 200)
  t.equal((await admin.client.put(`/users/${demoted.id}`, { role: 'user' })).status, 200)
  t.match(await client.get('/users'), refusal('scope'))
})

t.test('a service account sells while the admin who made its key is one', async (t) => {
  const owner = await server.person({ role: 'admin' })
  const { body: organization } = await owner.client.post('/organizations', { name: 'Shop' })
  const account = { name: 'Shop', organization_id: organization.id, role: 'member' }
  const { body: robot } = await owner.client.post('/service-accounts', account)
  const path = `/service-accounts/${robot.id}/api-keys`
  t.match(await owner.client.post(path, { name: 'k', scopes: ['admin'] }), refusal('scope'))
  const made = await owner.client.post(path, { name: 'k', scopes: seller })
  t.equal(made.status, 201)
  const client = createClient(server.url, made.body.key)
  await assertSells(client)
  const { body: own } = await client.post('/user/api-keys', { name: 'own', scopes: ['payments:sell'] })
  const child = createClient(server.url, own.key)
  t.equal((await child.post('/payments/products', { name: 'Book' })).status, 201)

  const colleague = await server.person()
  const invited = await owner.client.post(`/organizations/${organization.id}/members`, {
    user_id: colleague.id,
    role: 'admin',
  })
  t.equal(invited.status, 201)
  const others = await colleague.client.post(path, { name: 'k', scopes: seller })
  t.equal(others.status, 201)
  const refused = createClient(server.url, others.body.key)
  t.match(await refused.post('/payments/products', { name: 'Book' }), refusal('scope'))

  t.equal((await admin.client.put(`/users/${owner.id}`, { role: 'user' })).status, 200)
  for (const each of [client, child])
    t.match(
      await each.post('/payments/products', { name: 'Book' }),
      refusal('scope'),
      'from the next request on',
    )
  t.match(await client.get('/payments/orders'), refusal('service_account'))
})
