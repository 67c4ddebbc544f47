// The Stripe gateway: Stripe's own page takes the payment, and signed webhooks report the outcome. Inside
// transactions this gateway only enqueues jobs; worker.ts performs them.
import type { Stripe } from 'stripe'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import type { GatewayJob, RemoteGateway } from '../gateway.ts'
import { minimumOf, requireAmount } from './amounts.ts'
import {
  asUnavailable,
  createStripeClient,
  StripeFailure,
  type StripeClient,
  type StripeClientOptions,
} from './client.ts'
import { fetchIntent, sendCharge } from './charges.ts'
import { abandonSync, enqueueCancellationSync, sendCancellation } from './cancellation.ts'
import { fetchDispute } from './disputes.ts'
import { fetchRefund, sendLateRefund, sendRefund, type RefundOptions } from './refunds.ts'
import { checkoutPageUrl, expireSession, fetchSession } from './sessions.ts'
import { fetchInvoice, fetchSubscription } from './subscriptions.ts'
import { fetchAndApply, stripeName, wasProcessed, type ApplyState } from './events.ts'

export interface StripeGatewayOptions extends StripeClientOptions {
  jobs: Queue<GatewayJob>
  /** Receives errors that an operator should see. */
  onError: (error: Error) => void
}

export function createStripeGateway({ jobs, onError, ...settings }: StripeGatewayOptions): RemoteGateway {
  const stripe = createStripeClient(settings)
  const refunds: RefundOptions = { stripe, onError }
  const enqueue = async (
    tx: Transaction,
    task: GatewayJob['task'],
    id: string,
    { group = id, reference }: { group?: string; reference?: string } = {},
  ): Promise<void> =>
    await jobs.add(tx, [{ data: { gateway: stripeName, task, id, reference, tries: 0 }, group }])

  return {
    name: stripeName,
    requireAmount,
    minimumOf,
    async charge(tx, { id }, { reference }) {
      await enqueue(tx, 'charge', id, { reference: reference! })
      return 'pending'
    },
    async refund(tx, { id }, payment) {
      await enqueue(tx, 'refund', id, { group: payment.id })
      return 'pending'
    },
    async refundLatePayment(tx, { id }) {
      await enqueue(tx, 'refund_late_payment', id)
      return 'returning'
    },
    async closeCheckout(tx, { id }) {
      // Without a page at Stripe there is nothing to expire.
      if ((await sql.findGatewaySession(tx, { id })) !== undefined) await enqueue(tx, 'close', id)
    },
    syncCancellation: (tx, subscription) => enqueueCancellationSync(tx, jobs, subscription),
    paymentPageUrl: (db, checkout, order) => checkoutPageUrl(stripe, jobs, db, checkout, order),
    async poll(db, services, { status, gateway_reference: reference }) {
      if (status !== 'open' || reference === null) return
      await fetchAndApply(db, services, () => fetchSession(stripe, db, reference)).catch((error) => {
        throw asUnavailable(error)
      })
    },
    async handleWebhook(db, services, body, signature) {
      const event = await stripe.verifyEvent(body, signature)
      const fetchState = fetcherFor({ stripe, refunds, db }, event.type)
      const { id } = event.data.object as { id?: string }
      if (fetchState === null || id === undefined || (await wasProcessed(db, event))) return
      try {
        await fetchAndApply(db, services, () => fetchState(id), event)
      } catch (error) {
        // An object that no longer exists at Stripe has no state to apply.
        if (!(error instanceof StripeFailure) || error.code !== 'resource_missing') throw asUnavailable(error)
      }
    },
    async perform(db, services, job, { repeated, attempt }) {
      const { id } = job
      switch (job.task) {
        case 'charge':
          return await sendCharge(refunds, db, services, job, { repeated })
        case 'forget_card':
          await forget(stripe, (api) =>
            api.paymentMethods.detach(id, {}, { idempotencyKey: `forget_card:${attempt}` }),
          )
          return null
        case 'forget_customer':
          await forget(stripe, (api) => api.customers.del(id))
          return null
        case 'refund':
          return await sendRefund(refunds, db, services, id, { repeated })
        case 'refund_late_payment':
          return await sendLateRefund(refunds, db, services, id, { repeated })
        case 'close':
          await expireSession(stripe, db, services, job, `close:${attempt}`)
          return null
        case 'sync_cancellation':
          await sendCancellation(stripe, db, services, id, `sync_cancellation:${attempt}`)
          return null
      }
    },
    async giveUp(tx, _services, job) {
      if (job.task === 'sync_cancellation') await abandonSync(tx, job.id)
    },
    disconnect: stripe.close,
  }
}

/** Removes a card or a customer, unless that is done. */
async function forget(stripe: StripeClient, remove: (api: Stripe) => Promise<unknown>): Promise<void> {
  await stripe.request(remove).catch((error) => {
    if (!(error instanceof StripeFailure) || error.retryable) throw error
  })
}

/** The function that fetches the object of an event, by the event's type; null for a type that is ignored. */
function fetcherFor(
  { stripe, refunds, db }: { stripe: StripeClient; refunds: RefundOptions; db: Db },
  type: string,
): ((id: string) => Promise<ApplyState>) | null {
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired':
      return (id) => fetchSession(stripe, db, id)
    case 'payment_intent.payment_failed':
      return (id) => fetchIntent(stripe, id, { attempts: true })
    case 'payment_intent.succeeded':
    case 'payment_intent.processing':
    case 'payment_intent.canceled':
      return (id) => fetchIntent(stripe, id)
    case 'invoice.paid':
    case 'invoice.payment_failed':
      return (id) => fetchInvoice(stripe, db, id)
    case 'customer.subscription.updated':
    case 'customer.subscription.paused':
    case 'customer.subscription.resumed':
    case 'customer.subscription.deleted':
      return (id) => fetchSubscription(stripe, db, id)
    case 'customer.subscription.trial_will_end':
      return (id) => fetchSubscription(stripe, db, id, { trialWillEnd: true })
    case 'charge.dispute.created':
    case 'charge.dispute.updated':
    case 'charge.dispute.closed':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
      return (id) => fetchDispute(stripe, db, id)
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.refund.updated':
      return (id) => fetchRefund(refunds, id)
    default:
      return null
  }
}
