// Meters, and the usage of customers.
import * as sql from '../generated/sql/meters.ts'
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import { authorizeCustomers } from '../services/payments/customers.ts'
import { requireSeller } from '../services/payments/sellers.ts'
import { listMeterUsage } from '../services/payments/usage/meter-usage.ts'
import { openMeter, readerOf, requireValidMeter } from '../services/payments/usage/meters.ts'
import { recordUsage } from '../services/payments/usage/record-usage.ts'
import { voidUsage } from '../services/payments/usage/void-usage.ts'
import { resourceHandlers } from '../services/resources.ts'

const meters = resourceHandlers('Meter', sql, {
  now: paymentsNow,
  userOf: readerOf,
  authorize: authorizeCustomers,
})

export const paymentsUsage = {
  ...meters,

  async createMeter(request, services) {
    requireValidMeter(request.body)
    return await meters.createMeter(request, services)
  },

  async listMeterUsage(request, { db }) {
    const meter = await openMeter(db, request, request.params.id)
    return { status: 200, body: await listMeterUsage(db, meter, request.query) }
  },

  async recordUsage(request, { db, config }) {
    const { organization_id: seller = null, events } = request.body
    return await db.transaction(async (tx) => {
      await requireSeller(tx, request, seller)
      const recorded = await recordUsage(tx, seller, events, { windowDays: config.usageWindowDays })
      return { status: 200, body: recorded }
    })
  },

  async voidUsage(request, { db, config }) {
    const { organization_id: seller = null } = request.query
    const id = request.params.event_id
    return await db.transaction(async (tx) => {
      await requireSeller(tx, request, seller)
      const body = await voidUsage(tx, { id, seller, eventDays: config.usageEventDays })
      return { status: 200, body }
    })
  },
} satisfies Handlers<'payments-usage'>
