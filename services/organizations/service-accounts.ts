// Service accounts: users that are programs. Admins of the organization or the project manage them.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/organizations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Query } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { forbidden, notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { isForOperator, openProject } from '../projects/access.ts'
import type { Principal } from '../users/authentication.ts'
import { requiredRole, requireOrganizationRole } from './access.ts'

export type ServiceAccount = components['schemas']['ServiceAccount']

/** The organization or project of a service account. */
interface Place {
  organization_id?: string | null
  project_id?: string | null
}

/** The states of a project in which its service accounts can be read and deleted. */
const allowedStates: Record<string, string[] | undefined> = {
  GET: ['active', 'archived'],
  DELETE: ['active', 'archived', 'deleted'],
}

interface AccountRequest {
  operation: OperationInfo
  principal: Principal
}

/**
 * Throws 404 or 403 unless the caller has the role that `x-organization-access` of the operation declares, in
 * the organization, or in the project if it belongs to one. In a project of a person only its owners manage
 * service accounts, which use the limits of its main owner. Throws 409 for writes in a project that is
 * archived, except DELETE.
 * @param options.lock whether to lock the organization or the project until the transaction ends.
 * @returns whose limits its service accounts use.
 */
export async function requireAdminOf(
  db: Db,
  request: AccountRequest,
  { organization_id: organizationId, project_id: projectId }: Place,
  options: { lock?: boolean } = {},
): Promise<string> {
  const { operation, principal } = request
  if (organizationId != null) {
    await requireOrganizationRole(db, organizationId, principal, requiredRole(request), options)
    return organizationId
  }
  const states = allowedStates[operation.method] ?? ['active']
  const projectAccess = { ...operation.organizationAccess!, states }
  const params = { id: projectId! }
  const onProject = { ...request, operation: { ...operation, projectAccess }, principal, params }
  const project = await openProject(db, onProject, options)
  if (project.organization_id !== null) return project.organization_id
  if (project.your_role !== 'owner' && !isForOperator(request))
    throw forbidden('Only owners of a project of a person manage its service accounts.', 'role', project.id)
  return project.owner_id
}

/** All service accounts of an organization or a project. */
export async function allServiceAccountsOf(
  tx: Transaction,
  { organization_id: organizationId = null, project_id: projectId = null }: Place,
): Promise<sql.ListServiceAccountsToDeleteRow[]> {
  const place = { organization_id: organizationId, project_id: projectId }
  return await sql.listServiceAccountsToDelete(tx, place)
}

/** A page of the service accounts of which the caller is an admin. */
export async function listServiceAccounts(
  db: Db,
  { userId }: Principal,
  query: Query<'listServiceAccounts'>,
): Promise<Page<ServiceAccount>> {
  return await sql.listServiceAccounts(db, { user_id: userId, ...query })
}

/**
 * The service account of the request, for an admin of what it belongs to.
 * @param options.lock whether to lock it, and its project, until the transaction ends.
 * @throws 404, 403 or 409.
 */
export async function openServiceAccount(
  db: Db,
  request: AccountRequest & { params: { id: string } },
  { lock = false } = {},
): Promise<ServiceAccount> {
  const { id } = request.params
  const row = await sql.findServiceAccount(db, { id })
  if (row === undefined) throw notFound('service account', id)
  await requireAdminOf(db, request, row, { lock })
  if (!lock) return row
  const locked = await sql.lockServiceAccount(db, { id })
  if (locked === undefined) throw notFound('service account', id)
  return locked
}

/** The service account that a user is; null for a person. */
export async function serviceAccountOf(db: Db, userId: string): Promise<ServiceAccount | null> {
  return (await sql.serviceAccountOfUser(db, { user_id: userId })) ?? null
}

/** Ends the service accounts of a project that is purged. */
export async function endServiceAccountsOf(tx: Transaction, projectId: string): Promise<void> {
  await sql.endServiceAccountsOfProject(tx, { project_id: projectId })
}

/** Marks a locked service account as deleted, whose user is deleted. */
export async function endServiceAccount(tx: Transaction, id: string): Promise<void> {
  await sql.deleteServiceAccount(tx, { id })
}

/** Inserts a service account with its user, which has an address that receives no e-mail (RFC 6761). */
export async function insertServiceAccount(
  tx: Transaction,
  { name, organization_id, project_id, metadata = {} }: components['schemas']['ServiceAccountCreate'],
  { accountId, createdById }: { accountId: string; createdById: string },
): Promise<ServiceAccount> {
  const id = newId('svc')
  return await sql.insertServiceAccount(tx, {
    id,
    user_id: newId('usr'),
    email: `${id}@service-accounts.invalid`,
    name,
    organization_id: organization_id ?? null,
    project_id: project_id ?? null,
    account_id: accountId,
    metadata,
    created_by: createdById,
    created_at: timeOf(id),
  })
}

export async function updateServiceAccount(
  tx: Transaction,
  previous: ServiceAccount,
  changes: Partial<ServiceAccount>,
): Promise<ServiceAccount> {
  return await sql.updateServiceAccount(tx, { ...previous, ...changes })
}
