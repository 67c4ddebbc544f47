// Handing out rights: a role, a custom role, an invitation, the key of a service account. The caller must
// have the right at that moment, in every area of every project. The functions `may_give` and
// `may_give_in_organization` of the database decide, here and again when an invitation is used.
import * as sql from '../../generated/sql/organizations.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { forbidden } from '../../infra/errors.ts'
import type { Role } from '../projects/projects.ts'
import type { Principal } from '../users/authentication.ts'
import type { OrganizationRole } from './access.ts'

type Giver = Pick<Principal, 'userId'>

/** The right that is handed out. */
export type Gift =
  /** A role in a project; with `customRoleId` that custom role. */
  | { projectId: string; role: Role; customRoleId?: string | null }
  | { organizationId: string; role: OrganizationRole }
  /** All that a delegate may do in its projects, or in those of `projectIds`: a key of a service account. */
  | { delegateId: string; projectIds: string[] | null }

/**
 * Throws 403 unless the caller may do all that is handed out. Call it in the transaction of the hand-over,
 * with the project or the organization locked.
 */
export async function requireMayGive(tx: Transaction, giver: Giver, gift: Gift): Promise<void> {
  if (await mayGive(tx, giver, gift)) return
  throw forbidden('Your role does not allow all that this would allow, so you cannot hand it out.', 'role')
}

async function mayGive(tx: Transaction, { userId }: Giver, gift: Gift): Promise<boolean> {
  if ('delegateId' in gift) {
    const { delegateId, projectIds } = gift
    const ids = { user_id: userId, delegate_id: delegateId, project_ids: projectIds }
    return (await sql.findUnheldMembership(tx, ids)) === undefined
  }
  if ('organizationId' in gift) {
    const { organizationId, role } = gift
    const given = { user_id: userId, organization_id: organizationId, role }
    return (await sql.mayGiveInOrganization(tx, given)).allowed
  }
  const { projectId, role, customRoleId = null } = gift
  const given = { user_id: userId, project_id: projectId, role, custom_role_id: customRoleId }
  return (await sql.mayGive(tx, given))?.allowed === true
}
