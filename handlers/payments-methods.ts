// The stored cards of customers. Sellers read and change them; customers do so in the portal.
import type { Handlers } from '../services/handler.ts'
import { requireCustomer } from '../services/payments/customers.ts'
import {
  deletePaymentMethod,
  findPaymentMethod,
  listPaymentMethods,
  setDefaultPaymentMethod,
} from '../services/payments/payment-methods.ts'

export const paymentsMethods = {
  async listPaymentMethods({ params: { id }, query }, { db }) {
    await requireCustomer(db, id)
    return { status: 200, body: await listPaymentMethods(db, id, query) }
  },

  async getPaymentMethod({ params: { id, payment_method_id: methodId } }, { db }) {
    await requireCustomer(db, id)
    return { status: 200, body: await findPaymentMethod(db, id, methodId) }
  },

  async setDefaultPaymentMethod({ params: { id, payment_method_id: methodId } }, { db, events }) {
    return await db.transaction(async (tx) => {
      await requireCustomer(tx, id)
      return { status: 200, body: await setDefaultPaymentMethod(tx, events, id, methodId) }
    })
  },

  async deletePaymentMethod(request, { db, events }) {
    const { id, payment_method_id: methodId } = request.params
    return await db.transaction(async (tx) => {
      await requireCustomer(tx, id)
      request.ifMatch(await findPaymentMethod(tx, id, methodId))
      await deletePaymentMethod(tx, events, id, methodId)
      return { status: 204 }
    })
  },
} satisfies Handlers<'payments-methods'>
