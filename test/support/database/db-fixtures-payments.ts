// Products, orders, sessions, refunds and subscriptions, inserted by the services before a test. The gateway
// is the sandbox.
import { randomInt } from 'node:crypto'
import * as customers from '../../../generated/sql/customers.ts'
import * as entitlements from '../../../generated/sql/entitlements.ts'
import * as features from '../../../generated/sql/features.ts'
import * as meters from '../../../generated/sql/meters.ts'
import * as prices from '../../../generated/sql/prices.ts'
import * as products from '../../../generated/sql/products.ts'
import type { components } from '../../../generated/types.ts'
import type { Transaction } from '../../../infra/database/database.ts'
import { newId, newIdAt, timeOf } from '../../../infra/ids.ts'
import { insertCheckout } from '../../../services/payments/checkouts.ts'
import { changeSubscription } from '../../../services/payments/change-subscription.ts'
import { paymentsNow } from '../../../services/payments/clock.ts'
import { pauseSubscription } from '../../../services/payments/pause-subscription.ts'
import { findOrder, insertOrder, priceItems, type NewOrder } from '../../../services/payments/orders.ts'
import { portalCookie } from '../../../services/auth/sessions/cookies.ts'
import { storeCard } from '../../../services/payments/payment-methods.ts'
import { createPortalSession, enterPortal } from '../../../services/payments/portal/sessions.ts'
import { refundOrder } from '../../../services/payments/refunds.ts'
import { disputePayment } from '../../../services/payments/sandbox/disputes.ts'
import {
  cancelSubscriptionNow,
  expireCheckout,
  recordPaymentAttempt,
  lockOrder,
  applyPayment,
  type PaymentNotification,
} from '../../../services/payments/settle.ts'
import {
  insertSubscription,
  setCancelAtPeriodEnd,
  lockSubscription,
} from '../../../services/payments/subscriptions.ts'
import { toNewCard } from '../../../services/payments/sandbox/gateway.ts'
import type { TestServer } from '../server/server.ts'

export const pages = { success_url: 'https://shop.example/thanks', cancel_url: 'https://shop.example/cart' }

export const card = { brand: 'Visa', last4: '4242', renews: true }

/** A product with a one-time price of 19.99 EUR and a monthly price of 10.00 EUR. */
export interface Catalog {
  product: string
  price: string
  monthly: string
}

const catalogs = new WeakMap<TestServer, Promise<Catalog>>()

/** The catalog of a server, created on first use. */
export async function catalogFor(server: TestServer): Promise<Catalog> {
  const found = catalogs.get(server) ?? newCatalog(server)
  catalogs.set(server, found)
  return await found
}

async function newCatalog(server: TestServer): Promise<Catalog> {
  const product = await insertedProduct(server)
  return {
    product,
    price: await insertedPrice(server, product),
    monthly: await insertedPrice(server, product, {
      unit_amount: 1000,
      recurring: { interval: 'month', interval_count: 1 },
    }),
  }
}

export async function insertedProduct(
  { services: { database } }: TestServer,
  { name = 'Team plan' } = {},
): Promise<string> {
  const id = newIdAt('prod', await paymentsNow(database))
  const fields = {
    name,
    description: 'Ten seats',
    active: true,
    metadata: {},
    organization_id: null,
    created_by: null,
  }
  await products.insert(database, { id, ...fields, created_at: timeOf(id) })
  return id
}

const noCustomer = {
  organization_id: null,
  external_id: null,
  email: null,
  name: null,
  address: null,
  locale: null,
  created_by: null,
}

export async function insertedCustomer(
  { services: { database } }: TestServer,
  fields: Partial<components['schemas']['CustomerCreate']> = {},
): Promise<string> {
  const id = newIdAt('cus', await paymentsNow(database))
  const row = {
    ...noCustomer,
    user_id: null,
    buyer_organization_id: null,
    tax_ids: [],
    metadata: {},
    ...fields,
  }
  await customers.insert(database, { ...row, id, created_at: timeOf(id) })
  return id
}

/** A meter of the operator that adds up the property `amount`. */
export async function insertedMeter(
  { services: { database } }: TestServer,
  fields: Partial<components['schemas']['MeterCreate']> = {},
): Promise<string> {
  const id = newIdAt('mtr', await paymentsNow(database))
  const row = {
    organization_id: null,
    key: `key_${id}`,
    name: 'Tokens',
    aggregation: 'sum' as const,
    property: 'amount',
    unit: null,
    dimensions: [],
    source: null,
    active: true,
    metadata: {},
    created_by: null,
    ...fields,
  }
  await meters.insert(database, { ...row, id, created_at: timeOf(id) })
  return id
}

