// Checkout sessions: reading and inserting them. An order has at most one open session.
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { violatedConstraint } from '../../infra/database/errors.ts'
import { statement } from '../../infra/database/statements.ts'
import { conflict, invalidField, notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { accessColumns, requireAccess, type WorkspaceResource } from '../projects/resource-access.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Principal } from '../users/authentication.ts'
import type { OwnedOrder } from './orders.ts'

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

const columns = `c.id, c.url, c.mode::text, c.status::text,
  CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status, c.order_id,
  c.subscription_id, c.amount_total, c.currency, c.success_url, c.cancel_url, c.expires_at, c.metadata,
  c.created_at, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url`
/** Columns of `checkouts`, under the alias c. */
export const checkoutColumns = `${columns}, c.project_id, c.owner_id`

const read = (lockProject: boolean) =>
  statement<OwnedCheckout & WorkspaceResource>(
    `SELECT ${columns}, ${accessColumns('c', '$2', { lock: lockProject })} FROM checkouts c WHERE c.id = $1`,
  )
const readCheckout = read(false)
const readAndLockProject = read(true)

/**
 * Reads the session that the request names, if the caller is authorized for the operation. One statement.
 * @param options.lockProject locks the session's project, but not the session.
 */
export async function openCheckout(
  db: Db,
  request: { operation: OperationInfo; params: { id: string }; principal: Principal },
  { lockProject = false } = {},
): Promise<OwnedCheckout> {
  const {
    params: { id },
    principal,
  } = request
  const [row] = await db.sql(lockProject ? readAndLockProject : readCheckout, [id, principal.userId])
  requireAccess(row, request, { name: 'checkout session', id })
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

const byId = statement<OwnedCheckout>(`SELECT ${checkoutColumns} FROM checkouts c WHERE c.id = $1`)
const lockById = statement<OwnedCheckout>(
  `SELECT ${checkoutColumns} FROM checkouts c WHERE c.id = $1 FOR NO KEY UPDATE`,
)
const lockOpenByOrder = statement<OwnedCheckout>(
  `SELECT ${checkoutColumns} FROM checkouts c WHERE c.order_id = $1 AND c.status = 'open' FOR NO KEY UPDATE`,
)

/**
 * Reads a session without authorization; undefined if there is none. `lock` locks the row against other
 * writers.
 */
export async function checkoutById(
  db: Db,
  id: string,
  { lock = false } = {},
): Promise<OwnedCheckout | undefined> {
  const [checkout] = await db.sql(lock ? lockById : byId, [id])
  return checkout
}

/** Locks the open session of an order against other writers; null if there is none. */
export async function lockOpenCheckout(tx: Db, orderId: string): Promise<OwnedCheckout | null> {
  const [checkout] = await tx.sql(lockOpenByOrder, [orderId])
  return checkout ?? null
}

export interface NewCheckout {
  order: OwnedOrder
  ownsOrder: boolean
  gateway: string
  /** Without a trailing slash. */
  publicUrl: string
  successUrl: string
  cancelUrl: string
  seconds: number
  metadata?: Record<string, string>
  now: Date
}

const insert = statement<OwnedCheckout>(`
  WITH c AS (
    INSERT INTO checkouts (id, project_id, owner_id, mode, order_id, owns_order, subscription_id,
      amount_total, currency, url, success_url, cancel_url, gateway, metadata, expires_at, created_at)
    VALUES ($1, $2, $3, $4::"CheckoutMode", $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) RETURNING *
  ), ordered AS (UPDATE orders SET checkout_id = $1 WHERE id = $5)
  SELECT ${checkoutColumns} FROM c`)

/**
 * Inserts an open session for a pending order, which is locked. Throws 409 when the order has an open
 * session.
 */
export async function insertCheckout(
  tx: Db,
  { order, ownsOrder, gateway, publicUrl, successUrl, cancelUrl, seconds, metadata = {}, now }: NewCheckout,
): Promise<OwnedCheckout> {
  const id = newIdAt('chk', now)
  const createdAt = timeOf(id)
  // A session is in mode `subscription` only for the order that it created. Payments of later orders are
  // one-time.
  const subscriptionId = ownsOrder ? order.subscription_id : null
  try {
    const [checkout] = await tx.sql(insert, [
      id,
      order.project_id,
      order.owner_id,
      subscriptionId === null ? 'payment' : 'subscription',
      order.id,
      ownsOrder,
      subscriptionId,
      order.total_amount,
      order.currency,
      `${publicUrl}/pay/${id}`,
      successUrl,
      cancelUrl,
      gateway,
      metadata,
      new Date(createdAt.getTime() + seconds * 1000),
      createdAt,
    ])
    return checkout
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

export function checkoutNotFound(id: string): Error {
  return notFound('checkout session', id)
}
