// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Makes the invited user a member.
 * @see prisma/sql/organizations/accept-organization-invitation.sql
 */
export const acceptOrganizationInvitation = one<{ user_id: string; id: string; origin: string }, AcceptOrganizationInvitationRow>(
  'organizations/accept-organization-invitation',
  `WITH m AS (
  UPDATE organization_members SET user_id = $1, email = NULL, status = 'active', expires_at = NULL,
    accepts_limits = (role = 'owner')
  WHERE id = $2 RETURNING *
)
SELECT m.id, m.organization_id, o.name AS organization_name, m.user_id, m.email, m.role,
CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END AS status, m.created_by, m.created_at, m.updated_at, m.expires_at,
CASE WHEN m.status = 'active' THEN jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $3 || u.avatar_url
) END AS "user" FROM m JOIN organizations o ON o.id = m.organization_id
LEFT JOIN users u ON u.id = m.user_id`,
  ['user_id', 'id', 'origin'],
)
export interface AcceptOrganizationInvitationRow {
  id: string
  organization_id: string
  organization_name: string
  user_id: string | null
  email: string | null
  role: 'owner' | 'admin' | 'member'
  status: Schemas['OrganizationMember']['status']
  created_by: string | null
  created_at: string
  updated_at: string
  expires_at: string | null
  user: Schemas['OrganizationMember']['user'] | null
}

/**
 * Whether an organization that sells has a subscription that has not ended, or an open checkout session.
 * @see prisma/sql/organizations/blockers-of-sales.sql
 */
export const blockersOfSales = one<{ id: string }, BlockersOfSalesRow>(
  'organizations/blockers-of-sales',
  `SELECT EXISTS (SELECT FROM subscriptions s WHERE s.seller_organization_id = $1 AND s.status <> 'canceled')
    AS "subscription",
  EXISTS (SELECT FROM checkouts c WHERE c.seller_organization_id = $1 AND c.status = 'open') AS "checkout"`,
  ['id'],
  { reads: true },
)
export interface BlockersOfSalesRow {
  subscription: boolean
  checkout: boolean
}

/**
 * Archives the products and meters of an organization, and removes the personal data of its customers and the
 * e-mails to them. The rows stay for the orders.
 * @see prisma/sql/organizations/close-shop.sql
 */
export const closeShop = none<{ id: string }>(
  'organizations/close-shop',
  `WITH archived AS (
  UPDATE products SET active = false, updated_at = now() WHERE organization_id = $1 AND active
), archived_meters AS (
  UPDATE meters SET active = false, updated_at = now() WHERE organization_id = $1 AND active
), mails_to_customers AS (
  DELETE FROM mails m USING customers t WHERE t.organization_id = $1 AND m.recipient = t.email
    AND m.user_id IS NULL AND m.kind IN ('receipt', 'refund_receipt')
)
UPDATE customers t SET user_id = NULL, external_id = NULL, email = NULL, name = NULL, address = NULL, tax_ids = '[]', locale = NULL,
metadata = '{}', deleted_at = now() WHERE t.organization_id = $1 AND t.deleted_at IS NULL`,
  ['id'],
)

/**
 * Deletes the pending invitations that a user made to an organization; with `:of_owners` only those of
 * owners.
 * @see prisma/sql/organizations/delete-invitations-of-member.sql
 */
export const deleteInvitationsOfMember = none<{ organization_id: string; user_id: string; of_owners: boolean }>(
  'organizations/delete-invitations-of-member',
  `DELETE FROM organization_members
WHERE organization_id = $1 AND created_by = $2 AND status = 'invited'
  AND (role = 'owner' OR NOT $3)`,
  ['organization_id', 'user_id', 'of_owners'],
)

/**
 * Deletes the memberships of a user in organizations, and the invitations that the user got or made. Returns
 * the memberships.
 * @see prisma/sql/organizations/delete-memberships-of-user.sql
 */
export const deleteMembershipsOfUser = many<{ user_id: string; email: string; origin: string }, DeleteMembershipsOfUserRow>(
  'organizations/delete-memberships-of-user',
  `WITH deleted AS (
  DELETE FROM organization_members
  WHERE user_id = $1 OR email = $2 OR (created_by = $1 AND status = 'invited')
  RETURNING *
)
SELECT m.id, m.organization_id, o.name AS organization_name, m.user_id, m.email, m.role,
CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END AS status, m.created_by, m.created_at, m.updated_at, m.expires_at,
CASE WHEN m.status = 'active' THEN jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $3 || u.avatar_url
) END AS "user" FROM deleted m JOIN organizations o ON o.id = m.organization_id
LEFT JOIN users u ON u.id = m.user_id
WHERE m.user_id = $1 AND m.status = 'active' ORDER BY m.organization_id`,
  ['user_id', 'email', 'origin'],
)
export interface DeleteMembershipsOfUserRow {
  id: string
  organization_id: string
  organization_name: string
  user_id: string
  email: string | null
  role: 'owner' | 'admin' | 'member'
  status: Schemas['OrganizationMember']['status']
  created_by: string | null
  created_at: string
  updated_at: string
  expires_at: string | null
  user: Schemas['OrganizationMember']['user'] | null
}

