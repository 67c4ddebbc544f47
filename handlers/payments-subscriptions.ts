// Subscriptions: listed, inspected, cancelled and resumed. They are begun by a checkout session.
import type { Handlers } from '../services/handler.ts'
import { invalidState } from '../infra/errors.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import { endWithOrder, tellSubscription } from '../services/payments/settle.ts'
import {
  listSubscriptions,
  openSubscription,
  setEnd,
  shownSubscription,
} from '../services/payments/subscriptions.ts'
import { openWorkspace } from '../services/projects/workspaces.ts'

export const paymentsSubscriptions = {
  async listSubscriptions({ operation, principal, query }, { db }) {
    return {
      status: 200,
      body: await listSubscriptions(
        db,
        await openWorkspace(db, { operation, principal }, query.project_id),
        query,
      ),
    }
  },

  async getSubscription(request, { db }) {
    return { status: 200, body: shownSubscription(await openSubscription(db, request)) }
  },

  async cancelSubscription(request, { db, events, gateways }) {
    const { at_period_end: atPeriodEnd = true } = request.body ?? {}
    return await db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      const { id, status } = subscription
      const at = await paymentsNow(tx)
      if (status === 'canceled') throw invalidState('subscription', status)
      if (status === 'active' && atPeriodEnd) {
        if (subscription.cancel_at_period_end)
          throw invalidState('subscription', status, 'The subscription ends with its period already.')
        const now = await tellSubscription(tx, events, subscription, await setEnd(tx, id, { canceledAt: at }))
        await gateways.of(subscription.gateway).follow(tx, now)
        return { status: 200, body: shownSubscription(now) }
      }
      return {
        status: 200,
        body: shownSubscription(await endWithOrder(tx, { events, gateways }, subscription, at)),
      }
    })
  },

  async resumeSubscription(request, { db, events, gateways }) {
    return await db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      if (subscription.status === 'canceled') throw invalidState('subscription', subscription.status)
      if (!subscription.cancel_at_period_end)
        throw invalidState(
          'subscription',
          subscription.status,
          'The subscription does not end with its period.',
        )
      const now = await tellSubscription(
        tx,
        events,
        subscription,
        await setEnd(tx, subscription.id, { canceledAt: null }),
      )
      await gateways.of(subscription.gateway).follow(tx, now)
      return { status: 200, body: shownSubscription(now) }
    })
  },
} satisfies Handlers<'payments-subscriptions'>
