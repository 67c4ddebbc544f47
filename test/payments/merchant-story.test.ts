// The story of a merchant, by the public API and the pages in a browser: an organization sells a plan to a
// stranger. With the sandbox and with Stripe, the merchant's webhook receives the same events.
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { clickPay, fillCard } from '../support/browser/payment-page.ts'
import { startWithSandbox, startWithStripe, type GatewayFixture } from '../support/payments/both-gateways.ts'
import { createShop } from '../support/payments/shops.ts'
import { makeEndpoint } from '../support/server/working-server.ts'
import { waitUntil } from '../support/server/wait.ts'

const pages = { success_url: 'https://shop.example/thanks', cancel_url: 'https://shop.example/cart' }
const monthly = { interval: 'month', interval_count: 1 }

/** @returns the types of the events, in the order in which they happened. */
async function story(t: Test, gateway: GatewayFixture, page: Page): Promise<string[]> {
  const { server, settle, advance } = gateway
  const shop = await createShop(server)
  const { receiver } = await makeEndpoint(t, shop.owner)
  const call = async (method: 'GET' | 'POST', path: string, body?: object): Promise<any> => {
    const reply = await shop.client.call(method, path, { body })
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.text}`)
    return reply.body
  }
  const priceOf = async (product: string, amount: number, recurring: object = monthly): Promise<string> => {
    const price = { product_id: product, unit_amount: amount, currency: 'eur', recurring }
    return (await call('POST', '/payments/prices', price)).id
  }

  /** A customer who has the link pays it. */
  const pay = async (checkout: { id: string; url: string }): Promise<void> => {
    if (gateway.name === 'stripe') return await gateway.pay(checkout, 'good')
    await page.goto(checkout.url)
    await fillCard(page, '4242 4242 4242 4242')
    await clickPay(page)
    await page.getByText('Payment successful').waitFor()
  }

  const { id: wiki } = await call('POST', '/payments/products', { name: 'Wiki', organization_id: shop.id })
  const [basic, pro] = [await priceOf(wiki, 1_000), await priceOf(wiki, 3_000)]
  const { id: customer } = await call('POST', '/payments/customers', {
    organization_id: shop.id,
    email: 'ada@example.com',
    name: 'Ada',
  })
  const link = await call('POST', '/payments/checkout', {
    customer_id: customer,
    mode: 'subscription',
    items: [{ price_id: basic }],
    ...pages,
  })
  await pay(link)
  const paid = await waitUntil(
    () => receiver.received.find(({ event }) => event.type === 'order.paid'),
    'order.paid at the webhook',
  )
  t.match(paid, {
    verified: true,
    event: { data: { object: { id: link.order_id, seller_organization_id: shop.id, user_id: null } } },
  })

  const path = `/payments/subscriptions/${link.subscription_id}`
  const read = async (): Promise<any> => await call('GET', path)
  const openPortal = async (): Promise<void> => {
    await settle()
    const { url } = await call('POST', `/payments/customers/${customer}/portal-sessions`, {})
    await page.goto(url)
  }
  const choose = async (plan: string, quantity: string): Promise<void> => {
    await page.getByRole('link', { name: 'Change the plan' }).first().click()
    await page.getByLabel(plan).check()
    await page.getByLabel('Quantity').fill(quantity)
    await page.getByRole('button', { name: 'Show the price' }).click()
  }
  let { current_period_start: start, current_period_end: end } = await read()
  await advance(new Date((Date.parse(start) + Date.parse(end)) / 2))
  await openPortal()
  await choose('€30.00 every month', '1')
  await page.getByText(/^To pay now: €10\.\d\d/).waitFor()
  await page.getByRole('button', { name: 'Change now' }).click()
  await openPortal()
  t.match(await read(), { price_id: pro, quantity: 1, scheduled_change: null })
  await choose('€30.00 every month', '3')
  await page.getByRole('button', { name: 'Change now' }).click()
  await openPortal()
  t.match(await read(), { price_id: pro, quantity: 3, scheduled_change: null })
  await choose('€10.00 every month', '1')
  await page.getByRole('button', { name: 'Change at the end of the period' }).click()
  await page.getByRole('button', { name: 'Take the change back' }).waitFor()
  t.match(await read(), { price_id: pro, scheduled_change: { items: [{ price_id: basic }] } })
  await page.getByRole('button', { name: 'Take the change back' }).click()
  await page.getByRole('button', { name: 'Take the change back' }).waitFor({ state: 'detached' })

  const { id: support } = await call('POST', '/payments/products', {
    name: 'Support',
    organization_id: shop.id,
  })
  const trial = await call('POST', '/payments/subscriptions', {
    customer_id: customer,
    items: [{ price_id: await priceOf(support, 500, { ...monthly, trial_days: 7 }) }],
  })
  t.match(trial, { status: 'trialing', seller_organization_id: shop.id })
  await advance(new Date(trial.trial_end))
  await settle()
  t.match(await call('GET', `/payments/subscriptions/${trial.id}`), { status: 'active' })

  await openPortal()
  await page.getByText('Remove', { exact: true }).first().click()
  await page.getByRole('button', { name: /^Remove the card/ }).click()
  await page.getByRole('button', { name: /^Remove the card/ }).waitFor({ state: 'detached' })
  await advance(new Date(end))
  t.match(await read(), { status: 'past_due' })
  await advance(new Date(Date.parse(end) + 4 * 86_400_000))
  const { status, latest_order_id: due } = await read()
  t.equal(status, 'past_due', 'after the retries of three days')
  await pay(await call('POST', '/payments/checkout', { order_id: due, ...pages }))
  await settle()
  t.match(await read(), { status: 'active', quantity: 3 })

  await call('POST', `/payments/orders/${due}/refunds`, { amount: 2_000 })
  await settle()
  t.match(await call('GET', `/payments/orders/${due}`), {
    status: 'partially_refunded',
    refunded_amount: 2_000,
  })
  await openPortal()
  await page.getByRole('button', { name: 'Cancel at the end of the period: Wiki' }).click()
  await page.getByRole('button', { name: 'Resume: Wiki' }).waitFor()
  ;({ current_period_end: end } = await read())
  await advance(new Date(end))
  await settle()
  t.match(await read(), { status: 'canceled' })

  const events: any[] = []
  for (let cursor = ''; ;) {
    const { data, next_cursor: next } = await call('GET', `/events?limit=100${cursor}`)
    events.push(...data)
    if (next === null || data.length === 0) break
    cursor = `&cursor=${next}`
  }
  events.splice(0, events.findIndex(({ type }) => type === 'webhook_endpoint.created') + 1)
  await waitUntil(
    () => events.every(({ id }) => receiver.received.some(({ event }) => event.id === id)),
    'every event at the webhook',
  )
  t.ok(receiver.received.every(({ verified }) => verified))
  // Stripe refunds later, and a period begins before the outcome of its charge.
  const other = ['refund.updated', 'subscription.updated']
  return events.map(({ type }) => type).filter((type) => !other.includes(type))
}

t.test('an organization sells to a stranger', { skip: skipWithoutBrowser, timeout: 240_000 }, async (t) => {
  const browser = await launchBrowser(t)
  const open = (): Promise<Page> => browser.newPage({ viewport: { width: 390, height: 844 } })
  const expected = await story(t, await startWithSandbox(t), await open())
  const found = await story(t, await startWithStripe(t, { ORGANIZATION_SALES: 'all' }), await open())
  t.ok(expected.length > 30)
  t.same(found, expected, 'the same events with both gateways')
})
