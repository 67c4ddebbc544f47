// A server that uses the fake of Stripe, with a worker and a catalog, and helpers that act as its customers.
import type { Test } from 'tap'
import { statement } from '../../../infra/database/statements.ts'
import type { Person } from '../server/server.ts'
import { createCheckout, createCatalog, type Catalog } from '../operations/catalog-fixtures.ts'
import type { Session, Subscription } from './stripe-objects.ts'
import { startFakeStripe, type FakeStripe } from './stripe.ts'
import { waitUntil } from '../server/wait.ts'
import {
  startWorkingServer,
  type WebhookWorkerOptions,
  type WorkingServer,
} from '../server/working-server.ts'

export interface StripeFixture extends Catalog {
  server: WorkingServer
  stripe: FakeStripe
  /** Creates a checkout session. @returns the session. */
  checkout(person: Person, body?: Record<string, unknown>): Promise<any>
  /** Opens the payment page of a session as a browser does, without following redirects. */
  openPage(
    checkout: { url: string },
    path?: string,
  ): Promise<{ status: number; location: string | null; text: string }>
  /** Creates a checkout session and opens Stripe's page. */
  openCheckout(person: Person, body?: Record<string, unknown>): Promise<{ checkout: any; session: Session }>
  /** Like `openCheckout`, for a subscription that Stripe bills, as version 1.12 began them. */
  openBilledCheckout(
    person: Person,
    body?: Record<string, unknown>,
  ): Promise<{ checkout: any; session: Session }>
  /** Creates a subscription that Stripe bills and pays it; its webhooks are not delivered yet. */
  subscribe(
    person: Person,
    body?: Record<string, unknown>,
  ): Promise<{ checkout: any; session: Session; subscription: Subscription }>
  /** Delivers all events starting at this index; every reply must be 200. */
  deliverFrom(number: number): Promise<void>
  /** Waits until no due jobs are left. */
  waitForJobs(): Promise<void>
  /** Makes scheduled jobs due. @returns their number. */
  makeJobsDue(): Promise<number>
  order(person: Person, id: string): Promise<any>
  /** The types of the person's events, oldest first, except for catalog events. */
  eventTypes(person: Person): Promise<string[]>
}

const due = statement<{ n: number }>(
  `SELECT count(*)::int AS n FROM jobs WHERE queue = 'gateway'
    AND (fetches > 0 OR due_at <= now())`,
)
const forward = statement<{ id: string }>(
  `UPDATE jobs SET due_at = now() WHERE queue = 'gateway' AND fetches = 0 AND due_at > now()
    RETURNING id`,
)

export async function startStripeFixture(
  t: Test,
  options: WebhookWorkerOptions & { sends?: boolean; env?: Record<string, string> } = {},
): Promise<StripeFixture> {
  const stripe = await startFakeStripe(t)
  const server = await startWorkingServer(t, {
    ...options,
    env: { RATE_LIMIT_GATEWAY: '1000000', RATE_LIMIT_PAGE: '1000000', ...stripe.env, ...options.env },
  })
  const { database } = server.services
  const shop: StripeFixture = {
    ...(await createCatalog(server)),
    server,
    stripe,
    checkout: (person, body) => createCheckout(person, { items: [{ price_id: shop.price }], ...body }),
    async openPage({ url }, path = '') {
      const response = await fetch(url + path, { redirect: 'manual' })
      return {
        status: response.status,
        location: response.headers.get('location'),
        text: await response.text(),
      }
    },
    async openCheckout(person, body) {
      const checkout = await shop.checkout(person, body)
      const { status, location } = await shop.openPage(checkout)
      const session = stripe.sessionFor(checkout.id)
      if (status !== 303 || location !== session.url) throw new Error(`${checkout.id} leads to ${location}`)
      return { checkout, session }
    },
    async openBilledCheckout(person, body) {
      const checkout = await shop.checkout(person, {
        mode: 'subscription',
        items: [{ price_id: shop.monthly }],
        ...body,
      })
      const { id, order_id, subscription_id, url } = checkout
      const { items } = await shop.order(person, order_id)
      const metadata = { checkout_id: id, order_id, subscription_id }
      const session = await stripe.client.checkout.sessions.create({
        mode: 'subscription',
        line_items: items.map(({ quantity, unit_amount, description: name }: any) => ({
          quantity,
          price_data: {
            currency: checkout.currency,
            unit_amount,
            product_data: { name },
            recurring: { interval: 'month', interval_count: 1 },
          },
        })),
        client_reference_id: id,
        metadata,
        subscription_data: { metadata },
        success_url: `${url}/return`,
        cancel_url: 'https://shop.example/cart',
      })
      await database.prisma.checkout.update({
        where: { id },
        data: { gatewayReference: session.id, gatewayUrl: session.url },
      })
      return { checkout, session: stripe.sessionFor(id) }
    },
    async subscribe(person, body) {
      const { checkout, session } = await shop.openBilledCheckout(person, body)
      stripe.customer.pay(session)
      return { checkout, session, subscription: stripe.subscriptions.get(session.subscription as string)! }
    },
    async deliverFrom(number) {
      for (const event of stripe.events.slice(number)) {
        const { status } = await stripe.deliver(server.url, event)
        if (status !== 200) throw new Error(`${event.type} returned ${status}`)
      }
    },
    async waitForJobs() {
      await waitUntil(async () => (await database.sql(due, []))[0].n === 0, 'the jobs to be done')
    },
    makeJobsDue: async () => (await database.sql(forward, [])).length,
    order: async (person, id) => (await person.client.get(`/payments/orders/${id}`)).body,
    eventTypes: async (person) =>
      (await person.client.get('/events?limit=100')).body.data
        .map((event: any) => event.type)
        .filter((type: string) => !/^(product|price)\./.test(type)),
  }
  return shop
}
