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

/**
 * Statuses of this platform by Stripe's. Other statuses of Stripe's leave the subscription's status
 * unchanged.
 */
export const statusByStripeStatus: Record<string, 'active' | 'past_due'> = {
  active: 'active',
  trialing: 'active',
  past_due: 'past_due',
  unpaid: 'past_due',
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
