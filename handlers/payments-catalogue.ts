// The catalog of products and prices. Everyone reads that of the operator; that of an organization is its
// admins' alone.
import * as pricesSql from '../generated/sql/prices.ts'
import * as productsSql from '../generated/sql/products.ts'
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import {
  authorizeCatalog,
  openProduct,
  requireMeter,
  requireValidPeriod,
} from '../services/payments/products-and-prices.ts'
import { requireValidUsage } from '../services/payments/usage-prices.ts'
import { resourceHandlers } from '../services/resources.ts'

const options = { now: paymentsNow, authorize: authorizeCatalog }
const prices = resourceHandlers('Price', pricesSql, options)

export const paymentsCatalogue = {
  ...resourceHandlers('Product', productsSql, options),
  ...prices,

  async listPrices(request, services) {
    const { product_id: productId, organization_id: asked } = request.query
    if (productId === undefined) return await prices.listPrices(request, services)
    const { organization_id: seller } = await openProduct(services.db, request, productId)
    const query = { ...request.query, organization_id: asked ?? seller ?? undefined }
    return await prices.listPrices({ ...request, query }, services)
  },

  async createPrice(request, services) {
    const { product_id: productId, unit_amount: amount, currency, recurring, usage } = request.body
    services.gateways.current.requireAmount(amount, currency, 'unit_amount')
    if (recurring !== undefined) requireValidPeriod(recurring)
    if (usage !== undefined) requireValidUsage(usage, recurring)
    return await services.db.transaction(async (tx) => {
      const { organization_id } = await openProduct(tx, request, productId)
      if (usage !== undefined) await requireMeter(tx, usage, organization_id)
      const body = { ...request.body, organization_id }
      return await prices.createPrice({ ...request, body }, { ...services, db: tx })
    })
  },
} satisfies Handlers<'payments-catalogue'>
