// The state of a checkout session on the sandbox's payment page, and the two actions there: pay by card and
// confirm.
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import { findPrice, type Price } from '../products-and-prices.ts'
import { findCheckout, checkoutNotFound, type OwnedCheckout } from '../checkouts.ts'
import { paymentsNow } from '../clock.ts'
import { findOrder, type OwnedOrder } from '../orders.ts'
import { disputePayment } from './disputes.ts'
import {
  findTestCard,
  sandbox,
  slowCardDelayMs,
  toNewCard,
  toStoredCard,
  type CardExpiry,
  type SandboxCard,
} from './gateway.ts'
import { applyPayment, failPayment, lockOrder, recordPaymentAttempt, type LockedOrder } from '../settle.ts'
import type { PaymentServices } from '../gateway.ts'

/** A payment attempt of a session. */
type PaymentAttempt = sql.FindLatestAttemptRow

/** A session with its order and the page to show. */
export type CheckoutState = {
  checkout: OwnedCheckout
  order: OwnedOrder
  /** The billing interval of a subscription. */
  recurring: Price['recurring']
  /** Whether the first price of a subscription charges usage, too. */
  hasUsage: boolean
} & (
  | { page: 'form'; /** The failure code of the last attempt. */ failure: string | null }
  | { page: 'confirmation'; payment: PaymentAttempt & { card: SandboxCard } }
  | { page: 'processing' }
  | { page: 'paid' }
  | { page: 'expired'; /** Whether a late payment was refunded. */ refunded: boolean }
)

/** Throws 404 for an unknown session. */
export async function checkoutState(db: Db, id: string): Promise<CheckoutState> {
  const checkout = await findCheckout(db, id)
  if (checkout === undefined) throw checkoutNotFound(id)
  const order = await findOrder(db, checkout.order_id)
  const price = checkout.mode === 'subscription' ? await findPrice(db, order.items[0].price_id) : null
  const state = {
    checkout,
    order,
    recurring: price?.recurring ?? null,
    hasUsage: price !== null && price.usage !== null,
  }
  if (checkout.status === 'complete') return { ...state, page: 'paid' }
  const payment = await sql.findLatestAttempt(db, { checkout_id: id })
  if (payment?.status === 'processing') return { ...state, page: 'processing' }
  const now = await paymentsNow(db, checkout.customer_id)
  if (checkout.status === 'expired' || new Date(checkout.expires_at) <= now) {
    const refunded = payment?.status === 'returning' || payment?.status === 'returned'
    return { ...state, page: 'expired', refunded }
  }
  // Only the sandbox asks for confirmations, and it knows the card.
  if (payment?.status === 'requires_confirmation')
    return { ...state, page: 'confirmation', payment: { ...payment, card: payment.card! } }
  return { ...state, page: 'form', failure: payment?.failure_code ?? null }
}

/**
 * Pays a session by a test card. Does nothing if the session is no longer payable or a payment is in
 * progress.
 */
export async function payByCard(
  db: Db,
  services: PaymentServices,
  id: string,
  { number, expiry }: { number: string; expiry: CardExpiry },
): Promise<void> {
  const testCard = findTestCard(number)
  if (testCard === undefined) throw new Error('The card number is not a test card.')
  const { behavior, dispute } = testCard
  await withLockedCheckout(db, id, async (tx, locked, at) => {
    // A confirmation may be pending in another browser tab.
    await sql.supersedeUnconfirmedPayments(tx, { checkout_id: id, at })
    const card = toStoredCard(testCard, expiry)
    const notification = { gateway: 'sandbox', reference: null, checkoutId: id, card, at }
    if (behavior === 'succeeds') {
      const paid = await applyPayment(tx, services, locked, notification, toNewCard(card))
      if (paid && dispute !== undefined) await disputePayment(tx, services, locked.order, dispute, at)
    } else if (behavior === 'needs_confirmation')
      await recordPaymentAttempt(tx, locked.order, notification, { status: 'requires_confirmation' })
    else if (behavior === 'is_slow')
      await recordPaymentAttempt(tx, locked.order, notification, {
        status: 'processing',
        dueAt: new Date(at.getTime() + slowCardDelayMs),
      })
    else await failPayment(tx, services, locked.order, notification, behavior.declined)
  })
}

/** Confirms or rejects a payment. Does nothing if the payment no longer waits for a confirmation. */
export async function resolveConfirmation(
  db: Db,
  services: PaymentServices,
  id: string,
  { payment, confirmed }: { payment: string; confirmed: boolean },
): Promise<void> {
  await withLockedCheckout(db, id, async (tx, locked, at) => {
    const latest = await sql.findLatestAttempt(tx, { checkout_id: id })
    if (latest === undefined || latest.id !== payment || latest.status !== 'requires_confirmation') return
    const { card } = latest
    const notification = { id: payment, gateway: 'sandbox', reference: null, checkoutId: id, card, at }
    if (confirmed) await applyPayment(tx, services, locked, notification, card && toNewCard(card))
    else await failPayment(tx, services, locked.order, notification, 'not_confirmed')
  })
}

/**
 * Runs `action` with the order locked. Skips it if the session is not payable here or a payment is in
 * progress.
 */
async function withLockedCheckout(
  db: Db,
  id: string,
  action: (tx: Transaction, locked: LockedOrder, at: Date) => Promise<void>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const found = await findCheckout(tx, id)
    if (found === undefined) throw checkoutNotFound(id)
    const locked = await lockOrder(tx, found.order_id)
    const { checkout } = locked
    const at = await paymentsNow(tx)
    if (checkout?.id !== id || checkout.gateway !== sandbox.name || new Date(checkout.expires_at) <= at)
      return
    const payment = await sql.findLatestAttempt(tx, { checkout_id: id })
    if (payment?.status !== 'processing') await action(tx, locked, at)
  })
}
