// The payment pages, over plain HTTP and in a browser.
import { hash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { testCards } from '../../services/payments/sandbox/gateway.ts'
import { validateCard } from '../../services/payments/sandbox/page/card-validation.ts'
import { launchBrowser, skipWithoutBrowser } from '../support/browser/browser.ts'
import { clickPay, fillCard } from '../support/browser/payment-page.ts'
import { createClient, type Reply } from '../support/http/client.ts'
import { startServer } from '../support/server/server.ts'
import {
  addPrice,
  advance,
  createCheckout,
  cards,
  eventTypesOf,
  createCatalog,
} from '../support/operations/catalog-fixtures.ts'
import { waitUntil } from '../support/server/wait.ts'

const seller = 'Ecke & <i>Söhne</i>'
const shop = await startSellerSite(t)
const server = await startServer(t, {
  env: { SELLER_NAME: seller, CHECKOUT_REDIRECT_ORIGINS: `https://shop.example,${shop.url}` },
})
const catalog = await createCatalog(server)
const ada = await server.person()
const stranger = createClient(server.url, null)
const { succeeds, declined, needsConfirmation, slow } = cards
const elsewhere = {
  success_url: 'https://shop.example/thanks?session={CHECKOUT_SESSION_ID}',
  cancel_url: 'https://shop.example/cart',
}

interface Session {
  id: string
  url: string
  order_id: string
  subscription_id: string | null
}

function session(body: object = { items: [{ price_id: catalog.price }] }): Promise<Session> {
  return createCheckout(ada, { ...elsewhere, ...body })
}

function getPage({ id }: Session, headers: Record<string, string> = {}): Promise<Reply> {
  return stranger.get(`/pay/${id}`, { headers })
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Submits the card form with valid values, except for those in `rest`. */
function submitCard(
  { id }: { id: string },
  number: string,
  rest: Record<string, string> = {},
): Promise<Reply> {
  return stranger.call('POST', `/pay/${id}`, {
    headers: form,
    raw: new URLSearchParams({
      number,
      expiry: '12 / 34',
      cvc: '123',
      name: 'Ada Lovelace',
      ...rest,
    }).toString(),
  })
}

function submitConfirmation({ id }: { id: string }, payment: string, decision: string): Promise<Reply> {
  return stranger.call('POST', `/pay/${id}/confirm`, {
    headers: form,
    raw: new URLSearchParams({ payment, decision }).toString(),
  })
}

const statusOf = async ({ order_id: id }: Session): Promise<string> =>
  (await ada.client.get(`/payments/orders/${id}`)).body.status
const paymentIn = ({ text }: Reply): string => /name="payment" value="([^"]+)"/.exec(text)![1]

async function attemptsOf({ id }: Session): Promise<string[]> {
  const { rows } = await server.services.database.pool.query(
    `SELECT concat_ws(' ', status::text, failure_code) AS text FROM payments WHERE checkout_id = $1
      ORDER BY id`,
    [id],
  )
  return rows.map(({ text }) => text)
}

function eventsOf({ order_id: order, id }: Session): Promise<string[]> {
  return eventTypesOf(server, order, id)
}

t.test('the page shows the items, the seller and the total', async (t) => {
  const yen = await addPrice(server.admin.client, catalog.product, { unit_amount: 1980, currency: 'jpy' })
  const dinar = await addPrice(server.admin.client, catalog.product, { unit_amount: 1500, currency: 'kwd' })
  const euro = await getPage(
    await session({ items: [{ price_id: catalog.price, quantity: 3 }, { price_id: catalog.price }] }),
  )
  t.equal(euro.status, 200)
  for (const part of [
    'Team plan',
    '3 × €19.99',
    '€59.97',
    '€79.96',
    'Pay €79.96',
    'https://shop.example/cart',
  ])
    t.match(euro.text, part)
  t.match(
    (await getPage(await session({ items: [{ price_id: yen, quantity: 2 }] }))).text,
    /Pay ¥3,960<\/button>/,
  )
  t.match((await getPage(await session({ items: [{ price_id: dinar }] }))).text, /Pay KWD\s1\.500<\/button>/)
  const monthly = await getPage(
    await session({ mode: 'subscription', items: [{ price_id: catalog.monthly }] }),
  )
  t.match(monthly.text, '€10.00 <small>every month</small>')
  t.match(monthly.text, 'renews every month until you cancel it')
  t.notMatch(euro.text, 'renews')
})

