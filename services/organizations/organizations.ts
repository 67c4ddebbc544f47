// Organizations: lists, creation, changes and deletion.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/organizations.ts'
import { leaveOrganization } from '../projects/projects.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { conflict, notFound } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Principal } from '../users/authentication.ts'
import type { Organization } from './access.ts'

export async function listOrganizations(
  db: Db,
  { userId }: Principal,
  query: ListQuery<'listOrganizations'>,
): Promise<Page<Organization>> {
  return await sql.listOrganizations(db, { user_id: userId, ...query })
}

/** Inserts an organization with its owner, in one statement. */
export async function insertOrganization(
  tx: Transaction,
  ownerId: string,
  { name, description = null, metadata = {} }: components['schemas']['OrganizationCreate'],
): Promise<Organization> {
  const id = newId('org')
  return await sql.insertOrganization(tx, {
    id,
    name,
    description,
    metadata,
    user_id: ownerId,
    member_id: newId('omb'),
    created_at: timeOf(id),
  })
}

/** Updates a locked organization. */
export async function updateOrganization(
  tx: Transaction,
  previous: Organization,
  changes: Partial<Organization>,
): Promise<Organization> {
  const { your_membership } = previous
  return { ...(await sql.updateOrganization(tx, { ...previous, ...changes })), your_membership }
}

/** Throws 409 `has_projects` while projects that are not deleted belong to the locked organization. */
export async function requireNoProjects(tx: Transaction, organizationId: string): Promise<void> {
  const found = await sql.findProjectOfOrganization(tx, { organization_id: organizationId })
  if (found !== undefined)
    throw conflict('has_projects', 'Projects belong to the organization. Transfer or delete them first.')
}

/**
 * Ends the sales of a locked organization: archives its products and deletes its customers. Throws 409 while
 * one of them has a subscription that runs or an open checkout session.
 */
export async function endSales(tx: Transaction, { id }: Organization): Promise<void> {
  const { subscription, checkout } = await sql.blockersOfSales(tx, { id })
  if (subscription)
    throw conflict('subscription', 'A customer of the organization has a subscription. Cancel it first.')
  if (checkout)
    throw conflict('open_checkout', 'A customer of the organization has an open checkout. Expire it first.')
  await sql.closeShop(tx, { id })
}

/**
 * Gives an organization limits of use (requests, tokens) of its own, or lets it share those of an owner,
 * which is the default: otherwise a user could multiply them by making organizations.
 * @returns the id of the owner; null for limits of its own. @throws 404.
 */
export async function setLimits(db: Db, id: string, limits: 'own' | 'shared'): Promise<string | null> {
  return await db.transaction(async (tx) => {
    await sql.lockOrganization(tx, { id })
    const row = await sql.setLimits(tx, { id, own: limits === 'own' })
    if (row === undefined) throw notFound('organization', id)
    return row.limits_of
  })
}

/** The owners of an organization. */
export async function ownersOf(tx: Transaction, organizationId: string): Promise<string[]> {
  const rows = await sql.listOwners(tx, { organization_id: organizationId })
  return rows.map(({ user_id }) => user_id)
}

/**
 * Deletes a locked organization without projects. Deleted projects go back to their own owners, or else to
 * the user who deletes it.
 */
export async function deleteOrganization(
  tx: Transaction,
  { id }: Organization,
  userId: string,
): Promise<void> {
  for (const project of await sql.lockProjectsOfOrganization(tx, { organization_id: id }))
    await leaveOrganization(tx, project.id, userId)
  await tx.prisma.organization.delete({ where: { id }, select: { id: true } })
}
