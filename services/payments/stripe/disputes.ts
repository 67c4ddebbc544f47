// Disputes at Stripe, which are copied from there. They name a payment intent. A payment of a subscription
// that Stripe bills is recorded by its invoice, and one whose own webhook is late is not recorded yet: it is
// fetched first.
import type { Stripe } from 'stripe'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import { paymentsNow } from '../clock.ts'
import { createDispute, updateDispute, type Dispute, type DisputeState } from '../disputes.ts'
import type { PaymentServices } from '../gateway.ts'
import { lockOrder } from '../settle.ts'
import { fromStripeAmount } from './amounts.ts'
import type { StripeClient } from './client.ts'
import { findPaymentByReference, stripeName, type ApplyState } from './events.ts'
import { fetchIntent } from './charges.ts'
import { fetchSession } from './sessions.ts'
import { fetchInvoice } from './subscriptions.ts'

/** Fetches a dispute, and its payment unless that is recorded. */
export async function fetchDispute(stripe: StripeClient, db: Db, id: string): Promise<ApplyState> {
  const fetchedAt = await paymentsNow(db)
  const dispute = await stripe.request((api) => api.disputes.retrieve(id))
  const { payment_intent: intent } = dispute
  // A charge without a payment intent is of other software.
  if (intent === null) return async () => 'applied'
  const payment = await findStripePayment(stripe, db, typeof intent === 'string' ? intent : intent.id)
  return async (tx, services) => {
    if ((await payment.apply?.(tx, services)) === 'fetch again') return 'fetch again'
    return await applyDispute(tx, services, { dispute, reference: payment.reference, fetchedAt })
  }
}

/** The reference by which a payment is recorded here, and its state unless it is recorded. */
async function findStripePayment(
  stripe: StripeClient,
  db: Db,
  intent: string,
): Promise<{ reference: string; apply?: ApplyState }> {
  const isRecorded = async (reference: string): Promise<boolean> =>
    (await sql.findPaymentByReference(db, { gateway: stripeName, gateway_reference: reference })) !==
    undefined
  if (await isRecorded(intent)) return { reference: intent }
  const { data: invoicePayments } = await stripe.request((api) =>
    api.invoicePayments.list({ payment: { type: 'payment_intent', payment_intent: intent }, limit: 1 }),
  )
  if (invoicePayments.length > 0) {
    const { invoice } = invoicePayments[0]
    const reference = typeof invoice === 'string' ? invoice : invoice.id
    return (await isRecorded(reference))
      ? { reference }
      : { reference, apply: await fetchInvoice(stripe, db, reference) }
  }
  const { data: sessions } = await stripe.request((api) =>
    api.checkout.sessions.list({ payment_intent: intent, limit: 1 }),
  )
  return {
    reference: intent,
    apply:
      sessions.length > 0
        ? await fetchSession(stripe, db, sessions[0].id)
        : await fetchIntent(stripe, intent),
  }
}

async function applyDispute(
  tx: Transaction,
  services: PaymentServices,
  { dispute, reference, fetchedAt }: { dispute: Stripe.Dispute; reference: string; fetchedAt: Date },
): Promise<'applied' | 'fetch again'> {
  const payment = await findPaymentByReference(tx, reference)
  // Other software may use the same Stripe account.
  if (payment === undefined) return 'applied'
  const { order } = await lockOrder(tx, payment.order_id)
  const state = stateOf(dispute)
  const at = await paymentsNow(tx)
  const previous = await sql.findDisputeByReference(tx, { gateway_reference: dispute.id })
  if (previous === undefined) {
    await createDispute(tx, services, order, {
      paymentId: payment.id,
      currency: dispute.currency as Dispute['currency'],
      reference: dispute.id,
      syncedAt: fetchedAt,
      state,
      at,
    })
    return 'applied'
  }
  const { synced_at: syncedAt, ...before } = previous
  const newer = fetchedAt.getTime() - new Date(syncedAt!).getTime()
  // Two states of the same time have no known order.
  if (newer === 0) return 'fetch again'
  if (newer < 0) return 'applied'
  await sql.setDisputeSynced(tx, { id: before.id, synced_at: fetchedAt })
  await updateDispute(tx, services, order, before, { state, at })
  return 'applied'
}

function stateOf({
  status,
  amount,
  currency,
  reason,
  evidence_details: evidence,
}: Stripe.Dispute): DisputeState {
  const { due_by: dueBy } = evidence
  return {
    status: isStatus(status) ? status : 'under_review',
    amount: fromStripeAmount(amount, currency),
    reason,
    // 0: the bank accepts no evidence.
    evidenceDueAt: dueBy === null || dueBy === 0 ? null : new Date(dueBy * 1000),
    dueAt: null,
  }
}

/** Every status of the API. Stripe may add statuses. */
const statuses: Record<Dispute['status'], true> = {
  needs_response: true,
  under_review: true,
  won: true,
  lost: true,
  warning_needs_response: true,
  warning_under_review: true,
  warning_closed: true,
  prevented: true,
  appeal_needs_response: true,
  appeal_under_review: true,
}

function isStatus(status: string): status is Dispute['status'] {
  return Object.hasOwn(statuses, status)
}
