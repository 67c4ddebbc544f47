// The pages by which a session is paid, without a browser and in one.
import { hash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { testCards } from '../../services/payments/sandbox/gateway.ts'
import { validateCard } from '../../services/payments/sandbox/page/card-validation.ts'
import { createClient, type Reply } from '../support/client.ts'
import { startServer } from '../support/server.ts'
import {
  addPrice,
  advance,
  beginCheckout,
  cards,
  eventsAbout,
  createCatalog,
} from '../support/catalog-fixtures.ts'
import { waitUntil } from '../support/wait.ts'

const browserPath = [
  process.env['CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => path !== undefined && existsSync(path))

const seller = 'Ecke & <i>Söhne</i>'
const server = await startServer(t, { env: { SELLER_NAME: seller } })
const catalogue = await createCatalog(server)
const ada = await server.person()
const stranger = createClient(server.url, null)
const { pays, declined, asks, slow } = cards
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

function session(body: object = { items: [{ price_id: catalogue.price }] }): Promise<Session> {
  return beginCheckout(ada, { ...elsewhere, ...body })
}

function look({ id }: Session, headers: Record<string, string> = {}): Promise<Reply> {
  return stranger.get(`/pay/${id}`, { headers })
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** What the form sends, with the number and what else is said. */
function type({ id }: { id: string }, number: string, rest: Record<string, string> = {}): Promise<Reply> {
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

function answer({ id }: { id: string }, payment: string, decision: string): Promise<Reply> {
  return stranger.call('POST', `/pay/${id}/confirm`, {
    headers: form,
    raw: new URLSearchParams({ payment, decision }).toString(),
  })
}

const statusOf = async ({ order_id: id }: Session): Promise<string> =>
  (await ada.client.get(`/payments/orders/${id}`)).body.status
const paymentIn = ({ text }: Reply): string => /name="payment" value="([^"]+)"/.exec(text)![1]

async function triesOf({ id }: Session): Promise<string[]> {
  const { rows } = await server.services.database.pool.query(
    "SELECT concat_ws(' ', status::text, failure_code) AS text FROM payments WHERE checkout_id = $1 ORDER BY id",
    [id],
  )
  return rows.map(({ text }) => text)
}

function eventsOf({ order_id: order, id }: Session): Promise<string[]> {
  return eventsAbout(server, order, id)
}

t.test('it shows what is bought, of whom, and for how much', async (t) => {
  const yen = await addPrice(server.admin.client, catalogue.product, { unit_amount: 1980, currency: 'jpy' })
  const dinar = await addPrice(server.admin.client, catalogue.product, { unit_amount: 1500, currency: 'kwd' })
  const euro = await look(
    await session({ items: [{ price_id: catalogue.price, quantity: 3 }, { price_id: catalogue.price }] }),
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
    (await look(await session({ items: [{ price_id: yen, quantity: 2 }] }))).text,
    /Pay ¥3,960<\/button>/,
  )
  t.match((await look(await session({ items: [{ price_id: dinar }] }))).text, /Pay KWD\s1\.500<\/button>/)
  const monthly = await look(
    await session({ mode: 'subscription', items: [{ price_id: catalogue.monthly }] }),
  )
  t.match(monthly.text, '€10.00 <small>every month</small>')
  t.match(monthly.text, 'renewed every month until it is canceled')
  t.notMatch(euro.text, 'renewed')
})

t.test('it says that it is a sandbox, and which cards there are', async (t) => {
  const { text } = await look(await session())
  t.match(text, 'This is a sandbox.')
  t.match(text, 'never type the number of a real one')
  for (const { number, description } of testCards)
    t.match(text, `${number.replace(/\d{4}(?=\d)/g, '$& ')}</code></dt><dd>${description}</dd>`)
})

t.test('it runs nothing, loads nothing, sends its forms nowhere else and is kept by nobody', async (t) => {
  const paid = await session()
  await type(paid, pays)
  for (const one of [await session(), paid, { ...paid, id: `${paid.id.slice(0, -4)}0000` }]) {
    const { headers, text } = await look(one)
    const [, style] = /<style>([^]*)<\/style>/.exec(text)!
    t.equal(
      headers.get('content-security-policy'),
      `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    )
    t.equal(headers.get('cache-control'), 'no-store')
    t.equal(headers.get('referrer-policy'), 'no-referrer')
    t.match(headers.get('x-robots-tag'), 'noindex')
    t.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    t.notMatch(text, /<script|\son\w+=|javascript:|\ssrc=|\sstyle=|@import|url\(/i)
  }
})

t.test('HEAD says what GET would', async (t) => {
  const one = await session()
  const [get, head] = await Promise.all([look(one), fetch(`${server.url}/pay/${one.id}`, { method: 'HEAD' })])
  t.equal(head.status, 200)
  t.equal(await head.text(), '')
  for (const name of ['content-type', 'content-security-policy', 'cache-control'])
    t.equal(head.headers.get(name), get.headers.get(name))
})

t.test('a session that does not exist is 404 wherever it is asked for', async (t) => {
  const { id } = await session()
  const gone = { id: `${id.slice(0, -6)}000000`, url: '', order_id: '', subscription_id: null }
  for (const { status, text } of [
    await look(gone),
    await type(gone, pays),
    await answer(gone, 'pay_01jd6y8m5qe8btc4y5w1r0n3fz', 'confirm'),
    await stranger.get(`/pay/${gone.id}/return`),
  ]) {
    t.equal(status, 404)
    t.match(text, 'There is nothing to be paid here')
  }
})

t.test('an expired one is 410, leads back, and takes no card', async (t) => {
  const one = await session()
  await type(one, asks)
  const payment = paymentIn(await look(one))
  await ada.client.post(`/payments/checkout/${one.id}/expire`)
  for (const { status, text } of [
    await look(one),
    await type(one, pays),
    await answer(one, payment, 'confirm'),
  ]) {
    t.equal(status, 410)
    t.match(text, 'This page has expired')
    t.match(text, 'Nothing was paid.')
    t.match(text, 'href="https://shop.example/cart"')
  }
  t.equal(await statusOf(one), 'canceled')
  t.same(await triesOf(one), ['failed expired'])
})

t.test('it says so when the order was paid in another way, and when a payment came too late', async (t) => {
  const late = await session()
  await type(late, slow)
  await ada.client.post(`/payments/orders/${late.order_id}/cancel`)
  t.match((await look(late)).text, 'The payment is on its way')
  await advance(server, { seconds: 10 })
  const over = await look(late)
  t.equal(over.status, 410)
  t.match(over.text, 'Your payment came too late, and is given back to you.')
  const first = await session()
  await ada.client.post(`/payments/checkout/${first.id}/expire`)
  const order = (await ada.client.post('/payments/orders', { items: [{ price_id: catalogue.price }] })).body
  const [before, after] = [await session({ items: undefined, order_id: order.id }), order.id]
  await ada.client.post(`/payments/checkout/${before.id}/expire`)
  await type(await session({ items: undefined, order_id: after }), pays)
  t.match((await look(before)).text, 'The order was paid in another way.')
})

t.test('names and addresses are text, whatever is in them', async (t) => {
  const name = `</span><script>alert(1)</script>"'&<img src=x onerror=alert(1)>\u202egnp`
  const product = (await server.admin.client.post('/payments/products', { name })).body.id
  const price = await addPrice(server.admin.client, product, { unit_amount: 100 })
  const one = await session({
    items: [{ price_id: price }],
    success_url: 'https://shop.example/"><script>alert(2)</script>?a=1&b=\'é✓#{CHECKOUT_SESSION_ID}',
    cancel_url: 'https://shop.example/?x="><script>alert(3)</script>&{CHECKOUT_SESSION_ID}',
  })
  const { text } = await look(one)
  t.notMatch(text, /<script|<img|<i>/)
  t.match(
    text,
    '<bdi>&lt;/span&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;&lt;img src=x onerror=alert(1)&gt;\u202egnp</bdi>',
  )
  t.match(text, '<bdi>Ecke &amp; &lt;i&gt;Söhne&lt;/i&gt;</bdi>')
  t.match(text, `href="https://shop.example/?x=%22%3E%3Cscript%3Ealert(3)%3C/script%3E&amp;${one.id}"`)
  await type(one, pays)
  const paid = await look(one)
  t.notMatch(paid.text, /<script/)
  const url = `https://shop.example/%22%3E%3Cscript%3Ealert(2)%3C/script%3E?a=1&amp;b=%27%C3%A9%E2%9C%93#${one.id}`
  t.match(paid.text, `<meta http-equiv="refresh" content="0;url=${url}">`)
  t.match(paid.text, `href="${url}"`)
})

t.test('what is wrong stands beside its field and above them all, and nothing was done', async (t) => {
  const one = await session()
  const none = await type(one, '', { expiry: '', cvc: '', name: ' ' })
  t.equal(none.status, 422)
  t.match(none.headers.get('content-security-policy'), /^default-src 'none'/)
  t.equal(none.headers.get('cache-control'), 'no-store')
  for (const [field, problem] of Object.entries({
    number: 'Type the number of a test card.',
    expiry: 'Type the expiry date, such as 12 / 34.',
    cvc: 'Type the security code: any 3 or 4 digits.',
    name: 'Type the name on the card: any will do.',
  })) {
    t.match(
      none.text,
      new RegExp(
        `<input id="${field}"[^>]* aria-describedby="[^"]*${field}-wrong" aria-invalid="true">\\s*<span class="wrong" id="${field}-wrong">${problem}<`,
      ),
    )
    t.match(none.text, `<a href="#${field}">${problem}</a>`)
  }
  t.match(none.text, /<title>Not paid yet: /)
  t.match(none.text, /role="alert" tabindex="-1" autofocus/)
  const single = await type(one, pays, { cvc: '12' })
  t.equal(single.text.match(/aria-invalid="true"/g)!.length, 1)
  t.match(single.text, '<span class="hint" id="number-hint">Type it again: it is not kept</span>')
  t.match(single.text, 'value="12 / 34"')
  t.match(single.text, 'value="Ada Lovelace"')
  t.same(
    [await triesOf(one), await eventsOf(one), await statusOf(one)],
    [[], ['order.created', 'checkout.created'], 'pending'],
  )
  t.equal((await type(one, pays, { amount: '1' })).status, 400)
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

t.test('the number of a real card is refused by name, and is neither shown, logged nor kept', async (t) => {
  const one = await session()
  const real = [
    '4111 1111 1111 1111',
    '5105-1051-0510-5100',
    '378282246310005',
    '４０１２８８８８８８８８１８８１',
  ]
  for (const number of real) {
    const { status, text } = await type(one, number, {
      name: `${number} Ada`,
      expiry: number,
      cvc: '9876543',
    })
    t.equal(status, 422)
    t.match(text, 'This may be a real card, and real cards must not be typed here.')
    t.notMatch(text, number)
    t.notMatch(text, '9876543')
    t.notMatch(text, number.replace(/\D/g, '') || number)
  }
  const wrong = await type(one, '4111 1111 1111 1112')
  t.match(wrong.text, 'This is not the number of a test card.')
  t.notMatch(wrong.text, '1112')
  await type(one, '4'.repeat(101))
  t.notMatch(server.logs.join(''), /4111.?1111|37828224|4444444444/)
  t.same(await triesOf(one), [])
})

t.test('a card may be typed in many ways', (t) => {
  const now = new Date('2026-11-21T12:00:00Z')
  const problems = (typed: object): string =>
    Object.keys(
      (
        validateCard({ number: pays, expiry: '12 / 34', cvc: '123', name: 'Ada', ...typed }, now) as {
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

t.test('a declined card is told of, and another one pays', async (t) => {
  const one = await session()
  for (const [number, says] of [
    [declined, 'Your card was declined.'],
    ['4000000000009995', 'There is not enough money on your card.'],
    ['4000000000000069', 'Your card has expired.'],
  ]) {
    const sent = await type(one, number)
    t.equal(sent.status, 303)
    t.equal(new URL(sent.headers.get('location')!, one.url).href, one.url)
    const { status, text } = await look(one)
    t.equal(status, 200)
    t.match(text, says)
    t.notMatch(text, new RegExp(`value="[^"]*${number.slice(-4)}`))
    t.equal(await statusOf(one), 'pending')
  }
  t.same(await eventsOf(one), ['order.created', 'checkout.created'])
  t.equal((await type(one, pays)).status, 303)
  t.equal(await statusOf(one), 'paid')
  const { text } = await look(one)
  t.match(text, 'Paid. Thank you!')
  t.match(text, `content="0;url=https://shop.example/thanks?session=${one.id}"`)
  t.same(await triesOf(one), [
    'failed card_declined',
    'failed insufficient_funds',
    'failed expired_card',
    'succeeded',
  ])
})

t.test('the form sent many times at once pays once', async (t) => {
  const one = await session()
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => type(one, i % 2 === 0 ? pays : '5555555555554444')),
  )
  t.ok(answers.every(({ status }) => status === 303))
  t.same(await triesOf(one), ['succeeded'])
  t.same(await eventsOf(one), ['order.created', 'checkout.created', 'order.paid', 'checkout.completed'])
  for (const number of [pays, declined, asks, '4111111111111111', ''])
    t.equal((await type(one, number)).status, 303)
  t.same(await triesOf(one), ['succeeded'], 'what is typed afterwards does nothing')
})

t.test('a payment is confirmed once, by who was asked', async (t) => {
  const one = await session()
  const other = await session()
  await type(one, asks)
  await type(other, asks)
  const asked = await look(one)
  t.match(asked.text, 'Do you confirm this payment?')
  t.match(asked.text, 'Visa ending in 3155')
  t.equal(await statusOf(one), 'pending')
  const payment = paymentIn(asked)
  t.equal((await answer(one, paymentIn(await look(other)), 'confirm')).status, 303, "another's")
  t.equal(
    (await answer(one, `${payment.slice(0, -4)}0000`, 'confirm')).status,
    303,
    'one that does not exist',
  )
  t.equal((await answer(one, 'x', 'confirm')).status, 400)
  t.equal((await answer(one, payment, 'perhaps')).status, 400)
  t.same([await triesOf(one), await triesOf(other)], [['requires_confirmation'], ['requires_confirmation']])
  const answers = await Promise.all(Array.from({ length: 8 }, () => answer(one, payment, 'confirm')))
  for (const { status, headers } of answers)
    t.same([status, new URL(headers.get('location')!, `${one.url}/confirm`).href], [303, one.url])
  t.equal((await answer(one, payment, 'reject')).status, 303)
  t.same(await triesOf(one), ['succeeded'])
  t.same(await eventsOf(one), ['order.created', 'checkout.created', 'order.paid', 'checkout.completed'])
  t.equal(await statusOf(other), 'pending')
})

t.test('one that is rejected, or left for another card, is confirmed no more', async (t) => {
  const one = await session()
  await type(one, asks)
  const first = paymentIn(await look(one))
  await answer(one, first, 'reject')
  t.match((await look(one)).text, 'You did not confirm the payment.')
  await answer(one, first, 'confirm')
  t.same(await triesOf(one), ['failed not_confirmed'])
  await type(one, asks)
  const second = paymentIn(await look(one))
  await type(one, declined)
  t.match((await look(one)).text, 'Your card was declined.')
  await answer(one, second, 'confirm')
  t.same(await triesOf(one), ['failed not_confirmed', 'failed superseded', 'failed card_declined'])
  t.equal(await statusOf(one), 'pending')
})

t.test('a slow card is waited for, and no other is taken meanwhile', async (t) => {
  const one = await session()
  await type(one, slow)
  const wait = await look(one)
  t.match(wait.text, '<meta http-equiv="refresh" content="2">')
  t.match(wait.text, 'The payment is on its way')
  t.equal((await type(one, pays)).status, 303)
  t.same(await triesOf(one), ['processing'])
  await advance(server, { seconds: 4 })
  t.match((await look(one)).text, 'Paid. Thank you!')
  t.same(await triesOf(one), ['succeeded'])
})

t.test('what goes wrong on the way is a page for a browser, and JSON for all others', async (t) => {
  const { id } = await session()
  const strict = await startServer(t, { databaseUrl: server.databaseUrl, env: { RATE_LIMIT_PAGE: '3' } })
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(strict.url + path, { ...init, headers: { accept, ...init.headers } })
  for (const [status, title, reply] of [
    [400, 'This cannot be shown', await ask('/pay/garbage"><script>')],
    [
      413,
      'This cannot be shown',
      await ask(`/pay/${id}`, { method: 'POST', headers: form, body: 'name='.padEnd(20_000, 'x') }),
    ],
    [
      400,
      'This cannot be shown',
      await ask(`/pay/${id}/confirm`, { method: 'POST', headers: form, body: 'payment=1' }),
    ],
    [405, 'This cannot be shown', await ask(`/pay/${id}/confirm`)],
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
    'what answers JSON answers JSON',
  )
  t.equal(
    (await ask('/v1/projects', { method: 'PUT' })).headers.get('content-type'),
    'application/json; charset=utf-8',
    'whatever it is asked with',
  )
  t.equal(
    (await ask('/pay')).headers.get('content-type'),
    'application/json; charset=utf-8',
    'and what is not there is no page',
  )
  const { paths } = (await stranger.get('/openapi.json')).body
  t.same(
    Object.keys(paths['/pay/{id}'].get.responses['429'].content),
    ['application/json', 'text/html'],
    'the contract says both',
  )
})

t.test('in a browser', { skip: browserPath === undefined && 'no Chromium' }, async (t) => {
  const browser = await chromium.launch({
    executablePath: browserPath!,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  t.teardown(() => browser.close())
  const shop = await openSellersPages(t)

  t.test('a card pays, and the customer comes to the seller', async (t) => {
    const { page, complaints } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalogue.price }], ...shop.addresses })
    await page.goto(one.url)
    await fill(page, pays)
    await pay(page)
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.equal(await statusOf(one), 'paid')
    t.same(complaints, [])
  })

  t.test('also where the seller sends on to another place', async (t) => {
    const { page, complaints } = await open(t, browser)
    const one = await session({
      items: [{ price_id: catalogue.price }],
      ...shop.addresses,
      success_url: `${shop.url}/far?session={CHECKOUT_SESSION_ID}`,
    })
    await page.goto(one.url)
    await fill(page, pays)
    await pay(page)
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.not(new URL(page.url()).origin, new URL(shop.url).origin)
    t.same(complaints, [])
  })

  t.test('one that is declined is told of where the eyes are, and another pays', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalogue.price }], ...shop.addresses })
    await page.goto(one.url)
    await fill(page, declined)
    await pay(page)
    await page.getByText('Your card was declined.').waitFor()
    t.match(await focused(page), 'Your card was declined.')
    t.equal(await page.getByLabel('Card number').inputValue(), '')
    await fill(page, pays)
    await pay(page)
    await page.getByText('Thanks for').waitFor()
    t.same(await triesOf(one), ['failed card_declined', 'succeeded'])
  })

  t.test('everything goes by keyboard alone, with what is wrong a key away', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalogue.price }], ...shop.addresses })
    await page.goto(one.url)
    const press = async (...keys: string[]): Promise<void> => {
      for (const key of keys) await page.keyboard.press(key)
    }
    // By the link back to the first field.
    await press('Tab')
    t.match(await focused(page), 'Back to')
    t.match(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'solid')
    await press('Tab')
    await page.keyboard.type(pays)
    await press('Tab', 'Tab')
    await page.keyboard.type('123')
    await press('Tab')
    await page.keyboard.type('Ada')
    await press('Enter')
    await page.getByRole('alert').waitFor()
    t.match(await focused(page), 'Nothing was paid yet')
    await press('Tab', 'Enter')
    t.equal(await page.evaluate('document.activeElement.id'), 'expiry')
    await page.keyboard.type('1234')
    await press('Tab')
    await page.keyboard.type('123')
    await press('Shift+Tab', 'Shift+Tab')
    t.equal(await page.evaluate('document.activeElement.id'), 'number')
    await page.keyboard.type(asks)
    await press('Enter')
    await page.getByText('Do you confirm this payment?').waitFor()
    await press('Tab', 'Space')
    await page.getByText('Thanks for').waitFor()
    t.same(await triesOf(one), ['succeeded'])
  })

  t.test('a confirmation is given or refused, without JavaScript', async (t) => {
    const { page, complaints } = await open(t, browser, { javaScriptEnabled: false })
    const one = await session({ items: [{ price_id: catalogue.price }], ...shop.addresses })
    await page.goto(one.url)
    await fill(page, asks)
    await pay(page)
    await page.getByRole('button', { name: 'Reject' }).click()
    await page.getByText('You did not confirm the payment.').waitFor()
    await fill(page, asks)
    await pay(page)
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.same(await triesOf(one), ['failed not_confirmed', 'succeeded'])
    t.same(complaints, [])
  })

  t.test('a slow card is waited for, also without JavaScript', async (t) => {
    const { page } = await open(t, browser, { javaScriptEnabled: false })
    const one = await session({ items: [{ price_id: catalogue.price }], ...shop.addresses })
    await page.goto(one.url)
    await fill(page, slow)
    await pay(page)
    await page.getByText('The payment is on its way').first().waitFor()
    await advance(server, { seconds: 4 })
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.same(await triesOf(one), ['succeeded'])
  })

  t.test('a form that was left open while its session expired leads back', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({
      items: [{ price_id: catalogue.price }],
      expires_in_seconds: 1800,
      ...shop.addresses,
    })
    await page.goto(one.url)
    await fill(page, pays)
    await advance(server, { seconds: 1801 })
    await pay(page)
    await page.getByText('This page has expired').first().waitFor()
    t.same([await triesOf(one), await statusOf(one)], [[], 'canceled'])
    await page.getByRole('link', { name: 'Back to' }).click()
    await page.getByText('Your cart').waitFor()
  })

  t.test('a double click on the button pays once', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalogue.price }], ...shop.addresses })
    await page.goto(one.url)
    await fill(page, pays)
    await page.getByRole('button', { name: 'Pay €' }).dblclick({ noWaitAfter: true })
    await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.same(await triesOf(one), ['succeeded'])
  })

  t.test('of two tabs one pays, and the other comes to the seller, too', async (t) => {
    const { page: first } = await open(t, browser)
    const second = await first.context().newPage()
    const one = await session({ items: [{ price_id: catalogue.price }], ...shop.addresses })
    for (const page of [first, second]) {
      await page.goto(one.url)
      await fill(page, pays)
    }
    await Promise.all([pay(first), pay(second)])
    for (const page of [first, second]) await page.getByText(`Thanks for ${one.id}`).waitFor()
    t.same(await triesOf(one), ['succeeded'])
  })

  t.test('who goes back after paying, and pays again, has paid once', async (t) => {
    const { page } = await open(t, browser)
    const one = await session({ items: [{ price_id: catalogue.price }], ...shop.addresses })
    await page.goto(`${shop.url}/cart`)
    await page.goto(one.url)
    await fill(page, pays)
    await pay(page)
    await page.getByText('Thanks for').waitFor()
    await page.goBack()
    await waitUntil(async () => /Thanks for|Your cart|Pay by card/.test(await page.content().catch(() => '')))
    if ((await page.getByLabel('Card number').count()) > 0) {
      await fill(page, pays)
      await pay(page)
      await page.getByText('Thanks for').waitFor()
    }
    await page.goto(one.url)
    await page.getByText('Thanks for').waitFor()
    t.same(await triesOf(one), ['succeeded'])
    t.same(await eventsOf(one), ['order.created', 'checkout.created', 'order.paid', 'checkout.completed'])
  })

  t.test('nothing sticks out on a phone, whatever it shows', async (t) => {
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
      ...shop.addresses,
    })
    const fits = async (what: string): Promise<void> => {
      t.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, what)
    }
    await page.goto(one.url)
    await fits('the form')
    await pay(page)
    await page.getByRole('alert').waitFor()
    await fits('what is wrong')
    await fill(page, asks)
    await pay(page)
    await page.getByText('Do you confirm').waitFor()
    await fits('the confirmation')
    await page.getByRole('button', { name: 'Reject' }).tap()
    await fill(page, slow)
    await pay(page)
    await page.getByText('The payment is on its way').first().waitFor()
    await fits('the wait')
    t.equal(
      await page.evaluate('getComputedStyle(document.body).backgroundColor'),
      'rgb(15, 17, 22)',
      'in the dark',
    )
  })
})

/** The seller's own pages, on another origin than the server's, and one of them on a third. */
async function openSellersPages(
  t: Test,
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

interface Opened {
  page: Page
  /** What the console says, but for answers that are no success. */ complaints: string[]
}

async function open(t: Test, browser: Browser, options: BrowserContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext(options)
  t.teardown(() => context.close())
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (!/the server responded with a status of|favicon/.test(message.text())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { page, complaints }
}

async function fill(page: Page, number: string): Promise<void> {
  await page.getByLabel('Card number').fill(number)
  await page.getByLabel('Expiry date').fill('12 / 34')
  await page.getByLabel('Security code').fill('123')
  await page.getByLabel('Name on card').fill('Ada Lovelace')
}

async function pay(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Pay / }).click()
}

function focused(page: Page): Promise<string> {
  return page.evaluate('document.activeElement.textContent')
}
