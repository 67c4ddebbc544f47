// The catalog of products and prices: operators write it, everyone may read it.
import * as pricesSql from '../generated/sql/prices.ts'
import * as productsSql from '../generated/sql/products.ts'
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import { requireProduct, requireValidPeriod } from '../services/payments/products-and-prices.ts'
import { resourceHandlers } from '../services/resources.ts'

const prices = resourceHandlers('Price', pricesSql, { now: paymentsNow })

export const paymentsCatalogue = {
  ...resourceHandlers('Product', productsSql, { now: paymentsNow }),
  ...prices,

  async listPrices(request, services) {
    const { product_id: productId } = request.query
    if (productId !== undefined) await requireProduct(services.db, productId)
    return await prices.listPrices(request, services)
  },

  async createPrice(request, services) {
    const { product_id: productId, unit_amount: amount, currency, recurring } = request.body
    services.gateways.current.requireAmount(amount, currency, 'unit_amount')
    if (recurring !== undefined) requireValidPeriod(recurring)
    await requireProduct(services.db, productId)
    return await prices.createPrice(request, services)
  },
} satisfies Handlers<'payments-catalogue'>
