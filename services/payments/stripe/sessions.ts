// Checkout sessions at Stripe: made when somebody first comes to pay, settled as Stripe says they went, and expired there when nobody is to pay by
// them any more.
import type { Stripe } from 'stripe'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import { findPrice } from '../products-and-prices.ts'
import { addressFor, checkoutById, type OwnedCheckout } from '../checkouts.ts'
import { paymentsNow, testClock } from '../clock.ts'
import type { GatewayJob, SettleServices } from '../gateway.ts'
import { findOrder, type OwnedOrder } from '../orders.ts'
import { expireCheckout, keepPayment, lockDeal } from '../settle.ts'
import { toStripe } from './amounts.ts'
import { asUnavailable, StripeFailure, type StripeConnection } from './client.ts'
import { askSubscription } from './subscriptions.ts'
import { learn, paymentAt, settleOnce, stripeName, type Settle } from './events.ts'

type Session = Stripe.Checkout.Session

/** Stripe takes times from 30 minutes to 24 hours after a session's beginning; a bit more and a bit less, because clocks differ. */
const shortest = 33 * 60_000
const longest = 86_400_000 - 120_000

/** When Stripe lets a session end. Two values at most for each, which its key tells apart. */
function endsAt(
  checkout: OwnedCheckout,
  { now, offset }: { now: number; offset: number },
): { at: number; key: string } {
  const created = new Date(checkout.created_at).getTime() - offset
  const expires = new Date(checkout.expires_at).getTime() - offset
  // Who comes late gets more time of Stripe than of us: it is ended there when its time is over here.
  if (expires - now < shortest) return { at: expires + shortest, key: `${checkout.id}:late` }
  return { at: Math.min(expires, created + longest), key: checkout.id }
}

async function lineItems(
  db: Db,
  checkout: OwnedCheckout,
  order: OwnedOrder,
): Promise<Stripe.Checkout.SessionCreateParams.LineItem[]> {
  const { currency, items } = order
  const recurring =
    checkout.mode === 'subscription' ? (await findPrice(db, items[0].price_id)).recurring : null
  return items.map(({ description, quantity, unit_amount: unitAmount }) => ({
    quantity,
    price_data: {
      currency,
      unit_amount: toStripe(unitAmount, currency),
      product_data: { name: description },
      ...(recurring !== null && { recurring }),
    },
  }))
}

/** Milliseconds that the time of payments is ahead of Stripe's. */
async function aheadBy(db: Db): Promise<number> {
  return (await testClock(db)).offset_seconds * 1000
}

interface Page {
  id: string
  url: string
}

/** Makes the session at Stripe, or finds it made. */
async function makePage(
  stripe: StripeConnection,
  db: Db,
  checkout: OwnedCheckout,
  order: OwnedOrder,
): Promise<Page> {
  const { at, key } = endsAt(checkout, { now: Date.now(), offset: await aheadBy(db) })
  const metadata = {
    checkout_id: checkout.id,
    order_id: order.id,
    ...(checkout.subscription_id !== null && { subscription_id: checkout.subscription_id }),
  }
  const items = await lineItems(db, checkout, order)
  const { id, url } = await stripe.ask((api) =>
    api.checkout.sessions.create(
      {
        mode: checkout.mode,
        line_items: items,
        client_reference_id: checkout.id,
        metadata,
        ...(checkout.mode === 'subscription'
          ? { subscription_data: { metadata } }
          : { payment_intent_data: { metadata } }),
        success_url: `${checkout.url}/return`,
        cancel_url: addressFor(checkout, 'cancel'),
        expires_at: Math.floor(at / 1000),
      },
      { idempotencyKey: `checkout:${key}` },
    ),
  )
  if (url === null) throw new Error(`${id} has no page`)
  return { id, url }
}

const keep = statement<{ id: string }>(`
  UPDATE checkouts SET gateway_reference = $2, gateway_url = $3 WHERE id = $1 AND status = 'open' AND gateway_reference IS NULL RETURNING id`)

/** Keeps the page of a session that is open and has none. @returns the one that it has; null where nobody is to pay any more. */
async function keepPage(
  tx: Db,
  jobs: Queue<GatewayJob>,
  checkout: OwnedCheckout,
  { id, url }: Page,
): Promise<string | null> {
  const job: GatewayJob = { task: 'close', id: checkout.id, tries: 0 }
  if ((await tx.sql(keep, [checkout.id, id, url])).length === 1) {
    const startAfter = new Date(new Date(checkout.expires_at).getTime() - (await aheadBy(tx)))
    await jobs.add(tx, [{ data: job, group: checkout.id, startAfter }])
    return url
  }
  const now = (await checkoutById(tx, checkout.id))!
  // Somebody came at the same time and got another, or nobody is to pay any more: nobody ever sees this one.
  if (now.gateway_reference !== id)
    await jobs.add(tx, [{ data: { ...job, reference: id }, group: checkout.id }])
  return now.status === 'open' ? now.gateway_url : null
}

