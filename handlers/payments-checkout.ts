// Checkout sessions: list, create, get and expire. Customers pay them on the payment page of the gateway.
import type { Handlers } from '../services/handler.ts'
import {
  listCheckouts,
  openCheckout,
  requireRedirectUrl,
  toCheckout,
} from '../services/payments/checkouts.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import { createCheckout } from '../services/payments/create-checkout.ts'
import { openSales } from '../services/payments/sales.ts'
import { expireCheckout, lockOrder } from '../services/payments/settle.ts'

export const paymentsCheckout = {
  async listCheckouts(request, { db }) {
    return { status: 200, body: await listCheckouts(db, await openSales(db, request), request.query) }
  },

  async createCheckout(request, services) {
    const { db, publicUrl } = services
    requireRedirectUrl(request.body.success_url, 'success_url')
    requireRedirectUrl(request.body.cancel_url, 'cancel_url')
    return await db.transaction(async (tx) => {
      const checkout = await createCheckout(tx, services, request, publicUrl())
      const location = `/v1/payments/checkout/${checkout.id}`
      return { status: 201, body: checkout, headers: { location } }
    })
  },

  async getCheckout(request, { db }) {
    return { status: 200, body: toCheckout(await openCheckout(db, request)) }
  },

  async expireCheckout(request, services) {
    return await services.db.transaction(async (tx) => {
      const { id, order_id: orderId } = await openCheckout(tx, request, { lockProject: true })
      const locked = await lockOrder(tx, orderId)
      const at = await paymentsNow(tx)
      const expired = await expireCheckout(tx, services, locked, id, at)
      return { status: 200, body: toCheckout(expired) }
    })
  },
} satisfies Handlers<'payments-checkout'>
