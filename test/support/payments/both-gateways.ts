// A server with the sandbox and one with Stripe, on which a test does the same.
import type { Test } from 'tap'
import { moveClock } from '../../../services/payments/clock.ts'
import { nextDueTask, runDueTask } from '../../../services/payments/renewals.ts'
import { cards, createCatalog, payWithCard, type Catalog } from '../operations/catalog-fixtures.ts'
import { startWorkingServer, type WorkingServer } from '../server/working-server.ts'
import { startStripeFixture } from './stripe-fixtures.ts'
import { stripeCards } from './stripe.ts'

export type Card = 'good' | 'weak'

export interface GatewayFixture {
  name: 'sandbox' | 'stripe'
  server: WorkingServer
  catalog: Catalog
  /** Pays a session of the platform by a card, which is weak if it fails while its customer is away. */
  pay(checkout: { id: string; url: string }, card: Card): Promise<void>
  /** Waits until all charges have an outcome. */
  settle(): Promise<void>
  /** Moves the clock, and lets each charge have its outcome before the next task. */
  advance(to: Date): Promise<void>
}

const advanceWith =
  ({ services }: WorkingServer, settle: () => Promise<void>) =>
  async (to: Date): Promise<void> => {
    for (;;) {
      const due = await nextDueTask(services.database, { at: to })
      await moveClock(services.database, due?.at ?? to)
      if (due === null) return
      await runDueTask(services.database, services, due)
      await settle()
    }
  }

export async function startWithSandbox(t: Test): Promise<GatewayFixture> {
  const server = await startWorkingServer(t)
  const settle = async (): Promise<void> => {}
  return {
    name: 'sandbox',
    server,
    catalog: await createCatalog(server),
    async pay({ id }, card) {
      await payWithCard(server, id, card === 'good' ? cards.succeeds : cards.renewalDeclined)
    },
    settle,
    advance: advanceWith(server, settle),
  }
}

export async function startWithStripe(t: Test, env: Record<string, string> = {}): Promise<GatewayFixture> {
  const shop = await startStripeFixture(t, { env })
  const { server, stripe } = shop
  let delivered = 0
  const settle = async (): Promise<void> => {
    await shop.waitForJobs()
    const first = delivered
    delivered = stripe.events.length
    await shop.deliverFrom(first)
  }
  return {
    name: 'stripe',
    server,
    catalog: shop,
    async pay(checkout, card) {
      await shop.openPage(checkout)
      const number = card === 'good' ? stripeCards.succeeds : stripeCards.renewalDeclined
      stripe.customer.pay(stripe.sessionFor(checkout.id), number)
      await settle()
    },
    settle,
    advance: advanceWith(server, settle),
  }
}