t.test('the page says that this is a sandbox and lists the test cards', async (t) => {
  const { text } = await getPage(await session())
  t.match(text, 'This is a sandbox.')
  t.match(text, 'never enter a real card number')
  for (const { number, description } of testCards)
    t.match(text, `${number.replace(/\d{4}(?=\d)/g, '$& ')}</code></dt><dd>${description}</dd>`)
})

t.test('the page has no scripts, loads nothing, posts forms only to itself and is not cached', async (t) => {
  const paid = await session()
  await submitCard(paid, succeeds)
  for (const one of [await session(), paid, { ...paid, id: `${paid.id.slice(0, -4)}0000` }]) {
    const { headers, text } = await getPage(one)
    const [, style] = /<style>([^]*)<\/style>/.exec(text)!
    t.equal(
      headers.get('content-security-policy'),
      `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; img-src data:; ` +
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    )
    t.equal(headers.get('cache-control'), 'no-store')
    t.equal(headers.get('referrer-policy'), 'no-referrer')
    t.match(headers.get('x-robots-tag'), 'noindex')
    t.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    t.notMatch(text, /<script|\son\w+=|javascript:|\ssrc=|\sstyle=|@import|url\(/i)
  }
})

t.test('HEAD returns the headers of GET', async (t) => {
  const one = await session()
  const [get, head] = await Promise.all([
    getPage(one),
    fetch(`${server.url}/pay/${one.id}`, { method: 'HEAD' }),
  ])
  t.equal(head.status, 200)
  t.equal(await head.text(), '')
  for (const name of ['content-type', 'content-security-policy', 'cache-control'])
    t.equal(head.headers.get(name), get.headers.get(name))
})

t.test('every page of an unknown session is 404', async (t) => {
  const { id } = await session()
  const unknown = { id: `${id.slice(0, -6)}000000`, url: '', order_id: '', subscription_id: null }
  for (const { status, text } of [
    await getPage(unknown),
    await submitCard(unknown, succeeds),
    await submitConfirmation(unknown, 'pay_01jd6y8m5qe8btc4y5w1r0n3fz', 'confirm'),
    await stranger.get(`/pay/${unknown.id}/return`),
  ]) {
    t.equal(status, 404)
    t.match(text, 'Payment page not found')
  }
})

t.test('the page of an expired session is 410, links back to the seller and accepts no card', async (t) => {
  const one = await session()
  await submitCard(one, needsConfirmation)
  const payment = paymentIn(await getPage(one))
  await ada.client.post(`/payments/checkout/${one.id}/expire`)
  for (const { status, text } of [
    await getPage(one),
    await submitCard(one, succeeds),
    await submitConfirmation(one, payment, 'confirm'),
  ]) {
    t.equal(status, 410)
    t.match(text, 'This page has expired')
    t.match(text, 'You have not been charged.')
    t.match(text, 'href="https://shop.example/cart"')
  }
  t.equal(await statusOf(one), 'canceled')
  t.same(await attemptsOf(one), ['failed expired'])
})

t.test(
  'the page says when the order was paid another way and when a late payment was refunded',
  async (t) => {
    const late = await session()
    await submitCard(late, slow)
    await ada.client.post(`/payments/orders/${late.order_id}/cancel`)
    t.match((await getPage(late)).text, 'Payment in progress')
    await advance(server, { by_seconds: 10 })
    const over = await getPage(late)
    t.equal(over.status, 410)
    t.match(over.text, 'Your payment arrived too late and has been refunded.')
    const first = await session()
    await ada.client.post(`/payments/checkout/${first.id}/expire`)
    const order = (await ada.client.post('/payments/orders', { items: [{ price_id: catalog.price }] })).body
    const [before, after] = [await session({ items: undefined, order_id: order.id }), order.id]
    await ada.client.post(`/payments/checkout/${before.id}/expire`)
    await submitCard(await session({ items: undefined, order_id: after }), succeeds)
    t.match((await getPage(before)).text, 'This order has been paid another way.')
  },
)

t.test('names and URLs are escaped', async (t) => {
  const name = `</span><script>alert(1)</script>"'&<img src=x onerror=alert(1)>\u202egnp`
  const product = (await server.admin.client.post('/payments/products', { name })).body.id
  const price = await addPrice(server.admin.client, product, { unit_amount: 100 })
  const one = await session({
    items: [{ price_id: price }],
    success_url: 'https://shop.example/"><script>alert(2)</script>?a=1&b=\'é✓#{CHECKOUT_SESSION_ID}',
    cancel_url: 'https://shop.example/?x="><script>alert(3)</script>&{CHECKOUT_SESSION_ID}',
  })
  const { text } = await getPage(one)
  t.notMatch(text, /<script|<img|<i>/)
  t.match(
    text,
    '<bdi>&lt;/span&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;' +
      '&lt;img src=x onerror=alert(1)&gt;\u202egnp</bdi>',
  )
  t.match(text, '<bdi>Ecke &amp; &lt;i&gt;Söhne&lt;/i&gt;</bdi>')
  t.match(text, `href="https://shop.example/?x=%22%3E%3Cscript%3Ealert(3)%3C/script%3E&amp;${one.id}"`)
  await submitCard(one, succeeds)
  const paid = await getPage(one)
  t.notMatch(paid.text, /<script/)
  const path = '%22%3E%3Cscript%3Ealert(2)%3C/script%3E?a=1&amp;b=%27%C3%A9%E2%9C%93'
  const url = `https://shop.example/${path}#${one.id}`
  t.match(paid.text.replace(/\s+/g, ' '), `http-equiv="refresh" content="0;url=${url}"`)
  t.match(paid.text, `href="${url}"`)
})

t.test(
  'the page of a session for another host has a link that names the host, and no redirect',
  async (t) => {
    const one = await session({
      items: [{ price_id: catalog.price }],
      success_url: 'https://shop.example.evil.example:8443/thanks',
      cancel_url: 'https://evil.example/cart',
    })
    t.match((await getPage(one)).text, 'Back to <bdi>evil.example</bdi>')
    t.equal((await submitCard(one, succeeds)).status, 303)
    const { status, text, headers } = await getPage(one)
    t.equal(status, 200)
    t.equal(headers.get('refresh'), null)
    t.notMatch(text, 'http-equiv="refresh"')
    t.match(text.replace(/\s+/g, ' '), 'Continue to <bdi>shop.example.evil.example:8443</bdi>')
  },
)

t.test('errors are shown next to each field and at the top, and nothing is charged', async (t) => {
  const one = await session()
  const none = await submitCard(one, '', { expiry: '', cvc: '', name: ' ' })
  t.equal(none.status, 422)
  t.match(none.headers.get('content-security-policy'), /^default-src 'none'/)
  t.equal(none.headers.get('cache-control'), 'no-store')
  for (const [field, problem] of Object.entries({
    number: 'Enter the number of a test card.',
    expiry: 'Enter the expiry date, e.g. 12 / 34.',
    cvc: 'Enter a security code: any 3 or 4 digits.',
    name: 'Enter any name.',
  })) {
    t.match(
      none.text,
      new RegExp(
        `<input id="${field}"[^>]* aria-describedby="[^"]*${field}-wrong" aria-invalid="true">` +
          `\\s*<span class="wrong" id="${field}-wrong">${problem}<`,
      ),
    )
    t.match(none.text, `<a href="#${field}">${problem}</a>`)
  }
  t.match(none.text, /<title>Not paid yet: /)
  t.match(none.text, /role="alert" tabindex="-1" autofocus/)
  const single = await submitCard(one, succeeds, { cvc: '12' })
  t.equal(single.text.match(/aria-invalid="true"/g)!.length, 1)
  t.match(single.text, '<span class="hint" id="number-hint">Enter it again; it is not stored</span>')
  t.match(single.text, 'value="12 / 34"')
  t.match(single.text, 'value="Ada Lovelace"')
  t.same(
    [await attemptsOf(one), await eventsOf(one), await statusOf(one)],
    [[], ['order.created', 'checkout.created'], 'pending'],
  )
  t.equal((await submitCard(one, succeeds, { amount: '1' })).status, 400)
  t.equal(
    (await stranger.call('POST', `/pay/${one.id}`, { headers: form, raw: 'number=1&number=2' })).status,
    400,
  )
  t.equal(
    (
      await stranger.call('POST', `/pay/${one.id}`, {
        headers: { 'content-type': 'application/json' },
        raw: '{}',
      })
    ).status,
    415,
  )
})

t.test('a real card number is rejected and never shown, logged or stored', async (t) => {
  const one = await session()
  const real = [
    '4111 1111 1111 1111',
    '5105-1051-0510-5100',
    '378282246310005',
    '４０１２８８８８８８８８１８８１',
  ]
  for (const number of real) {
    const { status, text } = await submitCard(one, number, {
      name: `${number} Ada`,
      expiry: number,
      cvc: '9876543',
    })
    t.equal(status, 422)
    t.match(text, 'This may be a real card. Never enter a real card here')
    t.notMatch(text, number)
    t.notMatch(text, '9876543')
    t.notMatch(text, number.replace(/\D/g, '') || number)
  }
  const wrong = await submitCard(one, '4111 1111 1111 1112')
  t.match(wrong.text, 'This is not a test card number.')
  t.notMatch(wrong.text, '1112')
  await submitCard(one, '4'.repeat(101))
  t.notMatch(server.logs.join(''), /4111.?1111|37828224|4444444444/)
  t.same(await attemptsOf(one), [])
})

t.test('spaces, dashes and full-width digits are accepted', (t) => {
  const now = new Date('2026-11-21T12:00:00Z')
  const problems = (typed: object): string =>
    Object.keys(
      (
        validateCard({ number: succeeds, expiry: '12 / 34', cvc: '123', name: 'Ada', ...typed }, now) as {
          problems?: object
        }
      ).problems ?? {},
    ).join()
  for (const number of [
    '4242424242424242',
    '4242-4242-4242-4242',
    ' 4242 4242\u00a04242 4242 ',
    '４２４２４２４２４２４２４２４２',
  ])
    t.equal(problems({ number }), '', number)
  for (const number of ['424242424242424', '42424242424242424', 'abcd', '4242 4242 4242 4242x'])
    t.equal(problems({ number }), 'number', number)
  for (const expiry of [
    '12/34',
    '1234',
    '12-34',
    '12 – 2034',
    '1/34',
    '134',
    '0134',
    '11 / 26',
    '12 2026',
    '112027',
  ])
    t.equal(problems({ expiry }), '', expiry)
  for (const expiry of [
    '10 / 26',
    '12/25',
    '1220',
    '13/34',
    '00/34',
    '12',
    '12/345',
    'Dec 34',
    '12/34/56',
    '12/1999',
  ])
    t.equal(problems({ expiry }), 'expiry', expiry)
  for (const cvc of ['000', '1234', ' 123 ']) t.equal(problems({ cvc }), '', cvc)
  for (const cvc of ['', '12', '12345', 'abc']) t.equal(problems({ cvc }), 'cvc', cvc)
  for (const name of ['Ada', '李', 'X Æ A-12']) t.equal(problems({ name }), '', name)
  for (const name of ['', '   ', '4242424242424242']) t.equal(problems({ name }), 'name', name)
  t.equal(
    problems({ number: undefined, expiry: undefined, cvc: undefined, name: undefined }),
    'number,expiry,cvc,name',
  )
  t.end()
})

t.test('a declined card shows an error, and another card pays', async (t) => {
  const one = await session()
  for (const [number, message] of [
    [declined, 'Your card was declined.'],
    ['4000000000009995', 'Your card has insufficient funds.'],
    ['4000000000000069', 'Your card has expired.'],
  ]) {
    const sent = await submitCard(one, number)
    t.equal(sent.status, 303)
    t.equal(new URL(sent.headers.get('location')!, one.url).href, one.url)
    const { status, text } = await getPage(one)
    t.equal(status, 200)
    t.match(text, message)
    t.notMatch(text, new RegExp(`value="[^"]*${number.slice(-4)}`))
    t.equal(await statusOf(one), 'pending')
  }
  t.same(await eventsOf(one), ['order.created', 'checkout.created', ...Array(3).fill('order.payment_failed')])
  t.equal((await submitCard(one, succeeds)).status, 303)
  t.equal(await statusOf(one), 'paid')
  const { text } = await getPage(one)
  t.match(text, 'Payment successful. Thank you!')
  t.match(text, `content="0;url=https://shop.example/thanks?session=${one.id}"`)
  t.same(await attemptsOf(one), [
    'failed card_declined',
    'failed insufficient_funds',
    'failed expired_card',
    'succeeded',
  ])
})

t.test('a form submitted many times at once pays once', async (t) => {
  const one = await session()
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => submitCard(one, i % 2 === 0 ? succeeds : '5555555555554444')),
  )
  t.ok(answers.every(({ status }) => status === 303))
  t.same(await attemptsOf(one), ['succeeded'])
  t.same(await eventsOf(one), ['order.created', 'checkout.created', 'order.paid', 'checkout.completed'])
  for (const number of [succeeds, declined, needsConfirmation, '4111111111111111', ''])
    t.equal((await submitCard(one, number)).status, 303)
  t.same(await attemptsOf(one), ['succeeded'], 'later submissions have no effect')
})