/** A feature of the operator with a limit. */
export async function insertedFeature(
  { services: { database } }: TestServer,
  fields: Partial<components['schemas']['FeatureCreate']> = {},
): Promise<string> {
  const id = newIdAt('feat', await paymentsNow(database))
  const row = {
    organization_id: null,
    key: `key_${id}`,
    name: 'Projects',
    type: 'limit' as const,
    meter_id: null,
    active: true,
    metadata: {},
    created_by: null,
    ...fields,
  }
  await features.insert(database, { ...row, id, created_at: timeOf(id) })
  return id
}

/** A customer with an override of a feature with the key. */
export async function insertedOverride(
  server: TestServer,
  key: string,
  customer?: string,
): Promise<{ customer: string; feature: string }> {
  const customerId = customer ?? (await insertedCustomer(server))
  const feature = await insertedFeature(server, { key })
  await entitlements.setOverride(server.services.database, {
    customer_id: customerId,
    feature_id: feature,
    enabled: true,
    limit: '5',
    expires_at: null,
  })
  return { customer: customerId, feature }
}

type PriceFields = Partial<components['schemas']['PriceCreate']>

export async function insertedPrice(
  { services: { database }, admin }: TestServer,
  product: string,
  fields: PriceFields = {},
): Promise<string> {
  const id = newIdAt('prc', await paymentsNow(database))
  const defaults = { unit_amount: 1999, currency: 'eur', recurring: null, metadata: {}, created_by: admin.id }
  const { usage = null, ...others } = fields
  const price = { id, product_id: product, ...defaults, ...others, usage, created_at: timeOf(id) }
  await prices.insert(database, price)
  return id
}

export interface OrderFixture {
  projectId?: string | null
  quantity?: number
}

const metadata = { note: 'Theirs' }

/** Inserts an order of the user, in no project by default. @returns its id. */
export async function insertedOrder(
  server: TestServer,
  ownerId: string,
  { projectId = null, quantity = 1, status = 'pending' }: OrderFixture & { status?: 'pending' | 'paid' } = {},
): Promise<string> {
  const { price } = await catalogFor(server)
  return await server.services.database.transaction(async (tx) => {
    const { id } = await newOrder(tx, { price, quantity }, { projectId, ownerId })
    if (status === 'paid') await pay(server, tx, id)
    return id
  })
}

async function newOrder(
  tx: Transaction,
  { price, quantity, recurring }: { price: string; quantity: number; recurring?: boolean },
  fields: NewOrder,
) {
  return await insertOrder(tx, await priceItems(tx, [{ price_id: price, quantity }], { recurring }), {
    metadata,
    ...fields,
  })
}

const notification = async (tx: Transaction, checkoutId: string | null): Promise<PaymentNotification> => ({
  gateway: 'sandbox',
  reference: null,
  checkoutId,
  card,
  at: await paymentsNow(tx),
})

/** Pays an order, by a session or directly. */
async function pay(
  { services }: TestServer,
  tx: Transaction,
  orderId: string,
  checkoutId: string | null = null,
): Promise<void> {
  await applyPayment(
    tx,
    services,
    await lockOrder(tx, orderId),
    await notification(tx, checkoutId),
    toNewCard(card),
  )
}

/** Refunds a part of a paid order, one cent by default. @returns the id of the refund. */
export async function insertedRefund(
  { services }: TestServer,
  orderId: string,
  { amount = 1 } = {},
): Promise<string> {
  return (
    await services.database.transaction(async (tx) =>
      refundOrder(tx, services, await findOrder(tx, orderId), { amount, reason: 'Theirs', metadata }),
    )
  ).id
}

/** Stores two cards of a customer. @returns the id of the one that is not the default. */
export async function insertedPaymentMethod(
  { services: { database, events } }: TestServer,
  customerId: string,
): Promise<string> {
  return await database.transaction(async (tx) => {
    const other = await storeCard(
      tx,
      events,
      customerId,
      toNewCard({ ...card, last4: String(randomInt(1000, 4000)) }),
    )
    await storeCard(tx, events, customerId, toNewCard(card))
    return other
  })
}