/**
 * Marks a service account as deleted.
 * @see prisma/sql/organizations/delete-service-account.sql
 */
export const deleteServiceAccount = none<{ id: string }>(
  'organizations/delete-service-account',
  `UPDATE service_accounts SET deleted_at = now() WHERE id = $1`,
  ['id'],
)

/**
 * Deletes the keys and webhook endpoints of the service accounts of a project, and their users, whose name
 * stays.
 * @see prisma/sql/organizations/end-service-accounts-of-project.sql
 */
export const endServiceAccountsOfProject = none<{ project_id: string }>(
  'organizations/end-service-accounts-of-project',
  `WITH ended AS (
  UPDATE service_accounts SET deleted_at = now() WHERE project_id = $1 AND deleted_at IS NULL
  RETURNING user_id
), keys AS (
  DELETE FROM api_keys WHERE user_id IN (SELECT user_id FROM ended)
), endpoints AS (
  UPDATE webhook_endpoints SET deleted_at = now(), enabled = false, disabled_reason = NULL, secret = '', previous_secret = NULL,
previous_expires_at = NULL
  WHERE user_id IN (SELECT user_id FROM ended) AND deleted_at IS NULL
)
UPDATE users SET status = 'deleted', email = NULL WHERE id IN (SELECT user_id FROM ended)`,
  ['project_id'],
)

/**
 * A member of an organization. `is_own`: whether the user is the member, or is invited by id or by verified
 * email address. `service_account_id`: null for a person.
 * @see prisma/sql/organizations/find-organization-member.sql
 */
export const findOrganizationMember = optional<{ origin: string; user_id: string; id: string; organization_id: string }, FindOrganizationMemberRow>(
  'organizations/find-organization-member',
  `SELECT m.id, m.organization_id, o.name AS organization_name, m.user_id, m.email, m.role,
CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END AS status, m.created_by, m.created_at, m.updated_at, m.expires_at,
CASE WHEN m.status = 'active' THEN jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $1 || u.avatar_url
) END AS "user",
  EXISTS (SELECT FROM users c WHERE c.id = $2
    AND (c.id = m.user_id OR (c.email = m.email AND c.email_verified))) AS "is_own",
  (SELECT s.id FROM service_accounts s WHERE s.user_id = m.user_id) AS "service_account_id"
FROM organization_members m JOIN organizations o ON o.id = m.organization_id
LEFT JOIN users u ON u.id = m.user_id
WHERE m.id = $3 AND m.organization_id = $4`,
  ['origin', 'user_id', 'id', 'organization_id'],
  { reads: true },
)
export interface FindOrganizationMemberRow {
  id: string
  organization_id: string
  organization_name: string
  user_id: string | null
  email: string | null
  role: 'owner' | 'admin' | 'member'
  status: Schemas['OrganizationMember']['status']
  created_by: string | null
  created_at: string
  updated_at: string
  expires_at: string | null
  user: Schemas['OrganizationMember']['user'] | null
  is_own: boolean
  service_account_id: string | null
}

/**
 * An organization and the membership of a user in it, or null.
 * @see prisma/sql/organizations/find-organization.sql
 */
