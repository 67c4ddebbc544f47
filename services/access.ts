// Opens what a request is about: a project, an organization, a service account, or a resource in a workspace.
// The access that the operation declares decides. Handlers call the function of their domain; `explain` and
// replayed answers call `open`, which picks it.
import * as sql from '../generated/sql/access.ts'
import type { OperationInfo } from '../infra/contract/operation.ts'
import type { Transaction } from '../infra/database/database.ts'
import { ApiError, forbidden, notFound } from '../infra/errors.ts'
import { openOrganization } from './organizations/access.ts'
import { openServiceAccount } from './organizations/service-accounts.ts'
import { openCustomer } from './payments/customers.ts'
import { openFeature } from './payments/entitlements.ts'
import { requireSaleAccess } from './payments/sales.ts'
import { requireSeller } from './payments/sellers.ts'
import { openMeter } from './payments/usage/meters.ts'
import { openProject } from './projects/access.ts'
import { openFile } from './storage/files.ts'
import { openFolder, openPlace } from './storage/folders.ts'
import { accessOf, openUpload } from './storage/uploads/uploads.ts'
import { requireRecentSignIn } from './users/api-keys.ts'
import type { Principal } from './users/authentication.ts'

interface AccessRequest {
  operation: OperationInfo
  principal: Principal
  params: { id: string }
}

/** Throws 404, 403 or 409 unless the caller may perform the operation on what the id names. */
export async function open(tx: Transaction, request: AccessRequest): Promise<void> {
  const { operation, principal, params } = request
  const { id } = params
  if (operation.organizationAccess !== undefined)
    await (id.startsWith('svc_') ? openServiceAccount : openOrganization)(tx, request)
  else if (operation.organizationSellers === true) await openSold(tx, request)
  else if (id.startsWith('prj_')) await openProject(tx, request)
  else if (id.startsWith('upl_')) await openUpload(tx, accessOf(request, id))
  else if (operation.projectAccess?.shares === true)
    await (id.startsWith('fld_') ? openFolder : openFile)(tx, request)
  else {
    const found = await sql.findResource(tx, { id, user_id: principal.userId })
    await requireSaleAccess(tx, found, request, { name: found?.name ?? 'resource', id })
  }
}

/** Throws 404 or 403 unless the caller sells what the id names. */
async function openSold(tx: Transaction, request: AccessRequest): Promise<void> {
  const { id } = request.params
  if (id.startsWith('cus_')) {
    await openCustomer(tx, request, id)
    return
  }
  if (id.startsWith('mtr_')) {
    await openMeter(tx, request, id)
    return
  }
  if (id.startsWith('feat_')) {
    await openFeature(tx, request, id)
    return
  }
  const found = await sql.findSeller(tx, { id })
  const missing = (): Error => notFound('resource', id)
  if (found === undefined) throw missing()
  await requireSeller(tx, request, found.organization_id, missing)
}

/** A request that is repeated with its Idempotency-Key. */
interface RepeatedRequest {
  operation: OperationInfo
  principal: Principal
  params: { id?: string }
}

/** The body of a stored answer, and the credential that received it. */
interface StoredAnswer {
  body: {
    id?: string
    project_id?: string | null
    folder_id?: string | null
    parent_id?: string | null
    organization_id?: string | null
    seller_organization_id?: string | null
  } | null
  credentialId: string
  scopes: string[]
  projectIds: string[] | null
}

/**
 * Throws 403, 404 or 409 unless the caller may get the stored answer now. The scopes of the operation are
 * already checked. The caller needs the role of the operation, which may be lost since. Another credential
 * needs the projects of the one that received an answer outside of all projects, and for a secret also its
 * scopes.
 */
export async function authorizeReplay(
  tx: Transaction,
  request: RepeatedRequest,
  stored: StoredAnswer,
): Promise<void> {
  const { operation, principal } = request
  const subjects = subjectsOf(request, stored.body ?? {})
  for (const subject of subjects) await openSubject(tx, subject, stored.body)
  await requireSameSeller(tx, request, stored.body)
  if (stored.credentialId === principal.credentialId) return
  const { secretAnswer } = operation
  if (secretAnswer) await requireUnlimited(tx, principal)
  const lacksScopes = secretAnswer && !stored.scopes.every((scope) => principal.scopes.has(scope))
  if (lacksScopes || ((subjects.length === 0 || secretAnswer) && !hasProjects(principal, stored)))
    throw forbidden('This Idempotency-Key was used by an API key with more permissions.', 'scope')
}

/** What was created in a shared folder does not need the role in its project. */
async function openSubject(
  tx: Transaction,
  subject: AccessRequest,
  body: StoredAnswer['body'],
): Promise<void> {
  try {
    await open(tx, subject)
  } catch (error) {
    const folderId = body?.folder_id ?? body?.parent_id
    const { projectAccess } = subject.operation
    if (!(error instanceof ApiError && error.status === 403)) throw error
    if (projectAccess?.shares !== true || folderId == null) throw error
    await openPlace(tx, subject, { folderId })
  }
}

/** Requires that the caller sells for the seller of a stored answer: an admin may have lost the role. */
async function requireSameSeller(
  tx: Transaction,
  request: RepeatedRequest,
  body: StoredAnswer['body'],
): Promise<void> {
  if (body === null) return
  const { organizationSellers = false } = request.operation
  const { organization_id: owner = null, seller_organization_id: seller = null } = body
  if (organizationSellers) await requireSeller(tx, request, seller ?? owner)
  else if (seller !== null) await requireSeller(tx, request, seller)
}

/**
 * The subjects of a stored answer; none outside of all projects and organizations. The status of a project
 * may have changed since, also by the request itself.
 */
function subjectsOf(
  { operation, principal, params: { id } }: RepeatedRequest,
  body: NonNullable<StoredAnswer['body']>,
): AccessRequest[] {
  if (operation.organizationAccess !== undefined)
    return [{ operation, principal, params: { id: id ?? body.id! } }]
  const { projectAccess } = operation
  const named = projectAccess === null ? null : id?.startsWith('prj_') === true ? id : body.project_id
  // The operation declares no role for a new project. One of an organization may be lost to its creator.
  const created = body.organization_id != null && body.id?.startsWith('prj_') === true ? body.id : null
  return [...new Set([named, created])]
    .filter((projectId) => projectId != null)
    .map((projectId) => {
      const declared = projectId === named ? projectAccess : null
      const access = { role: 'viewer', ...declared, states: ['active', 'archived', 'deleted'] }
      return { operation: { ...operation, projectAccess: access }, principal, params: { id: projectId } }
    })
}

/**
 * A secret may be that of a key without expiry, for all addresses. Throws 403 for another credential that
 * could not create such a key now.
 */
async function requireUnlimited(tx: Transaction, principal: Principal): Promise<void> {
  await requireRecentSignIn(tx, principal)
  if (principal.expiresAt !== null || principal.networks !== null)
    throw forbidden('This Idempotency-Key was used by another API key, and this one is limited.', 'scope')
}

/** Whether the key may use all projects of the key that received the answer. */
function hasProjects({ projectIds: own }: Principal, { projectIds }: StoredAnswer): boolean {
  return own === null || (projectIds !== null && projectIds.every((id) => own.has(id)))
}
