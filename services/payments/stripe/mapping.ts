// Maps Stripe's subscription fields to this platform's.
import type { Stripe } from 'stripe'
import type { OwnedSubscription, Period } from '../subscriptions.ts'

export type StripeSubscription = Stripe.Subscription
export type Invoice = Stripe.Invoice

/** When a subscription is canceled. */
export type Cancellation = 'now' | 'at period end' | 'none'

/** The cancellation that this platform decided. */
export function cancellationOf({
  status,
  cancel_at_period_end: atPeriodEnd,
}: OwnedSubscription): Cancellation {
  return status === 'canceled' ? 'now' : atPeriodEnd ? 'at period end' : 'none'
}

/** The current period. */
export function periodOf({ items }: StripeSubscription): Period {
  const [{ current_period_start: start, current_period_end: end }] = items.data
  return { start: new Date(start * 1000), end: new Date(end * 1000) }
}

type RunningStatus = Exclude<OwnedSubscription['status'], 'incomplete' | 'canceled'>

/**
 * The status of a running subscription, by Stripe's. null for the others: `incomplete` leaves the status
 * unchanged, and `canceled` and `incomplete_expired` end the subscription (`hasEnded`).
 */
export function runningStatusOf({ status }: StripeSubscription): RunningStatus | null {
  switch (status) {
    case 'trialing':
    case 'active':
    case 'past_due':
    case 'unpaid':
    case 'paused':
      return status as RunningStatus
    default:
      return null
  }
}

/** True for a status that Stripe never leaves. */
export function hasEnded(status: string): boolean {
  return status === 'canceled' || status === 'incomplete_expired'
}

/**
 * True if Stripe cancels the subscription at the end of its period. The API sets `cancel_at_period_end`; the
 * customer portal may set `cancel_at` instead. @see
 * https://docs.stripe.com/billing/subscriptions/billing-mode/compare
 */
export function cancelsAtPeriodEnd(subscription: StripeSubscription): boolean {
  const { cancel_at_period_end: atPeriodEnd, cancel_at: cancelAt } = subscription
  return atPeriodEnd || (cancelAt !== null && cancelAt * 1000 <= periodOf(subscription).end.getTime())
}