t.test('a payment is confirmed once, and only through its own session', async (t) => {
  const one = await session()
  const other = await session()
  await submitCard(one, needsConfirmation)
  await submitCard(other, needsConfirmation)
  const asked = await getPage(one)
  t.match(asked.text, 'Confirm your payment?')
  t.match(asked.text, 'Visa ending in 3155')
  t.equal(await statusOf(one), 'pending')
  const payment = paymentIn(asked)
  t.equal(
    (await submitConfirmation(one, paymentIn(await getPage(other)), 'confirm')).status,
    303,
    'a payment of another session',
  )
  t.equal(
    (await submitConfirmation(one, `${payment.slice(0, -4)}0000`, 'confirm')).status,
    303,
    'an unknown payment',
  )
  t.equal((await submitConfirmation(one, 'x', 'confirm')).status, 400)
  t.equal((await submitConfirmation(one, payment, 'perhaps')).status, 400)
  t.same(
    [await attemptsOf(one), await attemptsOf(other)],
    [['requires_confirmation'], ['requires_confirmation']],
  )
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => submitConfirmation(one, payment, 'confirm')),
  )
  for (const { status, headers } of answers)
    t.same([status, new URL(headers.get('location')!, `${one.url}/confirm`).href], [303, one.url])
  t.equal((await submitConfirmation(one, payment, 'reject')).status, 303)
  t.same(await attemptsOf(one), ['succeeded'])
  t.same(await eventsOf(one), ['order.created', 'checkout.created', 'order.paid', 'checkout.completed'])
  t.equal(await statusOf(other), 'pending')
})

