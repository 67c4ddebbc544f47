// The sandbox's till: what its page shows of a session, and what typing a card or confirming a payment does.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { findPrice, type Price } from '../products-and-prices.ts'
import { checkoutById, noCheckout, type OwnedCheckout } from '../checkouts.ts'
import { paymentsNow } from '../clock.ts'
import { findOrder, type OwnedOrder } from '../orders.ts'
import { cardOf, sandbox, slowness, testCard } from './gateway.ts'
import { keepPayment, lockDeal, settlePayment, type Deal } from '../settle.ts'
import type { SettleServices } from '../gateway.ts'
import type { Card } from '../subscriptions.ts'

/** A try to pay by the session. */
export interface Try {
  id: string
  status: 'requires_confirmation' | 'processing' | 'succeeded' | 'failed' | 'returning' | 'returned'
  failure_code: string | null
  card: Card
}

/** What there is to show: the form, after the last try or before the first; a question; a wait; or that it is over. */
export type Till = {
  checkout: OwnedCheckout
  order: OwnedOrder
  /** How often a subscription is paid. */ recurring: Price['recurring']
} & (
  | { shows: 'form'; failure: string | null }
  | { shows: 'confirmation'; payment: Try }
  | { shows: 'wait' }
  | { shows: 'paid' }
  | { shows: 'over'; /** Whether somebody paid too late. */ givenBack: boolean }
)

// The one that is under way, if one is: of two that came at once the later may have the earlier time. What was superseded is not the last.
const lastTry = statement<Try>(`
  SELECT id, status::text, failure_code, card FROM payments WHERE checkout_id = $1 AND failure_code IS DISTINCT FROM 'superseded'
  ORDER BY status IN ('processing', 'requires_confirmation') DESC, id DESC LIMIT 1`)

/** Throws 404 when there is no such session. */
export async function tillOf(db: Db, id: string): Promise<Till> {
  const checkout = await checkoutById(db, id)
  if (checkout === undefined) throw noCheckout(id)
  const order = await findOrder(db, checkout.order_id)
  const recurring =
    checkout.mode === 'subscription' ? (await findPrice(db, order.items[0].price_id)).recurring : null
  const till = { checkout, order, recurring }
  if (checkout.status === 'complete') return { ...till, shows: 'paid' }
  const [payment] = await db.sql(lastTry, [id])
  if (payment?.status === 'processing') return { ...till, shows: 'wait' }
  if (checkout.status === 'expired' || new Date(checkout.expires_at) <= (await paymentsNow(db))) {
    return {
      ...till,
      shows: 'over',
      givenBack: payment?.status === 'returning' || payment?.status === 'returned',
    }
  }
  if (payment?.status === 'requires_confirmation') return { ...till, shows: 'confirmation', payment }
  return { ...till, shows: 'form', failure: payment?.failure_code ?? null }
}

const giveUp = statement(
  "UPDATE payments SET status = 'failed', failure_code = 'superseded', updated_at = $2 WHERE checkout_id = $1 AND status = 'requires_confirmation'",
)

/** Pays by a test card, as far as it goes; a session that is not to be paid any more, or is being paid, stays as it is. */
export async function payByCard(db: Db, services: SettleServices, id: string, number: string): Promise<void> {
  const card = testCard(number)
  if (card === undefined) throw new Error('no test card')
  await atTill(db, id, async (tx, deal, at) => {
    // Another tab may have asked for a confirmation.
    await tx.sql(giveUp, [id, at])
    const told = { gateway: 'sandbox', reference: null, checkoutId: id, card: cardOf(card), at }
    const { behaviour } = card
    if (behaviour === 'succeeds') await settlePayment(tx, services, deal, told, told.card)
    else if (behaviour === 'needs_confirmation')
      await keepPayment(tx, deal.order, told, { status: 'requires_confirmation' })
    else if (behaviour === 'is_slow')
      await keepPayment(tx, deal.order, told, {
        status: 'processing',
        dueAt: new Date(at.getTime() + slowness),
      })
    else await keepPayment(tx, deal.order, told, { status: 'failed', code: behaviour.declined })
  })
}

/** Confirms a payment, or not. One that is not to be confirmed any more stays as it is. */
export async function answerConfirmation(
  db: Db,
  services: SettleServices,
  id: string,
  { payment, confirmed }: { payment: string; confirmed: boolean },
): Promise<void> {
  await atTill(db, id, async (tx, deal, at) => {
    const [asked] = await tx.sql(lastTry, [id])
    if (asked === undefined || asked.id !== payment || asked.status !== 'requires_confirmation') return
    const told = { id: payment, gateway: 'sandbox', reference: null, checkoutId: id, card: asked.card, at }
    if (confirmed) await settlePayment(tx, services, deal, told, asked.card)
    else await keepPayment(tx, deal.order, told, { status: 'failed', code: 'not_confirmed' })
  })
}

/** Does the work with everything held, unless there is nothing to be paid any more, or not here. */
async function atTill(
  db: Db,
  id: string,
  work: (tx: Db, deal: Deal, at: Date) => Promise<void>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const checkout = await checkoutById(tx, id)
    if (checkout === undefined) throw noCheckout(id)
    const deal = await lockDeal(tx, checkout.order_id)
    const at = await paymentsNow(tx)
    if (
      deal.checkout?.id !== id ||
      deal.checkout.gateway !== sandbox.name ||
      new Date(deal.checkout.expires_at) <= at
    )
      return
    const [payment] = await tx.sql(lastTry, [id])
    if (payment?.status !== 'processing') await work(tx, deal, at)
  })
}
