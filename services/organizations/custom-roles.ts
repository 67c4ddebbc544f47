// Custom roles: what their default handlers do not check. Every change locks the organization's row.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/organizations.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { conflict } from '../../infra/errors.ts'

export type CustomRole = components['schemas']['CustomRole']

/** Locks the projects of the organization, whose members get and lose the role. */
export async function lockProjects(tx: Transaction, { organization_id }: CustomRole): Promise<void> {
  await sql.lockProjectsOfOrganization(tx, { organization_id })
}

/** Throws 409 `role_in_use` when a member has the role. */
export async function requireUnassigned(tx: Transaction, role: CustomRole): Promise<void> {
  await lockProjects(tx, role)
  if ((await sql.isAssigned(tx, { id: role.id })) !== undefined)
    throw conflict('role_in_use', 'A member has this role. Give the members another role first.')
}
