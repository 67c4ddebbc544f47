// Charges the stored card of a subscription.
import type { Transaction } from '../../infra/database/database.ts'
import type { PaymentServices } from './gateway.ts'
import { applyPayment, failPayment, payIfFree, type LockedOrder } from './settle.ts'

/**
 * Charges the card of a subscription for a locked pending order, unless its total is 0.
 * @throws if the order is not payable: the transaction must not repeat the charge.
 */
export async function chargeOrder(
  tx: Transaction,
  services: PaymentServices,
  locked: LockedOrder,
  { gateway, at }: { gateway: string; at: Date },
): Promise<'paid' | 'declined' | 'no card'> {
  const { order, subscription } = locked
  if (await payIfFree(tx, services, locked, at)) return 'paid'
  const { card } = subscription!
  if (card === null) return 'no card'
  const notification = { gateway, reference: null, checkoutId: null, card, at }
  if (!card.renews) {
    await failPayment(tx, services, order, notification, 'card_declined')
    return 'declined'
  }
  // Roll back: otherwise the subscription would stay due and be charged and refunded again and again.
  if (!(await applyPayment(tx, services, locked, notification)))
    throw new Error(
      `Cannot charge the order ${order.id} of the subscription ${subscription!.id}: it is ${order.status}.`,
    )
  return 'paid'
}
