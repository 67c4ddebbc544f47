// Subscriptions and their periods. Periods are counted from the start of the first one: a subscription that
// started on the 31st renews on the last day of shorter months and on the 31st of longer ones.
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { accessColumns, requireAccess, type WorkspaceResource } from '../projects/resource-access.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { listPage, type Page, type PageQuery } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'

export type Subscription = components['schemas']['Subscription']

/** A subscription with its owner, its gateway's data and its renewal state. */
export type OwnedSubscription = Subscription & {
  owner_id: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  card: SandboxCard | null
}

/** The stored details of a sandbox card. */
export interface SandboxCard {
  brand: string
  last4: string
  /** Whether the card pays renewals. */
  renews: boolean
}

const responseColumns = `s.id, s.status::text, s.price_id, s.quantity, s.period_start AS current_period_start,
  s.period_end AS current_period_end, s.cancel_at_period_end, s.canceled_at, s.ended_at, s.latest_order_id,
  s.metadata, s.created_at`
const columns = `${responseColumns}, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at, s.card`
/** Columns of `subscriptions`, under the alias s. */
export const subscriptionColumns = `${columns}, s.project_id, s.owner_id`

const read = (lock: boolean): string =>
  `SELECT ${columns}, ${accessColumns('s', '$2', { lock })} FROM subscriptions s WHERE s.id = $1`
const readSubscription = statement<OwnedSubscription & WorkspaceResource>(read(false))
const lockSubscription = statement<OwnedSubscription & WorkspaceResource>(
  `${read(true)} FOR NO KEY UPDATE OF s`,
)

/**
 * Reads the subscription that the request names, if the caller is authorized for the operation. One
 * statement. `lock` locks the subscription and its project.
 */
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

/** Removes the columns that the API does not return. */
export function toSubscription(found: OwnedSubscription): Subscription {
  const {
    owner_id: _owner,
    gateway: _gateway,
    gateway_reference: _reference,
    period: _period,
    tries: _tries,
    due_at: _due,
    card: _card,
    ...subscription
  } = found
  return subscription
}

const byId = statement<OwnedSubscription>(
  `SELECT ${subscriptionColumns} FROM subscriptions s WHERE s.id = $1`,
)
const lockById = statement<OwnedSubscription>(
  `SELECT ${subscriptionColumns} FROM subscriptions s WHERE s.id = $1 FOR NO KEY UPDATE`,
)

/**
 * Reads a subscription without authorization; undefined if there is none. `lock` locks the row against other
 * writers.
 */
export async function subscriptionById(
  db: Db,
  id: string,
  { lock = false } = {},
): Promise<OwnedSubscription | undefined> {
  const [found] = await db.sql(lock ? lockById : byId, [id])
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
  INSERT INTO subscriptions (id, project_id, owner_id, space_id, price_id, quantity, gateway, metadata,
    created_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6, $7, $8) RETURNING id`)

/** Inserts an incomplete subscription, whose first order is set by `setLatestOrder`. @returns its id. */
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

/** SQL for the end of a period, by its number. */
const periodEndSql = (anchor: string, period: string): string =>
  `${anchor} + (p.interval_count * ${period}) * ('1 ' || p.interval::text)::interval`

/** A billing period. */
export interface Period {
  start: Date
  end: Date
}

const start = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET status = 'active', anchor_at = $2, period = 1, period_start = $2,
    period_end = coalesce($5::timestamptz, ${periodEndSql('$2::timestamptz', '1')}), card = $3,
    due_at = CASE WHEN $4 THEN ${periodEndSql('$2::timestamptz', '1')} END
  FROM prices p WHERE s.id = $1 AND p.id = s.price_id AND s.status = 'incomplete'
  RETURNING ${subscriptionColumns}`)

/**
 * Starts the first period of an incomplete subscription: at `at`, or as the gateway's `period` says.
 * @param options.renews true if this platform renews the subscription.
 * @returns the subscription, or undefined if it was not incomplete.
 */
export async function startSubscription(
  tx: Db,
  id: string,
  at: Date,
  { card, renews, period }: { card: SandboxCard | null; renews: boolean; period?: Period },
): Promise<OwnedSubscription | undefined> {
  const [started] = await tx.sql(start, [id, period?.start ?? at, card, renews, period?.end ?? null])
  return started
}

const startNext = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET period = s.period + 1, period_start = s.period_end,
    period_end = ${periodEndSql('s.anchor_at', '(s.period + 1)')}, latest_order_id = $2, tries = 0
  FROM prices p WHERE s.id = $1 AND p.id = s.price_id RETURNING ${subscriptionColumns}`)

/** Starts the next period of a subscription with its order. */
export async function startNextPeriod(tx: Db, id: string, orderId: string): Promise<OwnedSubscription> {
  const [subscription] = await tx.sql(startNext, [id, orderId])
  return subscription
}

export interface SubscriptionListQuery extends PageQuery {
  sort: 'created_at' | 'current_period_end'
  order: 'asc' | 'desc'
  status?: Subscription['status']
}

/** A page of the subscriptions of a workspace. One statement, including the total. */
export async function listSubscriptions(
  db: Db,
  workspaceId: string,
  query: SubscriptionListQuery,
): Promise<Page<Subscription>> {
  const values: unknown[] = [workspaceId]
  const filters = ['s.space_id = $1']
  if (query.status !== undefined)
    filters.push(`s.status = $${values.push(query.status)}::"SubscriptionStatus"`)
  const key = query.sort === 'created_at' ? 's.id' : "coalesce(s.period_end, 'infinity')"
  return await listPage<Subscription>(
    db,
    {
      from: 'subscriptions s',
      columns: `${responseColumns}, s.project_id`,
      filters,
      values,
      key,
      id: 's.id',
    },
    query,
  )
}

const setCancelAt = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET cancel_at_period_end = $2::timestamptz IS NOT NULL, canceled_at = $2
  WHERE id = $1 RETURNING ${subscriptionColumns}`)

/** Schedules the cancellation at the end of the period, or removes it if `canceledAt` is null. */
export async function setCancelAtPeriodEnd(
  tx: Db,
  id: string,
  { canceledAt }: { canceledAt: Date | null },
): Promise<OwnedSubscription> {
  const [subscription] = await tx.sql(setCancelAt, [id, canceledAt])
  return subscription
}
