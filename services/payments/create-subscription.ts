// Creates subscriptions: for a checkout session, free ones, and those that begin with a trial.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/payments.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { conflict, forbidden } from '../../infra/errors.ts'
import { newIdAt } from '../../infra/ids.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Principal } from '../users/authentication.ts'
import { changeLifetimeMs, itemsOf, requireDistinct } from './change-subscription.ts'
import { requireTotal, type PaymentServices } from './gateway.ts'
import { insertOrder, priceItems, type OrderLine, type OwnedOrder, type PricedItems } from './orders.ts'
import { maySell, openSale } from './sales.ts'
import { payIfFree } from './settle.ts'
import {
  findSubscription,
  insertSubscription,
  toSubscription,
  type OwnedSubscription,
} from './subscriptions.ts'

export interface SubscriptionRequest {
  operation: OperationInfo
  principal: Principal
  noteProject?(id: string): void
  body: components['schemas']['SubscriptionCreate']
}

const dayMs = 86_400_000

/**
 * Creates a subscription with its events. It begins with its trial, or at once if it is free; otherwise its
 * order is to be paid.
 * @throws 404 for an unknown price, project or user, 400 for prices that do not fit, 403 for a trial of
 * another length without the scope `payments:sell`, 409 for a second trial of the product.
 */
export async function createSubscription(
  tx: Transaction,
  services: PaymentServices,
  { body, ...request }: SubscriptionRequest,
): Promise<OwnedSubscription> {
  const { items, project_id: projectId = null, trial_days: wanted, metadata } = body
  const { principal } = request
  const { ownerId, customerId, seller } = await openSale(tx, services, request, body)
  if (wanted !== undefined && seller === null && !maySell(principal))
    throw forbidden('Only sellers decide about a trial.', 'scope')
  const priced = await priceItems(tx, items, { recurring: true, seller })
  requireDistinct(items.map(({ price_id: id }) => id))
  const gateway = services.gateways.forPlan(priced)
  requireTotal(gateway, priced.total, priced.currency, 'items')
  const isNew = { projectId, ownerId, createdBy: principal.userId, metadata }
  const { order, subscription } = await openSubscriptionOrder(tx, services, priced, {
    ...isNew,
    gateway: gateway.name,
    trial: {
      ...priced.trial,
      days: wanted ?? priced.trial.days,
      required: wanted !== undefined,
      customerId,
    },
  })
  const begun = await payIfFree(tx, services, { order, subscription, checkout: null }, priced.now)
  return begun ? (await findSubscription(tx, subscription.id))! : subscription
}

interface NewSubscriptionOrder {
  projectId: string | null
  ownerId: string
  createdBy: string
  metadata?: Record<string, string>
  gateway: string
  /** Its trial. `required`: a customer who had one gets no other. */
  trial?: PricedItems['trial'] & { required: boolean; customerId: string }
}

/** Inserts an incomplete subscription and its first order, which is free in a trial. */
export async function openSubscriptionOrder(
  tx: Transaction,
  { events }: PaymentServices,
  priced: PricedItems,
  { projectId, ownerId, createdBy, metadata, gateway, trial }: NewSubscriptionOrder,
): Promise<{ subscription: OwnedSubscription; order: OwnedOrder }> {
  const { now } = priced
  const id = newIdAt('sub', now)
  const begins = trial !== undefined && (await beginTrial(tx, { ...trial, id, now }))
  const orderId = newIdAt('ord', now)
  const created = await insertSubscription(tx, {
    id,
    orderId,
    projectId,
    ownerId,
    items: itemsOf(priced.lines),
    trialEnd: begins ? new Date(now.getTime() + trial.days * dayMs) : undefined,
    dueAt: trial === undefined ? undefined : new Date(now.getTime() + changeLifetimeMs),
    gateway,
    metadata,
    now,
  })
  const subscription = { id, period: 1 }
  const order = await insertOrder(
    tx,
    begins ? { ...priced, lines: priced.lines.map(atNoCharge), total: 0 } : priced,
    { id: orderId, projectId, ownerId, createdBy, metadata, subscription },
  )
  await events.emit(tx, 'subscription.created', toSubscription(created), { userId: ownerId })
  await events.emit(tx, 'order.created', order, { userId: ownerId })
  return { subscription: created, order }
}

function atNoCharge(line: OrderLine): OrderLine {
  return { ...line, unitAmount: 0, amount: 0 }
}

interface TrialStart {
  days: number
  productId: string
  required: boolean
  /** The id of the subscription. */
  id: string
  customerId: string
  now: Date
}

/**
 * Records the trial of a customer.
 * @returns false if there is none, or if the customer had one of the product; 409 if it is `required`.
 */
async function beginTrial(
  tx: Transaction,
  { days, productId, required, id, customerId, now }: TrialStart,
): Promise<boolean> {
  if (days === 0) return false
  const row = { customer_id: customerId, product_id: productId, subscription_id: id, created_at: now }
  const begins = (await sql.insertTrial(tx, row)) !== undefined
  if (!begins && required) throw conflict('trial', 'The customer had a trial of this product.', 'trial_days')
  return begins
}
