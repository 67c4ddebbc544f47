// A shop that takes money by the stand-in of Stripe, with somebody who works off what it is to do, and its customers.
import type { Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import type { Person } from './server.ts'
import { beginCheckout, openShop, type Shop } from './catalog-fixtures.ts'
import type { Session, Subscription } from './stripe-objects.ts'
import { startStripe, type StripeStandIn } from './stripe.ts'
import { waitUntil } from './wait.ts'
import { startWorkingServer, type WebhookWorkerOptions, type WorkingServer } from './working-server.ts'

export interface StripeShop extends Shop {
  server: WorkingServer
  stripe: StripeStandIn
  /** Begins a checkout session. @returns it. */
  checkout(person: Person, body?: Record<string, unknown>): Promise<any>
  /** Opens the page of a session as a browser does. */
  visit(
    checkout: { url: string },
    path?: string,
  ): Promise<{ status: number; location: string | null; text: string }>
  /** Begins a checkout session and opens Stripe's page. */
  begin(person: Person, body?: Record<string, unknown>): Promise<{ checkout: any; session: Session }>
  /** Begins a subscription and pays it; nobody has told of it yet. */
  subscribe(
    person: Person,
    body?: Record<string, unknown>,
  ): Promise<{ checkout: any; session: Session; subscription: Subscription }>
  /** Delivers all events from the one with this number on; every answer has to be 200. */
  deliverFrom(number: number): Promise<void>
  /** Waits until nothing is left to be done at Stripe but what is for later. */
  settled(): Promise<void>
  /** Lets what is for later be done now. */
  bringForward(): Promise<number>
  order(person: Person, id: string): Promise<any>
  /** The types of the person's events, from the oldest, but for those of the catalogue. */
  types(person: Person): Promise<string[]>
}

const due = statement<{ n: number }>(
  "SELECT count(*)::int AS n FROM pgboss.job WHERE name = 'gateway' AND (state = 'active' OR start_after <= now())",
)
const forward = statement<{ id: string }>(
  "UPDATE pgboss.job SET start_after = now() WHERE name = 'gateway' AND state < 'active' AND start_after > now() RETURNING id",
)

export async function openStripeShop(
  t: Test,
  options: WebhookWorkerOptions & { sends?: boolean; env?: Record<string, string> } = {},
): Promise<StripeShop> {
  const stripe = await startStripe(t)
  const server = await startWorkingServer(t, {
    ...options,
    env: { RATE_LIMIT_GATEWAY: '1000000', RATE_LIMIT_PAGE: '1000000', ...stripe.env, ...options.env },
  })
  const { database } = server.services
  const shop: StripeShop = {
    ...(await openShop(server)),
    server,
    stripe,
    checkout: (person, body) => beginCheckout(person, { items: [{ price_id: shop.price }], ...body }),
    async visit({ url }, path = '') {
      const response = await fetch(url + path, { redirect: 'manual' })
      return {
        status: response.status,
        location: response.headers.get('location'),
        text: await response.text(),
      }
    },
    async begin(person, body) {
      const checkout = await shop.checkout(person, body)
      const { status, location } = await shop.visit(checkout)
      const session = stripe.sessionFor(checkout.id)
      if (status !== 303 || location !== session.url) throw new Error(`${checkout.id} leads to ${location}`)
      return { checkout, session }
    },
    async subscribe(person, body) {
      const { checkout, session } = await shop.begin(person, {
        mode: 'subscription',
        items: [{ price_id: shop.monthly }],
        ...body,
      })
      stripe.customer.pay(session)
      return { checkout, session, subscription: stripe.subscriptions.get(session.subscription as string)! }
    },
    async deliverFrom(number) {
      for (const event of stripe.events.slice(number)) {
        const { status } = await stripe.deliver(server.url, event)
        if (status !== 200) throw new Error(`${event.type} was answered with ${status}`)
      }
    },
    settled: () => waitUntil(async () => (await database.sql(due, []))[0].n === 0, 'the jobs to be done'),
    bringForward: async () => (await database.sql(forward, [])).length,
    order: async (person, id) => (await person.client.get(`/payments/orders/${id}`)).body,
    types: async (person) =>
      (await person.client.get('/events?limit=100')).body.data
        .map((event: any) => event.type)
        .filter((type: string) => !/^(product|price)\./.test(type)),
  }
  return shop
}
