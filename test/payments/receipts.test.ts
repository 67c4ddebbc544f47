// Receipts: their content as HTML and as PDF, who may read them, and that they are byte-identical for the
// same order.
import { hash } from 'node:crypto'
import t from 'tap'
import { extractText, getDocumentProxy, getMeta } from 'unpdf'
import { createMember } from '../support/database/db-fixtures.ts'
import type { Reply } from '../support/http/client.ts'
import { startServer, type Person } from '../support/server/server.ts'
import {
  addPrice,
  advance,
  answerConfirmation,
  createCheckout,
  cards,
  createCatalog,
  payWithCard,
} from '../support/operations/catalog-fixtures.ts'

const seller = 'Ecke & <i>Söhne</i>'
const server = await startServer(t, { env: { SELLER_NAME: seller } })
const catalog = await createCatalog(server)
const ada = await server.person()

function receipt(
  order: string,
  {
    format,
    person = ada,
    headers = {},
  }: { format?: 'html' | 'pdf'; person?: Person; headers?: Record<string, string> } = {},
): Promise<Reply> {
  return person.client.get(
    `/payments/orders/${order}/receipt${format === undefined ? '' : `?format=${format}`}`,
    { headers },
  )
}

async function named(
  name: string,
  price: { unit_amount: number; currency?: string } = { unit_amount: 100 },
): Promise<string> {
  const product = (await server.admin.client.post('/payments/products', { name })).body.id
  return await addPrice(server.admin.client, product, price)
}

/** Creates a paid order. */
async function bought(
  items: object[],
  {
    card = cards.succeeds,
    person = ada,
    ...fields
  }: { card?: string; person?: Person; project_id?: string } = {},
): Promise<any> {
  const { id, order_id: order } = await createCheckout(person, { items, ...fields })
  await payWithCard(server, id, card)
  return (await person.client.get(`/payments/orders/${order}`)).body
}

/** The text of each page of a PDF, with a space between its parts. */
async function textOf({ bytes }: Reply): Promise<string[]> {
  const { text } = await extractText(await getDocumentProxy(new Uint8Array(bytes)))
  return text.map((page) => page.replace(/\s+/g, ' '))
}

/** The visible text of a page. */
function wordsOf({ text }: Reply): string {
  return text
    .replace(/<style>[^]*<\/style>/, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
}

const today = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })

t.test('an unpaid order has no receipt', async (t) => {
  const { id, order_id: order } = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
  const refused = await receipt(order)
  t.equal(refused.status, 409)
  t.match(refused.body.error, { code: 'INVALID_STATE', details: { constraint: 'pending' } })
  t.equal((await receipt(order, { format: 'pdf' })).status, 409)
  await ada.client.post(`/payments/checkout/${id}/expire`)
  t.equal((await receipt(order)).body.error.details.constraint, 'canceled')
})

t.test('the receipt shows the seller, the items, the dates, the amounts and the card', async (t) => {
  const order = await bought(
    [{ price_id: catalog.price, quantity: 3 }, { price_id: await named('Support', { unit_amount: 129900 }) }],
    { card: '5555 5555 5555 4444' },
  )
  const said = [
    'Ecke',
    'Paid in a sandbox. No money has moved.',
    `Order ${order.number}`,
    `Ordered on ${today.format(new Date(order.created_at))}`,
    `Paid on ${today.format(new Date(order.paid_at))}`,
    'Paid by Mastercard ending in 4444',
    'Team plan 3 €19.99 €59.97',
    'Support 1 €1,299.00 €1,299.00',
    'Total paid €1,358.97',
  ]
  const html = await receipt(order.id)
  t.equal(html.headers.get('content-type'), 'text/html; charset=utf-8')
  for (const part of said) t.match(wordsOf(html), part)
  t.notMatch(wordsOf(html), /Given back|Remains/)
  const pdf = await receipt(order.id, { format: 'pdf' })
  t.equal(pdf.headers.get('content-type'), 'application/pdf')
  const [text, ...more] = await textOf(pdf)
  t.same(more, [])
  for (const part of said) t.match(text, part)
  t.match(text, 'Ecke & <i>Söhne</i>')
  t.match(text, 'Page 1 of 1')
  t.match((await getMeta(await getDocumentProxy(new Uint8Array(pdf.bytes)))).info, {
    Title: `Receipt ${order.number}`,
    Author: seller,
  })
})

