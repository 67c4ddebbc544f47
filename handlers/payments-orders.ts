// Orders: made, listed, inspected, cancelled, and their receipts.
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import { insertOrder, listOrders, openOrder, priceItems, requireOwnEnd } from '../services/payments/orders.ts'
import { receiptOf } from '../services/payments/receipts/receipts.ts'
import { cancelOrder, lockDeal } from '../services/payments/settle.ts'
import { openWorkspace } from '../services/projects/workspaces.ts'

export const paymentsOrders = {
  async listOrders({ operation, principal, query }, { db }) {
    return {
      status: 200,
      body: await listOrders(db, await openWorkspace(db, { operation, principal }, query.project_id), query),
    }
  },

  async createOrder({ operation, principal, body }, { db, events, gateways }) {
    const { project_id: projectId = null, items, metadata } = body
    return await db.transaction(async (tx) => {
      await openWorkspace(tx, { operation, principal }, projectId, { lock: true })
      const basket = await priceItems(tx, items)
      gateways.current.requireAmount(basket.total, basket.currency, 'items')
      const { owner_id: userId, ...order } = await insertOrder(tx, basket, {
        projectId,
        ownerId: principal.userId,
        metadata,
      })
      await events.emit(tx, 'order.created', order, { userId })
      return { status: 201, body: order, headers: { location: `/v1/payments/orders/${order.id}` } }
    })
  },

  async getOrder(request, { db }) {
    const { owner_id: _owner, ...order } = await openOrder(db, request)
    return { status: 200, body: order }
  },

  async cancelOrder(request, { db, events, gateways }) {
    return await db.transaction(async (tx) => {
      requireOwnEnd(await openOrder(tx, request, { holdProject: true }))
      const deal = await lockDeal(tx, request.params.id)
      const { owner_id: _owner, ...order } = await cancelOrder(
        tx,
        { events, gateways },
        deal,
        await paymentsNow(tx),
      )
      return { status: 200, body: order }
    })
  },

  async getReceipt(request, { db, config }) {
    const order = await openOrder(db, request)
    return {
      status: 200,
      body: await receiptOf(db, order, { format: request.query.format ?? 'html', seller: config.sellerName }),
    }
  },
} satisfies Handlers<'payments-orders'>
