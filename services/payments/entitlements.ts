// Features of sellers, and the entitlements of customers to them. Only its seller knows a feature. An
// entitlement is not stored: each check computes it from the subscriptions, products and overrides.
import * as customersSql from '../../generated/sql/customers.ts'
import * as sql from '../../generated/sql/entitlements.ts'
import * as features from '../../generated/sql/features.ts'
import * as products from '../../generated/sql/products.ts'
import type { components } from '../../generated/types.ts'
import { expiryOf } from '../../infra/contract/expiry.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { invalidField, notFound } from '../../infra/errors.ts'
import { paymentsNow } from './clock.ts'
import { authorizeCustomers, openCustomer } from './customers.ts'
import { openProduct } from './products-and-prices.ts'
import { requireSeller, type SellerRequest } from './sellers.ts'
import { findMeterOfSeller } from './usage/meters.ts'

export type Feature = components['schemas']['Feature']
export type Entitlement = components['schemas']['Entitlement']
type Override = components['schemas']['EntitlementUpdate']
type ProductFeatures = components['schemas']['ProductFeatures']
type ProductFeatureInput = components['schemas']['ProductFeatureInput']

/** Events of a feature of the operator belong to the feature alone, so that only sellers read them. */
export const readerOf = ({ id }: Feature): string => id

/** The feature, if the caller is the seller. Throws 404. */
export async function openFeature(db: Db, request: SellerRequest, id: string): Promise<Feature> {
  const feature = await features.find(db, { id })
  const missing = (): Error => notFound('feature', id)
  if (feature === undefined) throw missing()
  await authorizeCustomers(db, request, feature, missing)
  return feature
}

/** Throws 400 unless a new feature has a meter exactly if it is metered, and 404 for another seller's. */
export async function requireValidFeature(
  db: Db,
  { type, meter_id: meterId, organization_id: seller = null }: components['schemas']['FeatureCreate'],
): Promise<void> {
  if (type !== 'metered') {
    if (meterId != null) throw invalidField('meter_id', 'exclusive', 'Only metered features have a meter.')
    return
  }
  if (meterId == null) throw invalidField('meter_id', 'required', 'A metered feature needs a meter.')
  await findMeterOfSeller(db, meterId, seller)
}

/** The features of a product, if the caller may read the product. Throws 404. */
export async function productFeatures(db: Db, request: SellerRequest, id: string): Promise<ProductFeatures> {
  await openProduct(db, request, id)
  return await readProductFeatures(db, id)
}

async function readProductFeatures(db: Db, id: string): Promise<ProductFeatures> {
  return { product_id: id, features: await sql.listOfProduct(db, { product_id: id }) }
}

interface ConditionalRequest extends SellerRequest {
  ifMatch(entity: unknown): void
}

/**
 * Replaces the features of a product. Throws 404 for a feature of another seller, and 400 for an archived one
 * that the product does not have, one that is there twice, and a limit of an `on_off` feature.
 */
export async function setProductFeatures(
  tx: Transaction,
  request: ConditionalRequest,
  id: string,
  given: ProductFeatureInput[],
): Promise<ProductFeatures> {
  const { organization_id: seller = null } = await openProduct(tx, request, id)
  await requireSeller(tx, request, seller, () => notFound('product', id))
  await products.lock(tx, { id })
  const before = await readProductFeatures(tx, id)
  request.ifMatch(before)
  const ids = given.map(({ feature_id: featureId }) => featureId)
  const known = new Map((await sql.shareFeatures(tx, { ids })).map((feature) => [feature.id, feature]))
  for (const [i, { feature_id: featureId, limit = null }] of given.entries()) {
    const field = `features[${i}].feature_id`
    const feature = known.get(featureId)
    if (feature === undefined || feature.organization_id !== seller) throw notFound('feature', featureId)
    if (ids.indexOf(featureId) !== i)
      throw invalidField(field, 'uniqueItems', `The feature ${featureId} is there twice.`)
    if (!feature.active && !before.features.some(({ feature_id: had }) => had === featureId))
      throw invalidField(field, 'active', `The feature ${featureId} is archived.`)
    if (feature.type === 'on_off' && limit !== null)
      throw invalidField(`features[${i}].limit`, 'exclusive', 'An on_off feature has no limit.')
  }
  await sql.replaceOfProduct(tx, {
    product_id: id,
    feature_ids: ids,
    limits: given.map(({ limit = null }) => limit),
  })
  return await readProductFeatures(tx, id)
}

/**
 * Checks the entitlement of a customer in one statement, and in another one what a metered one has used.
 * Throws 404 unless the caller is the seller.
 */
export async function openEntitlement(
  db: Db,
  request: SellerRequest,
  customerId: string,
  feature: string,
): Promise<Entitlement> {
  const found = await sql.find(db, { customer_id: customerId, feature })
  if (found === undefined) {
    await openCustomer(db, request, customerId)
    throw notFound('feature', feature)
  }
  const {
    organization_id: seller,
    meter_id: meter,
    period_start: start,
    period_end: end,
    now,
    ...own
  } = found
  const customer = { id: customerId, organization_id: seller }
  await authorizeCustomers(db, request, customer, () => notFound('customer', customerId))
  if (meter === null) return { ...own, used: null, remaining: null, resets_at: null }
  const { limit } = own
  const used = await sql.usage(db, { meter_id: meter, customer_id: customerId, now, start, end, limit })
  return { ...own, ...used }
}

/** Locks the customer of the caller, so that overrides change one after the other. Throws 404. */
async function lockCustomer(tx: Transaction, request: SellerRequest, id: string): Promise<void> {
  await openCustomer(tx, request, id)
  if ((await customersSql.lock(tx, { id })) === undefined) throw notFound('customer', id)
}

/** Sets or replaces an override. Throws 400 for a limit that the feature or the override cannot have. */
export async function setOverride(
  tx: Transaction,
  request: ConditionalRequest,
  customerId: string,
  feature: string,
  { enabled, limit = null, ...expiry }: Override,
): Promise<Entitlement> {
  await lockCustomer(tx, request, customerId)
  const before = await openEntitlement(tx, request, customerId, feature)
  request.ifMatch(before)
  if (limit !== null && (before.type === 'on_off' || !enabled))
    throw invalidField(
      'limit',
      'exclusive',
      enabled ? 'An on_off feature has no limit.' : 'A feature that is taken away has no limit.',
    )
  await sql.setOverride(tx, {
    customer_id: customerId,
    feature_id: before.feature_id,
    enabled,
    limit,
    expires_at: expiryOf(expiry, { from: await paymentsNow(tx, customerId) }) ?? null,
  })
  return await openEntitlement(tx, request, customerId, feature)
}

/** Removes an override. Throws 404 without one. */
export async function deleteOverride(
  tx: Transaction,
  request: ConditionalRequest,
  customerId: string,
  feature: string,
): Promise<void> {
  await lockCustomer(tx, request, customerId)
  const before = await openEntitlement(tx, request, customerId, feature)
  request.ifMatch(before)
  const key = { customer_id: customerId, feature_id: before.feature_id }
  if ((await sql.deleteOverride(tx, key)) === undefined) throw notFound('override', feature)
}
