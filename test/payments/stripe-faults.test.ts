// Stripe out of reach, slow, or of another opinion, and everything at once: nothing is paid, refunded or told of twice, and nothing is lost.
import t from 'tap'
import { connectStripe } from '../../services/payments/stripe/client.ts'
import { startServer, type Person } from '../support/server.ts'
import { openStripeShop } from '../support/stripe-fixtures.ts'
import { waitUntil } from '../support/wait.ts'

const shop = await openStripeShop(t)
const { server, stripe } = shop
const { database, events, gateways } = server.services
const gateway = gateways.stripe!
const count = async (person: Person, type: string): Promise<number> =>
  (await shop.types(person)).filter((one) => one === type).length
const rows = async (query: string, ...values: unknown[]): Promise<any[]> =>
  (await database.pool.query(query, values)).rows
const refund = async (order: string, amount?: number): Promise<any> => {
  const reply = await server.admin.client.post(
    `/payments/orders/${order}/refunds`,
    amount === undefined ? {} : { amount },
  )
  if (reply.status !== 201) throw new Error(reply.text)
  return reply.body
}
const refundNow = async (person: Person, { id, order_id: order }: any): Promise<any> =>
  (await person.client.get(`/payments/orders/${order}/refunds/${id}`)).body
const madeAt = (id: string) =>
  [...stripe.refunds.values()].filter(({ metadata }) => metadata?.refund_id === id)

/** Somebody with an order that is paid. */
async function buyer(): Promise<{ bob: Person; order: string; intent: string }> {
  const bob = await server.person()
  const { checkout, session } = await shop.begin(bob)
  stripe.customer.pay(session)
  await shop.visit(checkout, '/return')
  return { bob, order: checkout.order_id, intent: session.payment_intent as string }
}

t.test('200 completions at once pay once', async (t) => {
  const bob = await server.person()
  const { checkout, session } = await shop.begin(bob)
  stripe.customer.pay(session)
  const told = stripe.events.findLast(({ type }) => type === 'checkout.session.completed')!
  const all = await Promise.all(
    Array.from({ length: 100 }, (_, i) => [
      shop.visit(checkout, '/return').then(({ status }) => status),
      stripe.deliver(server.url, i % 2 === 0 ? told : stripe.twin(told)).then(({ status }) => status),
    ]).flat(),
  )
  t.same(
    all.filter((status) => status !== 303 && status !== 200),
    [],
  )
  t.equal((await shop.order(bob, checkout.order_id)).status, 'paid')
  t.same(await shop.types(bob), ['order.created', 'checkout.created', 'order.paid', 'checkout.completed'])
  t.match(await rows('SELECT status, amount FROM payments WHERE order_id = $1', checkout.order_id), [
    { status: 'succeeded', amount: '1999' },
  ])
  await shop.settled()
  t.equal(stripe.refunds.size, 0)
})

t.test('many who come to pay at once find one page', async (t) => {
  const checkout = await shop.checkout(await server.person())
  const visits = await Promise.all(Array.from({ length: 20 }, () => shop.visit(checkout)))
  t.equal(new Set(visits.map(({ location }) => location)).size, 1)
  t.equal(visits[0].location, stripe.sessionFor(checkout.id).url)
})

t.test('a page that Stripe does not make is there when it does', async (t) => {
  const bob = await server.person()
  const checkout = await shop.checkout(bob)
  stripe.fail('reset')
  const refused = await shop.visit(checkout)
  t.match(refused, { status: 503 })
  t.match(
    await shop.visit(checkout, '/return'),
    { status: 303 },
    'nothing has begun yet that Stripe could be asked about',
  )
  stripe.heal()
  stripe.fail('reset after', { on: /^POST \/v1\/checkout\/sessions$/, times: 3 })
  t.match(await shop.visit(checkout), { status: 503 }, 'its answer may be what is lost')
  stripe.heal()
  t.match(
    await shop.visit(checkout),
    { status: 303, location: stripe.sessionFor(checkout.id).url },
    'and it is the same page then',
  )
  t.equal(stripe.asked.at(-1)!.replayed, true)
  t.match((await bob.client.get(`/payments/checkout/${checkout.id}`)).body, { status: 'open' })
})

t.test('who comes back while Stripe is out of reach, and Stripe itself, come again', async (t) => {
  const bob = await server.person()
  const { checkout, session } = await shop.begin(bob)
  stripe.customer.pay(session)
  const event = stripe.events.at(-1)!
  for (const fault of ['reset', { status: 500 }, { status: 429, retryAfter: 1 }] as const) {
    stripe.fail(fault)
    const back = await shop.visit(checkout, '/return')
    t.equal(back.status, 503)
    const heard = await stripe.deliver(server.url, event)
    t.equal(heard.status, 503)
    t.ok(Number(heard.headers.get('retry-after')) > 0)
    stripe.heal()
  }
  t.equal((await shop.order(bob, checkout.order_id)).status, 'pending')
  t.equal((await stripe.deliver(server.url, event)).status, 200)
  t.equal((await shop.order(bob, checkout.order_id)).status, 'paid')
})

