// The stored cards of customers. Sellers read and change them; customers do so in the portal.
import type { Handlers } from '../services/handler.ts'
import { openCustomer } from '../services/payments/customers.ts'
import {
  deletePaymentMethod,
  findPaymentMethod,
  listPaymentMethods,
  setDefaultPaymentMethod,
} from '../services/payments/payment-methods.ts'

export const paymentsMethods = {
  async listPaymentMethods(request, { db }) {
    const { id } = await openCustomer(db, request, request.params.id)
    return { status: 200, body: await listPaymentMethods(db, id, request.query) }
  },

  async getPaymentMethod(request, { db }) {
    const { id, payment_method_id: methodId } = request.params
    await openCustomer(db, request, id)
    return { status: 200, body: await findPaymentMethod(db, id, methodId) }
  },

  async setDefaultPaymentMethod(request, { db, events }) {
    const { id, payment_method_id: methodId } = request.params
    return await db.transaction(async (tx) => {
      await openCustomer(tx, request, id)
      return { status: 200, body: await setDefaultPaymentMethod(tx, events, id, methodId) }
    })
  },

  async deletePaymentMethod(request, { db, events }) {
    const { id, payment_method_id: methodId } = request.params
    return await db.transaction(async (tx) => {
      await openCustomer(tx, request, id)
      request.ifMatch(await findPaymentMethod(tx, id, methodId))
      await deletePaymentMethod(tx, events, id, methodId)
      return { status: 204 }
    })
  },
} satisfies Handlers<'payments-methods'>
