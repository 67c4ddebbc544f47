// The customers of the operator and of organizations.
import * as sql from '../generated/sql/customers.ts'
import { hasFields } from '../infra/contract/changes.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { invalidField, preconditionFailed } from '../infra/errors.ts'
import { newIdAt, timeOf } from '../infra/ids.ts'
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import {
  authorizeCustomers,
  findByExternalId,
  readerOf,
  requireBuyer,
  requireBuyingOrganization,
  requireNothingOpen,
} from '../services/payments/customers.ts'
import { requireSeller } from '../services/payments/sellers.ts'
import { resourceHandlers } from '../services/resources.ts'

const customers = resourceHandlers('Customer', sql, {
  now: paymentsNow,
  userOf: readerOf,
  authorize: authorizeCustomers,
  beforeDelete: requireNothingOpen,
})

/** The fields that an upsert without them clears. */
const cleared = { email: null, name: null, address: null, tax_ids: [], locale: null, metadata: {} }

export const paymentsCustomers = {
  ...customers,

  async createCustomer(request, services) {
    const { user_id: userId, buyer_organization_id: buyer, organization_id: seller } = request.body
    for (const field of ['user_id', 'buyer_organization_id'] as const)
      if (request.body[field] != null && seller != null)
        throw invalidField(field, 'exclusive', 'Customers of an organization are outside of the platform.')
    if (userId != null && buyer != null)
      throw invalidField('buyer_organization_id', 'exclusive', 'Name a user or an organization, not both.')
    return await services.db.transaction(async (tx) => {
      if (userId != null || buyer != null) await requireSeller(tx, request, null)
      if (userId != null) await requireBuyer(tx, userId)
      if (buyer != null) await requireBuyingOrganization(tx, buyer)
      return await customers.createCustomer(request, { ...services, db: tx })
    })
  },

  async getCustomerByExternalId(request, { db }) {
    const { params, query } = request
    const { organization_id: seller = null } = query
    await requireSeller(db, request, seller)
    return { status: 200, body: await findByExternalId(db, params.external_id, seller) }
  },

  async upsertCustomer(request, { db, events }) {
    const { params, query, headers, body, principal } = request
    const { organization_id: seller = null } = query
    return await db.transaction(async (tx) => {
      await requireSeller(tx, request, seller)
      const now = await paymentsNow(tx)
      const id = newIdAt('cus', now)
      const fields = { ...cleared, ...body }
      const found = await sql.upsert(tx, {
        ...fields,
        id,
        organization_id: seller,
        external_id: params.external_id,
        tax_ids: JSON.stringify(fields.tax_ids),
        created_by: principal.userId,
        created_at: timeOf(id),
      })
      if (found.id === id) {
        if (headers['if-match'] !== undefined) throw preconditionFailed()
        await events.emit(tx, 'customer.created', found, { userId: id })
        return { status: 201, body: found, headers: { location: `/v1/payments/customers/${id}` } }
      }
      request.ifMatch(found)
      if (hasFields(found, fields)) return { status: 200, body: found }
      const updated_at = timestampAfter(new Date(found.updated_at), now)
      const updated = await sql.update(tx, { ...found, ...fields, updated_at })
      await events.emit(tx, 'customer.updated', updated, { previous: found, userId: found.id })
      return { status: 200, body: updated }
    })
  },
} satisfies Handlers<'payments-customers'>
