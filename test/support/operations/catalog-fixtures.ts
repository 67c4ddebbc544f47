// A catalog of products and prices, and helpers that act as customers of the sandbox.
import { createClient, type Client, type Reply } from '../http/client.ts'
import type { Person, TestServer } from '../server/server.ts'

/** Sandbox cards by their outcome. */
export const cards = {
  succeeds: '4242 4242 4242 4242',
  renewalDeclined: '4000 0000 0000 0341',
  needsConfirmation: '4000 0025 0000 3155',
  declined: '4000 0000 0000 0002',
  slow: '4000 0000 0000 6976',
}

export interface Catalog {
  product: string
  /** A one-time price of 19.99 EUR. */
  price: string
  /** A monthly price of 10.00 EUR. */
  monthly: string
}

export async function createCatalog({ admin }: Pick<TestServer, 'admin'>): Promise<Catalog> {
  const product = (await admin.client.post('/payments/products', { name: 'Team plan' })).body.id
  const price = await addPrice(admin.client, product, { unit_amount: 1999 })
  const monthly = await addPrice(admin.client, product, {
    unit_amount: 1000,
    recurring: { interval: 'month', interval_count: 1 },
  })
  return { product, price, monthly }
}

export async function addPrice(
  client: Client,
  product: string,
  fields: { unit_amount: number; currency?: string; recurring?: object; usage?: object },
): Promise<string> {
  return (await client.post('/payments/prices', { product_id: product, currency: 'eur', ...fields })).body.id
}

export const pages = { success_url: 'https://shop.example/thanks', cancel_url: 'https://shop.example/cart' }

/** Creates a checkout session with these fields. */
export async function createCheckout(person: Pick<Person, 'client'>, body: object): Promise<any> {
  const reply = await person.client.post('/payments/checkout', { ...pages, ...body })
  if (reply.status !== 201) throw new Error(`The checkout session was not created: ${reply.text}`)
  return reply.body
}

const form = { 'content-type': 'application/x-www-form-urlencoded' }

/** Submits the card form of a session. */
export async function payWithCard(
  { url }: Pick<TestServer, 'url'>,
  session: string,
  number: string,
): Promise<Reply> {
  const raw = new URLSearchParams({ number, expiry: '12 / 34', cvc: '123', name: 'Ada Lovelace' }).toString()
  return await createClient(url, null).call('POST', `/pay/${session}`, { headers: form, raw })
}

/** Confirms or rejects the payment that the page of a session shows. */
export async function answerConfirmation(
  { url }: Pick<TestServer, 'url'>,
  session: string,
  decision: 'confirm' | 'reject',
): Promise<Reply> {
  const anonymous = createClient(url, null)
  const [, payment] = /name="payment" value="([^"]+)"/.exec((await anonymous.get(`/pay/${session}`)).text)!
  return await anonymous.call('POST', `/pay/${session}/confirm`, {
    headers: form,
    raw: new URLSearchParams({ payment, decision }).toString(),
  })
}

export interface Subscribed {
  id: string
  session: string
  order: string
}

/** Subscribes to a price and pays the first order. */
export async function subscribe(
  server: Pick<TestServer, 'url'>,
  person: Pick<Person, 'client'>,
  price: string,
  {
    card = cards.succeeds,
    quantity = 1,
    ...fields
  }: { card?: string | null; quantity?: number; project_id?: string } = {},
): Promise<Subscribed> {
  const {
    id: session,
    subscription_id: id,
    order_id: order,
  } = await createCheckout(person, {
    mode: 'subscription',
    items: [{ price_id: price, quantity }],
    ...fields,
  })
  if (card !== null) await payWithCard(server, session, card)
  return { id, session, order }
}

export async function advance(
  { admin }: Pick<TestServer, 'admin'>,
  body: { to: string } | { by_seconds: number },
): Promise<Reply> {
  return await admin.client.post('/payments/test-clock/advance', body)
}

/** Moves the clock forward to a time, in as many calls as needed. Does nothing if the clock is past it. */
export async function advanceTo(server: Pick<TestServer, 'admin'>, to: string | Date): Promise<void> {
  const target = new Date(to)
  for (;;) {
    const now = Date.parse((await server.admin.client.get('/payments/test-clock')).body.now)
    if (now >= target.getTime()) return
    const reply = await advance(server, {
      to: new Date(Math.min(target.getTime(), now + 700 * 86_400_000)).toISOString(),
    })
    if (reply.status !== 200) throw new Error(`The clock was not moved: ${reply.text}`)
  }
}

/** The types of the events about these objects, in order. */
export async function eventTypesOf(
  { services }: Pick<TestServer, 'services'>,
  ...ids: string[]
): Promise<string[]> {
  const { rows } = await services.database.pool.query<{ type: string }>(
    "SELECT type FROM events WHERE data->'object'->>'id' = ANY($1) ORDER BY position",
    [ids],
  )
  return rows.map(({ type }) => type)
}