export const findOrganization = optional<{ user_id: string; id: string }, FindOrganizationRow>(
  'organizations/find-organization',
  `SELECT o.id, o.name, o.description, o.metadata, o.created_by, o.created_at, o.updated_at,
  (SELECT jsonb_build_object('id', m.id, 'role', m.role, 'status', CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END) FROM organization_members m
   WHERE m.organization_id = o.id AND m.user_id = $1 AND m.status = 'active') AS "your_membership"
FROM organizations o WHERE o.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface FindOrganizationRow {
  id: string
  name: string
  description: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  your_membership: Schemas['Organization']['your_membership'] | null
}

/**
 * The membership or invitation that already exists for a user or an email address.
 * @see prisma/sql/organizations/find-other-member.sql
 */
export const findOtherMember = optional<{ organization_id: string; user_id: string | null; email: string | null }, FindOtherMemberRow>(
  'organizations/find-other-member',
  `SELECT m.id, CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END AS status
FROM organization_members m LEFT JOIN users u ON u.id = m.user_id
WHERE m.organization_id = $1
  AND (m.user_id = $2 OR m.email = $3 OR (u.email = $3 AND m.status = 'active'))
ORDER BY m.status DESC LIMIT 1`,
  ['organization_id', 'user_id', 'email'],
  { reads: true },
)
export interface FindOtherMemberRow {
  id: string
  status: Schemas['OrganizationMember']['status']
}

/**
 * A user who is a person, and whether the caller is a member of one project or organization with the user.
 * @see prisma/sql/organizations/find-person.sql
 */
export const findPerson = optional<{ caller_id: string; user_id: string }, FindPersonRow>(
  'organizations/find-person',
  `SELECT u.id, (EXISTS (
  SELECT FROM members own JOIN members m ON m.project_id = own.project_id
  WHERE own.user_id = $1 AND m.user_id = u.id AND own.project_status <> 'deleted'
) OR EXISTS (
  SELECT FROM organization_members own JOIN organization_members m ON m.organization_id = own.organization_id
  WHERE own.user_id = $1 AND own.status = 'active' AND m.user_id = u.id AND m.status = 'active'
)) AS "is_known"
FROM users u
WHERE u.id = $2 AND u.status <> 'deleted'
  AND NOT EXISTS (SELECT FROM service_accounts s WHERE s.user_id = u.id)`,
  ['caller_id', 'user_id'],
  { reads: true },
)
export interface FindPersonRow {
  id: string
  is_known: boolean
}

/**
 * A project of the organization that is not deleted.
 * @see prisma/sql/organizations/find-project-of-organization.sql
 */
export const findProjectOfOrganization = optional<{ organization_id: string }, FindProjectOfOrganizationRow>(
  'organizations/find-project-of-organization',
  `SELECT id FROM projects WHERE organization_id = $1 AND status <> 'deleted' LIMIT 1`,
  ['organization_id'],
  { reads: true },
)
export interface FindProjectOfOrganizationRow {
  id: string
}

/**
 * A service account.
 * @see prisma/sql/organizations/find-service-account.sql
 */
export const findServiceAccount = optional<{ id: string }, FindServiceAccountRow>(
  'organizations/find-service-account',
  `SELECT s.id, s.user_id, u.name, s.organization_id, s.project_id, s.metadata, s.created_by, s.created_at, s.updated_at
FROM service_accounts s JOIN users u ON u.id = s.user_id
WHERE s.id = $1 AND s.deleted_at IS NULL`,
  ['id'],
  { reads: true },
)
export interface FindServiceAccountRow {
  id: string
  user_id: string
  name: string
  organization_id: string | null
  project_id: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * An organization that has no owner besides the user.
 * @see prisma/sql/organizations/find-solely-owned-organization.sql
 */
export const findSolelyOwnedOrganization = optional<{ user_id: string }, FindSolelyOwnedOrganizationRow>(
  'organizations/find-solely-owned-organization',
  `SELECT m.organization_id AS id FROM organization_members m
WHERE m.user_id = $1 AND m.role = 'owner' AND m.status = 'active'
  AND NOT EXISTS (
    SELECT 1 FROM organization_members o
    WHERE o.organization_id = m.organization_id AND o.role = 'owner' AND o.status = 'active'
      AND o.user_id <> $1
  )
LIMIT 1`,
  ['user_id'],
  { reads: true },
)
export interface FindSolelyOwnedOrganizationRow {
  id: string
}

/**
 * A project in which the user :delegate_id may do more than the user :user_id may give; of all projects, or
 * of :project_ids.
 * @see prisma/sql/organizations/find-unheld-membership.sql
 */
export const findUnheldMembership = optional<{ delegate_id: string; project_ids: readonly string[] | null; user_id: string }, FindUnheldMembershipRow>(
  'organizations/find-unheld-membership',
  `SELECT m.project_id FROM members m
WHERE m.user_id = $1
  AND ($2::text[] IS NULL OR m.project_id = ANY($2::text[]))
  AND NOT may_give($3, m.project_id, m.role, m.storage_role, m.ai_role, m.payments_role)
LIMIT 1`,
  ['delegate_id', 'project_ids', 'user_id'],
  { reads: true },
)
export interface FindUnheldMembershipRow {
  project_id: string
}

/**
 * Makes an owner or admin of an organization a member of all of its projects.
 * @see prisma/sql/organizations/give-organization-role.sql
 */
export const giveOrganizationRole = none<{ created_at: Date | string; user_id: string; role: 'owner' | 'admin' | 'editor' | 'viewer'; organization_id: string }>(
  'organizations/give-organization-role',
  `INSERT INTO members (id, project_id, user_id, role, organization_role, project_status, created_at)
SELECT new_id('mem', $1), p.id, $2, $3, $3, p.status, $1
FROM projects p WHERE p.organization_id = $4 ORDER BY p.id
ON CONFLICT (project_id, user_id) DO UPDATE SET organization_role = excluded.organization_role`,
  ['created_at', 'user_id', 'role', 'organization_id'],
)

/**
 * Inserts a member, or an invitation.
 * @see prisma/sql/organizations/insert-organization-member.sql
 */
export const insertOrganizationMember = one<{ id: string; organization_id: string; user_id: string | null; email: string | null; role: 'owner' | 'admin' | 'member'; status: 'invited' | 'active'; created_by: string; created_at: Date | string; expires_at: Date | string | null; origin: string }, InsertOrganizationMemberRow>(
  'organizations/insert-organization-member',
  `WITH m AS (
  INSERT INTO organization_members
    (id, organization_id, user_id, email, role, status, created_by, created_at, expires_at)
  VALUES
    ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  RETURNING *
)
SELECT m.id, m.organization_id, o.name AS organization_name, m.user_id, m.email, m.role,
CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END AS status, m.created_by, m.created_at, m.updated_at, m.expires_at,
CASE WHEN m.status = 'active' THEN jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $10 || u.avatar_url
) END AS "user" FROM m JOIN organizations o ON o.id = m.organization_id
LEFT JOIN users u ON u.id = m.user_id`,
  ['id', 'organization_id', 'user_id', 'email', 'role', 'status', 'created_by', 'created_at', 'expires_at', 'origin'],
)
export interface InsertOrganizationMemberRow {
  id: string
  organization_id: string
  organization_name: string
  user_id: string | null
  email: string | null
  role: 'owner' | 'admin' | 'member'
  status: Schemas['OrganizationMember']['status']
  created_by: string | null
  created_at: string
  updated_at: string
  expires_at: string | null
  user: Schemas['OrganizationMember']['user'] | null
}

/**
 * Inserts an organization with its owner.
 * @see prisma/sql/organizations/insert-organization.sql
 */
export const insertOrganization = one<{ id: string; name: string; description: string | null; metadata: object | string; user_id: string; created_at: Date | string; member_id: string }, InsertOrganizationRow>(
  'organizations/insert-organization',
  `WITH o AS (
  INSERT INTO organizations (id, name, description, metadata, created_by, limits_of, created_at)
  VALUES ($1, $2, $3, $4, $5, $5, $6)
  RETURNING *
), m AS (
  INSERT INTO organization_members (id, organization_id, user_id, role, status, accepts_limits, created_at)
  SELECT $7, o.id, $5, 'owner', 'active', true, $6 FROM o
  RETURNING *
)
SELECT o.id, o.name, o.description, o.metadata, o.created_by, o.created_at, o.updated_at, jsonb_build_object('id', m.id, 'role', m.role, 'status', CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END) AS your_membership FROM o CROSS JOIN m`,
  ['id', 'name', 'description', 'metadata', 'user_id', 'created_at', 'member_id'],
)
export interface InsertOrganizationRow {
  id: string
  name: string
  description: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  your_membership: Schemas['Organization']['your_membership']
}

/**
 * Inserts a service account with its user.
 * @see prisma/sql/organizations/insert-service-account.sql
 */
export const insertServiceAccount = one<{ user_id: string; email: string; name: string; created_at: Date | string; id: string; organization_id: string | null; project_id: string | null; account_id: string; metadata: object | string; created_by: string }, InsertServiceAccountRow>(
  'organizations/insert-service-account',
  `WITH u AS (
  INSERT INTO users (id, email, name, created_at, updated_at)
  VALUES ($1, $2, $3, $4, $4)
  RETURNING *
), s AS (
  INSERT INTO service_accounts
    (id, user_id, organization_id, project_id, account_id, metadata, created_by, created_at)
  SELECT $5, u.id, $6, $7, $8, $9, $10, $4 FROM u
  RETURNING *
), settings AS (
  INSERT INTO settings (user_id, updated_at) SELECT u.id, $4 FROM u
)
SELECT s.id, s.user_id, u.name, s.organization_id, s.project_id, s.metadata, s.created_by, s.created_at, s.updated_at FROM s CROSS JOIN u`,
  ['user_id', 'email', 'name', 'created_at', 'id', 'organization_id', 'project_id', 'account_id', 'metadata', 'created_by'],
)
export interface InsertServiceAccountRow {
  id: string
  user_id: string
  name: string
  organization_id: string | null
  project_id: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * Whether a member has the custom role.
 * @see prisma/sql/organizations/is-assigned.sql
 */
export const isAssigned = optional<{ id: string }, IsAssignedRow>(
  'organizations/is-assigned',
  `SELECT id FROM members WHERE custom_role_id = $1 LIMIT 1`,
  ['id'],
  { reads: true },
)
export interface IsAssignedRow {
  id: string
}

/**
 * Removes a member from all projects of an organization.
 * @see prisma/sql/organizations/leave-projects-of-organization.sql
 */
export const leaveProjectsOfOrganization = none<{ organization_id: string; user_id: string }>(
  'organizations/leave-projects-of-organization',
  `DELETE FROM members m USING projects p