t.test('a payment that was rejected or replaced by another card cannot be confirmed', async (t) => {
  const one = await session()
  await submitCard(one, needsConfirmation)
  const first = paymentIn(await getPage(one))
  await submitConfirmation(one, first, 'reject')
  t.match((await getPage(one)).text, 'You did not confirm the payment.')
  await submitConfirmation(one, first, 'confirm')
  t.same(await attemptsOf(one), ['failed not_confirmed'])
  await submitCard(one, needsConfirmation)
  const second = paymentIn(await getPage(one))
  await submitCard(one, declined)
  t.match((await getPage(one)).text, 'Your card was declined.')
  await submitConfirmation(one, second, 'confirm')
  t.same(await attemptsOf(one), ['failed not_confirmed', 'failed superseded', 'failed card_declined'])
  t.equal(await statusOf(one), 'pending')
})

t.test('while a slow payment is processing no other card is accepted', async (t) => {
  const one = await session()
  await submitCard(one, slow)
  const wait = await getPage(one)
  t.match(wait.text.replace(/\s+/g, ' '), 'http-equiv="refresh" content="2"')
  t.match(wait.text, 'Payment in progress')
  t.equal((await submitCard(one, succeeds)).status, 303)
  t.same(await attemptsOf(one), ['processing'])
  await advance(server, { by_seconds: 4 })
  t.match((await getPage(one)).text, 'Payment successful. Thank you!')
  t.same(await attemptsOf(one), ['succeeded'])
})

