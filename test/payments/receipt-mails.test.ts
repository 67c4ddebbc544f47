// Receipts by e-mail: what they say, who gets them, that none is lost or doubled, and how many there can be.
import t from 'tap'
import {
  addPrice,
  advance,
  cards,
  createCatalog,
  createCheckout,
  payWithCard,
  subscribe,
} from '../support/operations/catalog-fixtures.ts'
import { createApiKey } from '../support/database/db-fixtures.ts'
import { createClient } from '../support/http/client.ts'
import { mailsTo, openSmtp, sentTo } from '../support/auth/mails.ts'
import type { Person, TestServer } from '../support/server/server.ts'
import { startStripeFixture } from '../support/payments/stripe-fixtures.ts'
import { waitUntil } from '../support/server/wait.ts'
import { startWorkingServer } from '../support/server/working-server.ts'

const env = { SELLER_NAME: 'Ecke & <i>Söhne</i>', PUBLIC_URL: 'https://api.example.com' }
const server = await startWorkingServer(t, { env })
const catalog = await createCatalog(server)
const { prisma } = server.services.database
const day = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })

/** Creates a paid order. */
async function bought(
  person: Pick<Person, 'client'>,
  {
    price = catalog.price,
    quantity = 1,
    on = server,
  }: { price?: string; quantity?: number; on?: TestServer } = {},
): Promise<any> {
  const { id, order_id: order } = await createCheckout(person, { items: [{ price_id: price, quantity }] })
  await payWithCard(on, id, cards.succeeds)
  return (await person.client.get(`/payments/orders/${order}`)).body
}

const refund = (order: { id: string }, amount?: number) =>
  server.admin.client.post(`/payments/orders/${order.id}/refunds`, {
    ...(amount !== undefined && { amount }),
  })

t.test('the buyer gets a receipt with what was bought, the amount and a link', async (t) => {
  const ada = await server.person()
  const order = await bought(ada, { quantity: 2 })
  const [mail] = await mailsTo(server, ada.email, 1)
  t.equal(mail.subject, `Your receipt for the order ${order.number}`)
  const date = day.format(new Date(order.paid_at))
  t.equal(
    mail.text,
    `You have paid €39.98 to Ecke & <i>Söhne</i> for the order ${order.number} on ${date}.

Paid in a sandbox. No money has moved.

2 × Team plan: €39.98
Total paid: €39.98
Paid by: Visa ending in 4242

Sign in to see the receipt:
https://api.example.com/v1/payments/orders/${order.id}/receipt
`,
  )
})

t.test('a refund has an e-mail of its own, also each part', async (t) => {
  const ada = await server.person()
  const order = await bought(ada)
  t.equal((await refund(order, 500)).status, 201)
  t.equal((await refund(order)).status, 201)
  const [last, first] = await mailsTo(server, ada.email, 3)
  t.match(first.text, /has refunded €5\.00 of your order .*Refunded on [^:]+: −€5\.00\nNet paid: €14\.99/s)
  t.match(last.text, /has refunded €14\.99 of your order .*−€14\.99\nNet paid: €0\.00/s)
  t.equal(last.subject, `Your refund for the order ${order.number}`)
})

t.test('the HTML of a receipt escapes what the operator named', async (t) => {
  const smtp = await openSmtp(t)
  const other = await startWorkingServer(t, { env: { ...env, SMTP_URL: smtp.url } })
  const product = await other.admin.client.post('/payments/products', { name: '<img src=x> & more' })
  const price = await addPrice(other.admin.client, product.body.id, { unit_amount: 100 })
  const ada = await other.person()
  await bought(ada, { price, on: other })
  await waitUntil(() => smtp.received.length === 1, 'the e-mail')
  const text = smtp.received[0].text.replaceAll('=\r\n', '')
  const html = text.slice(text.indexOf('text/html'))
  t.match(html, '&lt;img src=3Dx&gt; &amp; more')
  t.notMatch(html, '<img')
})

t.test('a renewal has a receipt', async (t) => {
  const ada = await server.person()
  await subscribe(server, ada, catalog.monthly)
  await mailsTo(server, ada.email, 1)
  await advance(server, { by_seconds: 32 * 86_400 })
  const [mail] = await mailsTo(server, ada.email, 2)
  t.match(mail.text, '1 × Team plan: €10.00')
})

t.test('a payment that is reported fifty times at once has one receipt', async (t) => {
  const ada = await server.person()
  const { id } = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
  await Promise.all(Array.from({ length: 50 }, () => payWithCard(server, id, cards.succeeds)))
  t.same(await sentTo(server, ada.email), ['receipt'])
})

t.test('of Stripe too: a settled payment and refund, each delivered five times at once', async (t) => {
  const shop = await startStripeFixture(t)
  const bob = await shop.server.person()
  const checkout = await shop.checkout(bob, { items: [{ price_id: shop.price }] })
  await shop.openPage(checkout)
  const before = shop.stripe.events.length
  shop.stripe.customer.pay(shop.stripe.sessionFor(checkout.id))
  await Promise.all(Array.from({ length: 5 }, () => shop.deliverFrom(before)))
  const count = () => shop.server.services.database.prisma.mail.count({ where: { recipient: bob.email } })
  t.equal(await count(), 1)
  await shop.deliverFrom(before)
  t.equal(await count(), 1)
})

