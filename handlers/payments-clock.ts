// The sandbox's test clock: get it and move it forward.
import type { Handlers } from '../services/handler.ts'
import type { Db } from '../infra/database/database.ts'
import { notFound } from '../infra/errors.ts'
import { moveTestClock } from '../services/payments/advance-clock.ts'
import { advanceClock } from '../services/payments/worker.ts'
import { testClock } from '../services/payments/clock.ts'
import { openCustomer } from '../services/payments/customers.ts'
import type { Gateways } from '../services/payments/gateway.ts'
import { requireSeller, type SellerRequest } from '../services/payments/sellers.ts'

export const paymentsClock = {
  async getTestClock(request, { db, gateways }) {
    requireSandbox(gateways)
    const { customer_id: customerId } = request.query
    await authorizeClock(db, request, customerId)
    return { status: 200, body: await testClock(db, customerId) }
  },

  async advanceTestClock(request, services) {
    const { database, db, gateways } = services
    const { body, principal, idempotency } = request
    const { to, by_seconds: seconds, customer_id: customerId } = body
    requireSandbox(gateways)
    await authorizeClock(db, request, customerId)
    const target = (now: Date): Date =>
      to === undefined ? new Date(now.getTime() + seconds * 1000) : new Date(to)
    const { clock, replayed } = await moveTestClock(
      database,
      { userId: principal.userId, customerId, idempotency, target },
      (time) => advanceClock(database, services, time, customerId),
    )
    return { status: 200, body: clock, replayed }
  },
} satisfies Handlers<'payments-clock'>

/** The clock of everyone is the operator's, that of a customer its seller's. */
async function authorizeClock(db: Db, request: SellerRequest, customerId: string | undefined): Promise<void> {
  if (customerId === undefined) await requireSeller(db, request, null)
  else await openCustomer(db, request, customerId)
}

function requireSandbox({ current }: Gateways): void {
  if (current.name !== 'sandbox') throw notFound('test clock')
}
