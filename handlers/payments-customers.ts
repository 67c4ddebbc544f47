// The customers of the operator.
import * as sql from '../generated/sql/customers.ts'
import { hasFields } from '../infra/contract/changes.ts'
import { timestampAfter } from '../infra/database/timestamps.ts'
import { preconditionFailed } from '../infra/errors.ts'
import { newIdAt, timeOf } from '../infra/ids.ts'
import type { Handlers } from '../services/handler.ts'
import { paymentsNow } from '../services/payments/clock.ts'
import {
  findByExternalId,
  readerOf,
  requireBuyer,
  requireNothingOpen,
} from '../services/payments/customers.ts'
import { resourceHandlers } from '../services/resources.ts'

const customers = resourceHandlers('Customer', sql, {
  now: paymentsNow,
  userOf: readerOf,
  beforeDelete: requireNothingOpen,
})

/** The fields that an upsert without them clears. */
const cleared = { email: null, name: null, address: null, tax_ids: [], locale: null, metadata: {} }

export const paymentsCustomers = {
  ...customers,

  async createCustomer(request, services) {
    const { user_id: userId } = request.body
    return await services.db.transaction(async (tx) => {
      if (userId != null) await requireBuyer(tx, userId)
      return await customers.createCustomer(request, { ...services, db: tx })
    })
  },

  async getCustomerByExternalId({ params }, { db }) {
    return { status: 200, body: await findByExternalId(db, params.external_id) }
  },

  async upsertCustomer(request, { db, events }) {
    const { params, headers, body, principal } = request
    return await db.transaction(async (tx) => {
      const now = await paymentsNow(tx)
      const id = newIdAt('cus', now)
      const fields = { ...cleared, ...body }
      const found = await sql.upsert(tx, {
        ...fields,
        id,
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
