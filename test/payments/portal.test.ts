// The stored cards of customers, and the customer portal: its links, its session, its pages and forms.
import t from 'tap'
import { portalTasks } from '../../services/payments/portal/sessions.ts'
import { runRetention } from '../support/database/retention.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { createClient } from '../support/http/client.ts'
import {
  addPrice,
  advance,
  cards,
  createCatalog,
  createCheckout,
  eventTypesOf,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import { startServer, type Person } from '../support/server/server.ts'

const server = await startServer(t)
const catalog = await createCatalog(server)
const { admin } = server
const { database } = server.services
const anonymous = createClient(server.url, null)
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const mastercard = '5555 5555 5555 4444'

const customerOf = async (person: Person): Promise<string> =>
  (await admin.client.get(`/payments/customers?user_id=${person.id}`)).body.data[0].id
const cardsOf = async (customer: string): Promise<any[]> =>
  (await admin.client.get(`/payments/customers/${customer}/payment-methods?order=asc`)).body.data
const newSession = async (customer: string, body: object = {}): Promise<any> =>
  (await admin.client.post(`/payments/customers/${customer}/portal-sessions`, body)).body
const pathOf = ({ url }: { url: string }): string => new URL(url).pathname
/** Opens the portal of a customer. @returns the `Cookie` header of the browser. */
const enter = async (customer: string, body?: object): Promise<string> => {
  const reply = await anonymous.get(pathOf(await newSession(customer, body)))
  return reply.headers.get('set-cookie')!.split(';')[0]
}
const show = (cookie: string, path = '/portal') => anonymous.get(path, { headers: { cookie } })
const submit = (cookie: string, path: string, fields: Record<string, string>, headers: object = {}) =>
  anonymous.call('POST', `/portal${path}`, {
    headers: { ...form, cookie, ...headers },
    raw: new URLSearchParams(fields).toString(),
  })

t.test('a card that pays a subscription is stored, and the last one is charged', async (t) => {
  const ada = await server.person()
  const first = await subscribe(server, ada, catalog.monthly)
  const customer = await customerOf(ada)
  t.match(await cardsOf(customer), [
    {
      customer_id: customer,
      card: { brand: 'Visa', last4: '4242', exp_month: 12, exp_year: 2034 },
      is_default: true,
    },
  ])
  await subscribe(server, ada, catalog.monthly, { card: mastercard })
  await subscribe(server, ada, catalog.monthly, { card: mastercard })
  const { id: session } = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
  await payWithCard(server, session, cards.renewalDeclined)
  const [visa, other, ...rest] = await cardsOf(customer)
  t.same(rest, [], 'a card is stored once, and one that pays an order is not')
  t.match([visa, other], [{ is_default: false }, { card: { last4: '4444' }, is_default: true }])
  t.same(await eventTypesOf(server, other.id), ['payment_method.created', 'payment_method.updated'])

  await advance(server, { by_seconds: 32 * 86_400 })
  const charged = async (): Promise<string[]> =>
    (await ada.client.get(`/payments/payments?subscription_id=${first.id}&order=asc`)).body.data.map(
      (payment: any) => payment.card?.last4 ?? payment.failure_code,
    )
  t.same(await charged(), ['4242', '4444'], 'the default pays all subscriptions')

  const path = `/payments/customers/${customer}/payment-methods/${visa.id}`
  t.match(await admin.client.post(`${path}/default`), { status: 200, body: { is_default: true } })
  t.match(await admin.client.post(`${path}/default`), { status: 200, body: { is_default: true } })
  t.same(await eventTypesOf(server, visa.id), ['payment_method.created', 'payment_method.updated'])
  t.equal((await admin.client.delete(path)).status, 204)
  t.equal((await admin.client.delete(path)).status, 404)
  t.match(await cardsOf(customer), [{ id: other.id, is_default: true }], 'the default before is it again')
  t.equal((await admin.client.delete(path.replace(visa.id, other.id))).status, 204)
  await advance(server, { by_seconds: 32 * 86_400 })
  t.equal((await charged())[2], 'payment_method_required', 'without a card the renewal fails')
  t.match((await ada.client.get(`/payments/subscriptions/${first.id}`)).body, { status: 'past_due' })
  t.match(await ada.client.get(`/payments/customers/${customer}/payment-methods`), { status: 404 })
})

t.test('a failing card is not charged any more once another is the default', async (t) => {
  const ada = await server.person()
  const { id } = await subscribe(server, ada, catalog.monthly, { card: cards.renewalDeclined })
  await advance(server, { by_seconds: 32 * 86_400 })
  t.match((await ada.client.get(`/payments/subscriptions/${id}`)).body, { status: 'past_due' })
  await subscribe(server, ada, catalog.monthly)
  await advance(server, { by_seconds: 2 * 86_400 })
  t.match((await ada.client.get(`/payments/subscriptions/${id}`)).body, { status: 'active' })
})

t.test('a link opens once, for one browser, and every other link has the same answer', async (t) => {
  const ada = await server.person()
  await subscribe(server, ada, catalog.monthly)
  const customer = await customerOf(ada)
  const session = await newSession(customer, { return_url: 'https://shop.example/account' })
  t.match(session, {
    customer_id: customer,
    return_url: 'https://shop.example/account',
    created_by: admin.id,
  })
  const path = pathOf(session)
  t.match(await anonymous.call('HEAD', path), { status: 404 }, 'programs that check links do not use it up')
  const openings = await Promise.all([1, 2, 3, 4].map(() => anonymous.get(path)))
  t.same(openings.map(({ status }) => status).sort(), [303, 404, 404, 404])
  const entered = openings.find(({ status }) => status === 303)!
  t.equal(entered.headers.get('location'), `${server.url}/portal`)
  const setCookie = entered.headers.get('set-cookie')!
  t.match(setCookie, /; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/)
  const cookie = setCookie.split(';')[0]
  t.match(await show(cookie), { status: 200 })

  const used = await anonymous.get(path)
  const expired = await newSession(customer)
  await database.prisma.portalSession.update({ where: { id: expired.id }, data: { expiresAt: new Date() } })
  for (const reply of [
    await anonymous.get(pathOf(expired)),
    await anonymous.get('/portal/nothing'),
    await anonymous.get(`/portal/${'x'.repeat(43)}`),
    await anonymous.get('/portal/ended'),
  ]) {
    t.equal(reply.status, 404)
    t.equal(reply.text, used.text)
  }
  for (const reply of [await show('portal=nothing'), await anonymous.get('/portal')])
    t.match([reply.status, reply.headers.get('location')], [303, `${server.url}/portal/ended`])
  t.match(await admin.client.get(`/payments/customers/${customer}/portal-sessions/${session.id}`), {
    status: 200,
    body: { id: session.id },
  })
  t.notMatch(JSON.stringify(await database.prisma.portalSession.findMany()), path.split('/').at(-1)!)
  t.same(
    (await admin.client.get('/events?type=portal_session.created&limit=1')).body.data[0].data.object.url,
    undefined,
  )

  const left = await submit(cookie, '', { action: 'leave' })
  t.match(left, { status: 303 }, left.text)
  t.equal((await show(cookie)).status, 303, 'after the customer has left')
})

t.test('a portal session ends by time, by later ones and with its customer', async (t) => {
  const { id } = (await admin.client.post('/payments/customers', { name: 'Bob' })).body
  const cookie = await enter(id)
  t.match((await show(cookie)).text, /<bdi>Bob<\/bdi>/)
  const links = [await newSession(id)]
  for (let i = 0; i < 20; i++) links.push(await newSession(id))
  t.equal(await database.prisma.portalSession.count({ where: { customerId: id } }), 20)
  t.equal((await show(cookie)).status, 303, 'the latest 20 count')
  t.equal((await anonymous.get(pathOf(links[0]))).status, 404)
  const last = (await anonymous.get(pathOf(links[20]))).headers.get('set-cookie')!.split(';')[0]
  await database.pool.query(
    "UPDATE portal_sessions SET expires_at = now() - interval '1 s' WHERE cookie_digest IS NOT NULL",
  )
  t.equal((await show(last)).status, 303)
  await runRetention(database, { tasks: portalTasks() })
  t.equal(await database.prisma.portalSession.count({ where: { customerId: id } }), 19)
  const again = await enter(id)
  t.equal((await admin.client.delete(`/payments/customers/${id}`)).status, 204)
  t.equal((await show(again)).status, 303)
  t.equal(await database.prisma.portalSession.count({ where: { customerId: id } }), 0)
  t.equal((await admin.client.post(`/payments/customers/${id}/portal-sessions`, {})).status, 404)
})

t.test('the page shows what the customer has, and its forms change it', async (t) => {
  const ada = await server.person()
  const bob = await server.person()
  const { id, order } = await subscribe(server, ada, catalog.monthly)
  await subscribe(server, ada, catalog.monthly, { card: mastercard })
  const theirs = await subscribe(server, bob, catalog.monthly)
  const customer = await customerOf(ada)
  const cookie = await enter(customer, { return_url: 'https://shop.example/account' })
  const { text, headers } = await show(cookie)
  t.match(headers.get('content-security-policy'), "default-src 'none'")
  t.notMatch(text, /<script/)
  t.match(text, /href="https:\/\/shop.example\/account">Back to <bdi>shop.example<\/bdi>/)
  t.match(text, /€10.00 every month · Active · renews on \d{4}-\d\d-\d\d/)
  t.match(text, /Mastercard ending in 4444[^]*Pays your subscriptions · Expires 12 \/ 2034/)
  t.match(text, `/portal/orders/${order}/receipt`)
  t.notMatch(text, theirs.id)

  t.match(await submit(cookie, '/subscriptions', { subscription: id, action: 'cancel' }), { status: 303 })
  t.match((await ada.client.get(`/payments/subscriptions/${id}`)).body, { cancel_at_period_end: true })
  t.match((await show(cookie)).text, / · ends on /)
  await submit(cookie, '/subscriptions', { subscription: id, action: 'resume' })
  t.match((await ada.client.get(`/payments/subscriptions/${id}`)).body, { cancel_at_period_end: false })

  const [visa, other] = await cardsOf(customer)
  await submit(cookie, '/cards', { card: visa.id, action: 'default' })
  t.match(await cardsOf(customer), [{ is_default: true }, { is_default: false }])
  await submit(cookie, '/cards', { card: other.id, action: 'remove' })
  await submit(cookie, '/cards', { card: other.id, action: 'remove' })
  t.match(await cardsOf(customer), [{ id: visa.id }])

  const receipt = await show(cookie, `/portal/orders/${order}/receipt`)
  t.match(receipt, { status: 200, text: /€10.00/ })
  t.match(receipt.headers.get('content-security-policy'), "default-src 'none'")

  const [theirCard] = await cardsOf(await customerOf(bob))
  t.equal((await show(cookie, `/portal/orders/${theirs.order}/receipt`)).status, 404)
  await submit(cookie, '/subscriptions', { subscription: theirs.id, action: 'cancel' })
  await submit(cookie, '/cards', { card: theirCard.id, action: 'remove' })
  t.match((await bob.client.get(`/payments/subscriptions/${theirs.id}`)).body, {
    cancel_at_period_end: false,
  })
  t.match(await cardsOf(await customerOf(bob)), [{ id: theirCard.id }], "nothing of another customer's")

  const elsewhere = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' }
  t.match(await submit(cookie, '/subscriptions', { subscription: id, action: 'cancel' }, elsewhere), {
    status: 403,
  })
  t.match((await ada.client.get(`/payments/subscriptions/${id}`)).body, { cancel_at_period_end: false })
  await submit(
    cookie,
    '/subscriptions',
    { subscription: id, action: 'cancel' },
    { 'sec-fetch-site': 'same-origin' },
  )
  t.match((await ada.client.get(`/payments/subscriptions/${id}`)).body, { cancel_at_period_end: true })
})

t.test('the plans of usage say so', async (t) => {
  const { id: product } = (await admin.client.post('/payments/products', { name: 'API' })).body
  const meter = { key: 'portal_calls', name: 'Calls', aggregation: 'count' }
  const { id: meterId } = (await admin.client.post('/payments/meters', meter)).body
  const recurring = { interval: 'month', interval_count: 1 }
  const usage = { meter_id: meterId, model: 'per_unit', unit_amount: '2' }
  const plan = (amount: number, fields: object = { usage }) =>
    addPrice(admin.client, product, { unit_amount: amount, recurring, ...fields })
  const base = await plan(500)
  await plan(0)
  await plan(0, {})
  const ada = await server.person()
  const { id } = await subscribe(server, ada, base)
  const cookie = await enter(await customerOf(ada))
  t.match((await show(cookie)).text, '€5.00 every month plus usage · Active')
  const { text } = await show(cookie, `/portal/subscriptions/${id}`)
  t.match(text, '€5.00 every month plus usage (now)')
  t.match(text, /^\s*Usage, charged every month\s*$/m)
  t.match(text, /^\s*Free\s*$/m)
})

t.test('a customer changes the plan, and pays what is to be paid', async (t) => {
  const { id: product } = (await admin.client.post('/payments/products', { name: 'Wiki' })).body
  const recurring = { interval: 'month', interval_count: 1 }
  const [basic, pro, free] = await Promise.all(
    [1_000, 3_000, 0].map((amount) => addPrice(admin.client, product, { unit_amount: amount, recurring })),
  )
  const ada = await server.person()
  const bob = await server.person()
  const theirs = await subscribe(server, bob, basic)
  const { id } = await subscribe(server, ada, basic)
  const cookie = await enter(await customerOf(ada))
  const plans = `/portal/subscriptions/${id}`
  t.match((await show(cookie)).text, `href="${plans}"`)
  const { text } = await show(cookie, plans)
  t.match(text, /€10.00 every month \(now\)[^]*€30.00 every month/)
  t.notMatch(text, 'To pay now')
  t.equal((await show(cookie, `/portal/subscriptions/${theirs.id}`)).status, 404)
  t.match((await show(cookie, `${plans}?price=${catalog.monthly}`)).text, /^(?![^]*To pay now)/, 'not a plan')
  t.match((await show(cookie, `${plans}?price=${pro}&quantity=2`)).text, /To pay now: €\d\d.\d\d[^]*: €60.00/)

  const change = (action: string, price: string, subscription = id, quantity = '1') =>
    submit(cookie, '/subscriptions', { subscription, action, price, quantity })
  await change('change', basic, theirs.id, '9')
  t.match((await bob.client.get(`/payments/subscriptions/${theirs.id}`)).body, { quantity: 1 })
  await change('change', catalog.monthly)
  const read = async () => (await ada.client.get(`/payments/subscriptions/${id}`)).body
  t.match(await read(), { price_id: basic }, "only the product's plans")
  const done = await change('change', pro, id, '2')
  t.match([done.status, done.headers.get('location')], [303, `${server.url}/portal`])
  t.match(await read(), { price_id: pro, quantity: 2, scheduled_change: null }, 'paid by the card')
  await change('change_later', free)
  t.match(await read(), { price_id: pro, scheduled_change: { items: [{ price_id: free }] } })
  t.match((await show(cookie)).text, 'Take the change back')
  await submit(cookie, '/subscriptions', { subscription: id, action: 'keep' })
  t.match(await read(), { scheduled_change: null })

  for (const { id: card } of await cardsOf(await customerOf(ada)))
    await submit(cookie, '/cards', { card, action: 'remove' })
  const toPay = await change('change', pro, id, '9')
  t.match(toPay.headers.get('location'), `${server.url}/pay/chk_`, 'without a card: the payment page')
  await payWithCard(server, toPay.headers.get('location')!.split('/').at(-1)!, cards.succeeds)
  t.match(await read(), { quantity: 9 })
})

t.test('older orders are on further pages', async (t) => {
  const ada = await server.person()
  for (let i = 0; i < 22; i++)
    await ada.client.post('/payments/orders', { items: [{ price_id: catalog.price }] })
  const cookie = await enter(await customerOf(ada))
  const first = (await show(cookie)).text
  const [, before] = /href="\/portal\?before=(ord_\w+)"/.exec(first)!
  const second = (await show(cookie, `/portal?before=${before}`)).text
  t.equal(first.match(/Not paid/g)!.length, 20)
  t.equal(second.match(/Not paid/g)!.length, 2)
})

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const browser = await launchBrowser(t)
  const ada = await server.person()
  await subscribe(server, ada, catalog.monthly)
  const { id } = await subscribe(server, ada, catalog.monthly, { card: mastercard })
  const { url } = await newSession(await customerOf(ada))
  const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
  await page.goto(url)
  t.equal(page.url(), `${server.url}/portal`)
  t.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, 'it fits a phone')
  await page.getByRole('button', { name: 'Cancel at the end of the period' }).first().click()
  await page.getByRole('button', { name: 'Resume' }).waitFor()
  t.match((await ada.client.get(`/payments/subscriptions/${id}`)).body, { cancel_at_period_end: true })
  await page.getByRole('button', { name: 'Pay with this card: Visa ending in 4242' }).click()
  await page.getByText('Pays your subscriptions').waitFor()
  await page.getByText('Remove', { exact: true }).last().click()
  await page.getByRole('button', { name: 'Remove the card: Mastercard ending in 4444' }).click()
  await page.getByText('Mastercard').waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Change the plan' }).first().click()
  await page.getByLabel('Quantity').fill('3')
  await page.getByRole('button', { name: 'Show the price' }).click()
  t.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, 'nor do the plans')
  await page.getByRole('button', { name: 'Change now' }).click()
  await page.getByText('€30.00 every month').first().waitFor()
  await page
    .getByRole('link', { name: /^Receipt/ })
    .first()
    .click()
  await page.getByText('Receipt').first().waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.getByText('This link has ended').first().waitFor()
})
