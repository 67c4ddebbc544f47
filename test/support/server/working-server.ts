// A server with a webhook worker in the test's process, and helpers for webhook tests.
import type { Test } from 'tap'
import { statement } from '../../../infra/database/statements.ts'
import type { Services } from '../../../services/services.ts'
import { createWebhookClient, type WebhookClient } from '../../../services/webhooks/http-client.ts'
import type { Lookup } from '../../../services/webhooks/dns.ts'
import { startBackgroundWorkers, type BackgroundWorkers } from '../../../services/background.ts'
import { openReceiver, type Receiver } from '../http/receiver.ts'
import { startServer, type Person, type TestServer, type TestServerOptions } from './server.ts'
import { silentLog } from '../storage/storage.ts'
import { waitUntil } from './wait.ts'

export interface WorkingServer extends TestServer {
  /** Errors of the workers. */
  errors: Error[]
  /** Starts another worker on the same database, or restarts this one. It stops when the test ends. */
  work(options?: WebhookWorkerOptions): Promise<BackgroundWorkers>
  /** Stops the worker that was started with the server. */
  stopWork(): Promise<void>
}

export interface WebhookWorkerOptions {
  /** Timeout of one HTTP exchange in milliseconds. Default: 15,000. */
  timeout?: number
  lookup?: Lookup
  /** The services of another server on the same database. Default: those of this server. */
  services?: Services
  /** Called before each request of this worker. */
  onSent?: () => void
}

/** Starts a server and, unless `sends` is false, a webhook worker in this process. */
export async function startWorkingServer(
  t: Test,
  {
    sends = true,
    timeout,
    lookup,
    ...options
  }: TestServerOptions & WebhookWorkerOptions & { sends?: boolean } = {},
): Promise<WorkingServer> {
  const server = await startServer(t, options)
  const errors: Error[] = []
  t.teardown(() => {
    if (!t.passing()) for (const error of errors) console.error('a background job failed:', error)
  })
  const work: WorkingServer['work'] = async ({ services = server.services, ...options } = {}) =>
    await startWebhookWorker(t, services, errors, options)
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

async function startWebhookWorker(
  t: Test,
  services: Services,
  errors: Error[],
  { timeout, lookup, onSent = () => {} }: WebhookWorkerOptions,
): Promise<BackgroundWorkers> {
  const httpClient = createWebhookClient({
    allowed: services.config.webhookAllowedNetworks,
    ports: services.config.webhookAllowedPorts,
    timeout,
    lookup,
  })
  const webhookClient: WebhookClient = {
    ...httpClient,
    async post(url, options) {
      onSent()
      return await httpClient.post(url, options)
    },
  }
  // A short polling interval, so that a delivery that becomes due is sent soon.
  const work = await startBackgroundWorkers(
    { ...services, webhookClient },
    { runJobs: true, onError: (error) => errors.push(error), log: silentLog, interval: 100 },
  )
  let stopped: Promise<void> | null = null
  const stop = (): Promise<void> => {
    return (stopped ??= work.stop().then(() => httpClient.close()))
  }
  t.teardown(stop)
  return { stop }
}

export interface Endpoint {
  id: string
  secret: string
  receiver: Receiver
}

/** Creates a webhook endpoint of the user and a receiver that knows its secret. */
export async function makeEndpoint(
  t: Test,
  person: Person,
  body: { event_types?: string[]; url?: string; enabled?: boolean; answer?: Receiver['answer'] } = {},
): Promise<Endpoint> {
  const { answer, ...fields } = body
  const receiver = await openReceiver(t, { answer })
  const reply = await person.client.post('/webhooks/endpoints', {
    url: receiver.url,
    event_types: ['*'],
    ...fields,
  })
  if (reply.status !== 201) throw new Error(`the endpoint was not created: ${reply.text}`)
  receiver.secret = reply.body.secret
  return { id: reply.body.id, secret: reply.body.secret, receiver }
}

/** Sends a test event. @returns the delivery. */
export async function sendTest(person: Person, endpoint: Pick<Endpoint, 'id'>): Promise<any> {
  const reply = await person.client.post(`/webhooks/endpoints/${endpoint.id}/test`)
  if (reply.status !== 202) throw new Error(`the test event was not sent: ${reply.text}`)
  return reply.body
}

export async function deliveryNow(person: Person, id: string): Promise<any> {
  return (await person.client.get(`/webhooks/deliveries/${id}`)).body
}

/** Polls the delivery until the condition is true, and returns it. */
export async function whenDelivery(
  person: Person,
  id: string,
  holds: (delivery: any) => boolean,
  what = 'the delivery',
): Promise<any> {
  return await waitUntil(async () => {
    const delivery = await deliveryNow(person, id)
    return holds(delivery) && delivery
  }, what)
}

/** Sends a test event and returns its delivery after the first attempt. */
export async function triedOnce(person: Person, endpoint: Pick<Endpoint, 'id'>): Promise<any> {
  const { id } = await sendTest(person, endpoint)
  return await whenDelivery(person, id, ({ attempts }) => attempts.length === 1, 'the first attempt')
}

const makeDueStatement = statement<{ id: string }>(
  `UPDATE jobs SET due_at = now()
   WHERE queue = 'webhook-deliveries' AND fetches = 0 AND due_at > now() RETURNING id`,
)

/** Makes all scheduled retries due now. @returns their number. */
export async function bringForward({ services }: TestServer): Promise<number> {
  return (await services.database.sql(makeDueStatement, [])).length
}

const wrongJobsQuery = statement<{ id: string; status: string; jobs: number }>(`
  SELECT coalesce(d.id, j.delivery_id) AS id, coalesce(d.status::text, 'gone') AS status,
    coalesce(j.jobs, 0)::int AS jobs
  FROM webhook_deliveries d
  FULL JOIN (
    SELECT data->>'delivery_id' AS delivery_id, count(*) AS jobs FROM jobs
    WHERE queue = 'webhook-deliveries' GROUP BY 1
  ) j ON j.delivery_id = d.id
  WHERE coalesce(j.jobs, 0) <> CASE WHEN d.status = 'pending' THEN 1 ELSE 0 END`)

/**
 * The deliveries that break the rule that a pending delivery has exactly one job and any other delivery none.
 */
export async function jobMisfits({ services }: TestServer): Promise<unknown[]> {
  return await services.database.sql(wrongJobsQuery, [])
}
