// The report of a meter: the usage of customers in groups.
import * as sql from '../../../generated/sql/metering.ts'
import type { components } from '../../../generated/types.ts'
import type { Query } from '../../../infra/contract/query.ts'
import type { Db } from '../../../infra/database/database.ts'
import type { Page } from '../../../infra/database/pagination.ts'
import { invalidParameter } from '../../../infra/errors.ts'
import { paymentsNow } from '../clock.ts'
import type { Meter } from './meters.ts'

const hourMs = 3_600_000
const dayMs = 86_400_000
const maxDays = 400
const defaultDays = 30
const periods = ['hour', 'day', 'month']

/** @throws 400 for a range that is not of whole hours or too long, and for an unknown group. */
export async function listMeterUsage(
  db: Db,
  { id, dimensions }: Meter,
  { customer_id: customerId, from, to, group_by: groups = ['day'], ...page }: Query<'listMeterUsage'>,
): Promise<Page<components['schemas']['MeterUsage']>> {
  const named = [...new Set(groups)]
  const names = named.filter((name) => dimensions.includes(name))
  const period = named.filter((name) => periods.includes(name))
  const others = named.filter((name) => ![...periods, ...dimensions, 'customer_id'].includes(name))
  if (named.includes('')) throw invalidParameter('group_by', 'required', '`group_by` must not be empty.')
  if (others.length > 0)
    throw invalidParameter('group_by', 'enum', `The meter has no dimension ${others[0]}.`)
  if (period.length > 1)
    throw invalidParameter('group_by', 'exclusive', 'Usage is grouped by one of hour, day and month.')
  return await sql.listMeterUsage(db, {
    meter_id: id,
    customer_id: customerId ?? null,
    ...(await rangeOf(db, from, to)),
    period: period[0] ?? null,
    by_customer: named.includes('customer_id'),
    names,
    places: names.map((name) => dimensions.indexOf(name)),
    ...page,
  })
}

async function rangeOf(
  db: Db,
  from: string | undefined,
  to: string | undefined,
): Promise<{ from: string; to: string }> {
  const end = to === undefined ? await nextHour(db) : wholeHour('to', to)
  const start = from === undefined ? end - defaultDays * dayMs : wholeHour('from', from)
  if (start >= end) throw invalidParameter('to', 'minimum', '`to` must be after `from`.')
  if (end - start > maxDays * dayMs)
    throw invalidParameter('from', 'maximum', `A report has at most ${maxDays} days.`)
  return { from: new Date(start).toISOString(), to: new Date(end).toISOString() }
}

async function nextHour(db: Db): Promise<number> {
  return (Math.floor((await paymentsNow(db)).getTime() / hourMs) + 1) * hourMs
}

function wholeHour(name: string, text: string): number {
  const time = Date.parse(text)
  if (time % hourMs !== 0) throw invalidParameter(name, 'multipleOf', `\`${name}\` must be a whole hour.`)
  return time
}
