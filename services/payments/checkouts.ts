// Checkout sessions: reading and inserting them. An order has at most one open session.
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import { violatedConstraint } from '../../infra/database/errors.ts'
import { conflict, invalidField, notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { withOwner, type OrderRequest, type OwnedOrder } from './orders.ts'
import { requireSaleAccess, requireSellable, type SalesFilter, type SellingGateways } from './sales.ts'

export type Checkout = components['schemas']['Checkout']

/** A checkout session with its owner, its gateway's data, and whether it created its order (`owns_order`). */
export type OwnedCheckout = Checkout & {
  order_id: string
  owner_id: string
  owns_order: boolean
  gateway: string
  gateway_reference: string | null
  gateway_url: string | null
}

/**
 * Reads the session that the request names, if the caller is authorized for the operation.
 * @param options.lockProject locks the session's project, but not the session.
 */
export async function openCheckout(
  db: Db,
  request: OrderRequest,
  { lockProject = false } = {},
): Promise<OwnedCheckout> {
  const {
    params: { id },
    principal,
  } = request
  const read = lockProject ? sql.readCheckoutAndLockProject : sql.readCheckout
  const found = withOwner(await read(db, { id, user_id: principal.userId }))
  const row = await requireSaleAccess(db, found, request, { name: 'checkout session', id })
  const { your_role: _role, project_status: _project, ...checkout } = row
  return checkout
}

/** Removes the columns that the API does not return. */
export function toCheckout({
  owner_id: _owner,
  owns_order: _owns,
  gateway: _gateway,
  gateway_reference: _reference,
  gateway_url: _url,
  ...checkout
}: OwnedCheckout): Checkout {
  return checkout
}

/** A page of checkout sessions. One statement, including the total. */
export async function listCheckouts(
  db: Db,
  filter: SalesFilter,
  query: ListQuery<'listCheckouts'>,
): Promise<Page<Checkout>> {
  return await sql.listCheckouts(db, { ...query, ...filter })
}

/** The session, without authorization; undefined if there is none. */
export async function findCheckout(db: Db, id: string): Promise<OwnedCheckout | undefined> {
  return await sql.findCheckout(db, { id })
}

/** Locks the open session of an order against other writers; null if there is none. */
export async function lockOpenCheckout(tx: Transaction, orderId: string): Promise<OwnedCheckout | null> {
  return (await sql.lockOpenCheckout(tx, { order_id: orderId })) ?? null
}

export interface NewCheckout {
  order: OwnedOrder
  ownsOrder: boolean
  /** Without a trailing slash. */
  publicUrl: string
  successUrl: string
  cancelUrl: string
  expiresAt: Date
  metadata?: Record<string, string>
  now: Date
}

/**
 * Inserts an open session for a pending order, which is locked, with the gateway for its total. Throws 409
 * when the order has an open session, or its seller may not get the gateway.
 */
export async function insertCheckout(
  tx: Transaction,
  gateways: SellingGateways & { forTotal(total: number): { name: string } },
  { order, ownsOrder, publicUrl, successUrl, cancelUrl, expiresAt, metadata = {}, now }: NewCheckout,
): Promise<OwnedCheckout> {
  const gateway = gateways.forTotal(order.total_amount)
  requireSellable(gateways, order.seller_organization_id ?? null, gateway)
  const id = newIdAt('chk', now)
  const createdAt = timeOf(id)
  // A session is in mode `subscription` only for the order that it created. Payments of later orders are
  // one-time.
  const subscriptionId = ownsOrder ? order.subscription_id : null
  try {
    return await sql.insertCheckout(tx, {
      id,
      project_id: order.project_id,
      owner_id: order.owner_id,
      mode: subscriptionId === null ? 'payment' : 'subscription',
      order_id: order.id,
      owns_order: ownsOrder,
      subscription_id: subscriptionId,
      total_amount: order.total_amount,
      currency: order.currency,
      url: `${publicUrl}/pay/${id}`,
      success_url: successUrl,
      cancel_url: cancelUrl,
      gateway: gateway.name,
      metadata,
      expires_at: expiresAt,
      created_at: createdAt,
    })
  } catch (error) {
    if (violatedConstraint(error) === 'checkouts_open_idx')
      throw conflict(
        'open_checkout',
        'The order already has an open checkout session. Use it or expire it.',
        'order_id',
      )
    throw error
  }
}

/** Throws 400 unless `url` is valid and has no user name or password. */
export function requireRedirectUrl(url: string, field: string): void {
  if (!URL.canParse(url) || new URL(url).username !== '' || new URL(url).password !== '')
    throw invalidField(field, 'format', `${field} must be a valid URL without a user name or password.`)
}

/** The URL to send the customer to, with the session id filled in; normalized for use in a header. */
export function redirectUrl(
  { id, success_url: success, cancel_url: cancel }: OwnedCheckout,
  outcome: 'success' | 'cancel',
): string {
  return new URL((outcome === 'success' ? success : cancel).replaceAll('{CHECKOUT_SESSION_ID}', id)).href
}

/**
 * Whether the payment page opens `success_url` by itself. Only for the origins of the operator's sellers:
 * every user can make a session, so that otherwise the page would lead from this server to any address.
 */
export function isTrustedReturn(checkout: OwnedCheckout, origins: string[]): boolean {
  return origins.includes(new URL(redirectUrl(checkout, 'success')).origin)
}

export function checkoutNotFound(id: string): Error {
  return notFound('checkout session', id)
}
