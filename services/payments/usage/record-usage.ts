// Recording usage: a batch of events becomes rows of usage_events and usage_deltas in one statement. It is
// idempotent by the ids of the events.
import { createHash } from 'node:crypto'
import * as sql from '../../../generated/sql/metering.ts'
import type { components } from '../../../generated/types.ts'
import type { Transaction } from '../../../infra/database/database.ts'
import { ApiError, invalidField } from '../../../infra/errors.ts'

type Event = components['schemas']['UsageEventInput']
type Value = string | number
type Meter = Awaited<ReturnType<typeof sql.findMeters>>[number]
type Customer = Awaited<ReturnType<typeof sql.findCustomers>>[number]

/** Milliseconds that the clock of a seller may be ahead. */
const maxAheadMs = 5 * 60_000
const dayMs = 86_400_000
/** Characters of the value of a dimension. */
const maxDimensionLength = 100
/** Characters of a unique value that is stored as it is; of longer ones a digest is stored. */
const maxValueLength = 64
const decimal = /^\d{1,20}(\.\d{1,12})?$/

/**
 * Stores events of a seller's customers, all or none.
 * @param seller an organization, or null for the operator; the caller has authorized it.
 * @throws 400 or 404 that names the first event that is refused.
 */
export async function recordUsage(
  tx: Transaction,
  seller: string | null,
  events: Event[],
  { windowDays }: { windowDays: number },
): Promise<components['schemas']['RecordedUsage']> {
  const meters = await sql.findMeters(tx, {
    keys: distinct(events.map(({ meter }) => meter)),
    organization_id: seller,
  })
  const customers = await sql.findCustomers(tx, {
    ids: distinct(events.map(({ customer_id: id }) => id)),
    external_ids: distinct(events.map(({ customer_external_id: id }) => id)),
    organization_id: seller,
  })
  const find = finder(meters, customers)
  const rows = events.map((event, i) => toRow(event, i, find, windowDays))
  const { accepted } = await sql.insertEvents(tx, {
    seller: seller ?? '',
    ids: events.map(({ id }) => id),
    meters: rows.map(({ meter }) => meter),
    customers: rows.map(({ customer }) => customer),
    times: rows.map(({ at }) => at),
    quantities: rows.map(({ quantity }) => quantity),
    values: rows.map(({ value }) => value),
    dimensions: rows.map(({ dimensions }) => dimensions),
  })
  return { accepted, duplicates: events.length - accepted }
}

const distinct = (values: Array<string | undefined>): string[] => [
  ...new Set(values.filter((value) => value !== undefined)),
]

interface Finder {
  meter(key: string): Meter | undefined
  customer(event: Event): Customer | undefined
}

function finder(meters: Meter[], customers: Customer[]): Finder {
  const byKey = new Map(meters.map((meter) => [meter.key, meter]))
  const byId = new Map(customers.map((customer) => [customer.id, customer]))
  const byExternalId = new Map(customers.map((customer) => [customer.external_id, customer]))
  return {
    meter: (key) => byKey.get(key),
    customer: ({ customer_id: id, customer_external_id: externalId }) =>
      id === undefined ? byExternalId.get(externalId!) : byId.get(id),
  }
}

interface Row {
  meter: string
  customer: string
  at: string
  quantity: string | null
  value: string | null
  dimensions: string
}

function toRow(event: Event, i: number, find: Finder, windowDays: number): Row {
  const field = `events[${i}]`
  const { customer_id: id, customer_external_id: externalId, properties = {} } = event
  if ((id === undefined) === (externalId === undefined))
    throw invalidField(
      `${field}.customer_id`,
      id === undefined ? 'required' : 'exclusive',
      'An event has either customer_id or customer_external_id.',
    )
  const meter = find.meter(event.meter)
  if (meter === undefined) throw unknown(`${field}.meter`, 'meter', event.meter)
  if (!meter.active) throw invalidField(`${field}.meter`, 'active', `The meter ${meter.key} is archived.`)
  if (meter.is_fed)
    throw invalidField(`${field}.meter`, 'source', `The platform itself feeds the meter ${meter.key}.`)
  const customer = find.customer(event)
  if (customer === undefined) {
    const name = id === undefined ? 'customer_external_id' : 'customer_id'
    throw unknown(`${field}.${name}`, 'customer', id ?? externalId!)
  }
  const at = event.at ?? customer.now
  requireInWindow(at, { now: customer.now, field: `${field}.at`, windowDays })
  return {
    meter: meter.id,
    customer: customer.id,
    at,
    ...valueOf(meter, properties, field),
    dimensions: dimensionsOf(meter, properties, field),
  }
}

/** A 404 that names a field of the body. */
function unknown(field: string, name: string, id: string): ApiError {
  return new ApiError(404, 'NOT_FOUND', `There is no ${name} ${id}.`, { field, constraint: 'exists' })
}

function requireInWindow(
  at: string,
  { now, field, windowDays }: { now: string; field: string; windowDays: number },
): void {
  const age = Date.parse(now) - Date.parse(at)
  if (age > windowDays * dayMs)
    throw invalidField(field, 'minimum', `Usage may be at most ${windowDays} days ago.`)
  if (age < -maxAheadMs) throw invalidField(field, 'maximum', 'Usage may be at most 5 minutes ahead.')
}

/** What an event counts: a quantity, or for a meter of unique values the value. */
function valueOf(
  { aggregation, property }: Meter,
  properties: Record<string, Value>,
  field: string,
): Pick<Row, 'quantity' | 'value'> {
  if (aggregation === 'count') return { quantity: '1', value: null }
  const name = `${field}.properties.${property}`
  const value = Object.hasOwn(properties, property!) ? properties[property!] : undefined
  if (value === undefined) throw invalidField(name, 'required', `The meter needs the property ${property}.`)
  if (aggregation === 'unique') return { quantity: null, value: digestOf(textOf(value)) }
  const quantity = toDecimal(value)
  if (!decimal.test(quantity))
    throw invalidField(
      name,
      'decimal',
      'The value must be a decimal with at most 20 digits before the point and 12 after it, not negative.',
    )
  return { quantity, value: null }
}

function dimensionsOf({ dimensions }: Meter, properties: Record<string, Value>, field: string): string {
  if (dimensions.length === 0) return ''
  const values = dimensions.map((name) => {
    if (!Object.hasOwn(properties, name)) return null
    const text = textOf(properties[name])
    if (text.length > maxDimensionLength)
      throw invalidField(
        `${field}.properties.${name}`,
        'maxLength',
        `The value of a dimension has at most ${maxDimensionLength} characters.`,
      )
    return text
  })
  return JSON.stringify(values)
}

const textOf = (value: Value): string => (typeof value === 'number' ? toDecimal(value) : value)

/** A number as a decimal without an exponent: 1e-7 becomes 0.0000001. */
function toDecimal(value: Value): string {
  if (typeof value === 'string') return value
  const text = String(value)
  const [, digits, exponent] = /^(-?[\d.]+)e-(\d+)$/.exec(text) ?? []
  if (exponent === undefined) return text
  const places = (digits.split('.')[1]?.length ?? 0) + Number(exponent)
  return places > 20 ? text : value.toFixed(places)
}

function digestOf(value: string): string {
  return value.length <= maxValueLength ? value : createHash('sha256').update(value).digest('hex')
}
