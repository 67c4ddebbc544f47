// Creates checkout sessions: for an existing order, or with a new order and, in mode `subscription`, a new
// subscription.
import type { components } from '../../generated/types.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { conflict, invalidField, invalidState } from '../../infra/errors.ts'
import { expiryOf } from '../../infra/contract/expiry.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Principal } from '../users/authentication.ts'
import { findCheckout, insertCheckout, toCheckout, type Checkout } from './checkouts.ts'
import { requireDistinct } from './change-subscription.ts'
import { requireNoCharge } from './charge.ts'
import { paymentsNow } from './clock.ts'
import { openSubscriptionOrder } from './create-subscription.ts'
import { requireTotal, type PaymentServices } from './gateway.ts'
import { findOrder, openOrder, insertOrder, priceItems, type OwnedOrder } from './orders.ts'
import { maySell, openSale, sellerOf } from './sales.ts'
import { lockOrder, payIfFree } from './settle.ts'
import { isBilledByGateway } from './subscriptions.ts'

export interface CheckoutRequest {
  operation: OperationInfo
  principal: Principal
  body: components['schemas']['CheckoutCreate']
}

/** The items of a subscription. */
const maxItems = 20
const defaultLifetimeMs = 86_400_000
const seconds = { min: 1800, max: 86_400 }

/**
 * Creates a session with its events. Throws 409 when the order is not pending or has an open session, and 400
 * for fields or an amount that do not fit. `publicUrl` has no trailing slash.
 */
export async function createCheckout(
  tx: Transaction,
  services: PaymentServices,
  request: CheckoutRequest,
  publicUrl: string,
): Promise<Checkout> {
  const { body } = request
  const order =
    body.order_id === undefined
      ? await createOrder(tx, services, request)
      : await findPendingOrder(tx, services, request, body.order_id)
  const now = await paymentsNow(tx)
  const checkout = await insertCheckout(tx, services.gateways, {
    order,
    ownsOrder: body.order_id === undefined,
    publicUrl,
    successUrl: body.success_url,
    cancelUrl: body.cancel_url,
    expiresAt: expiryOf(body, { from: now, seconds }) ?? new Date(now.getTime() + defaultLifetimeMs),
    metadata: body.metadata,
    now,
  })
  await services.events.emit(tx, 'checkout.created', toCheckout(checkout), { userId: checkout.owner_id })
  if (order.total_amount !== 0) return toCheckout(checkout)
  await payIfFree(tx, services, await lockOrder(tx, order.id), await paymentsNow(tx))
  return toCheckout((await findCheckout(tx, checkout.id))!)
}

/** Locks the pending order that the request names. */
async function findPendingOrder(
  tx: Transaction,
  { gateways }: PaymentServices,
  { body, ...request }: CheckoutRequest,
  orderId: string,
): Promise<OwnedOrder> {
  if (body.mode === 'subscription')
    throw invalidField('mode', 'exclusive', 'Mode subscription requires items instead of order_id.')
  const { principal } = request
  const found = maySell(principal) ? await findOrder(tx, orderId) : null
  const isOfOperator = found !== null && (found.seller_organization_id ?? null) === null
  const caller = isOfOperator ? sellerOf(principal, found.owner_id) : principal
  await openOrder(tx, { ...request, principal: caller, params: { id: orderId } }, { lockProject: true })
  const { order, subscription } = await lockOrder(tx, orderId)
  if (order.status !== 'pending') throw invalidState('order', order.status)
  requireTotal(gateways.current, order.total_amount, order.currency, 'order_id')
  if (subscription !== null && isBilledByGateway(subscription))
    throw conflict(
      'gateway',
      'Subscriptions of this gateway are paid automatically; a checkout is not possible.',
      'order_id',
    )
  if (subscription !== null) await requireNoCharge(tx, orderId)
  return order
}

/** Creates the order of a new session; in mode `subscription`, as the first order of a new subscription. */
async function createOrder(
  tx: Transaction,
  services: PaymentServices,
  { body, ...request }: CheckoutRequest,
): Promise<OwnedOrder> {
  const { mode = 'payment', items, project_id: projectId = null, metadata } = body
  if (items === undefined) throw invalidField('items', 'required', 'Either items or order_id is required.')
  const recurring = mode === 'subscription'
  if (recurring) requireDistinct(items.map(({ price_id: id }) => id))
  const { ownerId, seller } = await openSale(tx, services, request, body)
  const priced = await priceItems(tx, items, { recurring, seller })
  const { events, gateways } = services
  const createdBy = request.principal.userId
  const gateway = gateways.forPlan(priced)
  requireTotal(gateway, priced.total, priced.currency, 'items')
  if (!recurring) {
    const order = await insertOrder(tx, priced, { projectId, ownerId, createdBy, metadata })
    await events.emit(tx, 'order.created', order, { userId: ownerId })
    return order
  }
  if (items.length > maxItems)
    throw invalidField('items', 'maxItems', `A subscription has at most ${maxItems} items.`)
  const isNew = { projectId, ownerId, createdBy, metadata, gateway: gateway.name }
  return (await openSubscriptionOrder(tx, services, priced, isNew)).order
}
