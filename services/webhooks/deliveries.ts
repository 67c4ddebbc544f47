// Deliveries: one event on its way to one endpoint, what was tried, and starting it again.
import type { components } from '../../generated/types.ts'
import { type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { forbidden, notFound } from '../../infra/errors.ts'
import type { DeliveryJob } from '../events/emit.ts'
import { ofSpace, type Event } from '../events/log.ts'
import type { Queue } from '../../infra/jobs/queue.ts'
import type { Principal } from '../users/authentication.ts'
import { coversEndpoint } from './endpoints.ts'

export type WebhookDelivery = components['schemas']['WebhookDelivery']
export type Attempt = components['schemas']['WebhookAttempt']
export type DeliveryStatus = components['schemas']['WebhookDeliveryStatus']

/** Seconds before each further attempt, after the first; each a little longer by chance (see `delayAfter`). */
export const schedule = [5, 5 * 60, 30 * 60, 2 * 3600, 5 * 3600, 10 * 3600, 14 * 3600, 20 * 3600, 24 * 3600]

/** Milliseconds to wait after so many failed tries, up to a tenth longer by chance; null when it is given up. */
export function delayAfter(tries: number): number | null {
  const seconds = schedule[tries - 1]
  return seconds === undefined ? null : seconds * 1000 * (1 + Math.random() / 10)
}

/** How many deliveries are started again at once by a recovery. */
export const mostRecovered = 10_000

interface Row extends Omit<WebhookDelivery, 'request'> {
  request: { url: string; headers: Record<string, string> } | null
  /** Whether the owner of the endpoint may still read the event. */
  readable: boolean
  event: Event
}

const columns = `d.id, d.endpoint_id, d.event_id, e.type AS event_type, d.status::text, d.attempts, d.next_attempt_at, d.request, d.created_at,
  CASE WHEN e.project_id IS NULL THEN w.all_projects OR NOT ${ofSpace('e.type')} ELSE coalesce(m.role <= e.role, false) END AS readable,
  json_build_object('id', e.id, 'type', e.type, 'created_at', to_char(e.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'api_version', 'v1',
    'project_id', e.project_id, 'request_id', e.request_id, 'sequence', e.sequence, 'data', e.data) AS event`

function toDelivery({ request, readable, event, ...delivery }: Row): WebhookDelivery {
  return { ...delivery, request: request === null || !readable ? null : { ...request, body: event } }
}

/** The endpoint, and its owner's role in the event's project. */
const membership = `JOIN webhook_endpoints w ON w.id = d.endpoint_id LEFT JOIN members m ON m.project_id = e.project_id AND m.user_id = w.user_id`
const pages = { asc: pageIn('ASC'), desc: pageIn('DESC') }

function pageIn(direction: 'ASC' | 'DESC') {
  return statement<Row & { total: number }>(`
    SELECT t.total, x.* FROM (
      SELECT count(*)::int AS total FROM webhook_deliveries WHERE endpoint_id = $1 AND ($2::text IS NULL OR status::text = $2)
    ) t LEFT JOIN LATERAL (
      SELECT ${columns} FROM (
        SELECT * FROM webhook_deliveries WHERE endpoint_id = $1 AND ($2::text IS NULL OR status::text = $2)
        ORDER BY created_at ${direction}, id ${direction} LIMIT $3 OFFSET $4
      ) d JOIN events e ON e.id = d.event_id ${membership} ORDER BY d.created_at ${direction}, d.id ${direction}
    ) x ON true`)
}

/** A page of the deliveries of an endpoint, with the total beside each row. */
export async function listDeliveries(
  db: Db,
  endpointId: string,
  query: { status?: DeliveryStatus; order: 'asc' | 'desc'; limit: number },
  offset: number,
): Promise<Array<WebhookDelivery & { total: number }>> {
  const rows = await db.sql(pages[query.order], [endpointId, query.status ?? null, query.limit, offset])
  return rows.map(({ total, ...row }) => ({
    ...(row.id === null ? (row as unknown as WebhookDelivery) : toDelivery(row)),
    total,
  }))
}

interface Owned {
  user_id: string
  deleted_at: string | null
  scopes: string[]
  project_ids: string[]
  all_projects: boolean
}

const ownership = 'w.user_id, w.deleted_at, w.scopes, w.project_ids, w.all_projects'
const from = `FROM webhook_deliveries d JOIN events e ON e.id = d.event_id ${membership} WHERE d.id = $1`
const read = statement<Row & Owned>(`SELECT ${columns}, ${ownership} ${from}`)
const lock = statement<Row & Owned>(`SELECT ${columns}, ${ownership} ${from} FOR NO KEY UPDATE OF d`)

/** A delivery of the caller's: 404 when there is none, 403 when it is someone else's or more than this key may read. */
export async function deliveryOf(
  db: Db,
  principal: Principal,
  id: string,
  options: { lock?: boolean } = {},
): Promise<WebhookDelivery> {
  const [found] = await db.sql(options.lock ? lock : read, [id])
  if (found === undefined || found.deleted_at !== null) throw notFound('delivery', id)
  const { user_id, deleted_at: _deleted, scopes, project_ids, all_projects, ...row } = found
  if (user_id !== principal.userId) throw forbidden("This delivery is someone else's.")
  if (!coversEndpoint(principal, { scopes, projectIds: project_ids, allProjects: all_projects }))
    throw forbidden('This delivery tells of more than this key may read.', 'scope')
  return toDelivery(row)
}

const restart = statement(`
  UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_attempt_at = now() WHERE id = ANY($1) AND status <> 'pending'`)

/** Starts locked deliveries again, from the beginning of the schedule. */
async function start(
  tx: Db,
  queue: Queue<DeliveryJob>,
  endpointId: string,
  ids: string[],
  lane?: string,
): Promise<void> {
  await tx.sql(restart, [ids])
  await queue.add(
    tx,
    ids.map((id) => ({ data: { delivery_id: id }, group: endpointId, lane })),
  )
}

/** Starts a delivery again that the caller has locked and that is not pending. @returns it as it is then. */
export async function redeliver(
  tx: Db,
  queue: Queue<DeliveryJob>,
  principal: Principal,
  delivery: WebhookDelivery,
): Promise<WebhookDelivery> {
  await start(tx, queue, delivery.endpoint_id, [delivery.id])
  return await deliveryOf(tx, principal, delivery.id)
}

const failed = statement<{ id: string }>(`
  SELECT d.id FROM webhook_deliveries d WHERE d.endpoint_id = $1 AND d.status = 'failed' AND d.created_at >= $2
  ORDER BY d.created_at, d.id LIMIT $3 FOR NO KEY UPDATE`)

/** Starts again what failed since a time, the oldest first. */
export async function recover(
  tx: Db,
  queue: Queue<DeliveryJob>,
  endpointId: string,
  since: Date,
): Promise<{ recovered: number; hasMore: boolean }> {
  const rows = await tx.sql(failed, [endpointId, since, mostRecovered + 1])
  const ids = rows.slice(0, mostRecovered).map(({ id }) => id)
  if (ids.length > 0) await start(tx, queue, endpointId, ids, 'recovered')
  return { recovered: ids.length, hasMore: rows.length > mostRecovered }
}
