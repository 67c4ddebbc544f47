// Meters: what their default handlers do not check. Only its seller knows a meter.
import * as sql from '../../../generated/sql/meters.ts'
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { invalidField, notFound } from '../../../infra/errors.ts'
import { authorizeCustomers } from '../customers.ts'
import type { SellerRequest } from '../sellers.ts'

export type Meter = components['schemas']['Meter']

/** Events of a meter of the operator belong to the meter alone, so that only sellers read them. */
export const readerOf = ({ id }: Meter): string => id

/** The dimensions of a meter that the platform feeds. */
const dimensionsOfSources = ['model', 'project_id']
/** The other names by which usage can be grouped. */
const reservedNames = ['hour', 'day', 'month', 'customer_id']

/** The meter, if the caller is the seller. Throws 404. */
export async function openMeter(db: Db, request: SellerRequest, id: string): Promise<Meter> {
  const meter = await sql.find(db, { id })
  const missing = (): Error => notFound('meter', id)
  if (meter === undefined) throw missing()
  await authorizeCustomers(db, request, meter, missing)
  return meter
}

/** The meter that something of a seller names. The caller is authorized as the seller. Throws 404. */
export async function findMeterOfSeller(db: Db, id: string, seller: string | null): Promise<Meter> {
  const meter = await sql.find(db, { id })
  if (meter === undefined || (meter.organization_id ?? null) !== seller) throw notFound('meter', id)
  return meter
}

/** Throws 400 for fields of a new meter that do not fit together. */
export function requireValidMeter({
  aggregation,
  property,
  source,
  dimensions = [],
  organization_id: seller,
}: components['schemas']['MeterCreate']): void {
  if (source != null) {
    if (seller != null)
      throw invalidField('source', 'exclusive', 'Only meters of the operator have a source.')
    if (aggregation !== 'sum')
      throw invalidField('aggregation', 'enum', 'The aggregation of a meter with a source must be sum.')
    if (property != null)
      throw invalidField('property', 'exclusive', 'A meter with a source has no property.')
  } else if (aggregation === 'count') {
    if (property != null) throw invalidField('property', 'exclusive', 'A meter that counts has no property.')
  } else if (property == null) {
    throw invalidField(
      'property',
      'required',
      `A meter with the aggregation ${aggregation} needs a property.`,
    )
  }
  for (const [i, name] of dimensions.entries()) {
    const field = `dimensions[${i}]`
    if (dimensions.indexOf(name) !== i)
      throw invalidField(field, 'uniqueItems', `The dimension ${name} is there twice.`)
    if (reservedNames.includes(name))
      throw invalidField(field, 'reserved', `${name} cannot be the name of a dimension.`)
    if (source != null && !dimensionsOfSources.includes(name))
      throw invalidField(field, 'enum', `A meter with a source has the dimensions model and project_id.`)
  }
}