t.test('the receipt shows refunds and the net amount', async (t) => {
  const order = await bought([{ price_id: catalog.price, quantity: 2 }])
  const before = await receipt(order.id)
  await server.admin.client.post(`/payments/orders/${order.id}/refunds`, { amount: 500 })
  await advance(server, { by_seconds: 86_400 })
  await server.admin.client.post(`/payments/orders/${order.id}/refunds`, { amount: 1000 })
  const [first, second] = (
    await ada.client.get(`/payments/orders/${order.id}/refunds?order=asc`)
  ).body.data.map(({ created_at: at }: any) => today.format(new Date(at)))
  t.not(first, second)
  const part = await receipt(order.id)
  t.match(
    wordsOf(part),
    `Total paid €39.98 Refunded on ${first} −€5.00 Refunded on ${second} −€10.00 Net paid €24.98`,
  )
  const [text] = await textOf(await receipt(order.id, { format: 'pdf' }))
  t.match(text, `Total paid €39.98 Refunded on ${first} −€5.00 Refunded on ${second} −€10.00 Net paid €24.98`)
  t.not(part.headers.get('etag'), before.headers.get('etag'))
  t.ok(Date.parse(part.headers.get('last-modified')!) > Date.parse(before.headers.get('last-modified')!))
  await server.admin.client.post(`/payments/orders/${order.id}/refunds`, {})
  t.match(wordsOf(await receipt(order.id)), 'Net paid €0.00')
})

t.test('the receipt names only the card that paid', async (t) => {
  const { id, order_id: order } = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
  await payWithCard(server, id, cards.declined)
  await payWithCard(server, id, cards.needsConfirmation)
  await answerConfirmation(server, id, 'confirm')
  const { text } = await receipt(order)
  t.match(text, 'Visa ending in 3155')
  t.notMatch(text, '0002')
})

t.test('amounts have the digits of their currency', async (t) => {
  const yen = await bought([
    { price_id: await named('Tee', { unit_amount: 1980, currency: 'jpy' }), quantity: 2 },
  ])
  const dinar = await bought([
    { price_id: await named('Tea', { unit_amount: 1500, currency: 'kwd' }), quantity: 2 },
  ])
  for (const [order, parts] of [
    [yen, ['Tee 2 ¥1,980 ¥3,960', 'Total paid ¥3,960']],
    [dinar, ['Tea 2 KWD 1.500 KWD 3.000', 'Total paid KWD 3.000']],
  ] as const) {
    const words = wordsOf(await receipt(order.id))
    const [text] = await textOf(await receipt(order.id, { format: 'pdf' }))
    for (const part of parts) {
      t.match(words, part)
      t.match(text, part)
    }
  }
})

