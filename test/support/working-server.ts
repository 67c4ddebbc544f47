// A server that sends its webhooks itself, and what tests of webhooks do again and again on it.
import type { Test } from 'tap'
import { statement } from '../../infra/database/statements.ts'
import type { Services } from '../../services/services.ts'
import { createWebhookClient, type WebhookClient } from '../../services/webhooks/http-client.ts'
import type { Lookup } from '../../services/webhooks/dns.ts'
import { startBackgroundWorkers, type BackgroundWorkers } from '../../services/background.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { startServer, type Person, type TestServer, type TestServerOptions } from './server.ts'
import { waitUntil } from './wait.ts'

export interface WorkingServer extends TestServer {
  /** What went wrong beside the requests. */
  errors: Error[]
  /** Starts another sender on the same database, or this one again; it is stopped at the end of the test. */
  work(options?: SendOptions): Promise<BackgroundWorkers>
  /** Stops the sender that was started with the server. */
  stopWork(): Promise<void>
}

export interface SendOptions {
  /** Milliseconds for each exchange; default 15,000. */
  timeout?: number
  lookup?: Lookup
  /** Another server's services on the same database; default this one's. */
  services?: Services
  /** Called for everything that this sender sends. */
  onSent?: () => void
}

/** A server, and a sender in this process unless `sends` is false. */
export async function startWorkingServer(
  t: Test,
  { sends = true, timeout, lookup, ...options }: TestServerOptions & SendOptions & { sends?: boolean } = {},
): Promise<WorkingServer> {
  const server = await startServer(t, options)
  const errors: Error[] = []
  const work: WorkingServer['work'] = async ({ services = server.services, ...options } = {}) =>
    await startSending(t, services, errors, options)
  const first = sends ? await work({ timeout, lookup }) : null
  return {
    ...server,
    errors,
    work,
    stopWork: async () => {
      await first?.stop()
    },
  }
}

async function startSending(
  t: Test,
  services: Services,
  errors: Error[],
  { timeout, lookup, onSent = () => {} }: SendOptions,
): Promise<BackgroundWorkers> {
  const real = createWebhookClient({ allowed: services.config.webhookAllowedNetworks, timeout, lookup })
  const webhookClient: WebhookClient = {
    ...real,
    async post(url, options) {
      onSent()
      return await real.post(url, options)
    },
  }
  // Often, so that what is brought forward is sent at once.
  const work = await startBackgroundWorkers(
    { ...services, webhookClient },
    { runJobs: true, onError: (error) => errors.push(error), interval: 20 },
  )
  let stopped: Promise<void> | null = null
  const stop = (): Promise<void> => {
    return (stopped ??= work.stop().then(() => real.close()))
  }
  t.teardown(stop)
  return { stop }
}

export interface Endpoint {
  id: string
  secret: string
  receiver: Receiver
}

/** A webhook endpoint of a person's, with a receiver of its own that knows the secret. */
export async function makeEndpoint(
  t: Test,
  person: Person,
  body: { event_types?: string[]; url?: string; enabled?: boolean; answer?: Receiver['answer'] } = {},
): Promise<Endpoint> {
  const { answer, ...given } = body
  const receiver = await openReceiver(t, { answer })
  const reply = await person.client.post('/webhooks/endpoints', {
    url: receiver.url,
    event_types: ['*'],
    ...given,
  })
  if (reply.status !== 201) throw new Error(`no endpoint: ${reply.text}`)
  receiver.secret = reply.body.secret
  return { id: reply.body.id, secret: reply.body.secret, receiver }
}

/** Sends a test event. @returns the delivery. */
export async function sendTest(person: Person, endpoint: Pick<Endpoint, 'id'>): Promise<any> {
  const reply = await person.client.post(`/webhooks/endpoints/${endpoint.id}/test`)
  if (reply.status !== 202) throw new Error(`no test: ${reply.text}`)
  return reply.body
}

export async function deliveryNow(person: Person, id: string): Promise<any> {
  return (await person.client.get(`/webhooks/deliveries/${id}`)).body
}

/** The delivery, once it is as it should be. */
export async function whenDelivery(
  person: Person,
  id: string,
  holds: (delivery: any) => boolean,
  what = 'the delivery',
): Promise<any> {
  let delivery: any
  await waitUntil(async () => holds((delivery = await deliveryNow(person, id))), what)
  return delivery
}

/** A delivery of a test event that was tried once. */
export async function triedOnce(person: Person, endpoint: Pick<Endpoint, 'id'>): Promise<any> {
  const { id } = await sendTest(person, endpoint)
  return await whenDelivery(person, id, ({ attempts }) => attempts.length === 1, 'the first attempt')
}

const forward = statement<{ id: string }>(
  `UPDATE pgboss.job SET start_after = now() WHERE name = 'webhook-deliveries' AND state < 'active' AND start_after > now() RETURNING id`,
)

/** Lets the waiting retries be due now. @returns how many there were. */
export async function bringForward({ services }: TestServer): Promise<number> {
  return (await services.database.sql(forward, [])).length
}

const misfits = statement<{ id: string; status: string; jobs: number }>(`
  SELECT coalesce(d.id, j.delivery_id) AS id, coalesce(d.status::text, 'gone') AS status, coalesce(j.jobs, 0)::int AS jobs
  FROM webhook_deliveries d
  FULL JOIN (SELECT data->>'delivery_id' AS delivery_id, count(*) AS jobs FROM pgboss.job WHERE name = 'webhook-deliveries' GROUP BY 1) j ON j.delivery_id = d.id
  WHERE coalesce(j.jobs, 0) <> CASE WHEN d.status = 'pending' THEN 1 ELSE 0 END`)

/** The deliveries that break the rule: a pending one has exactly one job, any other none. */
export async function jobMisfits({ services }: TestServer): Promise<unknown[]> {
  return await services.database.sql(misfits, [])
}
