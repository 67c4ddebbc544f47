// Checkout sessions: begun, inspected and expired. They are paid on the page of their gateway.
import type { Handlers, Request } from '../services/handler.ts'
import type { Db } from '../infra/database/database.ts'
import { conflict, invalidField, invalidState } from '../infra/errors.ts'
import {
  insertCheckout,
  openCheckout,
  requirePageUrl,
  shownCheckout,
} from '../services/payments/checkouts.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import { insertOrder, openOrder, priceItems, type OwnedOrder } from '../services/payments/orders.ts'
import { expireCheckout, lockDeal } from '../services/payments/settle.ts'
import type { SettleServices } from '../services/payments/gateway.ts'
import { insertSubscription, setLatestOrder, shownSubscription } from '../services/payments/subscriptions.ts'
import { openWorkspace } from '../services/projects/workspaces.ts'

const day = 86_400

export const paymentsCheckout = {
  async createCheckout(request, { db, events, gateways, publicUrl }) {
    const {
      order_id: orderId,
      success_url: successUrl,
      cancel_url: cancelUrl,
      expires_in_seconds: seconds = day,
      metadata,
    } = request.body
    requirePageUrl(successUrl, 'success_url')
    requirePageUrl(cancelUrl, 'cancel_url')
    return await db.transaction(async (tx) => {
      const order =
        orderId === undefined
          ? await orderAtOnce(tx, { events, gateways }, request)
          : await pendingOrder(tx, { events, gateways }, request, orderId)
      const checkout = await insertCheckout(tx, {
        order,
        ownsOrder: orderId === undefined,
        gateway: gateways.current.name,
        publicUrl: publicUrl(),
        successUrl,
        cancelUrl,
        seconds,
        metadata,
        now: await paymentsNow(tx),
      })
      await events.emit(tx, 'checkout.created', shownCheckout(checkout), { userId: checkout.owner_id })
      return {
        status: 201,
        body: shownCheckout(checkout),
        headers: { location: `/v1/payments/checkout/${checkout.id}` },
      }
    })
  },

  async getCheckout(request, { db }) {
    return { status: 200, body: shownCheckout(await openCheckout(db, request)) }
  },

  async expireCheckout(request, { db, events, gateways }) {
    return await db.transaction(async (tx) => {
      const { id, order_id: orderId } = await openCheckout(tx, request, { holdProject: true })
      const deal = await lockDeal(tx, orderId)
      return {
        status: 200,
        body: shownCheckout(await expireCheckout(tx, { events, gateways }, deal, id, await paymentsNow(tx))),
      }
    })
  },
} satisfies Handlers<'payments-checkout'>

type CheckoutRequest = Request<'createCheckout'>

/** An order that is there already, and pending. */
async function pendingOrder(
  tx: Db,
  { gateways }: SettleServices,
  { operation, principal, body }: CheckoutRequest,
  orderId: string,
): Promise<OwnedOrder> {
  for (const field of ['items', 'project_id'] as const)
    if (body[field] !== undefined)
      throw invalidField(field, 'exclusive', `${field} is for a session without order_id`)
  if (body.mode === 'subscription')
    throw invalidField('mode', 'exclusive', 'A subscription begins with items.')
  await openOrder(tx, { operation, principal, params: { id: orderId } }, { holdProject: true })
  const { order, subscription } = await lockDeal(tx, orderId)
  if (order.status !== 'pending') throw invalidState('order', order.status)
  gateways.current.requireAmount(order.total_amount, order.currency, 'order_id')
  if (subscription !== null && !gateways.of(subscription.gateway).renews)
    throw conflict(
      'gateway',
      'The gateway asks its customers itself for what a subscription costs.',
      'order_id',
    )
  return order
}

/** An order that is made for the session, and with it the subscription whose first it is. */
async function orderAtOnce(
  tx: Db,
  { events, gateways }: SettleServices,
  { operation, principal, body }: CheckoutRequest,
): Promise<OwnedOrder> {
  const { mode = 'payment', items, project_id: projectId = null, metadata } = body
  if (items === undefined) throw invalidField('items', 'required', 'items or order_id is required')
  const recurring = mode === 'subscription'
  if (recurring && items.length > 1) throw invalidField('items', 'maxItems', 'A subscription has one item.')
  await openWorkspace(tx, { operation, principal }, projectId, { lock: true })
  const basket = await priceItems(tx, items, { recurring })
  gateways.current.requireAmount(basket.total, basket.currency, 'items')
  const ownerId = principal.userId
  if (!recurring) {
    const order = await insertOrder(tx, basket, { projectId, ownerId, metadata })
    await events.emit(tx, 'order.created', order, { userId: ownerId })
    return order
  }
  const [{ priceId, quantity }] = basket.lines
  const id = await insertSubscription(tx, {
    projectId,
    ownerId,
    priceId,
    quantity,
    gateway: gateways.current.name,
    metadata,
    now: basket.now,
  })
  const order = await insertOrder(tx, basket, {
    projectId,
    ownerId,
    metadata,
    subscription: { id, period: 1 },
  })
  await events.emit(tx, 'subscription.created', shownSubscription(await setLatestOrder(tx, id, order.id)), {
    userId: ownerId,
  })
  await events.emit(tx, 'order.created', order, { userId: ownerId })
  return order
}