WHERE p.id = m.project_id AND p.organization_id = $1 AND m.user_id = $2`,
  ['organization_id', 'user_id'],
)

/**
 * The members of an organization with `:active`, and the invitations to it with `:invited`.
 * @see prisma/sql/organizations/list-organization-members.sql
 */
export const listOrganizationMembers = page<{ origin: string; organization_id: string; active: boolean; invited: boolean }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; role: readonly ('owner' | 'admin' | 'member')[]; status: readonly string[] }, 'created_at' | 'updated_at', ListOrganizationMembersRow>(
  'organizations/list-organization-members',
  {
    select: `SELECT m.id, m.organization_id, o.name AS organization_name, m.user_id, m.email, m.role,
CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END AS status, m.created_by, m.created_at, m.updated_at, m.expires_at,
CASE WHEN m.status = 'active' THEN jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $1 || u.avatar_url
) END AS "user"
FROM organization_members m JOIN organizations o ON o.id = m.organization_id
LEFT JOIN users u ON u.id = m.user_id
WHERE m.organization_id = $2
  AND ((m.status = 'active' AND $3::bool) OR (m.status = 'invited' AND $4::bool))`,
    names: ['origin', 'organization_id', 'active', 'invited', 'created_after', 'created_before', 'updated_after', 'updated_before', 'role', 'status'],
    filters: {
      created_after: { sql: `m.created_at >= $5`, searches: true },
      created_before: { sql: `m.created_at < $6`, searches: true },
      updated_after: { sql: `m.updated_at >= $7`, searches: true },
      updated_before: { sql: `m.updated_at < $8`, searches: true },
      role: { sql: `m.role = ANY($9)` },
      status: { sql: `CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END = ANY($10)` },
    },
    sorts: {
      created_at: `m.created_at`,
      updated_at: `m.updated_at`,
    },
    id: `m.id`,
    totals: {
    },
  },
)
export interface ListOrganizationMembersRow {
  id: string
  organization_id: string
  organization_name: string
  user_id: string | null
  email: string | null
  role: 'owner' | 'admin' | 'member'
  status: Schemas['OrganizationMember']['status']
  created_by: string | null
  created_at: string
  updated_at: string
  expires_at: string | null
  user: Schemas['OrganizationMember']['user'] | null
}

/**
 * The organizations that a user is a member of, or is invited to by id or by verified email address: those
 * who are only invited see the name.
 * @see prisma/sql/organizations/list-organizations.sql
 */
export const listOrganizations = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: string }, 'created_at' | 'updated_at' | 'name', ListOrganizationsRow>(
  'organizations/list-organizations',
  {
    select: `SELECT o.id, o.name, CASE WHEN m.status = 'active' THEN o.description END AS description,
  CASE WHEN m.status = 'active' THEN o.metadata ELSE '{}' END AS metadata, o.created_by, o.created_at,
  o.updated_at, jsonb_build_object('id', m.id, 'role', m.role, 'status', CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END) AS your_membership