/** The address of Stripe's page for an open session; the same for everybody who comes. Throws 503 when Stripe cannot be reached. */
export async function pageOf(
  stripe: StripeConnection,
  jobs: Queue<GatewayJob>,
  db: Db,
  checkout: OwnedCheckout,
  order: OwnedOrder,
): Promise<string> {
  if (checkout.gateway_url !== null) return checkout.gateway_url
  const page = await makePage(stripe, db, checkout, order).catch((error) => {
    throw asUnavailable(error)
  })
  // Where there is none any more our own says why.
  return (await db.transaction((tx) => keepPage(tx, jobs, checkout, page))) ?? checkout.url
}

/** Asks how a session went. */
export async function askSession(stripe: StripeConnection, db: Db, id: string): Promise<Settle> {
  const session = await stripe.ask((api) =>
    api.checkout.sessions.retrieve(id, { expand: ['payment_intent'] }),
  )
  return await settlingOf(stripe, db, session)
}

async function settlingOf(stripe: StripeConnection, db: Db, session: Session): Promise<Settle> {
  const { subscription } = session
  if (subscription !== null)
    return await askSubscription(
      stripe,
      db,
      typeof subscription === 'string' ? subscription : subscription.id,
    )
  return async (tx, services) => {
    await settleSession(tx, services, session)
    return 'settled'
  }
}

async function settleSession(tx: Db, services: SettleServices, session: Session): Promise<void> {
  const id = session.metadata?.checkout_id
  const checkout = id === undefined ? undefined : await checkoutById(tx, id)
  // Others may use the same account.
  if (checkout?.gateway !== stripeName || session.status === 'open') return
  if (session.status === 'expired') return await settleExpired(tx, services, session, checkout)
  const intent = session.payment_intent
  if (intent === null || typeof intent === 'string')
    throw new Error(`${session.id} is complete and has no payment`)
  const order = await findOrder(tx, checkout.order_id)
  if (
    session.amount_total !== toStripe(order.total_amount, order.currency) ||
    session.currency !== order.currency
  )
    throw new Error(`${session.id} is for another amount than ${order.id}`)
  const at = await paymentsNow(tx)
  const told = { reference: intent.id, checkoutId: checkout.id, at }
  if (session.payment_status === 'paid') await settleOnce(tx, services, order.id, told)
  else await settleUnpaid(tx, services, checkout, intent, told)
}

async function settleExpired(
  tx: Db,
  services: SettleServices,
  session: Session,
  { order_id: orderId, id }: OwnedCheckout,
): Promise<void> {
  const deal = await lockDeal(tx, orderId)
  if (deal.checkout?.id === id && deal.checkout.gateway_reference === session.id)
    await expireCheckout(tx, services, deal, id, await paymentsNow(tx))
}

/** States of a payment that is nothing more to come of. */
const failed = new Set(['requires_payment_method', 'canceled'])

/** The customer has done all there is to do, and the bank takes its time, or has said no: then nobody can pay by the session any more. */
async function settleUnpaid(
  tx: Db,
  services: SettleServices,
  { id, order_id: orderId }: OwnedCheckout,
  intent: Stripe.PaymentIntent,
  told: { reference: string; checkoutId: string; at: Date },
): Promise<void> {
  const deal = await lockDeal(tx, orderId)
  const known = await paymentAt(tx, intent.id)
  const payment = { ...told, gateway: stripeName, card: null, ...(known !== undefined && { id: known.id }) }
  if (!failed.has(intent.status)) {
    if (known === undefined && deal.order.status === 'pending')
      await keepPayment(tx, deal.order, payment, { status: 'processing', dueAt: null })
    return
  }
  if (known === undefined || known.status === 'processing')
    await keepPayment(tx, deal.order, payment, {
      status: 'failed',
      code: intent.last_payment_error?.code ?? 'payment_failed',
    })
  if (deal.checkout?.id === id) await expireCheckout(tx, services, deal, id, told.at)
}

/** Lets nobody pay by a session any more, or finds that somebody has. */
export async function closeSession(
  stripe: StripeConnection,
  db: Db,
  services: SettleServices,
  { id, reference }: GatewayJob,
  key: string,
): Promise<void> {
  const checkout = await checkoutById(db, id)
  const session = reference ?? checkout?.gateway_reference ?? null
  if (session === null || (checkout?.status === 'complete' && checkout.gateway_reference === session)) return
  await learn(db, services, async () => {
    const found = await stripe.ask((api) =>
      api.checkout.sessions.retrieve(session, { expand: ['payment_intent'] }),
    )
    if (found.status !== 'open') return await settlingOf(stripe, db, found)
    try {
      const expired = await stripe.ask((api) =>
        api.checkout.sessions.expire(session, {}, { idempotencyKey: key }),
      )
      return await settlingOf(stripe, db, expired)
    } catch (error) {
      // It was completed in this moment.
      if (error instanceof StripeFailure && !error.passing) return await askSession(stripe, db, session)
      throw error
    }
  })
}