t.test('a refund waits until Stripe is there', async (t) => {
  const { bob, order } = await buyer()
  stripe.fail('reset', { on: /refunds/ })
  const wanted = await refund(order, 700)
  t.equal(wanted.status, 'pending')
  await waitUntil(
    async () =>
      (
        await rows(
          "SELECT data FROM pgboss.job WHERE name = 'gateway' AND data->>'id' = $1 AND (data->>'tries')::int = 1",
          wanted.id,
        )
      ).length === 1,
    'the first try to fail',
  )
  t.match(await shop.order(bob, order), { status: 'paid', refunded_amount: 0 })
  t.match(
    await server.admin.client.post(`/payments/orders/${order}/refunds`, { amount: 1300 }),
    { status: 400 },
    'what is on its way is not there any more',
  )
  stripe.heal()
  stripe.fail({ status: 429, retryAfter: 500 }, { on: /refunds/, times: 3 })
  await shop.bringForward()
  const later =
    "SELECT start_after > now() + interval '400 seconds' AS later FROM pgboss.job WHERE name = 'gateway' AND data->>'id' = $1 AND (data->>'tries')::int = 2"
  await waitUntil(
    async () => (await rows(later, wanted.id))[0]?.later === true,
    'the second try, which Stripe asks to put off',
  )
  stripe.heal()
  await shop.bringForward()
  await waitUntil(async () => (await refundNow(bob, wanted)).status === 'succeeded')
  t.match(madeAt(wanted.id), [{ amount: 700 }])
  t.equal(await count(bob, 'refund.updated'), 1)
})

t.test(
  'a refund whose answer was lost is not made again, even when Stripe has forgotten its key',
  async (t) => {
    const { bob, order } = await buyer()
    stripe.fail('reset after', { on: /^POST \/v1\/refunds$/ })
    const wanted = await refund(order, 700)
    await waitUntil(
      async () =>
        (
          await rows(
            "SELECT 1 FROM pgboss.job WHERE name = 'gateway' AND data->>'id' = $1 AND (data->>'tries')::int = 1",
            wanted.id,
          )
        ).length === 1,
    )
    t.equal(madeAt(wanted.id).length, 1)
    stripe.forget()
    stripe.heal()
    await shop.bringForward()
    await waitUntil(async () => (await refundNow(bob, wanted)).status === 'succeeded')
    t.equal(madeAt(wanted.id).length, 1)
    t.match(await shop.order(bob, order), { status: 'partially_refunded', refunded_amount: 700 })
  },
)

t.test('a job that is done by two, or again after its server died, has one effect', async (t) => {
  const { bob, order, intent } = await buyer()
  await server.stopWork()
  const wanted = await refund(order, 500)
  const job = { task: 'refund', id: wanted.id, tries: 0 } as const
  const perform = (repeated: boolean) =>
    gateway.perform(database, { events, gateways }, job, { repeated, attempt: String(Math.random()) })
  // Stripe has done it, and the server has died before it could note that.
  stripe.fail('reset after', { on: /^POST \/v1\/refunds$/ })
  await t.rejects(perform(false), { message: /^Stripe failed/, passing: true })
  stripe.heal()
  await Promise.all([perform(true), perform(true), perform(false)])
  await perform(true)
  t.equal(madeAt(wanted.id).length, 1)
  t.equal([...stripe.refunds.values()].filter(({ payment_intent: of }) => of === intent).length, 1)
  await server.work()
  await shop.settled()
  t.equal(madeAt(wanted.id).length, 1)
  t.match(await shop.order(bob, order), { refunded_amount: 500 })
  t.equal(await count(bob, 'order.refunded'), 1)
})