/** Opens a portal session of a customer. @returns the `Cookie` header of the browser. */
export async function openedPortal(
  { services: { config, database, events }, url, admin }: TestServer,
  customerId: string,
): Promise<string> {
  const fields = { customerId, returnUrl: pages.cancel_url, createdBy: admin.id, publicUrl: url }
  const session = await database.transaction((tx) => createPortalSession(tx, events, fields))
  const cookie = await enterPortal(database, session.url.split('/').at(-1)!)
  return portalCookie(config, cookie).split(';')[0]
}

/** Inserts a failed payment of an order. @returns its id. */
export async function insertedPayment(
  { services: { database } }: TestServer,
  orderId: string,
): Promise<string> {
  return await database.transaction(
    async (tx) =>
      (await recordPaymentAttempt(tx, await findOrder(tx, orderId), await notification(tx, null), {
        status: 'failed',
        code: 'card_declined',
      }))!,
  )
}

/** Disputes the payment of a paid order. @returns the id of the dispute. */
export async function insertedDispute({ services }: TestServer, orderId: string): Promise<string> {
  return await services.database.transaction(async (tx) => {
    const { order } = await lockOrder(tx, orderId)
    return await disputePayment(tx, services, order, 'fraudulent', await paymentsNow(tx))
  })
}

/** Inserts a session of an order with this status. @returns its id. */
export async function insertedCheckout(
  server: TestServer,
  orderId: string,
  status: 'open' | 'complete' | 'expired' = 'open',
): Promise<string> {
  const { services, url } = server
  return await services.database.transaction(async (tx) => {
    const now = await paymentsNow(tx)
    const order = await findOrder(tx, orderId, { lock: true })
    const { id } = await insertCheckout(tx, services.gateways, {
      order,
      ownsOrder: false,
      publicUrl: url,
      successUrl: pages.success_url,
      cancelUrl: pages.cancel_url,
      expiresAt: new Date(now.getTime() + 86_400_000),
      metadata,
      now,
    })
    if (status === 'complete') await pay(server, tx, orderId, id)
    if (status === 'expired') await expireCheckout(tx, services, await lockOrder(tx, orderId), id, now)
    return id
  })
}

/** Inserts a payment of a session that waits for confirmation. @returns its id. */
export async function insertedConfirmation(
  { services: { database } }: TestServer,
  orderId: string,
  checkoutId: string,
): Promise<string> {
  return await database.transaction(
    async (tx) =>
      (await recordPaymentAttempt(tx, await findOrder(tx, orderId), await notification(tx, checkoutId), {
        status: 'requires_confirmation',
      }))!,
  )
}

/**
 * Inserts a subscription of the user with its first order, which is paid unless the status is `incomplete`. A
 * subscription with status `ending` is canceled at period end. @returns its id.
 */
export async function insertedSubscription(
  server: TestServer,
  ownerId: string,
  {
    projectId = null,
    quantity = 1,
    status = 'active',
  }: OrderFixture & { status?: 'incomplete' | 'active' | 'ending' | 'changing' | 'paused' | 'canceled' } = {},
): Promise<string> {
  const { services } = server
  const { monthly } = await catalogFor(server)
  return await services.database.transaction(async (tx) => {
    const now = await paymentsNow(tx)
    const id = newIdAt('sub', now)
    const orderId = newIdAt('ord', now)
    await insertSubscription(tx, {
      id,
      orderId,
      projectId,
      ownerId,
      items: [{ id: newId('sitm'), price_id: monthly, quantity }],
      gateway: 'sandbox',
      metadata,
      now,
    })
    const order = await newOrder(
      tx,
      { price: monthly, quantity, recurring: true },
      { id: orderId, projectId, ownerId, subscription: { id, period: 1 } },
    )
    if (status !== 'incomplete') await pay(server, tx, order.id)
    if (status === 'ending') await setCancelAtPeriodEnd(tx, id, { canceledAt: now })
    if (status === 'changing')
      await changeSubscription(tx, services, (await lockSubscription(tx, id))!, {
        items: [{ price_id: monthly, quantity: quantity + 1 }],
        apply: 'period_end',
      })
    if (status === 'paused') await pauseSubscription(tx, services, (await lockSubscription(tx, id))!, null)
    if (status === 'canceled')
      await cancelSubscriptionNow(tx, services, (await lockSubscription(tx, id))!, now)
    return id
  })
}
