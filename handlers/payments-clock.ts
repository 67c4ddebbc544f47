// The sandbox's test clock: get it and move it forward.
import type { Handlers } from '../services/handler.ts'
import { notFound } from '../infra/errors.ts'
import { moveTestClock } from '../services/payments/advance-clock.ts'
import { advanceClock } from '../services/payments/worker.ts'
import { testClock } from '../services/payments/clock.ts'
import type { Gateways } from '../services/payments/gateway.ts'

export const paymentsClock = {
  async getTestClock(_request, { db, gateways }) {
    requireSandbox(gateways)
    return { status: 200, body: await testClock(db) }
  },

  async advanceTestClock({ body: { to, by_seconds: seconds }, principal, idempotency }, services) {
    const { database, gateways } = services
    requireSandbox(gateways)
    const target = (now: Date): Date =>
      to === undefined ? new Date(now.getTime() + seconds * 1000) : new Date(to)
    const { clock, replayed } = await moveTestClock(
      database,
      { userId: principal.userId, idempotency, target },
      (time) => advanceClock(database, services, time),
    )
    return { status: 200, body: clock, replayed }
  },
} satisfies Handlers<'payments-clock'>

function requireSandbox({ current }: Gateways): void {
  if (current.name !== 'sandbox') throw notFound('test clock')
}
