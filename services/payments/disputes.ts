// Disputes: the objections of customers to payments, at their banks. The gateway reports them; the order and
// its subscription are locked while one is recorded, so that no refund of the order and no change of the
// subscription is created at the same time.
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, SqlClient, Transaction } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import * as sql from '../../generated/sql/payments.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { dropQuotedChange } from './change-subscription.ts'
import type { PaymentServices } from './gateway.ts'
import { post, subjectOf } from './ledger.ts'
import type { OrderRequest, OwnedOrder } from './orders.ts'
import { requireSaleAccess, type SalesFilter } from './sales.ts'

export type Dispute = components['schemas']['Dispute']

/** Reads the dispute that the request names, if the caller has access to it. */
export async function openDispute(db: Db, request: OrderRequest): Promise<Dispute> {
  const { id } = request.params
  const found = await sql.readDispute(db, { id, user_id: request.principal.userId })
  const row = await requireSaleAccess(db, found, request, { name: 'dispute', id })
  const { your_role: _role, project_status: _project, owner_id: _owner, ...dispute } = row
  return dispute
}

/** A page of disputes. One statement, including the total. */
export async function listDisputes(
  db: SqlClient,
  filter: SalesFilter,
  query: ListQuery<'listDisputes'>,
): Promise<Page<Dispute>> {
  return await sql.listDisputes(db, { ...query, ...filter })
}

/** The state of a dispute at its gateway. */
export interface DisputeState {
  status: Dispute['status']
  amount: number
  reason: string
  evidenceDueAt: Date | null
  /** When the sandbox goes on with the dispute; null for other gateways. */
  dueAt: Date | null
}

const closedStatuses: ReadonlySet<Dispute['status']> = new Set(['won', 'lost', 'warning_closed', 'prevented'])

/** The disputes of these statuses take no money, as in `read-returned.sql`. */
const harmlessStatuses: ReadonlySet<Dispute['status']> = new Set([
  'won',
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
])

interface NewDispute {
  paymentId: string
  currency: Dispute['currency']
  /** The gateway's id of the dispute, and the time of its state; null in the sandbox. */
  reference: string | null
  syncedAt: Date | null
  state: DisputeState
  at: Date
}

/** Inserts a dispute of an order that `lockOrder` locked. @returns its id. */
export async function createDispute(
  tx: Transaction,
  services: PaymentServices,
  order: OwnedOrder,
  { paymentId, currency, reference, syncedAt, state, at }: NewDispute,
): Promise<string> {
  const id = newIdAt('dp', at)
  const dispute = await sql.insertDispute(tx, {
    id,
    payment_id: paymentId,
    ...columnsOf(state),
    currency,
    gateway_reference: reference,
    synced_at: syncedAt,
    created_at: timeOf(id),
  })
  postLoss(tx, order, null, state, at)
  const { events } = services
  const userId = order.owner_id
  await events.emit(tx, 'dispute.created', dispute, { userId })
  if (closedStatuses.has(dispute.status)) await events.emit(tx, 'dispute.closed', dispute, { userId })
  if (!harmlessStatuses.has(dispute.status)) await dropQuotedChange(tx, services, order.id)
  return id
}

/** Stores the state of a dispute of an order that `lockOrder` locked, and emits one event if it differs. */
export async function updateDispute(
  tx: Transaction,
  services: PaymentServices,
  order: OwnedOrder,
  previous: Dispute,
  { state, at }: { state: DisputeState; at: Date },
): Promise<void> {
  const { status, amount, reason, evidenceDueAt } = state
  const same =
    status === previous.status &&
    amount === previous.amount &&
    reason === previous.reason &&
    (evidenceDueAt?.getTime() ?? null) === timeOrNull(previous.evidence_due_at)
  if (same) return
  const dispute = await sql.updateDispute(tx, { id: previous.id, ...columnsOf(state), at })
  postLoss(tx, order, previous, state, at)
  const type = closedStatuses.has(status) ? 'dispute.closed' : 'dispute.updated'
  await services.events.emit(tx, type, dispute, { previous, userId: order.owner_id })
  if (harmlessStatuses.has(previous.status) && !harmlessStatuses.has(status))
    await dropQuotedChange(tx, services, order.id)
}

/** Records what the bank took with a dispute that is lost, and gives back what it took before. */
function postLoss(
  tx: Transaction,
  order: OwnedOrder,
  before: Pick<Dispute, 'status' | 'amount'> | null,
  after: DisputeState,
  at: Date,
): void {
  const lost = ({ status, amount }: Pick<Dispute, 'status' | 'amount'>): number =>
    status === 'lost' ? amount : 0
  const change = lost(after) - (before === null ? 0 : lost(before))
  post(tx, subjectOf(order, at), [
    ['disputes', 'gateway', change],
    ['gateway', 'disputes', -change],
  ])
}

function timeOrNull(timestamp: string | null): number | null {
  return timestamp === null ? null : new Date(timestamp).getTime()
}

function columnsOf({ status, amount, reason, evidenceDueAt, dueAt }: DisputeState) {
  return { status, amount, reason, evidence_due_at: evidenceDueAt, due_at: dueAt }
}
