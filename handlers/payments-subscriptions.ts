// Subscriptions: list, get, cancel and resume. A checkout session creates them.
import type { Handlers } from '../services/handler.ts'
import { cancelSubscription, resumeSubscription } from '../services/payments/cancel-subscription.ts'
import { openSubscription, listSubscriptions, toSubscription } from '../services/payments/subscriptions.ts'
import { openSales } from '../services/payments/sales.ts'

export const paymentsSubscriptions = {
  async listSubscriptions(request, { db, lists }) {
    return { status: 200, body: await listSubscriptions(lists, await openSales(db, request), request.query) }
  },

  async getSubscription(request, { db }) {
    return { status: 200, body: toSubscription(await openSubscription(db, request)) }
  },

  async cancelSubscription(request, { db, events, gateways }) {
    const { at_period_end: atPeriodEnd = true } = request.body ?? {}
    return await db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      const canceled = await cancelSubscription(tx, { events, gateways }, subscription, { atPeriodEnd })
      return { status: 200, body: toSubscription(canceled) }
    })
  },

  async resumeSubscription(request, { db, events, gateways }) {
    return await db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      const resumed = await resumeSubscription(tx, { events, gateways }, subscription)
      return { status: 200, body: toSubscription(resumed) }
    })
  },
} satisfies Handlers<'payments-subscriptions'>
