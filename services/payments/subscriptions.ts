// Subscriptions as the API shows them, and their periods: all are counted from the first one's beginning, so that what began on a
// 31st is renewed on the last day of shorter months and on the 31st of longer ones.
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { accessColumns, requireAccess, type WorkspaceResource } from '../projects/resource-access.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { listPage, type Page, type PageQuery } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'

export type Subscription = components['schemas']['Subscription']

/** A subscription with whose it is and how it is paid. */
export type OwnedSubscription = Subscription & {
  owner_id: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  card: Card | null
}

/** What is kept of a card of the sandbox. */
export interface Card {
  brand: string
  last4: string
  /** What becomes of renewals. */
  renews: boolean
}

const shownColumns = `s.id, s.status::text, s.price_id, s.quantity, s.period_start AS current_period_start, s.period_end AS current_period_end,
  s.cancel_at_period_end, s.canceled_at, s.ended_at, s.latest_order_id, s.metadata, s.created_at`
const columns = `${shownColumns}, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at, s.card`
/** Of a row of subscriptions whose alias is s. */
export const subscriptionColumns = `${columns}, s.project_id, s.owner_id`

const read = (lock: boolean): string =>
  `SELECT ${columns}, ${accessColumns('s', '$2', { lock })} FROM subscriptions s WHERE s.id = $1`
const readSubscription = statement<OwnedSubscription & WorkspaceResource>(read(false))
const lockSubscription = statement<OwnedSubscription & WorkspaceResource>(`${read(true)} FOR NO KEY UPDATE OF s`)

/** The subscription of the request, when the caller may do with it what the operation does. One statement; `lock` holds it, with its project. */
export async function openSubscription(
  db: Db,
  request: { operation: OperationInfo; params: { id: string }; principal: Principal },
  { lock = false } = {},
): Promise<OwnedSubscription> {
  const {
    params: { id },
    principal,
  } = request
  const [row] = await db.sql(lock ? lockSubscription : readSubscription, [id, principal.userId])
  requireAccess(row, request, { name: 'subscription', id })
  const { your_role: _role, project_status: _project, ...subscription } = row
  return subscription
}

/** As the API shows it. */
export function shownSubscription(found: OwnedSubscription): Subscription {
  const {
    owner_id: _owner,
    gateway: _gateway,
    gateway_reference: _reference,
    period: _period,
    tries: _tries,
    due_at: _due,
    card: _card,
    ...shown
  } = found
  return shown
}

const byId = statement<OwnedSubscription>(
  `SELECT ${subscriptionColumns} FROM subscriptions s WHERE s.id = $1`,
)
const held = statement<OwnedSubscription>(
  `SELECT ${subscriptionColumns} FROM subscriptions s WHERE s.id = $1 FOR NO KEY UPDATE`,
)

/** Any subscription, whoever asks; undefined when it is not there. */
export async function subscriptionById(
  db: Db,
  id: string,
  { lock = false } = {},
): Promise<OwnedSubscription | undefined> {
  const [found] = await db.sql(lock ? held : byId, [id])
  return found
}

export interface NewSubscription {
  projectId: string | null
  ownerId: string
  priceId: string
  quantity: number
  gateway: string
  metadata?: Record<string, string>
  now: Date
}

const insert = statement<{ id: string }>(`
  INSERT INTO subscriptions (id, project_id, owner_id, space_id, price_id, quantity, gateway, metadata, created_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6, $7, $8) RETURNING id`)

/** An incomplete one, which has yet to get its first order. @returns its id. */
export async function insertSubscription(
  tx: Db,
  { projectId, ownerId, priceId, quantity, gateway, metadata = {}, now }: NewSubscription,
): Promise<string> {
  const id = newIdAt('sub', now)
  await tx.sql(insert, [id, projectId, ownerId, priceId, quantity, gateway, metadata, timeOf(id)])
  return id
}

const setLatest = statement<OwnedSubscription>(
  `UPDATE subscriptions s SET latest_order_id = $2 WHERE id = $1 RETURNING ${subscriptionColumns}`,
)

export async function setLatestOrder(tx: Db, id: string, orderId: string): Promise<OwnedSubscription> {
  const [subscription] = await tx.sql(setLatest, [id, orderId])
  return subscription
}

/** The end of a period in SQL, by its number. */
const endOf = (anchor: string, period: string): string =>
  `${anchor} + (p.interval_count * ${period}) * ('1 ' || p.interval::text)::interval`

/** What is paid for at once. */
export interface Period {
  start: Date
  end: Date
}

const start = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET status = 'active', anchor_at = $2, period = 1, period_start = $2, period_end = coalesce($5::timestamptz, ${endOf('$2::timestamptz', '1')}), card = $3,
    due_at = CASE WHEN $4 THEN ${endOf('$2::timestamptz', '1')} END
  FROM prices p WHERE s.id = $1 AND p.id = s.price_id AND s.status = 'incomplete' RETURNING ${subscriptionColumns}`)

/**
 * Its first period begins, now or as its gateway says. `renews` says whether this platform renews it.
 * @returns it, or undefined when it was not incomplete.
 */
export async function startSubscription(
  tx: Db,
  id: string,
  at: Date,
  { card, renews, period }: { card: Card | null; renews: boolean; period?: Period },
): Promise<OwnedSubscription | undefined> {
  const [started] = await tx.sql(start, [id, period?.start ?? at, card, renews, period?.end ?? null])
  return started
}

const next = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET period = s.period + 1, period_start = s.period_end, period_end = ${endOf('s.anchor_at', '(s.period + 1)')}, latest_order_id = $2, tries = 0
  FROM prices p WHERE s.id = $1 AND p.id = s.price_id RETURNING ${subscriptionColumns}`)

/** Its next period begins, for which there is an order. */
export async function beginPeriod(tx: Db, id: string, orderId: string): Promise<OwnedSubscription> {
  const [begun] = await tx.sql(next, [id, orderId])
  return begun
}

export interface SubscriptionListQuery extends PageQuery {
  sort: 'created_at' | 'current_period_end'
  order: 'asc' | 'desc'
  status?: Subscription['status']
}

/** A page of the subscriptions of a space: one statement, total included. */
export async function listSubscriptions(
  db: Db,
  spaceId: string,
  query: SubscriptionListQuery,
): Promise<Page<Subscription>> {
  const values: unknown[] = [spaceId]
  const filters = ['s.space_id = $1']
  if (query.status !== undefined)
    filters.push(`s.status = $${values.push(query.status)}::"SubscriptionStatus"`)
  const key = query.sort === 'created_at' ? 's.id' : "coalesce(s.period_end, 'infinity')"
  return await listPage<Subscription>(
    db,
    { from: 'subscriptions s', columns: `${shownColumns}, s.project_id`, filters, values, key, id: 's.id' },
    query,
  )
}

const set = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET cancel_at_period_end = $2::timestamptz IS NOT NULL, canceled_at = $2 WHERE id = $1 RETURNING ${subscriptionColumns}`)

/** It ends with its period, because it was cancelled then, or does not. */
export async function setEnd(
  tx: Db,
  id: string,
  { canceledAt }: { canceledAt: Date | null },
): Promise<OwnedSubscription> {
  const [subscription] = await tx.sql(set, [id, canceledAt])
  return subscription
}
