// Orders: create, list, get and cancel; and their receipts.
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import {
  openOrder,
  insertOrder,
  listOrders,
  priceItems,
  requireNotSubscriptionOrder,
  toOrder,
} from '../services/payments/orders.ts'
import { createReceipt } from '../services/payments/receipts/receipts.ts'
import { openSales } from '../services/payments/sales.ts'
import { cancelOrder, lockOrder } from '../services/payments/settle.ts'
import { openWorkspace } from '../services/projects/workspaces.ts'

export const paymentsOrders = {
  async listOrders(request, { db, lists }) {
    return { status: 200, body: await listOrders(lists, await openSales(db, request), request.query) }
  },

  async createOrder({ operation, principal, body }, { db, events, gateways }) {
    const { project_id: projectId = null, items, metadata } = body
    return await db.transaction(async (tx) => {
      await openWorkspace(tx, { operation, principal }, projectId, { lock: true })
      const priced = await priceItems(tx, items)
      gateways.current.requireAmount(priced.total, priced.currency, 'items')
      const { userId: ownerId } = principal
      const { owner_id: userId, ...order } = await insertOrder(tx, priced, { projectId, ownerId, metadata })
      await events.emit(tx, 'order.created', order, { userId })
      return { status: 201, body: order, headers: { location: `/v1/payments/orders/${order.id}` } }
    })
  },

  async getOrder(request, { db }) {
    return { status: 200, body: toOrder(await openOrder(db, request)) }
  },

  async cancelOrder(request, services) {
    return await services.db.transaction(async (tx) => {
      requireNotSubscriptionOrder(await openOrder(tx, request, { lockProject: true }))
      const locked = await lockOrder(tx, request.params.id)
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
