// Checkout sessions as the API shows them. An order has one that is open at a time.
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

/** A session with whose it is, whether its order ends with it, and what its gateway knows of it. */
export type OwnedCheckout = Checkout & {
  order_id: string
  owner_id: string
  owns_order: boolean
  gateway: string
  gateway_reference: string | null
  gateway_url: string | null
}

const columns = `c.id, c.url, c.mode::text, c.status::text, CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status, c.order_id,
  c.subscription_id, c.amount_total, c.currency, c.success_url, c.cancel_url, c.expires_at, c.metadata, c.created_at, c.owns_order, c.gateway,
  c.gateway_reference, c.gateway_url`
/** Of a row of checkouts whose alias is c. */
export const checkoutColumns = `${columns}, c.project_id, c.owner_id`

const read = (holdProject: boolean) =>
  statement<OwnedCheckout & WorkspaceResource>(
    `SELECT ${columns}, ${accessColumns('c', '$2', { lock: holdProject })} FROM checkouts c WHERE c.id = $1`,
  )
const readCheckout = read(false)
const readInHeldProject = read(true)

/** The session of the request, when the caller may do with it what the operation does. `holdProject` holds its project, and nothing else. */
export async function openCheckout(
  db: Db,
  request: { operation: OperationInfo; params: { id: string }; principal: Principal },
  { holdProject = false } = {},
): Promise<OwnedCheckout> {
  const {
    params: { id },
    principal,
  } = request
  const [row] = await db.sql(holdProject ? readInHeldProject : readCheckout, [id, principal.userId])
  requireAccess(row, request, { name: 'checkout session', id })
  const { your_role: _role, project_status: _project, ...checkout } = row
  return checkout
}

/** As the API shows it. */
export function shownCheckout({
  owner_id: _owner,
  owns_order: _owns,
  gateway: _gateway,
  gateway_reference: _reference,
  gateway_url: _url,
  ...shown
}: OwnedCheckout): Checkout {
  return shown
}

const byId = statement<OwnedCheckout>(`SELECT ${checkoutColumns} FROM checkouts c WHERE c.id = $1`)
const held = statement<OwnedCheckout>(
  `SELECT ${checkoutColumns} FROM checkouts c WHERE c.id = $1 FOR NO KEY UPDATE`,
)
const openOf = statement<OwnedCheckout>(
  `SELECT ${checkoutColumns} FROM checkouts c WHERE c.order_id = $1 AND c.status = 'open' FOR NO KEY UPDATE`,
)

/** Any session, whoever asks; undefined when it is not there. */
export async function checkoutById(
  db: Db,
  id: string,
  { lock = false } = {},
): Promise<OwnedCheckout | undefined> {
  const [checkout] = await db.sql(lock ? held : byId, [id])
  return checkout
}

/** The open session of an order, held against other writers. */
export async function lockOpenCheckout(tx: Db, orderId: string): Promise<OwnedCheckout | null> {
  const [checkout] = await tx.sql(openOf, [orderId])
  return checkout ?? null
}

export interface NewCheckout {
  order: OwnedOrder
  ownsOrder: boolean
  gateway: string
  /** Without a slash at the end. */
  publicUrl: string
  successUrl: string
  cancelUrl: string
  seconds: number
  metadata?: Record<string, string>
  now: Date
}

const insert = statement<OwnedCheckout>(`
  WITH c AS (
    INSERT INTO checkouts (id, project_id, owner_id, mode, order_id, owns_order, subscription_id, amount_total, currency, url, success_url, cancel_url, gateway, metadata, expires_at, created_at)
    VALUES ($1, $2, $3, $4::"CheckoutMode", $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) RETURNING *
  ), ordered AS (UPDATE orders SET checkout_id = $1 WHERE id = $5)
  SELECT ${checkoutColumns} FROM c`)

/** An open session for a pending order that is held. Throws 409 when the order has one already. */
export async function insertCheckout(
  tx: Db,
  { order, ownsOrder, gateway, publicUrl, successUrl, cancelUrl, seconds, metadata = {}, now }: NewCheckout,
): Promise<OwnedCheckout> {
  const id = newIdAt('chk', now)
  const createdAt = timeOf(id)
  // A subscription begins with the order that was made for it; whatever else its customers pay are orders.
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
        'The order has an open checkout session: use or expire that.',
        'order_id',
      )
    throw error
  }
}

/** Throws 400 unless it is an address that a browser can be sent to. */
export function requirePageUrl(url: string, field: string): void {
  if (!URL.canParse(url) || new URL(url).username !== '' || new URL(url).password !== '')
    throw invalidField(field, 'format', `${field} must be an address of a page.`)
}

/** Where a customer goes who has paid, or has given up, as it may stand in a header field. */
export function addressFor(
  { id, success_url: success, cancel_url: cancel }: OwnedCheckout,
  outcome: 'success' | 'cancel',
): string {
  return new URL((outcome === 'success' ? success : cancel).replaceAll('{CHECKOUT_SESSION_ID}', id)).href
}

export function noCheckout(id: string): Error {
  return notFound('checkout session', id)
}
