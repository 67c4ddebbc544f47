// Orders, checkout sessions, refunds and subscriptions over the sandbox, from the first call to the last state.
import t from 'tap'
import { startServer } from '../support/server.ts'
import { addPrice, advance, openShop, pages, payBy } from '../support/shop.ts'

const server = await startServer(t)
const shop = await openShop(server)
const ada = await server.person()
const types = async (person = ada) => (await person.client.get('/events?limit=100')).body.data.map((event: any) => event.type).filter((type: string) => !/^(product|price)\./.test(type))

t.test('an order is made, paid by a session, and given back in two parts', async (t) => {
  const order = (await ada.client.post('/payments/orders', { items: [{ price_id: shop.price, quantity: 3 }] })).body
  t.match(order, { status: 'pending', subtotal_amount: 5997, total_amount: 5997, refunded_amount: 0, currency: 'eur', paid_at: null, number: /^\d{6}-\w{5}-\w{5}$/ })
  t.same(order.items, [{ price_id: shop.price, description: 'Team plan', quantity: 3, unit_amount: 1999, amount: 5997 }])
  const checkout = await ada.client.post('/payments/checkout', { order_id: order.id, ...pages })
  t.equal(checkout.status, 201, checkout.text)
  t.match(checkout.body, { status: 'open', payment_status: 'unpaid', mode: 'payment', amount_total: 5997, order_id: order.id, subscription_id: null })
  t.equal((await ada.client.post('/payments/checkout', { order_id: order.id, ...pages })).body.error.details.constraint, 'open_checkout')
  const { payByCard } = await import('../../services/payments/till.ts')
  await payByCard(server.services.database, server.services, checkout.body.id, '4000000000000002')
  t.equal((await ada.client.get(`/payments/orders/${order.id}`)).body.status, 'pending')
  await payByCard(server.services.database, server.services, checkout.body.id, '4242 4242 4242 4242')
  const paid = (await ada.client.get(`/payments/orders/${order.id}`)).body
  t.match(paid, { status: 'paid', checkout_id: checkout.body.id })
  t.match((await ada.client.get(`/payments/checkout/${checkout.body.id}`)).body, { status: 'complete', payment_status: 'paid' })
  const refund = await server.admin.client.post(`/payments/orders/${order.id}/refunds`, { amount: 1000, reason: 'One was broken' })
  t.equal(refund.status, 201, refund.text)
  t.match((await ada.client.get(`/payments/orders/${order.id}`)).body, { status: 'partially_refunded', refunded_amount: 1000 })
  t.equal((await server.admin.client.post(`/payments/orders/${order.id}/refunds`, { amount: 5000 })).status, 400)
  t.equal((await server.admin.client.post(`/payments/orders/${order.id}/refunds`, {})).body.amount, 4997)
  t.match((await ada.client.get(`/payments/orders/${order.id}`)).body, { status: 'refunded', refunded_amount: 5997 })
  t.equal((await server.admin.client.post(`/payments/orders/${order.id}/refunds`, {})).status, 409)
  t.same(await types(), ['order.created', 'checkout.created', 'order.paid', 'checkout.completed', 'refund.created', 'order.refunded', 'refund.created', 'order.refunded'])
})

t.test('a subscription is renewed for a year', async (t) => {
  const bob = await server.person()
  const checkout = (await bob.client.post('/payments/checkout', { mode: 'subscription', items: [{ price_id: shop.monthly }], ...pages }))
  t.equal(checkout.status, 201, checkout.text)
  const { payByCard } = await import('../../services/payments/till.ts')
  await payByCard(server.services.database, server.services, checkout.body.id, '4242424242424242')
  const id = checkout.body.subscription_id
  const first = (await bob.client.get(`/payments/subscriptions/${id}`)).body
  t.match(first, { status: 'active' })
  const advanced = await advance(server, { seconds: 366 * 86_400 })
  t.equal(advanced.status, 200, advanced.text)
  const orders = (await bob.client.get(`/payments/orders?subscription_id=${id}&limit=100&order=asc`)).body
  t.equal(orders.pagination.total, 13)
  t.ok(orders.data.every((order: any) => order.status === 'paid'))
  t.comment(orders.data.map((order: any) => order.paid_at))
  t.comment((await types(bob)).join(' '))
  await addPrice(server.admin.client, shop.product, { unit_amount: 5, currency: 'jpy' })
})
