// Customers of the operator and of organizations. Only their sellers read them; a user's own sales name the
// customer.
import * as sql from '../../generated/sql/customers.ts'
import type { components } from '../../generated/types.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { conflict, notFound } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { isOperator } from '../users/authentication.ts'
import { requireSeller, type SellerRequest } from './sellers.ts'

export type Customer = components['schemas']['Customer']

/** Events of a customer of the operator belong to the customer alone, so that only sellers read them. */
export const readerOf = ({ id }: Customer): string => id

/**
 * Authorizes an operation on a customer, or on the customers of a seller. Throws 403, or `missing`: also for
 * a customer of the operator, whom others must not know.
 */
export async function authorizeCustomers(
  db: Db,
  request: SellerRequest,
  { id, organization_id: seller = null }: Partial<Pick<Customer, 'id' | 'organization_id'>>,
  missing: () => Error,
): Promise<void> {
  const isHidden = id !== undefined && seller === null && !isOperator(request.principal, 'payments:sell')
  if (isHidden) throw missing()
  await requireSeller(db, request, seller, missing)
}

/** The customer of any seller, without authorization. */
export async function findCustomer(db: Db, id: string): Promise<Customer | undefined> {
  return await sql.find(db, { id })
}

/** The customer, if the caller is the seller. Throws 404. */
export async function openCustomer(db: Db, request: SellerRequest, id: string): Promise<Customer> {
  const customer = await sql.find(db, { id })
  const missing = (): Error => notFound('customer', id)
  if (customer === undefined) throw missing()
  await authorizeCustomers(db, request, customer, missing)
  return customer
}

/** The customer of a user who buys, locked against deletion. The first sale makes it. */
export async function customerOfUser(tx: Transaction, events: Emitter, userId: string): Promise<string> {
  const { id, is_new: isNew } = await sql.customerOfUser(tx, { user_id: userId })
  if (isNew) {
    const customer = (await sql.find(tx, { id }))!
    await events.emit(tx, 'customer.created', customer, { userId: readerOf(customer) })
  }
  return id
}

/**
 * The user of a customer who buys. A customer without one is locked against deletion; `customerOfUser` locks
 * another after its user. Throws 404.
 */
export async function userOfCustomer(tx: Transaction, id: string): Promise<string | null> {
  const customer = await sql.find(tx, { id })
  if (customer?.user_id != null) return customer.user_id
  if (customer === undefined || (await sql.share(tx, { id })) === undefined) throw notFound('customer', id)
  return null
}

/** Locks a person who exists. Throws 404. */
export async function requireBuyer(tx: Transaction, id: string): Promise<void> {
  if ((await sql.lockBuyer(tx, { id })) === undefined) throw notFound('user', id)
}

/** Locks an organization of the platform that exists. Throws 404. */
export async function requireBuyingOrganization(tx: Transaction, id: string): Promise<void> {
  if ((await sql.lockBuyingOrganization(tx, { id })) === undefined) throw notFound('organization', id)
}

/** Throws 404 for an unknown id of the seller's own. */
export async function findByExternalId(db: Db, externalId: string, seller: string | null): Promise<Customer> {
  const customer = await sql.findByExternalId(db, { external_id: externalId, organization_id: seller })
  if (customer === undefined) throw notFound('customer', externalId)
  return customer
}

/**
 * Throws 409 for a locked customer with a running subscription or an open checkout session.
 * @param buyer who the customer is for the caller.
 */
export async function requireNothingOpen(
  tx: Transaction,
  { id }: Customer,
  buyer: 'customer' | 'organization' = 'customer',
): Promise<void> {
  const { subscription, checkout } = await sql.blockersOfDeletion(tx, { id })
  if (subscription)
    throw conflict('subscription', `A subscription of the ${buyer} has not ended. Cancel it first.`)
  if (checkout) throw conflict('open_checkout', `The ${buyer} has an open checkout session. Expire it first.`)
}

/**
 * Deletes the customer as which a locked organization buys. Throws 409 while it has a running subscription or
 * an open checkout session.
 */
export async function deleteCustomerOfOrganization(tx: Transaction, organizationId: string): Promise<void> {
  const customer = await sql.lockCustomerOfOrganization(tx, { buyer_organization_id: organizationId })
  if (customer === undefined) return
  await requireNothingOpen(tx, customer, 'organization')
  await sql.remove(tx, { id: customer.id })
}