t.test('errors are HTML for browsers and JSON for other clients', async (t) => {
  const { id } = await session()
  const strict = await startServer(t, { databaseUrl: server.databaseUrl, env: { RATE_LIMIT_PAGE: '3' } })
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(strict.url + path, { ...init, headers: { accept, ...init.headers } })
  for (const [status, title, reply] of [
    [404, 'This page cannot be shown', await ask('/pay/garbage"><script>')],
    [
      413,
      'This page cannot be shown',
      await ask(`/pay/${id}`, { method: 'POST', headers: form, body: 'name='.padEnd(20_000, 'x') }),
    ],
    [
      400,
      'This page cannot be shown',
      await ask(`/pay/${id}/confirm`, { method: 'POST', headers: form, body: 'payment=1' }),
    ],
    [405, 'This page cannot be shown', await ask(`/pay/${id}/confirm`)],
    [429, 'Too many requests', await ask(`/pay/${id}`)],
  ] as const) {
    t.equal(reply.status, status)
    t.equal(reply.headers.get('content-type'), 'text/html; charset=utf-8')
    t.match(reply.headers.get('content-security-policy'), /^default-src 'none'/)
    t.equal(reply.headers.get('cache-control'), 'no-store')
    const text = await reply.text()
    t.match(text, `<h1>${title}</h1>`)
    t.match(text, reply.headers.get('x-request-id')!)
    t.notMatch(text, '<script')
    t.equal(reply.headers.has('retry-after'), status === 429)
  }
  for (const other of ['*/*', 'application/json', 'text/html;q=0, */*']) {
    const reply = await ask(`/pay/${id}`, { headers: { accept: other } })
    t.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8', other)
    t.match(await reply.json(), { error: { code: 'RATE_LIMITED' } })
  }
  t.equal(
    (await ask('/v1/projects')).headers.get('content-type'),
    'application/json; charset=utf-8',
    'an API operation answers JSON',
  )
  t.equal(
    (await ask('/v1/projects', { method: 'PUT' })).headers.get('content-type'),
    'application/json; charset=utf-8',
    'also for an unknown method',
  )
  t.equal(
    (await ask('/pay')).headers.get('content-type'),
    'application/json; charset=utf-8',
    'an unknown path answers JSON',
  )
  const { paths } = (await stranger.get('/openapi.json')).body
  t.same(
    Object.keys(paths['/pay/{id}'].get.responses['429'].content),
    ['application/json', 'text/html'],
    'the spec declares both media types',
  )
})

