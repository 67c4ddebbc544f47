// One request to move the test clock. The move takes many transactions, so the Idempotency-Key stores its
// target before the clock moves: a repeated request continues to the same time.
import type { IdempotencyFingerprint } from '../../infra/contract/operation.ts'
import type { Database, Db } from '../../infra/database/database.ts'
import { conflict, idempotencyMismatch, inProgress, invalidField, limitReached } from '../../infra/errors.ts'
import * as records from '../../generated/sql/idempotency.ts'
import * as sql from '../../generated/sql/payments.ts'
import { paymentsNow, testClock, type TestClock } from './clock.ts'

/** The longest move of one request: two years. */
const maxMoveMs = 2 * 366 * 86_400_000
/** Timestamps and ids have four-digit years; the margin leaves room for the periods of subscriptions. */
const maxTime = new Date('9900-01-01T00:00:00Z')
/** How far the time of a customer can be ahead of the payment clock: 50 years, within that margin. */
const maxLeadMs = 50 * 366 * 86_400_000
/** The worker looks for the tasks of each customer whose clock is ahead. */
const maxMovedClocks = 100

export interface ClockMove {
  userId: string
  /** The customer whose time moves. Null: the payment clock moves, and with it the time of everyone. */
  customerId?: string | null
  idempotency: IdempotencyFingerprint | null
  /** Returns the target for the current time of the clock. */
  target: (now: Date) => Date
}

interface StoredMove {
  to: string
  /** The answer; null until the clock has moved. */
  clock: TestClock | null
}

/** @param advance moves the clock to a time, and does nothing if the clock is past it. */
export async function moveTestClock(
  db: Database,
  move: ClockMove,
  advance: (to: Date) => Promise<void>,
): Promise<{ clock: TestClock; replayed: boolean }> {
  const { customerId = null, idempotency } = move
  const stored =
    customerId === null && idempotency === null
      ? await storeTarget(db, move)
      : await db.transaction((tx) => storeTarget(tx, move))
  if (stored.clock !== null) return { clock: stored.clock, replayed: true }
  await advance(new Date(stored.to))
  const clock = await testClock(db, move.customerId)
  await save(db, move, { ...stored, clock })
  return { clock, replayed: false }
}

async function storeTarget(tx: Db, move: ClockMove): Promise<StoredMove> {
  const { userId, idempotency } = move
  if (idempotency !== null) {
    const { digest, bodyHash } = idempotency
    const { taken } = await records.tryLock(tx, { key: `test clock ${userId} ${digest.toString('hex')}` })
    if (!taken)
      throw inProgress('A request with this Idempotency-Key is still in progress.', 'Idempotency-Key')
    const record = await records.findRecord(tx, { owner_id: userId, key_digest: digest })
    if (record !== undefined) {
      if (!record.body_hash.equals(bodyHash)) throw idempotencyMismatch()
      return JSON.parse(record.answer.toString()) as StoredMove
    }
  }
  const { customerId = null } = move
  const clock = await paymentsNow(tx)
  const now = customerId === null ? clock : await paymentsNow(tx, customerId)
  const to = requirePossible(move.target(now), now)
  if (customerId !== null) await requireRoom(tx, customerId, to.getTime() - clock.getTime())
  const stored = { to: to.toISOString(), clock: null }
  await save(tx, move, stored)
  return stored
}

async function save(db: Db, { userId, idempotency }: ClockMove, stored: StoredMove): Promise<void> {
  if (idempotency === null) return
  await records.saveRecord(db, {
    owner_id: userId,
    key_digest: idempotency.digest,
    body_hash: idempotency.bodyHash,
    status: 200,
    answer: Buffer.from(JSON.stringify(stored)),
  })
}

/** Puts the customer ahead of the clock, if not too many are. Others wait until the transaction ends. */
async function requireRoom(tx: Db, customerId: string, leadMs: number): Promise<void> {
  if (leadMs > maxLeadMs)
    throw invalidField('to', 'maximum', 'A customer can be at most 50 years ahead of the clock.')
  await sql.lockMovedClocks(tx, { customer_id: customerId })
  const { count } = await sql.countMovedClocks(tx, { customer_id: customerId })
  if (count >= maxMovedClocks)
    throw limitReached(
      'FORBIDDEN',
      'customer_clocks',
      `At most ${maxMovedClocks} customers of a seller have a clock that is ahead. Delete one of them.`,
      { name: 'customer_clocks', limit: maxMovedClocks, used: count, resets_at: null },
    )
  await sql.startCustomerClock(tx, { customer_id: customerId })
}

function requirePossible(target: Date, now: Date): Date {
  if (target.getTime() > now.getTime() + maxMoveMs)
    throw invalidField('to', 'maximum', 'The clock can move at most two years at once.')
  if (target > maxTime)
    throw invalidField('to', 'maximum', `The clock cannot move past ${maxTime.toISOString()}.`)
  if (target < now) throw conflict('forward', 'The clock can only move forward.', 'to')
  return target
}
