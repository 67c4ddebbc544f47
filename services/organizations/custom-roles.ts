// Custom roles: what an organization allows members of its projects in each area. In the database an area has
// the built-in role that allows the same.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/organizations.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db } from '../../infra/database/database.ts'
import { isUniqueViolation } from '../../infra/database/errors.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { conflict, notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Role } from '../projects/projects.ts'

export type CustomRole = components['schemas']['CustomRole']
type Permissions = CustomRole['permissions']

const roles = { none: null, read: 'viewer', write: 'editor', admin: 'admin' } as const

/** The columns of permissions. */
function columnsOf({ projects, storage, ai, payments }: Permissions) {
  return {
    projects: roles[projects] satisfies Role,
    storage: roles[storage],
    ai: roles[ai],
    payments: roles[payments],
  }
}

export async function listCustomRoles(
  db: Db,
  organizationId: string,
  query: ListQuery<'listCustomRoles'>,
): Promise<Page<CustomRole>> {
  return await sql.listCustomRoles(db, { organization_id: organizationId, ...query })
}

/** A custom role. Throws 404 for a role of another organization, too. */
export async function findCustomRole(db: Db, organizationId: string, id: string): Promise<CustomRole> {
  const row = await sql.findCustomRole(db, { id, organization_id: organizationId })
  if (row === undefined) throw notFound('custom role', id)
  return row
}

/** Inserts a custom role. Throws 409 `name_taken`. */
export async function insertCustomRole(
  tx: Db,
  organizationId: string,
  createdById: string,
  { name, description = null, permissions }: components['schemas']['CustomRoleCreate'],
): Promise<CustomRole> {
  const id = newId('rol')
  return await orNameTaken(
    sql.insertCustomRole(tx, {
      id,
      organization_id: organizationId,
      name,
      description,
      ...columnsOf(permissions),
      created_by: createdById,
      created_at: timeOf(id),
    }),
  )
}

/** Updates a custom role of a locked organization, and what its members may do. Throws 409 `name_taken`. */
export async function updateCustomRole(
  tx: Db,
  previous: CustomRole,
  changes: Partial<CustomRole>,
): Promise<CustomRole> {
  const { permissions, ...fields } = { ...previous, ...changes }
  // Members of the projects get and lose the role.
  await sql.lockProjectsOfOrganization(tx, { organization_id: previous.organization_id })
  return await orNameTaken(sql.updateCustomRole(tx, { ...fields, ...columnsOf(permissions) }))
}

/** Deletes a custom role. Throws 409 `role_in_use` when a member has it. */
export async function deleteCustomRole(tx: Db, { id, organization_id }: CustomRole): Promise<void> {
  await sql.lockProjectsOfOrganization(tx, { organization_id })
  if ((await sql.isAssigned(tx, { id })) !== undefined)
    throw conflict('role_in_use', 'A member has this role. Give the members another role first.')
  await sql.deleteCustomRole(tx, { id })
}

async function orNameTaken<T>(written: Promise<T>): Promise<T> {
  return await written.catch((error: unknown) => {
    throw isUniqueViolation(error)
      ? conflict('name_taken', 'Another custom role of the organization has this name.', 'name')
      : error
  })
}
