// Deliveries: the row that tracks one event on its way to one endpoint, and how to resend it. The whole way
// of a delivery:
//
// 1. `emit` (services/events/emit.ts) inserts an event and, for every endpoint that receives it, a delivery
//    with the status `pending` and a job in the queue `webhook-deliveries`, all in the transaction of the
//    change.
// 2. The webhook worker (worker.ts) fetches due jobs in worker pools (worker-pool.ts) and loads their
//    deliveries. If the endpoint is disabled, or its owner can no longer read the event, the delivery fails
//    without a request.
// 3. The worker signs the event (signature.ts) and sends it by POST to the endpoint (send-delivery.ts and
//    http-client.ts), to public addresses only. A 2xx status is a success.
// 4. The worker records the attempt (record-attempts.ts). After a failure the delivery stays pending, with a
//    new job after the next of `retryDelaysSeconds`. After the last delay, or when the endpoint answers 410
//    Gone, it is `failed`.
// 5. An endpoint that answers 410 Gone, or has failed for five days, is disabled.
//
// If a process crashes between the steps 2 and 4, its jobs stay in the queue, expire, and are fetched again.
// An event can therefore arrive twice, with the same `webhook-id`.
import * as sql from '../../generated/sql/webhooks.ts'
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction, SqlClient } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { forbidden, invalidState, notFound } from '../../infra/errors.ts'
import type { DeliveryJob } from '../events/emit.ts'
import { unlimitedKeyTypes } from '../events/log.ts'
import { typesOfAll } from '../events/selectors.ts'
import type { Queue } from '../../infra/jobs/queue.ts'
import type { Principal } from '../users/authentication.ts'
import { keyCanSeeEndpoint } from './endpoints.ts'

export type WebhookDelivery = components['schemas']['WebhookDelivery']
export type Attempt = components['schemas']['WebhookAttempt']
export type DeliveryStatus = components['schemas']['WebhookDeliveryStatus']

/** The delays between attempts, in seconds. `retryDelayMs` adds jitter. */
export const retryDelaysSeconds = [
  5,
  5 * 60,
  30 * 60,
  2 * 3600,
  5 * 3600,
  10 * 3600,
  14 * 3600,
  20 * 3600,
  24 * 3600,
]

/** Milliseconds until the next attempt, with up to 10% jitter; null when the last attempt has failed. */
export function retryDelayMs(failedAttempts: number): number | null {
  const seconds = retryDelaysSeconds[failedAttempts - 1]
  return seconds === undefined ? null : seconds * 1000 * (1 + Math.random() / 10)
}

/** Deliveries that one recovery resends. */
export const maxRecovered = 10_000

type Row = Omit<sql.FindDeliveryRow, 'user_id' | 'deleted_at' | 'scopes' | 'project_ids' | 'all_projects'>

function toDelivery({ request, readable, event, ...delivery }: Row): WebhookDelivery {
  return { ...delivery, request: request === null || !readable ? null : { ...request, body: event } }
}

/** A page of the deliveries of an endpoint, with the total, in one statement. */
export async function listDeliveries(
  db: SqlClient,
  endpointId: string,
  query: ListQuery<'listWebhookDeliveries'>,
): Promise<Page<WebhookDelivery>> {
  const { data, pagination } = await sql.listDeliveries(db, {
    endpoint_id: endpointId,
    unlimited_key_types: unlimitedKeyTypes,
    ...query,
    event_type: typesOfAll(query.event_type) ?? undefined,
    sort: 'created_at',
  })
  return { data: data.map(toDelivery), pagination }
}

/** A page of the deliveries of several endpoints of a user, with the total, in one statement. */
export async function listAllDeliveries(
  db: SqlClient,
  endpoints: { user_id: string; endpoint_ids: string[] },
  query: ListQuery<'listAllWebhookDeliveries'>,
): Promise<Page<WebhookDelivery>> {
  const { data, pagination } = await sql.listAllDeliveries(db, {
    ...endpoints,
    unlimited_key_types: unlimitedKeyTypes,
    ...query,
    event_type: typesOfAll(query.event_type) ?? undefined,
    sort: 'created_at',
  })
  return { data: data.map(toDelivery), pagination }
}

/**
 * A delivery to one of the caller's endpoints. `lock` locks its row until the transaction ends.
 * @throws 404 when the delivery does not exist; 403 when it belongs to another user, or the API key lacks
 * scopes or projects of the endpoint.
 */
export async function openDelivery(
  db: Db,
  principal: Principal,
  id: string,
  options: { lock?: boolean } = {},
): Promise<WebhookDelivery> {
  const find = options.lock ? sql.lockDelivery : sql.findDelivery
  const found = await find(db, { id, unlimited_key_types: unlimitedKeyTypes })
  if (found === undefined || found.deleted_at !== null) throw notFound('delivery', id)
  const { user_id, deleted_at: _deleted, scopes, project_ids, all_projects, ...row } = found
  if (user_id !== principal.userId) throw forbidden('This delivery belongs to another user.', 'owner')
  if (!keyCanSeeEndpoint(principal, { scopes, projectIds: project_ids ?? [], allProjects: all_projects }))
    throw forbidden("This API key lacks scopes or projects of this delivery's endpoint.", 'scope')
  return toDelivery(row)
}

/** Sends locked deliveries again, from the start of the retry schedule. */
async function resend(
  tx: Transaction,
  queue: Queue<DeliveryJob>,
  endpointId: string,
  ids: string[],
  lane?: string,
): Promise<void> {
  await sql.resetDeliveries(tx, { ids })
  await queue.add(
    tx,
    ids.map((id) => ({ data: { delivery_id: id }, group: endpointId, lane })),
  )
}

/**
 * Sends a locked delivery again, or makes the next attempt of a pending one now.
 * @returns the delivery, which is pending; the same object when it was due already and nothing changed.
 * @throws 409 while an attempt is in flight.
 */
export async function redeliver(
  tx: Transaction,
  queue: Queue<DeliveryJob>,
  principal: Principal,
  delivery: WebhookDelivery,
): Promise<WebhookDelivery> {
  if (delivery.status !== 'pending') await resend(tx, queue, delivery.endpoint_id, [delivery.id])
  else if (!(await makeDue(tx, delivery))) return delivery
  return await openDelivery(tx, principal, delivery.id)
}

/**
 * Moves the next attempt of a locked, pending delivery to now. The lock of its job decides between this and
 * a worker that fetches the job.
 * @returns whether the attempt was due later.
 */
async function makeDue(tx: Transaction, delivery: WebhookDelivery): Promise<boolean> {
  const { moved, running } = await sql.makeDeliveryDue(tx, {
    id: delivery.id,
    next_attempt_at: new Date(delivery.next_attempt_at!),
  })
  if (running)
    throw invalidState('delivery', 'pending', 'An attempt is in flight. Wait for its outcome, then resend.')
  return moved
}

/**
 * Sends the failed deliveries again that were created at or after `since`, oldest first, at most
 * `maxRecovered`.
 */
export async function recoverDeliveries(
  tx: Transaction,
  queue: Queue<DeliveryJob>,
  endpointId: string,
  since: Date,
): Promise<{ recovered: number; hasMore: boolean }> {
  const rows = await sql.lockFailedDeliveries(tx, {
    endpoint_id: endpointId,
    since,
    limit: maxRecovered + 1,
  })
  const ids = rows.slice(0, maxRecovered).map(({ id }) => id)
  if (ids.length > 0) await resend(tx, queue, endpointId, ids, 'recovered')
  return { recovered: ids.length, hasMore: rows.length > maxRecovered }
}