t.test('in a browser', { skip: skipWithoutBrowser }, async (t) => {
  const browser = await launchBrowser(t)
  const seller = shop

  t.test('a card pays and the customer returns to the seller', async (t) => {
    const { page, consoleErrors } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalog.price }], ...seller.addresses })
    await page.goto(one.url)
    await fillCard(page, succeeds)
    await clickPay(page)
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.equal(await statusOf(one), 'paid')
    t.same(consoleErrors, [])
  })

  t.test('the seller may redirect to another origin', async (t) => {
    const { page, consoleErrors } = await open(t, browser)
    const one = await session({
      items: [{ price_id: catalog.price }],
      ...seller.addresses,
      success_url: `${seller.url}/far?session={CHECKOUT_SESSION_ID}`,
    })
    await page.goto(one.url)
    await fillCard(page, succeeds)
    await clickPay(page)
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.not(new URL(page.url()).origin, new URL(seller.url).origin)
    t.same(consoleErrors, [])
  })

  t.test('a declined card moves the focus to the error, and another card pays', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalog.price }], ...seller.addresses })
    await page.goto(one.url)
    await fillCard(page, declined)
    await clickPay(page)
    await page.getByText('Your card was declined.').waitFor()
    t.match(await focused(page), 'Your card was declined.')
    t.equal(await page.getByLabel('Card number').inputValue(), '')
    await fillCard(page, succeeds)
    await clickPay(page)
    await page.getByText('Thanks for').waitFor()
    t.same(await attemptsOf(one), ['failed card_declined', 'succeeded'])
  })

  t.test('the page works by keyboard alone, and each error links to its field', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalog.price }], ...seller.addresses })
    await page.goto(one.url)
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key)
    }
    // The first Tab focuses the link back, the second one the first field.
    await press('Tab')
    t.match(await focused(page), 'Back to')
    t.match(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid')
    await press('Tab')
    await page.keyboard.type(succeeds)
    await press('Tab', 'Tab')
    await page.keyboard.type('123')
    await press('Tab')
    await page.keyboard.type('Ada')
    await press('Enter')
    await page.getByRole('alert').waitFor()
    t.match(await focused(page), 'You have not been charged')
    await press('Tab', 'Enter')
    t.equal(await page.evaluate('document.activeElement.id'), 'expiry')
    await page.keyboard.type('1234')
    await press('Tab')
    await page.keyboard.type('123')
    await press('Shift+Tab', 'Shift+Tab')
    t.equal(await page.evaluate('document.activeElement.id'), 'number')
    await page.keyboard.type(needsConfirmation)
    await press('Enter')
    await page.getByText('Confirm your payment?').waitFor()
    await press('Tab', 'Space')
    await page.getByText('Thanks for').waitFor()
    t.same(await attemptsOf(one), ['succeeded'])
  })

  t.test('a payment is confirmed or rejected without JavaScript', async (t) => {
    const { page, consoleErrors } = await open(t, browser, { javaScriptEnabled: false })
    const one = await session({ items: [{ price_id: catalog.price }], ...seller.addresses })
    await page.goto(one.url)
    await fillCard(page, needsConfirmation)
    await clickPay(page)
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('You did not confirm the payment.').waitFor()
    await fillCard(page, needsConfirmation)
    await clickPay(page)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.same(await attemptsOf(one), ['failed not_confirmed', 'succeeded'])
    t.same(consoleErrors, [])
  })

  t.test('the page of a slow payment refreshes without JavaScript', async (t) => {
    const { page } = await open(t, browser, { javaScriptEnabled: false })
    const one = await session({ items: [{ price_id: catalog.price }], ...seller.addresses })
    await page.goto(one.url)
    await fillCard(page, slow)
    await clickPay(page)
    await page.getByText('Payment in progress').first().waitFor()
    await advance(server, { by_seconds: 4 })
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.same(await attemptsOf(one), ['succeeded'])
  })

  t.test('a form submitted after its session expired links back to the seller', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({
      items: [{ price_id: catalog.price }],
      expires_in_seconds: 1800,
      ...seller.addresses,
    })
    await page.goto(one.url)
    await fillCard(page, succeeds)
    await advance(server, { by_seconds: 1801 })
    await clickPay(page)
    await page.getByText('This page has expired').first().waitFor()
    t.same([await attemptsOf(one), await statusOf(one)], [[], 'canceled'])
    await page.getByRole('link', { name: 'Back to' }).click()
    await page.getByText('Your cart').waitFor()
  })

  t.test('a double click on the button pays once', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalog.price }], ...seller.addresses })
    await page.goto(one.url)
    await fillCard(page, succeeds)
    await page.getByRole('button', { name: 'Pay €' }).dblclick({ noWaitAfter: true })
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.same(await attemptsOf(one), ['succeeded'])
  })

  t.test('of two tabs one pays, and both return to the seller', async (t) => {
    const { page: first } = await open(t, browser)
    const second = await first.context().newPage()
    const one = await session({ items: [{ price_id: catalog.price }], ...seller.addresses })
    for (const page of [first, second]) {
      await page.goto(one.url)
      await fillCard(page, succeeds)
    }
    await Promise.all([clickPay(first), clickPay(second)])
    for (const page of [first, second]) await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.same(await attemptsOf(one), ['succeeded'])
  })

  t.test('going back after paying and paying again charges once', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalog.price }], ...seller.addresses })
    await page.goto(`${seller.url}/cart`)
    await page.goto(one.url)
    await fillCard(page, succeeds)
    await clickPay(page)
    await page.getByText('Thanks for').waitFor()
    await page.goBack()
    await waitUntil(async () => /Thanks for|Your cart|Pay by card/.test(await page.content().catch(() => '')))
    if ((await page.getByLabel('Card number').count()) > 0) {
      await fillCard(page, succeeds)
      await clickPay(page)
      await page.getByText('Thanks for').waitFor()
    }
    await page.goto(one.url)
    await page.getByText('Thanks for').waitFor()
    t.same(await attemptsOf(one), ['succeeded'])
    t.same(await eventsOf(one), ['order.created', 'checkout.created', 'order.paid', 'checkout.completed'])
  })

  t.test('no page overflows on a phone', async (t) => {
    const { page } = await open(t, browser, {
      viewport: { width: 320, height: 640 },
      isMobile: true,
      hasTouch: true,
      colorScheme: 'dark',
    })
    const product = (
      await server.admin.client.post('/payments/products', {
        name: 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft',
      })
    ).body.id
    const price = await addPrice(server.admin.client, product, { unit_amount: 999_999_999, currency: 'clp' })
    const one = await session({
      items: [{ price_id: price, quantity: 900 }, { price_id: price }],
      ...seller.addresses,
    })
    const fits = async (what: string): Promise<void> => {
      t.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, what)
    }
    await page.goto(one.url)
    await fits('the form')
    await clickPay(page)
    await page.getByRole('alert').waitFor()
    await fits('the errors')
    await fillCard(page, needsConfirmation)
    await clickPay(page)
    await page.getByText('Confirm your payment').waitFor()
    await fits('the confirmation')
    await page.getByRole('button', { name: 'Reject' }).tap()
    await fillCard(page, slow)
    await clickPay(page)
    await page.getByText('Payment in progress').first().waitFor()
    await fits('the processing page')
    t.equal(
      await page.evaluate('getComputedStyle(document.body).backgroundColor'),
      'rgb(13, 15, 19)',
      'dark mode',
    )
  })
})

