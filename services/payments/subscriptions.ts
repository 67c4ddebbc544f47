// Subscriptions and their periods. Periods are counted from the start of the first one: a subscription that
// started on the 31st renews on the last day of shorter months and on the 31st of longer ones.
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction, SqlClient } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { withOwner, type OrderRequest } from './orders.ts'
import { requireSaleAccess, type SalesFilter } from './sales.ts'

export type Subscription = components['schemas']['Subscription']
export type SubscriptionItem = components['schemas']['SubscriptionItem']

/** What an order charges of a period of use. */
export interface ChargedUsage {
  id: number
  end_at: string
  quantity: string
  carried: string
}

/** A subscription with its owner, its gateway's data and its renewal state. */
export type OwnedSubscription = Subscription & {
  owner_id: string
  customer_id: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  /** What changes added to the next order. */
  owed_amount: number
  /** Of a change that waits for its payment. */
  change_terms: {
    restarts: boolean
    gateway: string
    owed: number
    uncredited?: number
    usage?: ChargedUsage[]
  } | null
  /** The items that the period is paid for, if a change without proration replaced them. */
  paid_items: SubscriptionItem[] | null
  /** Whether a price charges usage, or one that it had did. */
  has_usage: boolean
}

/**
 * Reads the subscription that the request names, if the caller is authorized for the operation. `lock` locks
 * the subscription and its project.
 */
export async function openSubscription(
  db: Db,
  request: OrderRequest,
  { lock = false } = {},
): Promise<OwnedSubscription> {
  const {
    params: { id },
    principal,
  } = request
  const read = lock ? sql.readAndLockSubscription : sql.readSubscription
  const found = withOwner(await read(db, { id, user_id: principal.userId }))
  const row = await requireSaleAccess(db, found, request, { name: 'subscription', id })
  const { your_role: _role, project_status: _project, ...subscription } = row
  return subscription
}

/** Whether its gateway bills the subscription, as those that earlier versions began at Stripe. */
export function isBilledByGateway({ gateway_reference: reference }: OwnedSubscription): boolean {
  return reference !== null
}

/** Whether the charge for the present period has no outcome yet. The subscription is then not due. */
export function awaitsCharge({ status, due_at: dueAt, ...subscription }: OwnedSubscription): boolean {
  return status === 'active' && dueAt === null && subscription.gateway_reference === null
}

export function isPaidOrTrialing(status: Subscription['status']): boolean {
  return status === 'active' || status === 'trialing'
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
    owed_amount: _owed,
    change_terms: _terms,
    paid_items: _paid,
    has_usage: _usage,
    ...subscription
  } = found
  return subscription
}

/** The subscription, without authorization; undefined if there is none. */
export async function findSubscription(db: Db, id: string): Promise<OwnedSubscription | undefined> {
  return await sql.findSubscription(db, { id })
}

/** The subscription, locked against other writers; undefined if there is none. */
export async function lockSubscription(tx: Transaction, id: string): Promise<OwnedSubscription | undefined> {
  return await sql.lockSubscription(tx, { id })
}

/**
 * True if the subscription's owner or project is deleted. An owner who only left the project does not count:
 * the subscription stays with the project.
 */
export async function isAbandoned(tx: Transaction, id: string): Promise<boolean> {
  return (await sql.readAbandoned(tx, { id })).abandoned
}

export interface NewSubscription {
  projectId: string | null
  ownerId: string
  items: SubscriptionItem[]
  /** The end of the trial that it begins with. */
  trialEnd?: Date
  /** When it is canceled if it is not paid. */
  dueAt?: Date
  gateway: string
  metadata?: Record<string, string>
  id: string
  /** The id of its first order, which is inserted next. */
  orderId: string
  now: Date
}

/** Inserts an incomplete subscription. */
export async function insertSubscription(
  tx: Transaction,
  { id, orderId, projectId, ownerId, items, trialEnd, dueAt, gateway, metadata = {}, now }: NewSubscription,
): Promise<OwnedSubscription> {
  const [{ price_id: priceId, quantity }] = items
  return await sql.insertSubscription(tx, {
    id,
    latest_order_id: orderId,
    project_id: projectId,
    owner_id: ownerId,
    price_id: priceId,
    quantity,
    items: storedItems(items),
    trial_end: trialEnd ?? null,
    due_at: dueAt ?? null,
    gateway,
    metadata,
    created_at: now,
  })
}

/** Items as JSON, which the driver does not make of arrays. Null for one item. */
export function storedItems(items: SubscriptionItem[]): string | null {
  return items.length === 1 ? null : JSON.stringify(items)
}

export async function setLatestOrder(
  tx: Transaction,
  id: string,
  orderId: string,
): Promise<OwnedSubscription> {
  return await sql.setLatestOrder(tx, { id, order_id: orderId })
}

/** A billing period. */
export interface Period {
  start: Date
  end: Date
}

/**
 * Starts the first period of an incomplete subscription: at `at`, or as the gateway's `period` says.
 * @returns the subscription, or undefined if it was not incomplete.
 */
export async function startSubscription(
  tx: Transaction,
  id: string,
  { at, period }: { at: Date; period?: Period },
): Promise<OwnedSubscription | undefined> {
  return await sql.startSubscription(tx, {
    id,
    start: period?.start ?? at,
    end: period?.end ?? null,
  })
}

/** Starts the next period of a subscription with its order. `owed` is left to the order after it. */
export async function startNextPeriod(
  tx: Transaction,
  id: string,
  { orderId, owed }: { orderId: string; owed: number },
): Promise<OwnedSubscription> {
  return await sql.startNextPeriod(tx, { id, order_id: orderId, owed })
}

/** A page of subscriptions. One statement, including the total. */
export async function listSubscriptions(
  db: SqlClient,
  filter: SalesFilter,
  query: ListQuery<'listSubscriptions'>,
): Promise<Page<Subscription>> {
  return await sql.listSubscriptions(db, { ...query, ...filter })
}

/** Schedules the cancellation at the end of the period, or removes it if `canceledAt` is null. */
export async function setCancelAtPeriodEnd(
  tx: Transaction,
  id: string,
  { canceledAt }: { canceledAt: Date | null },
): Promise<OwnedSubscription> {
  return await sql.setCancelAtPeriodEnd(tx, { id, canceled_at: canceledAt })
}
