// Who sells: the operator of the platform, or an organization, for which its admins act. The operator is no
// party of what an organization sells.
import * as sql from '../../generated/sql/organizations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import { forbidden, notFound } from '../../infra/errors.ts'
import { findOrganization } from '../organizations/access.ts'
import { isOperator, type Principal } from '../users/authentication.ts'

export interface SellerRequest {
  operation: Pick<OperationInfo, 'method'>
  principal: Principal
}

/**
 * Requires that the caller may act for the seller: an organization, or null for the operator. Until a
 * transaction that writes ends, the members of the organization do not change.
 * @param missing the error for everyone who is not an admin of the organization, with a key that has the
 * scope and is not limited to projects. Service accounts sell for the operator only.
 * @throws 403 for the operator's, and `missing` for an organization's.
 */
export async function requireSeller(
  db: Db,
  { operation, principal }: SellerRequest,
  organizationId: string | null,
  missing: () => Error = () => notFound('organization', organizationId!),
): Promise<void> {
  if (organizationId === null) {
    if (!isOperator(principal, 'payments:sell'))
      throw forbidden('Only operators sell for the platform. Name an organization.', 'scope')
    return
  }
  const { scopes, projectIds, serviceAccountId, userId } = principal
  if (!scopes.has('payments:sell') || projectIds !== null || serviceAccountId !== null) throw missing()
  const lock = operation.method === 'GET' ? null : 'share'
  const found = await findOrganization(db, { id: organizationId, user_id: userId }, lock)
  const role = found?.your_membership?.role
  if (role !== 'admin' && role !== 'owner') throw missing()
}

/** The name that customers see: that of the organization that sells, or of the operator. */
export async function sellerName(
  db: Db,
  organizationId: string | null | undefined,
  operator: string,
): Promise<string> {
  if (organizationId == null) return operator
  return (await sql.findOrganization(db, { id: organizationId, user_id: '' }))?.name ?? 'A former seller'
}