t.test('a declined payment has none', async (t) => {
  const ada = await server.person()
  const { id } = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
  await payWithCard(server, id, cards.declined)
  t.same(await sentTo(server, ada.email), [])
})

t.test('a payment whose receipt cannot be queued is not committed', async (t) => {
  const other = await startWorkingServer(t, { env, sends: false })
  const { price } = await createCatalog(other)
  const ada = await other.person()
  const session = await createCheckout(ada, { items: [{ price_id: price }] })
  const { prisma } = other.services.database
  await prisma.$executeRawUnsafe(`ALTER TABLE mails ADD CONSTRAINT none CHECK (kind <> 'receipt')`)
  t.equal((await payWithCard(other, session.id, cards.succeeds)).status, 500)
  const order = async () => (await ada.client.get(`/payments/orders/${session.order_id}`)).body
  t.equal((await order()).status, 'pending')
  await prisma.$executeRawUnsafe(`ALTER TABLE mails DROP CONSTRAINT none`)
  t.equal((await payWithCard(other, session.id, cards.succeeds)).status, 303)
  t.equal((await order()).status, 'paid')
  t.equal(await prisma.mail.count({ where: { recipient: ada.email } }), 1)
})

t.test('a receipt goes to the verified address of the buyer only', async (t) => {
  const unverified = await server.person()
  await prisma.user.update({ where: { id: unverified.id }, data: { emailVerified: false } })
  await bought(unverified)
  t.equal(await prisma.mail.count({ where: { userId: unverified.id } }), 0)
  const eve = await server.person()
  for (const field of ['email', 'customer_email', 'receipt_email']) {
    const reply = await eve.client.post('/payments/checkout', {
      items: [{ price_id: catalog.price }],
      success_url: 'https://shop.example/thanks',
      cancel_url: 'https://shop.example/cart',
      [field]: 'victim@example.com',
    })
    t.equal(reply.status, 400, field)
  }
})

t.test('a service account has no address, and its orders have no receipt', async (t) => {
  const owner = await server.person()
  const { body: project } = await owner.client.post('/projects', { name: 'Shop' })
  const account = { name: 'Buyer', project_id: project.id, role: 'admin' }
  const { body: robot } = await owner.client.post('/service-accounts', account)
  const { secret } = await createApiKey(server, robot.user_id)
  const client = createClient(server.url, secret)
  const session = await createCheckout(
    { client },
    { items: [{ price_id: catalog.price }], project_id: project.id },
  )
  t.equal((await payWithCard(server, session.id, cards.succeeds)).status, 303)
  t.match(await client.get(`/payments/orders/${session.order_id}`), { body: { status: 'paid' } })
  t.equal(await prisma.mail.count({ where: { userId: robot.user_id } }), 0)
})

t.test('a user gets at most 50 receipts in a day', async (t) => {
  const quiet = await startWorkingServer(t, { env, sends: false })
  const { price } = await createCatalog(quiet)
  const ada = await quiet.person()
  for (let i = 0; i < 55; i++) await bought(ada, { price, on: quiet })
  const count = () => quiet.services.database.prisma.mail.count({ where: { recipient: ada.email } })
  t.equal(await count(), 55)
  await quiet.work()
  t.equal((await sentTo(quiet, ada.email)).length, 50)
})

t.test('a receipt is sent again after a failure, with the same Message-ID', async (t) => {
  const smtp = await openSmtp(t, { refusals: 1 })
  const other = await startWorkingServer(t, { env: { ...env, SMTP_URL: smtp.url } })
  const { price } = await createCatalog(other)
  const ada = await other.person()
  const order = await bought(ada, { price, on: other })
  const { database } = other.services
  const find = () => database.prisma.mail.findFirstOrThrow({ where: { recipient: ada.email } })
  await waitUntil(async () => (await find()).attempts === 1, 'the first attempt')
  t.equal((await find()).status, 'queued')
  await database.prisma.$executeRawUnsafe(
    `UPDATE jobs SET due_at = now() WHERE queue = 'mails' AND fetches = 0`,
  )
  await waitUntil(async () => (await find()).status === 'sent', 'the second attempt')
  t.equal(smtp.received.length, 1)
  t.match(smtp.received[0].text, order.number)
  t.match(smtp.received[0].text, (await find()).id)
})

t.test('a receipt whose worker died is sent by the next one', async (t) => {
  const quiet = await startWorkingServer(t, { env, sends: false })
  const { price } = await createCatalog(quiet)
  const ada = await quiet.person()
  await bought(ada, { price, on: quiet })
  const [job] = await quiet.services.mails.fetch(1)
  t.ok(job, 'a worker has fetched the job, and dies')
  const { prisma } = quiet.services.database
  await prisma.$executeRawUnsafe(`UPDATE jobs SET due_at = now() WHERE queue = 'mails'`)
  await quiet.work()
  await mailsTo(quiet, ada.email, 1)
})