FROM users u
  JOIN organization_members m ON m.user_id = u.id OR (m.email = u.email AND u.email_verified)
  JOIN organizations o ON o.id = m.organization_id
WHERE u.id = $1`,
    names: ['user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status'],
    filters: {
      created_after: { sql: `o.created_at >= $2`, searches: true },
      created_before: { sql: `o.created_at < $3`, searches: true },
      updated_after: { sql: `o.updated_at >= $4`, searches: true },
      updated_before: { sql: `o.updated_at < $5`, searches: true },
      metadata: { sql: `o.metadata <> '{}' AND o.metadata @> $6::jsonb`, searches: true },
      status: { sql: `CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END = $7` },
    },
    sorts: {
      created_at: `o.created_at`,
      updated_at: `o.updated_at`,
      name: `lower(o.name)`,
    },
    id: `o.id`,
    totals: {
    },
  },
)
export interface ListOrganizationsRow {
  id: string
  name: string
  description: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  your_membership: Schemas['Organization']['your_membership']
}

/**
 * The owners of an organization.
 * @see prisma/sql/organizations/list-owners.sql
 */
export const listOwners = many<{ organization_id: string }, ListOwnersRow>(
  'organizations/list-owners',
  `SELECT user_id AS "user_id" FROM organization_members
WHERE organization_id = $1 AND role = 'owner' AND status = 'active' ORDER BY id`,
  ['organization_id'],
  { reads: true },
)
export interface ListOwnersRow {
  user_id: string
}

/**
 * The service accounts of an organization, or of a project.
 * @see prisma/sql/organizations/list-service-accounts-to-delete.sql
 */
export const listServiceAccountsToDelete = many<{ organization_id: string | null; project_id: string | null }, ListServiceAccountsToDeleteRow>(
  'organizations/list-service-accounts-to-delete',
  `SELECT id, user_id FROM service_accounts
