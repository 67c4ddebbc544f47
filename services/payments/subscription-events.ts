// The events of changes of subscriptions.
import type { Transaction } from '../../infra/database/database.ts'
import type { Emitter } from '../events/emit.ts'
import { findOrder } from './orders.ts'
import { findSubscription, toSubscription, type OwnedSubscription } from './subscriptions.ts'

/**
 * Emits `subscription.updated`, and then the more specific events of the change. Reads the current state if
 * `changed` is absent.
 * @returns the current state.
 */
export async function emitSubscriptionUpdated(
  tx: Transaction,
  events: Emitter,
  previous: OwnedSubscription,
  changed?: OwnedSubscription,
): Promise<OwnedSubscription> {
  const current = changed ?? (await findSubscription(tx, previous.id))!
  const types = ['subscription.updated', ...(await specificEvents(tx, previous, current))] as const
  for (const type of types)
    await events.emit(tx, type, toSubscription(current), {
      previous: toSubscription(previous),
      userId: current.owner_id,
    })
  return current
}

async function specificEvents(tx: Transaction, previous: OwnedSubscription, current: OwnedSubscription) {
  const { status } = current
  const withdrawn = previous.cancel_at_period_end && !current.cancel_at_period_end
  return [
    ...((await isRenewal(tx, previous, current)) ? (['subscription.renewed'] as const) : []),
    ...(status === 'past_due' && previous.status !== status ? (['subscription.past_due'] as const) : []),
    ...(status === 'paused' && previous.status !== status ? (['subscription.paused'] as const) : []),
    ...(withdrawn || (previous.status === 'paused' && status !== 'paused')
      ? (['subscription.resumed'] as const)
      : []),
  ]
}

/** Whether the change is the payment of a period after the first: on time, or after failed charges. */
async function isRenewal(
  tx: Transaction,
  previous: OwnedSubscription,
  current: OwnedSubscription,
): Promise<boolean> {
  if (current.status !== 'active' || previous.status === 'incomplete') return false
  if (previous.latest_order_id === current.latest_order_id && !owesPayment(previous)) return false
  // Stripe's status is also `active` after an unpaid invoice was voided.
  return (await findOrder(tx, current.latest_order_id)).paid_at !== null
}

/** Whether the latest order is a renewal that could not be charged. */
export function owesPayment({ status }: OwnedSubscription): boolean {
  return status === 'past_due' || status === 'unpaid'
}
