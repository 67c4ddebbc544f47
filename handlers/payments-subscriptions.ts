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

  async cancelSubscription(request, services) {
    const { db } = services
    const { at_period_end: atPeriodEnd = true } = request.body ?? {}
    return await db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      const canceled = await cancelSubscription(tx, services, subscription, { atPeriodEnd })
      return { status: 200, body: toSubscription(canceled) }
    })
  },

  async resumeSubscription(request, services) {
    return await services.db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      const resumed = await resumeSubscription(tx, services, subscription)
      return { status: 200, body: toSubscription(resumed) }
    })
  },
} satisfies Handlers<'payments-subscriptions'>
