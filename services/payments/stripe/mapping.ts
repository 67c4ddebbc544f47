// What Stripe says of a subscription, in the words of this platform.
import type { Stripe } from 'stripe'
import type { OwnedSubscription, Period } from '../subscriptions.ts'

export type StripeSubscription = Stripe.Subscription
export type Invoice = Stripe.Invoice

/** How a subscription is to end: at once, with its period, or not. */
export type End = 'now' | 'with its period' | 'open'

/** As it was decided here. */
export function endOf({ status, cancel_at_period_end: atPeriodEnd }: OwnedSubscription): End {
  return status === 'canceled' ? 'now' : atPeriodEnd ? 'with its period' : 'open'
}

/** The one that it is in. */
export function periodOf({ items }: StripeSubscription): Period {
  const [{ current_period_start: start, current_period_end: end }] = items.data
  return { start: new Date(start * 1000), end: new Date(end * 1000) }
}

/** What is not here leaves the state as it is. */
export const states: Record<string, 'active' | 'past_due'> = {
  active: 'active',
  trialing: 'active',
  past_due: 'past_due',
  unpaid: 'past_due',
}

export function hasEnded(status: string): boolean {
  return status === 'canceled' || status === 'incomplete_expired'
}

/** Stripe's own pages set the time of the end where the API sets that there is one. @see https://docs.stripe.com/billing/subscriptions/billing-mode/compare */
export function endsWithPeriod(subscription: StripeSubscription): boolean {
  const { cancel_at_period_end: atEnd, cancel_at: endsAt } = subscription
  return atEnd || (endsAt !== null && endsAt * 1000 <= periodOf(subscription).end.getTime())
}