t.test('the receipt of an unchanged order is byte-identical, and conditional requests are 304', async (t) => {
  const order = await bought([{ price_id: catalog.price }])
  for (const format of ['html', 'pdf'] as const) {
    const [first, second] = [await receipt(order.id, { format }), await receipt(order.id, { format })]
    t.ok(first.bytes.equals(second.bytes), format)
    const etag = first.headers.get('etag')!
    t.match(etag, /^"[\w-]{43}"$/)
    t.equal(second.headers.get('etag'), etag)
    t.equal(first.headers.get('last-modified'), new Date(order.updated_at).toUTCString())
    t.equal(first.headers.get('content-disposition'), `inline; filename=receipt-${order.number}.${format}`)
    t.equal(first.headers.get('cache-control'), 'no-store')
    const again = await receipt(order.id, { format, headers: { 'if-none-match': etag } })
    t.same([again.status, again.bytes.length, again.headers.get('etag')], [304, 0, etag])
    const part = await fetch(`${server.url}/v1/payments/orders/${order.id}/receipt?format=${format}`, {
      headers: { authorization: `Bearer ${ada.key}`, range: 'bytes=10-19' },
    })
    t.same([part.status, await part.text()], [206, first.bytes.subarray(10, 20).toString()])
    const head = await fetch(`${server.url}/v1/payments/orders/${order.id}/receipt?format=${format}`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${ada.key}` },
    })
    t.same(
      [head.status, head.headers.get('content-length'), await head.text()],
      [200, String(first.bytes.length), ''],
    )
  }
  t.not(
    (await receipt(order.id, { format: 'html' })).headers.get('etag'),
    (await receipt(order.id, { format: 'pdf' })).headers.get('etag'),
  )
})

t.test('the CSP of the page allows only its inline style', async (t) => {
  const { text, headers } = await receipt((await bought([{ price_id: catalog.price }])).id)
  const [, style] = /<style>([^]*)<\/style>/.exec(text)!
  t.equal(
    headers.get('content-security-policy'),
    `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; sandbox`,
  )
  t.notMatch(text, /<script|\son\w+=|\ssrc=|\sstyle=|url\(/i)
})

t.test(
  'the format of the receipt is that of the parameter, else what Accept prefers, else HTML',
  async (t) => {
    const order = await bought([{ price_id: catalog.price }])
    const types = { html: 'text/html; charset=utf-8', pdf: 'application/pdf' }
    for (const [accept, expected] of [
      ['application/pdf', 'pdf'],
      ['Application/PDF;q=0.5', 'pdf'],
      ['application/*', 'pdf'],
      ['application/pdf, */*', 'pdf'],
      ['text/html;q=0.4, application/pdf;q=0.6', 'pdf'],
      ['text/html;q=0, */*', 'pdf'],
      ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'html'],
      ['application/pdf;q=0.1, text/html', 'html'],
      ['text/html, application/pdf', 'html'],
      ['*/*', 'html'],
      // No header refuses the receipt: many clients send the type of JSON with every request.
      ['application/json', 'html'],
      ['image/png', 'html'],
      ['application/pdf;q=0', 'html'],
      ['application/pdf;q=high', 'html'],
      ['', 'html'],
    ] as const) {
      const { status, headers } = await receipt(order.id, { headers: { accept } })
      t.same(
        [status, headers.get('content-type'), headers.get('vary')],
        [200, types[expected], 'accept'],
        accept,
      )
      for (const format of ['html', 'pdf'] as const) {
        const asked = await receipt(order.id, { format, headers: { accept } })
        t.same(
          [asked.status, asked.headers.get('content-type')],
          [200, types[format]],
          `${format}: ${accept}`,
        )
      }
    }
  },
)

t.test('conditional and partial requests are for the format that Accept selects', async (t) => {
  const order = await bought([{ price_id: catalog.price }])
  const asPdf = { accept: 'application/pdf' }
  const [html, pdf] = [await receipt(order.id), await receipt(order.id, { headers: asPdf })]
  const known = (etag: string | null) => ({ ...asPdf, 'if-none-match': etag! })
  const same = await receipt(order.id, { headers: known(pdf.headers.get('etag')) })
  t.same([same.status, same.headers.get('vary')], [304, 'accept'])
  t.equal((await receipt(order.id, { headers: known(html.headers.get('etag')) })).status, 200)
  const part = await receipt(order.id, { headers: { ...asPdf, range: 'bytes=0-3' } })
  t.same([part.status, part.text, part.headers.get('vary')], [206, '%PDF', 'accept'])
})

t.test('the error of a receipt is JSON for every Accept', async (t) => {
  const { order_id: order } = await createCheckout(ada, { items: [{ price_id: catalog.price }] })
  for (const accept of ['text/html', 'application/pdf', 'application/json']) {
    const { status, headers, body } = await receipt(order, { headers: { accept } })
    t.same([status, headers.get('content-type')], [409, 'application/json; charset=utf-8'], accept)
    t.match(body.error, { code: 'INVALID_STATE', details: { field: 'status', constraint: 'pending' } })
  }
})

t.test('range requests return only the requested bytes', async (t) => {
  const order = await bought([{ price_id: catalog.price }])
  t.equal((await receipt(order.id, { format: 'pdf', headers: { accept: 'application/pdf' } })).status, 200)
  t.equal((await ada.client.get(`/payments/orders/${order.id}/receipt?format=docx`)).status, 400)
})

t.test('names are escaped', async (t) => {
  const name = `</td><script>alert(1)</script>"'& \u202egnp.\u0001 (\\)`
  const order = await bought([{ price_id: await named(name) }])
  const { text } = await receipt(order.id)
  t.notMatch(text, /<script|<i>/)
  t.match(text, '&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp; \u202egnp.')
  const [pdf] = await textOf(await receipt(order.id, { format: 'pdf' }))
  t.match(pdf, '</td><script>alert(1)</script>"\'& gnp. (\\)')
})

t.test('a PDF shows European letters, and boxes with a note for missing characters', async (t) => {
  const european = 'Übergröße çà İstanbul ậ Καλημέρα κόσμε Ёлки Їжак — “½”'
  const readable = await bought([{ price_id: await named(european) }])
  const [text] = await textOf(await receipt(readable.id, { format: 'pdf' }))
  t.match(text, european)
  t.notMatch(text, '□')
  const foreign = [
    '日本語',
    '한국어',
    'हिन्दी',
    'שלום עולם',
    'مرحبا',
    '👩‍👩‍👧',
    '\u{10ffff}',
    'e\u0301\u0302\u0303\u0304\u0305'.repeat(20),
  ]
  const order = await bought(
    await Promise.all(foreign.map(async (name) => ({ price_id: await named(`${name} end`) }))),
  )
  const [boxes] = await textOf(await receipt(order.id, { format: 'pdf' }))
  t.match(boxes, '□□□ end')
  t.match(boxes, 'A box □ is a character that the font of this PDF lacks.')
  const { text: page } = await receipt(order.id)
  for (const name of foreign) t.match(page, name)
})

t.test('long names wrap and long orders continue on the next page', async (t) => {
  const items = [
    { price_id: await named('Ω'.repeat(200), { unit_amount: 999_999_999 }), quantity: 10 },
    { price_id: await named('word '.repeat(39), { unit_amount: 1 }) },
  ]
  const order = await bought(Array.from({ length: 100 }, (_, i) => items[i % 2]))
  const texts = await textOf(await receipt(order.id, { format: 'pdf' }))
  t.ok(texts.length > 5, `${texts.length} pages`)
  texts.forEach((text, i) => {
    t.match(text, `Page ${i + 1} of ${texts.length}`)
    if (/€/.test(text)) t.match(text, /Unit price/, 'each page of items has column headings')
  })
  const all = texts.join(' ')
  t.equal(all.match(/€99,999,999\.90/g)!.length, 50)
  t.equal(all.match(/Ω/g)!.length, 50 * 200)
  t.match(texts.at(-1)!, 'Total paid')
})

t.test('only users who may read the order may read its receipt', async (t) => {
  const [owner, viewer, stranger] = await Promise.all([server.person(), server.person(), server.person()])
  const project = (await owner.client.post('/projects', { name: 'Buying' })).body.id
  await createMember(server, project, viewer.id, 'viewer')
  const order = await bought([{ price_id: catalog.price }], { person: owner, project_id: project })
  for (const format of ['html', 'pdf'] as const) {
    t.equal((await receipt(order.id, { format, person: viewer })).status, 200)
    t.equal((await receipt(order.id, { format, person: stranger })).status, 403)
    t.equal((await receipt(`${order.id.slice(0, -4)}0000`, { format, person: stranger })).status, 404)
  }
  const narrow = await server.person({ scopes: ['payments:write'] })
  t.equal((await receipt(order.id, { person: narrow })).status, 403)
})