WHERE (organization_id = $1 OR project_id = $2) AND deleted_at IS NULL ORDER BY id`,
  ['organization_id', 'project_id'],
  { reads: true },
)
export interface ListServiceAccountsToDeleteRow {
  id: string
  user_id: string
}

/**
 * The service accounts of the organizations and projects of which a user is an admin.
 * @see prisma/sql/organizations/list-service-accounts.sql
 */
export const listServiceAccounts = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; organization_id: string; key_created_by: string; project_id: string }, 'created_at' | 'updated_at' | 'name', ListServiceAccountsRow>(
  'organizations/list-service-accounts',
  {
    select: `SELECT s.id, s.user_id, u.name, s.organization_id, s.project_id, s.metadata, s.created_by, s.created_at, s.updated_at
FROM service_accounts s JOIN users u ON u.id = s.user_id
WHERE s.deleted_at IS NULL AND s.id IN (
  SELECT a.id FROM organization_members m JOIN service_accounts a ON a.organization_id = m.organization_id
  WHERE m.user_id = $1 AND m.status = 'active' AND m.role <> 'member'
  UNION ALL
  SELECT a.id FROM members m JOIN service_accounts a ON a.project_id = m.project_id
    JOIN projects p ON p.id = m.project_id
  WHERE m.user_id = $1 AND m.project_status <> 'deleted'
    AND (m.role = 'owner' OR (m.role = 'admin' AND p.organization_id IS NOT NULL))
)`,
    names: ['user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'organization_id', 'key_created_by', 'project_id'],
    filters: {
      created_after: { sql: `s.created_at >= $2`, searches: true },
      created_before: { sql: `s.created_at < $3`, searches: true },
      updated_after: { sql: `s.updated_at >= $4`, searches: true },
      updated_before: { sql: `s.updated_at < $5`, searches: true },
      metadata: { sql: `s.metadata <> '{}' AND s.metadata @> $6::jsonb`, searches: true },
      organization_id: { sql: `s.organization_id = $7` },
      key_created_by: { sql: `EXISTS (SELECT FROM api_keys k WHERE k.user_id = s.user_id AND k.created_by = $8
  AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true))` },
      project_id: { sql: `s.project_id = $9` },
    },
    sorts: {
      created_at: `s.created_at`,
      updated_at: `s.updated_at`,
      name: `lower(u.name)`,
    },
    id: `s.id`,
    totals: {
    },
  },
)
export interface ListServiceAccountsRow {
  id: string
  user_id: string
  name: string
  organization_id: string | null
  project_id: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * Locks an organization against other writers of it and of its members, not readers. Read it afterwards, in a
 * statement of its own: a statement that has waited for a lock reads other rows as they were before.
 * @see prisma/sql/organizations/lock-organization.sql
 */
export const lockOrganization = optional<{ id: string }, LockOrganizationRow>(
  'organizations/lock-organization',
  `SELECT id FROM organizations WHERE id = $1 FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockOrganizationRow {
  id: string
}

/**
 * Locks the projects of an organization, in the order of their ids.
 * @see prisma/sql/organizations/lock-projects-of-organization.sql
 */
export const lockProjectsOfOrganization = many<{ organization_id: string }, LockProjectsOfOrganizationRow>(
  'organizations/lock-projects-of-organization',
  `SELECT id FROM projects WHERE organization_id = $1 ORDER BY id FOR NO KEY UPDATE`,
  ['organization_id'],
)
export interface LockProjectsOfOrganizationRow {
  id: string
}

/**
 * Like `find-service-account`, but blocks other writers of it and of its keys.
 * @see prisma/sql/organizations/lock-service-account.sql
 */
