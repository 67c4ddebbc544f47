// Meters, and the usage of customers.
import * as sql from '../generated/sql/meters.ts'
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import { authorizeCustomers } from '../services/payments/customers.ts'
import { readerOf, requireValidMeter } from '../services/payments/usage/meters.ts'
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
} satisfies Handlers<'payments-usage'>
