// The next order of a subscription, as it would be now.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/payments.ts'
import type { Db } from '../../infra/database/database.ts'
import { conflict, invalidState } from '../../infra/errors.ts'
import { usableCredit } from './charge.ts'
import { maxOrderAmount } from './currency.ts'
import type { PaymentServices } from './gateway.ts'
import { owedLine, priceItems, toOrderItem, totalOf } from './orders.ts'
import { isBilledByGateway, type OwnedSubscription } from './subscriptions.ts'
import { readDueUsage } from './usage-billing.ts'

/**
 * What the order of the next period would have: its prices, what changes added, and the usage so far. That of
 * a subscription which ends with its period has only the last two.
 * @throws 409 for a subscription that is canceled or not paid yet, or that its gateway bills.
 */
export async function upcomingOrder(
  db: Db,
  services: PaymentServices,
  subscription: OwnedSubscription,
): Promise<components['schemas']['UpcomingOrder']> {
  const { status, items, scheduled_change: change, customer_id: customerId } = subscription
  if (status === 'canceled' || status === 'incomplete') throw invalidState('subscription', status)
  if (isBilledByGateway(subscription))
    throw conflict('gateway', 'The gateway bills this subscription.', 'subscription_id')
  const next = change?.order_id === null ? change.items : items
  const {
    lines: prices,
    currency,
    now,
  } = await priceItems(db, next, { recurring: true, kept: next, customerId })
  const { owed_amount: owed, cancel_at_period_end: ends, current_period_end: periodEnd } = subscription
  const lines = [...(ends ? [] : prices), ...(owed > 0 ? [owedLine(prices[0].priceId, owed)] : [])]
  const end = new Date(periodEnd!)
  const at = status === 'paused' && now > end ? now : end
  const usage = await readDueUsage(db, services, subscription, { at, room: maxOrderAmount - totalOf(lines) })
  lines.push(...usage.lines)
  const subtotal = totalOf(lines)
  const balance = (await sql.findBalance(db, { customer_id: customerId, currency }))?.amount ?? 0
  const credit = usableCredit(subtotal, balance, services.gateways.current.minimumOf(currency))
  return {
    lines: lines.map(toOrderItem),
    currency,
    subtotal_amount: subtotal,
    credit_amount: credit,
    total_amount: subtotal - credit,
    period_end: periodEnd!,
  }
}
