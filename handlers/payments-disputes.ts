// Disputes: the gateway reports them; everyone who may read the order may read them.
import type { Handlers } from '../services/handler.ts'
import { listDisputes, openDispute } from '../services/payments/disputes.ts'
import { openSales } from '../services/payments/sales.ts'

export const paymentsDisputes = {
  async listDisputes(request, { db, lists }) {
    return { status: 200, body: await listDisputes(lists, await openSales(db, request), request.query) }
  },

  async getDispute(request, { db }) {
    return { status: 200, body: await openDispute(db, request) }
  },
} satisfies Handlers<'payments-disputes'>
