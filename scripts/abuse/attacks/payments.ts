// Attacks of one user with several keys with orders: receipts, and payments of one session at once.
import { made } from '../client.ts'
import { attack, type Attack, type Scene } from '../attack.ts'

const limit = '429 rate_limit'
const atOnceLimit = '429 max_open'
const card = 'number=4242424242424242&expiry=12%2F34&cvc=123&name=Eve'

interface Session {
  id: string
  order: string
}

/** A checkout session with this number of items, each with a price of its own. */
async function createSession({ target, client, key }: Scene, items: number): Promise<Session> {
  const admin = await target.admin()
  const product = made(
    await client.send('POST', '/v1/payments/products', { key: admin, json: { name: 'Tea' } }),
  )
  const prices: string[] = []
  for (let i = 0; i < items; i++) {
    const json = { product_id: product.id, currency: 'eur', unit_amount: 100 + i }
    prices.push(made(await client.send('POST', '/v1/payments/prices', { key: admin, json })).id)
  }
  const json = {
    items: prices.map((id) => ({ price_id: id, quantity: 2 })),
    success_url: 'https://shop.example/thanks',
    cancel_url: 'https://shop.example/cart',
  }
  const session = made(await client.send('POST', '/v1/payments/checkout', { key: key(), json }))
  return { id: session.id, order: session.order_id }
}

async function pay({ client }: Scene, id: string): Promise<string> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return (await client.send('POST', `/pay/${id}`, { body: card, headers })).label
}

export const paymentAttacks: Attack[] = [
  attack({
    name: 'receipts',
    does: 'receipts of 20 items as PDF and as HTML',
    atOnce: 16,
    async prepare(scene) {
      const { id, order } = await createSession(scene, 20)
      await pay(scene, id)
      return order
    },
    send: async ({ client, key }, order, i) => {
      const path = `/v1/payments/orders/${order}/receipt?format=${i % 2 === 0 ? 'pdf' : 'html'}`
      return (await client.send('GET', path, { key: key() })).label
    },
    answers: ['200', limit, atOnceLimit],
    cpuMs: 100,
  }),
  attack({
    name: 'payments at once',
    does: 'one session that is paid on 32 connections, without a key',
    atOnce: 32,
    prepare: async (scene) => (await createSession(scene, 1)).id,
    send: async (scene, id) => await pay(scene, id),
    answers: ['303', '409 status', limit],
    limit,
    cpuMs: 60,
  }),
]
