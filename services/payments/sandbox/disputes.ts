// Disputes of the sandbox. A test card disputes its own payment; the payment clock then plays the bank.
import type { Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import { paymentsNow } from '../clock.ts'
import { createDispute, updateDispute, type Dispute } from '../disputes.ts'
import type { PaymentServices } from '../gateway.ts'
import type { OwnedOrder } from '../orders.ts'
import { lockOrder } from '../settle.ts'

/** The statuses of the disputes of the test cards, by reason. Each follows the last one after a week. */
export const sandboxDisputes = {
  fraudulent: ['needs_response', 'lost'],
  product_not_received: ['needs_response', 'under_review', 'won'],
  general: ['warning_needs_response', 'warning_closed'],
} satisfies Record<string, Array<Dispute['status']>>

export type SandboxReason = keyof typeof sandboxDisputes

const weekMs = 7 * 86_400_000

/**
 * Disputes the full payment of an order that is paid, and that `lockOrder` locked.
 * @returns the id of the dispute.
 */
export async function disputePayment(
  tx: Transaction,
  services: PaymentServices,
  order: OwnedOrder,
  reason: SandboxReason,
  at: Date,
): Promise<string> {
  const { payment_id: paymentId } = await sql.readRefundable(tx, { order_id: order.id })
  const [status] = sandboxDisputes[reason]
  const nextWeek = new Date(at.getTime() + weekMs)
  return await createDispute(tx, services, order, {
    paymentId,
    currency: order.currency,
    reference: null,
    syncedAt: null,
    state: { status, amount: order.total_amount, reason, evidenceDueAt: nextWeek, dueAt: nextWeek },
    at,
  })
}

/** Gives a dispute its next status, if it is due. */
export async function continueDispute(tx: Transaction, services: PaymentServices, id: string): Promise<void> {
  const { order_id: orderId } = await sql.readOrderOfDispute(tx, { id })
  const { order } = await lockOrder(tx, orderId)
  const dispute = await sql.findDueDispute(tx, { id })
  if (dispute === undefined) return
  const statuses: Array<Dispute['status']> = sandboxDisputes[dispute.reason as SandboxReason]
  const next = statuses.indexOf(dispute.status) + 1
  const at = await paymentsNow(tx)
  const { amount, reason, evidence_due_at: evidenceDueAt } = dispute
  await updateDispute(tx, services, order, dispute, {
    state: {
      status: statuses[next],
      amount,
      reason,
      evidenceDueAt: new Date(evidenceDueAt!),
      dueAt: next + 1 < statuses.length ? new Date(at.getTime() + weekMs) : null,
    },
    at,
  })
}
