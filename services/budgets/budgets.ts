// Budgets: who may read and change them, and the notification of thresholds. The functions `reserve_budgets`
// and `count_budgets` of the database enforce and count them, in the statements that work with models has
// anyway.
import * as sql from '../../generated/sql/budgets.ts'
import { isInKeyFamily } from '../../generated/sql/users.ts'
import type { components } from '../../generated/types.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { ApiError, forbidden, invalidField, limitReached, notFound } from '../../infra/errors.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import type { Emitter } from '../events/emit.ts'
import { alertUser, type MailServices } from '../mail/mails.ts'
import { findOrganization } from '../organizations/access.ts'
import { findProject } from '../projects/access.ts'
import { findOwnApiKey } from '../users/api-keys.ts'
import { mayActAsOperator, type Principal } from '../users/authentication.ts'
import type { Scope } from '../users/scopes.ts'

export type Budget = components['schemas']['Budget']

const subjectTypes = {
  usr: 'user',
  cus: 'customer',
  key: 'key',
  prj: 'project',
  org: 'organization',
} as const

/** What an id is the id of. */
export function subjectTypeOf(id: string): Budget['subject_type'] {
  return subjectTypes[id.split('_')[0] as keyof typeof subjectTypes]
}

/** Events of a budget belong to its creator. Service accounts and users who are deleted read none. */
export const readerOf = ({ id, created_by: creator }: Budget): string => creator ?? id

interface BudgetRequest {
  operation: Pick<OperationInfo, 'method'>
  principal: Principal
}

/**
 * Authorizes an operation on the budgets of a subject. Throws `missing` for who must not know of the subject
 * or its budgets, and 403 for members without the role.
 */
export async function authorizeBudgets(
  db: Db,
  request: BudgetRequest,
  { subject_id: id }: { subject_id?: string },
  missing: () => Error,
): Promise<void> {
  if (id === undefined) return
  const { operation, principal } = request
  const reads = operation.method === 'GET'
  switch (subjectTypeOf(id)) {
    case 'user':
    case 'customer': {
      const isOwn = reads && id === principal.userId && principal.projectIds === null
      if (!isOwn && !mayActAsOperator(principal, 'payments:sell')) throw missing()
      return
    }
    case 'key':
      await authorizeKey(db, principal, id, reads, missing)
      return
    case 'project':
      await authorizeProject(db, principal, id, reads, missing)
      return
    case 'organization':
      await authorizeOrganization(db, principal, id, reads, missing)
  }
}

/** The key itself reads its budget, and cannot lift it. Neither can the keys that its budget counts. */
async function authorizeKey(
  db: Db,
  principal: Principal,
  id: string,
  reads: boolean,
  missing: () => Error,
): Promise<void> {
  await findOwnApiKey(db, id, principal).catch((error: unknown) => {
    throw error instanceof ApiError && error.status < 500 ? missing() : error
  })
  if (reads) return
  const isCounted = (await isInKeyFamily(db, { id: principal.credentialId, family_of: id })) !== undefined
  if (isCounted || principal.projectIds !== null)
    throw forbidden('An API key cannot change its own budget.', 'scope')
}

async function authorizeProject(
  db: Db,
  principal: Principal,
  id: string,
  reads: boolean,
  missing: () => Error,
): Promise<void> {
  const scope = reads ? 'projects:read' : 'projects:write'
  const project = await findProject(db, { id, user_id: principal.userId, scope }, { lock: !reads })
  const isReachable = principal.projectIds === null || principal.projectIds.has(id)
  if (project === undefined || project.status === 'deleted' || project.your_role === null || !isReachable)
    throw missing()
  requireScope(principal, scope)
  requireAdmin(project.your_role)
}

