// Payments and disputes as the API returns them: in the sandbox, by the test cards and the test clock, and
// with Stripe, in any order and number of webhooks.
import t from 'tap'
import { startServer, type Person } from '../support/server/server.ts'
import {
  advance,
  createCatalog,
  createCheckout,
  payWithCard,
} from '../support/operations/catalog-fixtures.ts'
import { ledgerViolations } from '../support/payments/ledger-invariants.ts'
import { startStripeFixture } from '../support/payments/stripe-fixtures.ts'

const list = async ({ client }: Person, path: string): Promise<any[]> =>
  (await client.get(`/payments/${path}`)).body.data
const eventsOf = async ({ client }: Person, id: string): Promise<any[]> =>
  (await client.get('/events?limit=100&order=asc')).body.data
    .filter(({ data }: any) => data.object.id === id)
    .map(({ type, data }: any) => [type, data.object.status, data.previous_attributes?.status])

t.test('in the sandbox', async (t) => {
  const server = await startServer(t)
  const { database } = server.services
  const { price, monthly } = await createCatalog(server)
  t.afterEach(async () => {
    t.same(await ledgerViolations(database), [], 'the ledger balances')
  })
  const pay = async (person: Person, number: string, body: object = { items: [{ price_id: price }] }) => {
    const checkout = await createCheckout(person, body)
    await payWithCard(server, checkout.id, number)
    return checkout
  }
  const pass = async (days: number): Promise<void> => {
    t.match(await advance(server, { by_seconds: days * 86_400 }), { status: 200 })
  }

  t.test('each attempt to pay an order is a payment with its reason in plain words', async (t) => {
    const ada = await server.person()
    const checkout = await pay(ada, '4000000000009995')
    const order = `payments?order_id=${checkout.order_id}`
    t.match(await list(ada, order), [
      {
        order_id: checkout.order_id,
        checkout_id: checkout.id,
        subscription_id: null,
        project_id: null,
        user_id: ada.id,
        status: 'failed',
        amount: 1999,
        currency: 'eur',
        card: { brand: 'Visa', last4: '9995' },
        failure_code: 'insufficient_funds',
        failure_message: 'The card has insufficient funds.',
      },
    ])
    await payWithCard(server, checkout.id, '4000002500003155')
    await payWithCard(server, checkout.id, '5555555555554444')
    const payments = await list(ada, `${order}&order=asc`)
    t.match(
      payments.map(({ status, failure_message: message }) => [status, message]),
      [
        ['failed', 'The card has insufficient funds.'],
        ['failed', 'The customer began another payment.'],
        ['succeeded', null],
      ],
    )
    t.same(payments[2].card, { brand: 'Mastercard', last4: '4444' }, 'the card without its behavior')
    t.same((await ada.client.get(`/payments/payments/${payments[2].id}`)).body, payments[2])
    const bob = await server.person()
    t.match(await bob.client.get(`/payments/payments/${payments[2].id}`), { status: 403 })
  })

  t.test('the payments of a subscription', async (t) => {
    const ada = await server.person()
    const { id } = await pay(ada, '4000000000000341', {
      mode: 'subscription',
      items: [{ price_id: monthly }],
    })
    const { subscription_id: subscription } = (await ada.client.get(`/payments/checkout/${id}`)).body
    await pass(32)
    t.match(await list(ada, `payments?subscription_id=${subscription}&order=asc`), [
      { status: 'succeeded', checkout_id: id, subscription_id: subscription },
      { status: 'failed', checkout_id: null, failure_code: 'card_declined' },
    ])
  })

  t.test('a card disputes its payment, which is lost without evidence and cannot be refunded', async (t) => {
    const ada = await server.person()
    const { order_id: order } = await pay(ada, '4000000000000259')
    const [payment] = await list(ada, `payments?order_id=${order}`)
    const [dispute] = await list(ada, 'disputes')
    t.match(dispute, {
      order_id: order,
      payment_id: payment.id,
      user_id: ada.id,
      amount: 1999,
      currency: 'eur',
      reason: 'fraudulent',
      status: 'needs_response',
    })
    t.match(await server.admin.client.post(`/payments/orders/${order}/refunds`, {}), {
      status: 409,
      body: { error: { code: 'INVALID_STATE', details: { state: 'disputed' } } },
    })
    await pass(8)
    t.match((await ada.client.get(`/payments/disputes/${dispute.id}`)).body, { status: 'lost' })
    t.match(await server.admin.client.post(`/payments/orders/${order}/refunds`, {}), { status: 409 })
    t.same(await eventsOf(ada, dispute.id), [
      ['dispute.created', 'needs_response', undefined],
      ['dispute.closed', 'lost', 'needs_response'],
    ])
    const bob = await server.person()
    t.match(await bob.client.get(`/payments/disputes/${dispute.id}`), { status: 403 })
    t.same(await list(bob, 'disputes'), [])
    t.same(await list(server.admin, `disputes?order_id=${order}&status=lost`), await list(ada, 'disputes'))
  })

  t.test('other cards: a dispute that is won, and an inquiry that is closed', async (t) => {
    const ada = await server.person()
    const { order_id: won } = await pay(ada, '4000000000002685')
    const { order_id: inquired } = await pay(ada, '4000000000001976')
    t.match(await server.admin.client.post(`/payments/orders/${inquired}/refunds`, {}), { status: 201 })
    await pass(8)
    t.match(await list(ada, 'disputes'), [{ status: 'warning_closed' }, { status: 'under_review' }])
    await pass(8)
    const [, dispute] = await list(ada, 'disputes')
    t.same(await eventsOf(ada, dispute.id), [
      ['dispute.created', 'needs_response', undefined],
      ['dispute.updated', 'under_review', 'needs_response'],
      ['dispute.closed', 'won', 'under_review'],
    ])
    t.match(await server.admin.client.post(`/payments/orders/${won}/refunds`, {}), { status: 201 })
  })

  t.test('payments and disputes of a purged project move to their owner', async (t) => {
    const ada = await server.person()
    const project = (await ada.client.post('/projects', { name: 'Launch' })).body.id
    await pay(ada, '4000000000000259', { project_id: project, items: [{ price_id: price }] })
    t.equal((await list(ada, `payments?project_id=${project}`)).length, 1)
    t.same(await list(ada, 'payments'), [])
    await database.prisma.project.delete({ where: { id: project } })
    t.match(await list(ada, 'payments'), [{ project_id: null, user_id: ada.id }])
    t.match(await list(ada, 'disputes'), [{ project_id: null, user_id: ada.id }])
  })
})