t.test('a refund that fails at Stripe has failed here, and its amount is there again', async (t) => {
  const { bob, order, intent } = await buyer()
  stripe.refundsBecome = 'pending'
  const late = await refund(order, 1999)
  await waitUntil(() => madeAt(late.id).length === 1)
  await shop.settled()
  t.match(await server.admin.client.post(`/payments/orders/${order}/refunds`, { amount: 1 }), { status: 409 })
  const before = stripe.events.length
  stripe.calendar.concludeRefund(madeAt(late.id)[0], 'failed')
  await shop.deliverFrom(before)
  t.equal((await refundNow(bob, late)).status, 'failed')
  t.match(await shop.order(bob, order), { status: 'paid', refunded_amount: 0 })

  // Somebody gives it back on Stripe's own pages: then there is nothing left there.
  stripe.refundsBecome = 'succeeded'
  const elsewhere = await fetch(`${stripe.url}/v1/refunds`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stripe.secretKey}`, 'stripe-version': '2026-10-28.endive' },
    body: `payment_intent=${intent}`,
  })
  t.equal(elsewhere.status, 200)
  const refused = await refund(order, 100)
  await waitUntil(async () => (await refundNow(bob, refused)).status === 'failed')
  t.match(await shop.order(bob, order), { status: 'paid', refunded_amount: 0 })
  t.equal(await count(bob, 'refund.updated'), 2)
  t.equal(await count(bob, 'order.refunded'), 0)
})

t.test('what Stripe calls done and takes back later stays done here', async (t) => {
  const { bob, order } = await buyer()
  const wanted = await refund(order, 100)
  await waitUntil(async () => (await refundNow(bob, wanted)).status === 'succeeded')
  const before = stripe.events.length
  stripe.calendar.concludeRefund(madeAt(wanted.id)[0], 'failed')
  await shop.deliverFrom(before)
  t.equal((await refundNow(bob, wanted)).status, 'succeeded')
  t.match(await shop.order(bob, order), { refunded_amount: 100 })
})

t.test(
  'an expired session that could not be ended at Stripe, and is paid there, is given back',
  async (t) => {
    const bob = await server.person()
    const { checkout, session } = await shop.begin(bob)
    stripe.fail('reset', { on: /expire$/ })
    await bob.client.post(`/payments/checkout/${checkout.id}/expire`)
    await waitUntil(
      () => stripe.asked.some(({ path }) => path.endsWith(`${session.id}/expire`)),
      'the try to end it',
    )
    stripe.customer.pay(session)
    stripe.heal()
    await waitUntil(async () => {
      await shop.bringForward()
      return (
        (await rows('SELECT status FROM payments WHERE order_id = $1', checkout.order_id))[0]?.status ===
        'returned'
      )
    }, 'the money to be given back')
    t.equal((await shop.order(bob, checkout.order_id)).status, 'canceled')
    t.equal(
      [...stripe.refunds.values()].filter(({ payment_intent: of }) => of === session.payment_intent).length,
      1,
    )
    t.equal(await count(bob, 'order.paid'), 0)
  },
)

t.test('after three days of failures a job is given up', async (t) => {
  const { bob, order } = await buyer()
  stripe.fail({ status: 500 }, { on: /refunds/ })
  const wanted = await refund(order, 700)
  await waitUntil(
    async () =>
      (
        await rows(
          "UPDATE pgboss.job SET data = jsonb_set(data, '{tries}', '10'), start_after = now() WHERE name = 'gateway' AND data->>'id' = $1 AND data->>'tries' = '1' AND state < 'active' RETURNING 1",
          wanted.id,
        )
      ).length === 1,
  )
  await waitUntil(async () => (await refundNow(bob, wanted)).status === 'failed')
  stripe.heal()
  t.ok(
    server.errors.some(
      ({ message }) => message === `the task refund of ${wanted.id} failed 11 times and is abandoned`,
    ),
  )
  t.same(await rows("SELECT 1 FROM pgboss.job WHERE name = 'gateway' AND data->>'id' = $1", wanted.id), [])
  t.equal((await refund(order)).amount, 1999)
})

t.test('Stripe is not waited for without end', async (t) => {
  const connection = connectStripe({
    secretKey: stripe.secretKey,
    webhookSecret: 'whsec_x',
    apiBase: stripe.url,
    timeout: 300,
    retries: 1,
  })
  t.teardown(() => connection.close())
  stripe.fail('hang')
  await t.rejects(
    connection.ask((api) => api.refunds.create({ payment_intent: 'pi_x' }, { idempotencyKey: 'refund:x' })),
    { message: /StripeConnectionError/, passing: true },
  )
  stripe.heal()
  t.equal(
    stripe.asked.filter(({ key }) => key === 'refund:x').length,
    2,
    'and a second try is the same request',
  )
})

t.test('a key that Stripe refuses is not told to anybody', async (t) => {
  const other = await startServer(t, {
    env: { ...stripe.env, STRIPE_SECRET_KEY: 'sk_test_mistyped0123456789' },
    databaseUrl: server.databaseUrl,
  })
  const checkout = await shop.checkout(await server.person())
  const response = await fetch(`${other.url}/pay/${checkout.id}`, { redirect: 'manual' })
  t.equal(response.status, 503)
  const said = `${await response.text()} ${other.logs.join(' ')}`
  t.match(said, /StripeAuthenticationError/)
  t.notOk(said.includes('mistyped'))
})
