// Budgets for work with models.
import * as sql from '../generated/sql/budgets.ts'
import type { Handlers } from '../services/handler.ts'
import {
  authorizeBudgets,
  readerOf,
  requireAmount,
  requireRoom,
  requireSubject,
  startOf,
  subjectTypeOf,
} from '../services/budgets/budgets.ts'
import type { ListQuery } from '../infra/contract/query.ts'
import { notFound } from '../infra/errors.ts'
import { resourceHandlers } from '../services/resources.ts'
import type { Principal } from '../services/users/authentication.ts'

const handlers = resourceHandlers('Budget', sql, { userOf: readerOf, authorize: authorizeBudgets })

/** The budgets of the caller's keys; a key that is limited to projects lists only its own. */
function ofOwnKeys(
  { userId, credentialId, projectIds }: Principal,
  { created_by: creator = userId, subject_type: type = 'key', ...query }: ListQuery<'listBudgets'>,
): ListQuery<'listBudgets'> {
  const isPossible = creator === userId && type === 'key'
  const subject_id = isPossible ? (projectIds === null ? undefined : credentialId) : ''
  return { ...query, subject_type: 'key', created_by: userId, subject_id }
}

export const budgets = {
  ...handlers,

  async listBudgets(request, services) {
    const { query, principal } = request
    const { subject_id: id } = query
    if (id === undefined)
      return await handlers.listBudgets({ ...request, query: ofOwnKeys(principal, query) }, services)
    await authorizeBudgets(services.db, request, { subject_id: id }, () => notFound(subjectTypeOf(id), id))
    return await handlers.listBudgets(request, services)
  },

  async createBudget(request, services) {
    const { body } = request
    const id = body.subject_id
    requireAmount(body.amount)
    return await services.db.transaction(async (tx) => {
      const subject_type = subjectTypeOf(id)
      await authorizeBudgets(tx, request, { subject_id: id }, () => notFound(subject_type, id))
      await requireSubject(tx, id)
      await requireRoom(tx, id)
      const created = { ...body, subject_type, starts_at: await startOf(tx, body) }
      return await handlers.createBudget({ ...request, body: created }, { ...services, db: tx })
    })
  },

  async updateBudget(request, services) {
    requireAmount(request.body.amount)
    return await services.db.transaction(async (tx) => {
      const reply = await handlers.updateBudget(request, { ...services, db: tx })
      await sql.setDue(tx, { id: request.params.id })
      return reply
    })
  },
} satisfies Handlers<'budgets'>