t.test('with Stripe', async (t) => {
  const shop = await startStripeFixture(t)
  const { server, stripe } = shop

  t.test('webhooks in any order and number copy the dispute from Stripe', async (t) => {
    const ada = await server.person()
    const { checkout, session } = await shop.openCheckout(ada)
    stripe.customer.pay(session)
    const dispute = stripe.bank.dispute(session)
    const created = stripe.events.filter(({ type }) => type.startsWith('charge.dispute')).reverse()
    // The webhook of the payment comes last.
    for (const event of [...created, ...created])
      t.equal((await stripe.deliver(server.url, event)).status, 200)
    await shop.deliverFrom(0)
    t.match(await shop.order(ada, checkout.order_id), { status: 'paid' })
    const [found] = await list(ada, 'disputes')
    t.match(found, {
      order_id: checkout.order_id,
      amount: 1999,
      currency: 'eur',
      reason: 'fraudulent',
      status: 'needs_response',
      evidence_due_at: new Date(dispute.evidence_details.due_by! * 1000).toISOString(),
    })
    t.match(await server.admin.client.post(`/payments/orders/${checkout.order_id}/refunds`, {}), {
      status: 409,
    })
    const before = stripe.events.length
    stripe.bank.setDispute(dispute, 'under_review')
    stripe.bank.setDispute(dispute, 'won')
    for (const event of stripe.events.slice(before).reverse()) await stripe.deliver(server.url, event)
    await shop.deliverFrom(before)
    const events = await eventsOf(ada, found.id)
    t.same(events, [
      ['dispute.created', 'needs_response', undefined],
      ['dispute.closed', 'won', 'needs_response'],
    ])
  })

  t.test('a state that was fetched before another is not applied after it', async (t) => {
    const ada = await server.person()
    const { session } = await shop.openCheckout(ada)
    const before = stripe.events.length
    stripe.customer.pay(session)
    const dispute = stripe.bank.dispute(session)
    await shop.deliverFrom(before)
    const [found] = await list(ada, 'disputes')
    const changed = stripe.events.length
    stripe.bank.setDispute(dispute, 'under_review')
    const held = stripe.holdResponse(new RegExp(`GET /v1/disputes/${dispute.id}`))
    const late = stripe.deliver(server.url, stripe.events[changed])
    await held.received
    stripe.bank.setDispute(dispute, 'lost')
    await shop.deliverFrom(changed + 1)
    held.release()
    t.equal((await late).status, 200)
    t.match((await ada.client.get(`/payments/disputes/${found.id}`)).body, { status: 'lost' })
    t.same(await eventsOf(ada, found.id), [
      ['dispute.created', 'needs_response', undefined],
      ['dispute.closed', 'lost', 'needs_response'],
    ])
  })

  t.test('a payment of a subscription is found by its invoice, recorded or not', async (t) => {
    const ada = await server.person()
    const before = stripe.events.length
    const { checkout, subscription } = await shop.subscribe(ada)
    const first = stripe.invoices.get(subscription.latest_invoice as string)!
    stripe.bank.dispute(first, 'warning_needs_response')
    const [event] = stripe.events.slice(-1)
    t.equal((await stripe.deliver(server.url, event)).status, 200)
    await shop.deliverFrom(before)
    t.match(await list(ada, 'disputes'), [
      { order_id: checkout.order_id, amount: 1000, status: 'warning_needs_response' },
    ])
    const renewed = stripe.events.length
    const invoice = stripe.billing.renew(subscription, true)
    await shop.deliverFrom(renewed)
    stripe.bank.dispute(invoice)
    await shop.deliverFrom(renewed)
    const [dispute] = await list(ada, 'disputes')
    const [payment] = await list(ada, `payments?order_id=${dispute.order_id}`)
    t.not(dispute.order_id, checkout.order_id)
    t.match(dispute, { payment_id: payment.id, status: 'needs_response' })
    t.match(payment, { subscription_id: checkout.subscription_id, card: null })
  })

  t.test('disputes of other software, and unknown ones, have no effect', async (t) => {
    const ada = await server.person()
    const { session } = await shop.openCheckout(ada)
    stripe.customer.pay(session)
    const dispute = stripe.bank.dispute(session)
    dispute.payment_intent = 'pi_of_other_software'
    const events = stripe.events.filter(({ type }) => type === 'charge.dispute.created')
    t.equal((await stripe.deliver(server.url, events.at(-1)!)).status, 200)
    stripe.disputes.delete(dispute.id)
    t.equal((await stripe.deliver(server.url, stripe.duplicateEvent(events.at(-1)!))).status, 200)
    t.same(await list(ada, 'disputes'), [])
  })
})
