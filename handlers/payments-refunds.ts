// Refunds: sellers create them; everyone who may read the order may read them.
import type { Handlers } from '../services/handler.ts'
import { notFound } from '../infra/errors.ts'
import { findOrder, openOrder } from '../services/payments/orders.ts'
import {
  findRefund,
  listAllRefunds,
  listRefunds,
  openRefund,
  refundOrder,
} from '../services/payments/refunds.ts'
import { openSales } from '../services/payments/sales.ts'
import { requireSeller } from '../services/payments/sellers.ts'

export const paymentsRefunds = {
  async listRefunds(request, { db }) {
    const { id } = await openOrder(db, request)
    return { status: 200, body: await listRefunds(db, id, request.query) }
  },

  async listAllRefunds(request, { db, lists }) {
    return { status: 200, body: await listAllRefunds(lists, await openSales(db, request), request.query) }
  },

  async createRefund(request, services) {
    const { params, body } = request
    return await services.db.transaction(async (tx) => {
      const order = await findOrder(tx, params.id)
      const { seller_organization_id: seller = null } = order
      await requireSeller(tx, request, seller, () => notFound('order', params.id))
      const refund = await refundOrder(tx, services, order, body)
      return {
        status: 201,
        body: refund,
        headers: { location: `/v1/payments/orders/${params.id}/refunds/${refund.id}` },
      }
    })
  },

  async getRefund(request, { db }) {
    const { id } = await openOrder(db, request)
    return { status: 200, body: await findRefund(db, id, request.params.refund_id) }
  },

  async getRefundById(request, { db }) {
    return { status: 200, body: await openRefund(db, request) }
  },
} satisfies Handlers<'payments-refunds'>
