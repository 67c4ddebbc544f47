// Payment methods: the stored cards of customers. The default is the card that was chosen last, by a payment
// or by a request; subscriptions are charged to it.
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import * as sql from '../../generated/sql/payments.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import type { Emitter } from '../events/emit.ts'
import { paymentsNow } from './clock.ts'

export type PaymentMethod = components['schemas']['PaymentMethod']

/** A page of the payment methods of a customer. */
export async function listPaymentMethods(
  db: Db,
  customerId: string,
  query: ListQuery<'listPaymentMethods'>,
): Promise<Page<PaymentMethod>> {
  return await sql.listPaymentMethods(db, { customer_id: customerId, ...query })
}

/** Throws 404 unless the customer has this payment method. */
export async function findPaymentMethod(db: Db, customerId: string, id: string): Promise<PaymentMethod> {
  const found = await sql.findPaymentMethod(db, { customer_id: customerId, id })
  if (found === undefined) throw notFound('payment method', id)
  return found
}

/** A card to store for its customer. */
export interface NewCard {
  gateway: string
  /** The gateway's id of the card. */
  reference: string | null
  /** The same for the same card, of a customer and gateway. */
  fingerprint: string
  brand: string
  last4: string
  /** Whether a test card pays renewals. */
  renews: boolean
  expMonth: number | null
  expYear: number | null
}

/**
 * Stores the card that paid a subscription, and makes it the default of the customer.
 * @returns the id of the payment method.
 */
export async function storeCard(
  tx: Transaction,
  events: Emitter,
  customerId: string,
  { reference, expMonth, expYear, ...card }: NewCard,
): Promise<string> {
  const { gateway, fingerprint } = card
  const previous = await sql.findStoredCard(tx, { customer_id: customerId, gateway, fingerprint })
  const id = newIdAt('pm', await paymentsNow(tx))
  const stored = await sql.storeCard(tx, {
    ...card,
    id,
    customer_id: customerId,
    gateway_reference: reference,
    exp_month: expMonth,
    exp_year: expYear,
    at: timeOf(id),
  })
  const userId = customerId
  if (stored.id === id) await events.emit(tx, 'payment_method.created', stored, { userId })
  else await events.emit(tx, 'payment_method.updated', stored, { previous, userId })
  return stored.id
}

/** Makes a payment method the default of its customer. Throws 404 unless the customer has it. */
export async function setDefaultPaymentMethod(
  tx: Transaction,
  events: Emitter,
  customerId: string,
  id: string,
): Promise<PaymentMethod> {
  const previous = await findPaymentMethod(tx, customerId, id)
  if (previous.is_default) return previous
  const chosen = await sql.choosePaymentMethod(tx, {
    customer_id: customerId,
    id,
    at: await paymentsNow(tx),
  })
  if (chosen === undefined) throw notFound('payment method', id)
  await events.emit(tx, 'payment_method.updated', chosen, { previous, userId: customerId })
  return chosen
}

/**
 * Deletes a payment method, also from the subscriptions that it paid. Throws 404 unless the customer has it.
 */
export async function deletePaymentMethod(
  tx: Transaction,
  events: Emitter,
  customerId: string,
  id: string,
): Promise<void> {
  const previous = await findPaymentMethod(tx, customerId, id)
  const deleted = await sql.deletePaymentMethod(tx, { customer_id: customerId, id })
  if (deleted === undefined) throw notFound('payment method', id)
  await sql.forgetCard(tx, { customer_id: customerId, ...deleted })
  await events.emit(tx, 'payment_method.deleted', previous, { userId: customerId })
}
