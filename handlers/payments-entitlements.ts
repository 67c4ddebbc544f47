// Features, and the entitlements of customers.
import * as entitlements from '../generated/sql/entitlements.ts'
import * as sql from '../generated/sql/features.ts'
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import { authorizeCustomers, openCustomer } from '../services/payments/customers.ts'
import {
  deleteOverride,
  openEntitlement,
  productFeatures,
  readerOf,
  requireValidFeature,
  setOverride,
  setProductFeatures,
} from '../services/payments/entitlements.ts'
import { requireSeller } from '../services/payments/sellers.ts'
import { resourceHandlers } from '../services/resources.ts'

const features = resourceHandlers('Feature', sql, {
  now: paymentsNow,
  userOf: readerOf,
  authorize: authorizeCustomers,
})

export const paymentsEntitlements = {
  ...features,

  async createFeature(request, services) {
    return await services.db.transaction(async (tx) => {
      await requireSeller(tx, request, request.body.organization_id ?? null)
      await requireValidFeature(tx, request.body)
      return await features.createFeature(request, { ...services, db: tx })
    })
  },

  async getProductFeatures(request, { db }) {
    return { status: 200, body: await productFeatures(db, request, request.params.id) }
  },

  async setProductFeatures(request, { db }) {
    const { params, body } = request
    const set = await db.transaction((tx) => setProductFeatures(tx, request, params.id, body.features))
    return { status: 200, body: set }
  },

  async listEntitlements(request, { db }) {
    const { id } = await openCustomer(db, request, request.params.id)
    const { data, pagination } = await entitlements.list(db, { customer_id: id, ...request.query })
    return { status: 200, body: { data: data.map(({ id: _id, ...entitlement }) => entitlement), pagination } }
  },

  async getEntitlement(request, { db }) {
    const { id, feature } = request.params
    return { status: 200, body: await openEntitlement(db, request, id, feature) }
  },

  async setEntitlement(request, { db }) {
    const { id, feature } = request.params
    const set = await db.transaction((tx) => setOverride(tx, request, id, feature, request.body))
    return { status: 200, body: set }
  },

  async deleteEntitlement(request, { db }) {
    const { id, feature } = request.params
    await db.transaction((tx) => deleteOverride(tx, request, id, feature))
    return { status: 204 }
  },
} satisfies Handlers<'payments-entitlements'>
