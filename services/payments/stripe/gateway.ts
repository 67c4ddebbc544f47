// Stripe: its own page takes the money, and it tells by signed events of what happened. Inside of transactions what Stripe is to do is only noted,
// as a job: worker.ts does it.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import type { GatewayJob, TellingGateway } from '../gateway.ts'
import { requireAmount } from './amounts.ts'
import {
  asUnavailable,
  connectStripe,
  StripeFailure,
  type ConnectionOptions,
  type StripeConnection,
} from './client.ts'
import { follow, giveUpFollowing, tellEnd } from './cancellation.ts'
import { askRefund, giveRefund, giveUpRefund, returnPayment, type RefundOptions } from './refunds.ts'
import { askSession, closeSession, pageOf } from './sessions.ts'
import { askInvoice, askSubscription } from './subscriptions.ts'
import { learn, stripeName, wasHeard, type Settle } from './events.ts'

export interface StripeGatewayOptions extends ConnectionOptions {
  jobs: Queue<GatewayJob>
  /** Told what an operator should know. */
  onError: (error: Error) => void
}

const begun = statement<{ id: string }>(
  'SELECT id FROM checkouts WHERE id = $1 AND gateway_reference IS NOT NULL',
)

export function createStripeGateway({ jobs, onError, ...settings }: StripeGatewayOptions): TellingGateway {
  const stripe = connectStripe(settings)
  const refunds: RefundOptions = { stripe, onError }
  const note = async (tx: Db, task: GatewayJob['task'], id: string, group: string): Promise<void> =>
    await jobs.add(tx, [{ data: { task, id, tries: 0 }, group }])

  return {
    name: stripeName,
    renews: false,
    requireAmount,
    async refund(tx, { id }, payment) {
      await note(tx, 'refund', id, payment.id)
      return 'pending'
    },
    async giveBack(tx, { id }) {
      await note(tx, 'return', id, id)
      return 'returning'
    },
    async close(tx, { id }) {
      // Nobody has seen Stripe's page before that.
      if ((await tx.sql(begun, [id])).length === 1) await note(tx, 'close', id, id)
    },
    follow: (tx, subscription) => follow(tx, jobs, subscription),
    page: (db, checkout, order) => pageOf(stripe, jobs, db, checkout, order),
    async look(db, services, { status, gateway_reference: reference }) {
      if (status !== 'open' || reference === null) return
      await learn(db, services, () => askSession(stripe, db, reference)).catch((error) => {
        throw asUnavailable(error)
      })
    },
    async hear(db, services, body, signature) {
      const event = await stripe.verified(body, signature)
      const ask = askOf({ stripe, refunds, db }, event.type)
      const { id } = event.data.object as { id?: string }
      if (ask === null || id === undefined || (await wasHeard(db, event))) return
      try {
        await learn(db, services, () => ask(id), event)
      } catch (error) {
        // Of what is not there any more there is nothing to settle.
        if (!(error instanceof StripeFailure) || error.code !== 'resource_missing') throw asUnavailable(error)
      }
    },
    async perform(db, services, job, { repeated, attempt }) {
      const { task, id } = job
      if (task === 'refund') return await giveRefund(refunds, db, services, id, { repeated })
      if (task === 'return') return await returnPayment(refunds, db, services, id, { repeated })
      if (task === 'close') await closeSession(stripe, db, services, job, `close:${attempt}`)
      else await tellEnd(stripe, db, services, id, `follow:${attempt}`)
      return null
    },
    async giveUp(tx, services, { task, id }) {
      if (task === 'refund') await giveUpRefund(tx, services, id)
      if (task === 'follow') await giveUpFollowing(tx, id)
    },
    disconnect: stripe.close,
  }
}

/** What is asked because of an event, by what it is about; null for what does not matter. */
function askOf(
  { stripe, refunds, db }: { stripe: StripeConnection; refunds: RefundOptions; db: Db },
  type: string,
): ((id: string) => Promise<Settle>) | null {
  switch (type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired':
      return (id) => askSession(stripe, db, id)
    case 'invoice.paid':
    case 'invoice.payment_failed':
      return (id) => askInvoice(stripe, db, id)
    case 'customer.subscription.updated':
    case 'customer.subscription.deleted':
      return (id) => askSubscription(stripe, db, id)
    case 'refund.updated':
    case 'refund.failed':
    case 'charge.refund.updated':
      return (id) => askRefund(refunds, id)
    default:
      return null
  }
}
