// The sandbox's test clock: get it and move it forward.
import type { Handlers } from '../services/handler.ts'
import { conflict, invalidField, notFound } from '../infra/errors.ts'
import { advanceClock } from '../services/payments/worker.ts'
import { paymentsNow, testClock } from '../services/payments/clock.ts'
import type { Gateways } from '../services/payments/gateway.ts'

/** The longest move of one request: two years. */
const maxMoveMs = 2 * 366 * 86_400_000
/** Timestamps and ids have four-digit years; the margin leaves room for the periods of subscriptions. */
const maxTime = new Date('9900-01-01T00:00:00Z')

export const paymentsClock = {
  async getTestClock(_request, { db, gateways }) {
    requireSandbox(gateways)
    return { status: 200, body: await testClock(db) }
  },

  async advanceTestClock({ body: { to, by_seconds: seconds } }, services) {
    const { database, gateways } = services
    requireSandbox(gateways)
    const now = await paymentsNow(database)
    const target = to === undefined ? new Date(now.getTime() + seconds * 1000) : new Date(to)
    if (target.getTime() > now.getTime() + maxMoveMs)
      throw invalidField('to', 'maximum', 'The clock can move at most two years at once.')
    if (target > maxTime)
      throw invalidField('to', 'maximum', `The clock cannot move past ${maxTime.toISOString()}.`)
    if (target < now) throw conflict('forward', 'The clock can only move forward.', 'to')
    await advanceClock(database, services, target)
    return { status: 200, body: await testClock(database) }
  },
} satisfies Handlers<'payments-clock'>

function requireSandbox({ current }: Gateways): void {
  if (current.name !== 'sandbox') throw notFound('test clock')
}
