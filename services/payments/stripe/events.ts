// What Stripe says when it is asked counts, and nothing that an event says: so neither their order nor how often they come matters.
// Stripe is asked outside of transactions, and what it said is settled in one, with the event that gave the occasion.
import { type Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { RolledBack } from '../../../infra/errors.ts'
import type { RetentionTask } from '../../../infra/jobs/retention.ts'
import { deleteBatchStep } from '../../../infra/database/batch-delete.ts'
import { lockDeal, settlePayment, type Told } from '../settle.ts'
import type { SettleServices } from '../gateway.ts'

/** The name of this gateway in rows. */
export const stripeName = 'stripe'

/** Settles what Stripe has said. What was said before something that is settled already may have to be asked again. */
export type Settle = (tx: Db, services: SettleServices) => Promise<'settled' | 'ask again'>

export interface HeardEvent {
  id: string
  type: string
}

const remember = statement<{ id: string }>(
  'INSERT INTO gateway_events (id, type) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id',
)
const heard = statement<{ id: string }>('SELECT id FROM gateway_events WHERE id = $1')

export async function wasHeard(db: Db, { id }: HeardEvent): Promise<boolean> {
  return (await db.sql(heard, [id])).length === 1
}

/** Asks, and settles what is said. @param event has its effect with it, once. */
export async function learn(
  db: Db,
  services: SettleServices,
  ask: () => Promise<Settle>,
  event: HeardEvent | null = null,
): Promise<void> {
  for (;;) {
    const settle = await ask()
    try {
      await db.transaction(async (tx) => {
        if (event !== null && (await tx.sql(remember, [event.id, event.type])).length === 0) return
        if ((await settle(tx, services)) === 'ask again') throw new RolledBack()
      })
      return
    } catch (error) {
      if (!(error instanceof RolledBack)) throw error
    }
  }
}

export interface KnownPayment {
  id: string
  order_id: string
  status: string
}

const payment = statement<KnownPayment>(
  'SELECT id, order_id, status::text FROM payments WHERE gateway = $1 AND gateway_reference = $2',
)

/** The payment that Stripe calls so. To be asked with its order held: nobody else keeps it then. */
export async function paymentAt(tx: Db, reference: string): Promise<KnownPayment | undefined> {
  const [found] = await tx.sql(payment, [stripeName, reference])
  return found
}

/** Money has come, whether or not it was on its way here before. @returns whether it paid its order. */
export async function settleOnce(
  tx: Db,
  services: SettleServices,
  orderId: string,
  told: Omit<Told, 'gateway' | 'card' | 'id'> & { reference: string },
): Promise<boolean> {
  const deal = await lockDeal(tx, orderId)
  const known = await paymentAt(tx, told.reference)
  return await settlePayment(tx, services, deal, {
    ...told,
    gateway: stripeName,
    card: null,
    ...(known?.status === 'processing' && { id: known.id }),
  })
}

const longAgo = "SELECT id FROM gateway_events WHERE received_at < now() - interval '30 days' LIMIT $1"

/** Stripe tells nothing again that is older than 30 days. */
export function stripeEventRetentionTasks(): RetentionTask[] {
  return [{ name: 'gateway events', step: deleteBatchStep('gateway_events', longAgo, 1_000) }]
}
