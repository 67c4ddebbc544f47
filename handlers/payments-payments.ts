// Payments: the attempts to pay an order. Everyone who may read the order may read them.
import type { Handlers } from '../services/handler.ts'
import { listPayments, openPayment } from '../services/payments/payments.ts'
import { openSales } from '../services/payments/sales.ts'

export const paymentsPayments = {
  async listPayments(request, { db, lists }) {
    return { status: 200, body: await listPayments(lists, await openSales(db, request), request.query) }
  },

  async getPayment(request, { db }) {
    return { status: 200, body: await openPayment(db, request) }
  },
} satisfies Handlers<'payments-payments'>