/** The seller's site, on another origin than the server; `/far` redirects to a third origin. */
async function startSellerSite(
  t: Pick<Test, 'teardown'>,
): Promise<{ url: string; addresses: { success_url: string; cancel_url: string } }> {
  const seller = createServer((request, response) => {
    const { pathname, search, searchParams } = new URL(request.url!, 'http://seller')
    if (pathname === '/far')
      return response
        .writeHead(302, {
          location: `http://localhost:${(seller.address() as AddressInfo).port}/thanks${search}`,
        })
        .end()
    response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(pathname === '/cart' ? '<h1>Your cart</h1>' : `<h1>Thanks for ${searchParams.get('session')}</h1>`)
  })
  await new Promise<void>((resolve) => seller.listen(0, resolve))
  t.teardown(() => {
    seller.closeAllConnections()
    seller.close()
  })
  const url = `http://127.0.0.1:${(seller.address() as AddressInfo).port}`
  return {
    url,
    addresses: { success_url: `${url}/thanks?session={CHECKOUT_SESSION_ID}`, cancel_url: `${url}/cart` },
  }
}

interface OpenPage {
  page: Page
  /** Console messages, except for HTTP error statuses. */
  consoleErrors: string[]
}

async function open(t: Test, browser: Browser, options: BrowserContextOptions = {}): Promise<OpenPage> {
  const context = await browser.newContext(options)
  t.teardown(() => context.close())
  const page = await context.newPage()
  const consoleErrors: string[] = []
  page.on('console', (message) => {
    if (!/the server responded with a status of|favicon/.test(message.text()))
      consoleErrors.push(message.text())
  })
  page.on('pageerror', (error) => consoleErrors.push(String(error)))
  return { page, consoleErrors }
}

function focused(page: Page): Promise<string> {
  return page.evaluate('document.activeElement.textContent')
}
