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
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { offsetOf, pageOfRows, type Page, type PageQuery } from '../../infra/database/pagination.ts'
import { forbidden, notFound } from '../../infra/errors.ts'
import type { DeliveryJob } from '../events/emit.ts'
import { tenantEventSql, type Event } from '../events/log.ts'
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

interface Row extends Omit<WebhookDelivery, 'request'> {
  request: { url: string; headers: Record<string, string> } | null
  /** Whether the owner of the endpoint can still read the event. */
  readable: boolean
  event: Event
}

const columns = `d.id, d.endpoint_id, d.event_id, e.type AS event_type, d.status::text, d.attempts,
  d.next_attempt_at, d.request, d.created_at,
  CASE WHEN e.project_id IS NULL THEN w.all_projects OR NOT ${tenantEventSql('e.type')}
    ELSE coalesce(m.role <= e.role, false) END AS readable,
  json_build_object('id', e.id, 'type', e.type,
    'created_at', to_char(e.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'api_version', 'v1',
    'project_id', e.project_id, 'request_id', e.request_id, 'sequence', e.sequence, 'data', e.data) AS event`

function toDelivery({ request, readable, event, ...delivery }: Row): WebhookDelivery {
  return { ...delivery, request: request === null || !readable ? null : { ...request, body: event } }
}

/** Joins the endpoint, and the membership of its owner in the event's project. */
const endpointAndMember = `JOIN webhook_endpoints w ON w.id = d.endpoint_id
  LEFT JOIN members m ON m.project_id = e.project_id AND m.user_id = w.user_id`

// Not `listPage`: the page is selected from webhook_deliveries alone, and only its rows are joined.
const pageStatements = { asc: pageStatement('ASC'), desc: pageStatement('DESC') }

function pageStatement(direction: 'ASC' | 'DESC') {
  const filter = 'endpoint_id = $1 AND ($2::text IS NULL OR status::text = $2)'
  return statement<Row & { total: number }>(`
    SELECT t.total, x.* FROM (
      SELECT count(*)::int AS total FROM webhook_deliveries WHERE ${filter}
    ) t LEFT JOIN LATERAL (
      SELECT ${columns} FROM (
        SELECT * FROM webhook_deliveries WHERE ${filter}
        ORDER BY created_at ${direction}, id ${direction} LIMIT $3 OFFSET $4
      ) d JOIN events e ON e.id = d.event_id ${endpointAndMember}
      ORDER BY d.created_at ${direction}, d.id ${direction}
    ) x ON true`)
}

export interface DeliveryListQuery extends PageQuery {
  status?: DeliveryStatus
  order: 'asc' | 'desc'
}

/** A page of the deliveries of an endpoint, with the total, in one statement. */
export async function listDeliveries(
  db: Db,
  endpointId: string,
  query: DeliveryListQuery,
): Promise<Page<WebhookDelivery>> {
  const { status = null, order, limit } = query
  const rows = await db.sql(pageStatements[order], [endpointId, status, limit, offsetOf(query)])
  const deliveries = rows.map(({ total, ...row }) => ({
    // A page past the end is a single row with the total and no delivery.
    ...(row.id === null ? (row as unknown as WebhookDelivery) : toDelivery(row)),
    total,
  }))
  return pageOfRows(deliveries, query)
}

/** The columns of the endpoint that decide who can see its deliveries. */
interface EndpointColumns {
  user_id: string
  deleted_at: string | null
  scopes: string[]
  project_ids: string[]
  all_projects: boolean
}

const endpointColumns = 'w.user_id, w.deleted_at, w.scopes, w.project_ids, w.all_projects'
const selectById = `SELECT ${columns}, ${endpointColumns}
  FROM webhook_deliveries d JOIN events e ON e.id = d.event_id ${endpointAndMember} WHERE d.id = $1`
const selectDelivery = statement<Row & EndpointColumns>(selectById)
const lockDelivery = statement<Row & EndpointColumns>(`${selectById} FOR NO KEY UPDATE OF d`)

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
  const [found] = await db.sql(options.lock ? lockDelivery : selectDelivery, [id])
  if (found === undefined || found.deleted_at !== null) throw notFound('delivery', id)
  const { user_id, deleted_at: _deleted, scopes, project_ids, all_projects, ...row } = found
  if (user_id !== principal.userId) throw forbidden('This delivery belongs to another user.')
  if (!keyCanSeeEndpoint(principal, { scopes, projectIds: project_ids, allProjects: all_projects }))
    throw forbidden("This API key lacks scopes or projects of this delivery's endpoint.", 'scope')
  return toDelivery(row)
}

const resetDeliveries = statement(`
  UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_attempt_at = now()
  WHERE id = ANY($1) AND status <> 'pending'`)

/** Sends locked deliveries again, from the start of the retry schedule. */
async function resend(
  tx: Db,
  queue: Queue<DeliveryJob>,
  endpointId: string,
  ids: string[],
  lane?: string,
): Promise<void> {
  await tx.sql(resetDeliveries, [ids])
  await queue.add(
    tx,
    ids.map((id) => ({ data: { delivery_id: id }, group: endpointId, lane })),
  )
}

/** Sends a delivery again that is locked and not pending. Returns the delivery, which is pending now. */
export async function redeliver(
  tx: Db,
  queue: Queue<DeliveryJob>,
  principal: Principal,
  delivery: WebhookDelivery,
): Promise<WebhookDelivery> {
  await resend(tx, queue, delivery.endpoint_id, [delivery.id])
  return await openDelivery(tx, principal, delivery.id)
}

const lockFailed = statement<{ id: string }>(`
  SELECT d.id FROM webhook_deliveries d
  WHERE d.endpoint_id = $1 AND d.status = 'failed' AND d.created_at >= $2
  ORDER BY d.created_at, d.id LIMIT $3 FOR NO KEY UPDATE`)

/**
 * Sends the failed deliveries again that were created at or after `since`, oldest first, at most
 * `maxRecovered`.
 */
export async function recoverDeliveries(
  tx: Db,
  queue: Queue<DeliveryJob>,
  endpointId: string,
  since: Date,
): Promise<{ recovered: number; hasMore: boolean }> {
  const rows = await tx.sql(lockFailed, [endpointId, since, maxRecovered + 1])
  const ids = rows.slice(0, maxRecovered).map(({ id }) => id)
  if (ids.length > 0) await resend(tx, queue, endpointId, ids, 'recovered')
  return { recovered: ids.length, hasMore: rows.length > maxRecovered }
}