async function authorizeOrganization(
  db: Db,
  principal: Principal,
  id: string,
  reads: boolean,
  missing: () => Error,
): Promise<void> {
  const found = await findOrganization(db, { id, user_id: principal.userId }, reads ? null : 'share')
  const role = found?.your_membership?.role
  if (role === undefined || principal.projectIds !== null) throw missing()
  requireScope(principal, reads ? 'organizations:read' : 'organizations:write')
  requireAdmin(role)
}

function requireScope({ scopes }: Principal, scope: Scope): void {
  if (!scopes.has(scope)) throw forbidden(`This operation requires the scope ${scope}.`, 'scope')
}

function requireAdmin(role: string): void {
  if (role !== 'admin' && role !== 'owner')
    throw forbidden(`This operation requires the role admin; your role is ${role}.`, 'role')
}

/** The first instant of a budget. Throws 400 for one that is not in the last ten years. */
export async function startOf(
  db: Db,
  { starts_at: asked, period }: components['schemas']['BudgetCreate'],
): Promise<string> {
  if (asked == null) return (await sql.defaultStart(db, { period })).starts_at
  const age = Date.now() - Date.parse(asked)
  const tenYears = 3653 * 86_400_000
  if (age < 0 || age > tenYears)
    throw invalidField('starts_at', 'range', 'The first period must start in the last ten years.')
  return asked
}

/** Throws 400 for an amount of 0. */
export function requireAmount(amount: string | undefined): void {
  if (amount !== undefined && Number(amount) === 0)
    throw invalidField('amount', 'exclusiveMinimum', 'The amount must be more than 0.')
}

/** Throws 404 for a user or a customer who does not exist, or has no account. */
export async function requireSubject(db: Db, id: string): Promise<void> {
  const type = subjectTypeOf(id)
  if (type !== 'user' && type !== 'customer') return
  if ((await sql.findSubject(db, { id })) === undefined) throw notFound(type, id)
}

/** Each start of work with a model looks at all budgets of its subjects. */
const maxBudgets = 10

/** Throws 403 for a subject that has ten budgets. Others wait until the transaction ends. */
export async function requireRoom(tx: Transaction, subjectId: string): Promise<void> {
  await sql.lockSubject(tx, { subject_id: subjectId })
  const { count } = await sql.countOfSubject(tx, { subject_id: subjectId })
  if (count >= maxBudgets)
    throw limitReached('FORBIDDEN', 'budgets', `${subjectId} has ${maxBudgets} budgets. Delete one.`, {
      name: 'budgets',
      limit: maxBudgets,
      used: count,
      resets_at: null,
    })
}

const batchSize = 100
const deletedPerStep = 1_000

/** Deletes budgets of deleted subjects, and periods that ended long ago. */
export function budgetRetentionTasks(): RetentionTask[] {
  return [
    { name: 'budgets of deleted subjects', step: deleteBatch(sql.deleteWithoutSubject, deletedPerStep) },
    { name: 'old periods of budgets', step: deleteBatch(sql.deleteOldPeriods, deletedPerStep) },
  ]
}

/** Notifies of thresholds that were reached: one event and one e-mail for each, in one transaction. */
export function budgetTasks(services: { events: Emitter } & MailServices): RetentionTask[] {
  return [
    {
      name: 'thresholds of budgets',
      async step(db) {
        const removed = await db.transaction(async (tx) => {
          const due = await sql.listDue(tx, { limit: batchSize })
          for (const { budget_id: id, since, passed } of due) {
            const budget = (await sql.find(tx, { id }))!
            for (const threshold of passed) {
              const object = { id, budget, threshold, period_start: since }
              await services.events.emit(tx, 'budget.threshold_reached', object, { userId: readerOf(budget) })
              if (budget.created_by !== null)
                await alertUser(tx, services, 'budget_threshold_reached', budget.created_by, {
                  detail: `${id}: ${threshold} %`,
                  dedupeKey: `budget ${id} ${since} ${threshold}`,
                })
            }
            await sql.setNotified(tx, { budget_id: id, since, passed })
          }
          return due.length
        })
        return { removed, more: removed === batchSize }
      },
    },
  ]
}
