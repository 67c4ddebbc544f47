// A catalogue to buy from, and what customers do.
import type { Client, Reply } from './client.ts'
import type { TestServer } from './server.ts'

export interface Shop {
  product: string
  /** Paid once, 19.99 EUR. */
  price: string
  /** 10.00 EUR a month. */
  monthly: string
}

export async function openShop ({ admin }: Pick<TestServer, 'admin'>): Promise<Shop> {
  const product = (await admin.client.post('/payments/products', { name: 'Team plan' })).body.id
  const price = await addPrice(admin.client, product, { unit_amount: 1999 })
  const monthly = await addPrice(admin.client, product, { unit_amount: 1000, recurring: { interval: 'month', interval_count: 1 } })
  return { product, price, monthly }
}

export async function addPrice (client: Client, product: string, fields: { unit_amount: number, currency?: string, recurring?: object }): Promise<string> {
  return (await client.post('/payments/prices', { product_id: product, currency: 'eur', ...fields })).body.id
}

export const pages = { success_url: 'https://shop.example/thanks', cancel_url: 'https://shop.example/cart' }

/** Types a card on the page of a session, as its form does. */
export async function payBy (url: string, number: string): Promise<Response> {
  return await fetch(url, {
    method: 'POST', redirect: 'manual', body: new URLSearchParams({ number, expiry: '12 / 34', cvc: '123', name: 'Ada Lovelace' })
  })
}

export async function advance ({ admin }: Pick<TestServer, 'admin'>, body: { to: string } | { seconds: number }): Promise<Reply> {
  return await admin.client.post('/payments/test-clock/advance', body)
}
