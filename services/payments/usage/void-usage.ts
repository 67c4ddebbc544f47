// Voiding usage: an event counts no more.
import * as sql from '../../../generated/sql/metering.ts'
import type { components } from '../../../generated/types.ts'
import type { Transaction } from '../../../infra/database/database.ts'
import { notFound } from '../../../infra/errors.ts'

/**
 * Voids an event of a seller, which the caller has authorized. An event that is voided stays as it is.
 * @throws 404 for an unknown id, and for an event that is no longer kept.
 */
export async function voidUsage(
  tx: Transaction,
  { id, seller, eventDays }: { id: string; seller: string | null; eventDays: number },
): Promise<components['schemas']['UsageEvent']> {
  const key = { id, seller: seller ?? '' }
  const found = await sql.findEvent(tx, { ...key, days: eventDays })
  if (found === undefined) throw notFound('event', id)
  const { aggregation, ...event } = found
  if (event.voided_at !== null) return event
  // A sum and a number lose what the event counts. Of the others the hour is computed again.
  if (aggregation === 'sum' || aggregation === 'count') await sql.voidEvent(tx, key)
  else {
    await sql.lockRecomputation(tx, { meter_id: event.meter_id })
    await sql.voidAndRecompute(tx, key)
  }
  const { aggregation: _, ...voided } = (await sql.findEvent(tx, { ...key, days: eventDays }))!
  return voided
}
