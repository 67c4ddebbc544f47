// Subscriptions: list, create, get, change, pause, cancel and resume.
import type { Handlers } from '../services/handler.ts'
import { cancelSubscription, resumeSubscription } from '../services/payments/cancel-subscription.ts'
import {
  cancelChange,
  previewChange,
  requireProration,
  updateSubscription,
} from '../services/payments/change-subscription.ts'
import { createSubscription } from '../services/payments/create-subscription.ts'
import { pauseSubscription, unpauseSubscription } from '../services/payments/pause-subscription.ts'
import { listSubscriptions, openSubscription, toSubscription } from '../services/payments/subscriptions.ts'
import { openSales } from '../services/payments/sales.ts'
import { upcomingOrder } from '../services/payments/upcoming-order.ts'

export const paymentsSubscriptions = {
  async listSubscriptions(request, { db, lists }) {
    return { status: 200, body: await listSubscriptions(lists, await openSales(db, request), request.query) }
  },

  async createSubscription(request, services) {
    return await services.db.transaction(async (tx) => {
      const created = await createSubscription(tx, services, request)
      const location = `/v1/payments/subscriptions/${created.id}`
      return { status: 201, body: toSubscription(created), headers: { location } }
    })
  },

  async updateSubscription(request, services) {
    return await services.db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      requireProration(request.principal, subscription, request.body.proration)
      request.ifMatch(toSubscription(subscription))
      const changed = await updateSubscription(tx, services, subscription, request.body)
      return { status: 200, body: toSubscription(changed) }
    })
  },

  async previewSubscription(request, services) {
    const subscription = await openSubscription(services.db, request)
    return { status: 200, body: await previewChange(services.db, services, subscription, request.body) }
  },

  async getUpcomingOrder(request, services) {
    const subscription = await openSubscription(services.db, request)
    return { status: 200, body: await upcomingOrder(services.db, services, subscription) }
  },

  async pauseSubscription(request, services) {
    const { resumes_at: resumesAt } = request.body ?? {}
    return await services.db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      const until = resumesAt === undefined ? null : new Date(resumesAt)
      const paused = await pauseSubscription(tx, services, subscription, until)
      return { status: 200, body: toSubscription(paused) }
    })
  },

  async unpauseSubscription(request, services) {
    return await services.db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      const continued = await unpauseSubscription(tx, services, subscription)
      return { status: 200, body: toSubscription(continued) }
    })
  },

  async cancelScheduledChange(request, services) {
    return await services.db.transaction(async (tx) => {
      const subscription = await openSubscription(tx, request, { lock: true })
      return { status: 200, body: toSubscription(await cancelChange(tx, services, subscription)) }
    })
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