export const lockServiceAccount = optional<{ id: string }, LockServiceAccountRow>(
  'organizations/lock-service-account',
  `SELECT s.id, s.user_id, u.name, s.organization_id, s.project_id, s.metadata, s.created_by, s.created_at, s.updated_at
FROM service_accounts s JOIN users u ON u.id = s.user_id
WHERE s.id = $1 AND s.deleted_at IS NULL
FOR NO KEY UPDATE OF s, u`,
  ['id'],
)
export interface LockServiceAccountRow {
  id: string
  user_id: string
  name: string
  organization_id: string | null
  project_id: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * Whether a user may give a role in an organization.
 * @see prisma/sql/organizations/may-give-in-organization.sql
 */
export const mayGiveInOrganization = one<{ user_id: string; organization_id: string; role: 'owner' | 'admin' | 'member' }, MayGiveInOrganizationRow>(
  'organizations/may-give-in-organization',
  `SELECT may_give_in_organization($1, $2, $3) AS "allowed"`,
  ['user_id', 'organization_id', 'role'],
  { reads: true },
)
export interface MayGiveInOrganizationRow {
  allowed: boolean
}

/**
 * Whether a user may give a role, or else a custom role, in a project. No row if the custom role does not
 * exist.
 * @see prisma/sql/organizations/may-give.sql
 */
export const mayGive = optional<{ user_id: string; project_id: string; role: 'owner' | 'admin' | 'editor' | 'viewer' | null; custom_role_id: string | null }, MayGiveRow>(
  'organizations/may-give',
  `SELECT may_give($1, $2, r.projects, r.storage, r.ai, r.payments) AS "allowed"
FROM (
  SELECT $3::"MemberRole" AS projects, $3::"MemberRole" AS storage, $3::"MemberRole" AS ai,
    $3::"MemberRole" AS payments WHERE $4::text IS NULL
  UNION ALL
  SELECT c.projects, c.storage, c.ai, c.payments FROM custom_roles c WHERE c.id = $4
) r`,
  ['user_id', 'project_id', 'role', 'custom_role_id'],
  { reads: true },
)
export interface MayGiveRow {
  allowed: boolean
}

/**
 * Sets when an invitation expires. It is from then on that of the user who sent it again.
 * @see prisma/sql/organizations/renew-organization-invitation.sql
 */
export const renewOrganizationInvitation = one<{ expires_at: Date | string; author_id: string; id: string; origin: string }, RenewOrganizationInvitationRow>(
  'organizations/renew-organization-invitation',
  `WITH m AS (
  UPDATE organization_members SET expires_at = $1, created_by = $2 WHERE id = $3 RETURNING *
)
SELECT m.id, m.organization_id, o.name AS organization_name, m.user_id, m.email, m.role,
CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END AS status, m.created_by, m.created_at, m.updated_at, m.expires_at,
CASE WHEN m.status = 'active' THEN jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $4 || u.avatar_url
) END AS "user" FROM m JOIN organizations o ON o.id = m.organization_id
LEFT JOIN users u ON u.id = m.user_id`,
  ['expires_at', 'author_id', 'id', 'origin'],
)
export interface RenewOrganizationInvitationRow {
  id: string
  organization_id: string
  organization_name: string
  user_id: string | null
  email: string | null
  role: 'owner' | 'admin' | 'member'
  status: Schemas['OrganizationMember']['status']
  created_by: string | null
  created_at: string
  updated_at: string
  expires_at: string | null
  user: Schemas['OrganizationMember']['user'] | null
}

/**
 * Revokes the pending invitations of a user to the projects of an organization.
 * @see prisma/sql/organizations/revoke-project-invitations.sql
 */
export const revokeProjectInvitations = none<{ organization_id: string; user_id: string }>(
  'organizations/revoke-project-invitations',
  `UPDATE invitations i SET status = 'revoked' FROM projects p, users u
WHERE p.id = i.project_id AND p.organization_id = $1 AND u.id = $2
  AND i.status = 'pending' AND (i.user_id = u.id OR i.email = u.email)`,
  ['organization_id', 'user_id'],
)

/**
 * The service account that a user is.
 * @see prisma/sql/organizations/service-account-of-user.sql
 */
export const serviceAccountOfUser = optional<{ user_id: string }, ServiceAccountOfUserRow>(
  'organizations/service-account-of-user',
  `SELECT s.id, s.user_id, u.name, s.organization_id, s.project_id, s.metadata, s.created_by, s.created_at, s.updated_at
FROM service_accounts s JOIN users u ON u.id = s.user_id
WHERE s.user_id = $1 AND s.deleted_at IS NULL`,
  ['user_id'],
  { reads: true },
)
export interface ServiceAccountOfUserRow {
  id: string
  user_id: string
  name: string
  organization_id: string | null
  project_id: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * Gives a locked organization limits of its own, or lets it share those of its longest-standing owner who
 * agreed to be one. No row for an unknown organization.
 * @see prisma/sql/organizations/set-limits.sql
 */
export const setLimits = optional<{ own: boolean; id: string }, SetLimitsRow>(
  'organizations/set-limits',
  `UPDATE organizations o SET limits_of = CASE WHEN NOT $1::boolean THEN coalesce(o.limits_of, (
  SELECT m.user_id FROM organization_members m
  WHERE m.organization_id = o.id AND m.role = 'owner' AND m.status = 'active'
  ORDER BY NOT m.accepts_limits, m.created_at, m.id LIMIT 1
)) END
WHERE o.id = $2
RETURNING o.limits_of AS "limits_of"`,
  ['own', 'id'],
)
export interface SetLimitsRow {
  limits_of: string | null
}

/**
 * Like `lock-organization`, but keeps only its members as they are.
 * @see prisma/sql/organizations/share-organization.sql
 */
export const shareOrganization = optional<{ id: string }, ShareOrganizationRow>(
  'organizations/share-organization',
  `SELECT id FROM organizations WHERE id = $1 FOR SHARE`,
  ['id'],
)
export interface ShareOrganizationRow {
  id: string
}

/**
 * Ends what the role in an organization gave a member in its projects.
 * @see prisma/sql/organizations/take-organization-role.sql
 */
export const takeOrganizationRole = none<{ organization_id: string; user_id: string }>(
  'organizations/take-organization-role',
  `WITH removed AS (
  DELETE FROM members m USING projects p
  WHERE p.id = m.project_id AND p.organization_id = $1 AND m.user_id = $2
    AND m.own_role IS NULL
)
UPDATE members m SET organization_role = NULL FROM projects p
WHERE p.id = m.project_id AND p.organization_id = $1 AND m.user_id = $2
  AND m.own_role IS NOT NULL AND m.organization_role IS NOT NULL`,
  ['organization_id', 'user_id'],
)

/**
 * Gives the projects of an organization whose `owner_id` is the user to another owner of the organization.
 * @see prisma/sql/organizations/transfer-projects-of-member.sql
 */
export const transferProjectsOfMember = none<{ organization_id: string; user_id: string }>(
  'organizations/transfer-projects-of-member',
  `UPDATE projects p SET version = version + 1, owner_id = o.user_id,
  updated_at = greatest(now(), updated_at + interval '1 millisecond')
FROM (
  SELECT user_id FROM organization_members
  WHERE organization_id = $1 AND role = 'owner' AND status = 'active' AND user_id <> $2
  ORDER BY created_at, id LIMIT 1
) o
WHERE p.organization_id = $1 AND p.owner_id = $2`,
  ['organization_id', 'user_id'],
)

/**
 * Sets the role of a member. An invitation is from then on that of the user who set it.
 * @see prisma/sql/organizations/update-organization-member.sql
 */
export const updateOrganizationMember = one<{ role: 'owner' | 'admin' | 'member'; author_id: string; id: string; origin: string }, UpdateOrganizationMemberRow>(
  'organizations/update-organization-member',
  `WITH m AS (UPDATE organization_members SET role = $1,
    created_by = CASE WHEN status = 'invited' THEN $2 ELSE created_by END
  WHERE id = $3 RETURNING *)
SELECT m.id, m.organization_id, o.name AS organization_name, m.user_id, m.email, m.role,
CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END AS status, m.created_by, m.created_at, m.updated_at, m.expires_at,
CASE WHEN m.status = 'active' THEN jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $4 || u.avatar_url
) END AS "user" FROM m JOIN organizations o ON o.id = m.organization_id
LEFT JOIN users u ON u.id = m.user_id`,
  ['role', 'author_id', 'id', 'origin'],
)
export interface UpdateOrganizationMemberRow {
  id: string
  organization_id: string
  organization_name: string
  user_id: string | null
  email: string | null
  role: 'owner' | 'admin' | 'member'
  status: Schemas['OrganizationMember']['status']
  created_by: string | null
  created_at: string
  updated_at: string
  expires_at: string | null
  user: Schemas['OrganizationMember']['user'] | null
}

/**
 * Updates a locked organization.
 * @see prisma/sql/organizations/update-organization.sql
 */
export const updateOrganization = one<{ name: string; description: string | null; metadata: object | string; id: string }, UpdateOrganizationRow>(
  'organizations/update-organization',
  `UPDATE organizations o SET name = $1, description = $2, metadata = $3
WHERE o.id = $4
RETURNING o.id, o.name, o.description, o.metadata, o.created_by, o.created_at, o.updated_at`,
  ['name', 'description', 'metadata', 'id'],
)
export interface UpdateOrganizationRow {
  id: string
  name: string
  description: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * Updates a locked service account and the name of its user.
 * @see prisma/sql/organizations/update-service-account.sql
 */
export const updateServiceAccount = one<{ name: string; user_id: string; metadata: object | string; id: string }, UpdateServiceAccountRow>(
  'organizations/update-service-account',
  `WITH u AS (UPDATE users SET name = $1 WHERE id = $2 RETURNING id, name),
s AS (UPDATE service_accounts SET metadata = $3, updated_at = now() WHERE id = $4 RETURNING *)
SELECT s.id, s.user_id, u.name, s.organization_id, s.project_id, s.metadata, s.created_by, s.created_at, s.updated_at FROM s JOIN u ON u.id = s.user_id`,
  ['name', 'user_id', 'metadata', 'id'],
)
export interface UpdateServiceAccountRow {
  id: string
  user_id: string
  name: string
  organization_id: string | null
  project_id: string | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
}
