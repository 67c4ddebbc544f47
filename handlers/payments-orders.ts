// Orders: create, list, get and cancel; and their receipts.
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import { requireTotal } from '../services/payments/gateway.ts'
import {
  findOrder,
  openOrder,
  insertOrder,
  listOrders,
  priceItems,
  requireNoSubscription,
  toOrder,
} from '../services/payments/orders.ts'
import { createReceipt } from '../services/payments/receipts/receipts.ts'
import { openSale, openSales } from '../services/payments/sales.ts'
import { cancelOrder, lockOrder, payIfFree } from '../services/payments/settle.ts'

export const paymentsOrders = {
  async listOrders(request, { db, lists }) {
    return { status: 200, body: await listOrders(lists, await openSales(db, request), request.query) }
  },

  async createOrder(request, services) {
    const { project_id: projectId = null, items, metadata } = request.body
    const { events, gateways } = services
    const createdBy = request.principal.userId
    return await services.db.transaction(async (tx) => {
      const { ownerId, seller } = await openSale(tx, services, request, request.body)
      const priced = await priceItems(tx, items, { seller })
      requireTotal(gateways.forTotal(priced.total), priced.total, priced.currency, 'items')
      const order = await insertOrder(tx, priced, { projectId, ownerId, createdBy, metadata })
      await events.emit(tx, 'order.created', toOrder(order), { userId: ownerId })
      const locked = { order, subscription: null, checkout: null }
      const isPaid = await payIfFree(tx, services, locked, priced.now)
      const created = isPaid ? await findOrder(tx, order.id) : order
      return {
        status: 201,
        body: toOrder(created),
        headers: { location: `/v1/payments/orders/${order.id}` },
      }
    })
  },

  async getOrder(request, { db }) {
    return { status: 200, body: toOrder(await openOrder(db, request)) }
  },

  async cancelOrder(request, services) {
    return await services.db.transaction(async (tx) => {
      await openOrder(tx, request, { lockProject: true })
      const locked = await lockOrder(tx, request.params.id)
      requireNoSubscription(locked.subscription)
      if (locked.order.status === 'canceled') return { status: 200, body: toOrder(locked.order) }
      const at = await paymentsNow(tx)
      return { status: 200, body: toOrder(await cancelOrder(tx, services, locked, at)) }
    })
  },

  async getReceipt(request, { db, config: { sellerName: seller } }) {
    const order = await openOrder(db, request)
    const { format = request.acceptedType === 'application/pdf' ? 'pdf' : 'html' } = request.query
    return { status: 200, body: await createReceipt(db, order, { format, seller }) }
  },
} satisfies Handlers<'payments-orders'>
