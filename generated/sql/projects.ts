// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Adds changes to the totals of the numbers of projects. Returns the number of changes.
 * @see prisma/sql/projects/add-up-count-changes.sql
 */
export const addUpCountChanges = one<{ limit: number }, AddUpCountChangesRow>(
  'projects/add-up-count-changes',
  `WITH taken AS (
  DELETE FROM project_count_changes
  WHERE id = ANY(ARRAY(SELECT id FROM project_count_changes ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
  RETURNING user_id, status, change
), added AS (
  INSERT INTO project_count_totals AS t (user_id, status, count)
  SELECT user_id, status, sum(change) FROM taken GROUP BY user_id, status ORDER BY user_id, status
  ON CONFLICT (user_id, status) DO UPDATE SET count = t.count + excluded.count
)
SELECT count(*)::int AS n FROM taken`,
  ['limit'],
)
export interface AddUpCountChangesRow {
  n: number
}

/**
 * Gives a locked project to an organization or to a person, unless they have as many as they may have.
 * @see prisma/sql/projects/change-organization.sql
 */
export const changeOrganization = one<{ organization_id: string | null; owner_id: string; updated_at: Date | string; id: string }, ChangeOrganizationRow>(
  'projects/change-organization',
  `UPDATE projects p SET organization_id = $1, owner_id = $2, version = p.version + 1,
  updated_at = $3
WHERE p.id = $4 AND set_config('platform.transfer', 'on', true) = 'on'
RETURNING p.id, p.name, p.description, p.category, p.tags, p.metadata, p.status, p.owner_id, p.organization_id, p.member_count, p.version,
p.created_by, p.created_at, p.updated_at, p.archived_at, p.deleted_at`,
  ['organization_id', 'owner_id', 'updated_at', 'id'],
)
export interface ChangeOrganizationRow {
  id: string
  name: string
  description: string | null
  category: string | null
  tags: string[]
  metadata: Record<string, string>
  status: 'active' | 'archived' | 'deleted'
  owner_id: string
  organization_id: string | null
  member_count: number
  version: number
  created_by: string | null
  created_at: string
  updated_at: string
  archived_at: string | null
  deleted_at: string | null
}

/**
 * Deletes a batch of invitations that expired thirty days ago: until then they can be sent again.
 * @see prisma/sql/projects/delete-expired-invitations.sql
 */
export const deleteExpiredInvitations = one<{ limit: number }, DeleteExpiredInvitationsRow>(
  'projects/delete-expired-invitations',
  `WITH deleted AS (
  DELETE FROM invitations WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM invitations WHERE status = 'pending' AND expires_at < now() - interval '30 days'
    LIMIT $1 FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteExpiredInvitationsRow {
  n: number
}

/**
 * Deletes a batch of the files of a project.
 * @see prisma/sql/projects/delete-files.sql
 */
export const deleteFiles = one<{ project_id: string; limit: number }, DeleteFilesRow>(
  'projects/delete-files',
  `WITH deleted AS (
  DELETE FROM files WHERE id = ANY(ARRAY(SELECT id FROM files WHERE workspace_id = $1 LIMIT $2))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['project_id', 'limit'],
)
export interface DeleteFilesRow {
  n: number
}

/**
 * Deletes a project.
 * @see prisma/sql/projects/delete-project.sql
 */
export const deleteProject = none<{ id: string }>(
  'projects/delete-project',
  `DELETE FROM projects WHERE id = $1`,
  ['id'],
)

/**
 * Deletes the storage usage of a project.
 * @see prisma/sql/projects/delete-storage-usage.sql
 */
export const deleteStorageUsage = none<{ project_id: string }>(
  'projects/delete-storage-usage',
  `DELETE FROM storage_usage WHERE workspace_id = $1`,
  ['project_id'],
)

/**
 * An invitation to a project. `verified`: whether the user is invited by id, or has verified the invited
 * email address; null if the invitation is for another user or address.
 * @see prisma/sql/projects/find-invitation.sql
 */
export const findInvitation = optional<{ user_id: string; id: string; project_id: string }, FindInvitationRow>(
  'projects/find-invitation',
  `SELECT i.id, i.project_id, p.name AS project_name, nullif(i.email, '') AS email, i.user_id, i.role,
CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS status, i.created_by, inviter.name AS created_by_name,
i.metadata, i.created_at, i.updated_at, i.expires_at, coalesce(u.id = i.user_id, u.email_verified) AS "verified"
FROM invitations i JOIN projects p ON p.id = i.project_id
JOIN users inviter ON inviter.id = i.created_by
  LEFT JOIN users u ON u.id = $1 AND (u.email = i.email OR u.id = i.user_id)
WHERE i.id = $2 AND i.project_id = $3`,
  ['user_id', 'id', 'project_id'],
  { reads: true },
)
export interface FindInvitationRow {
  id: string
  project_id: string
  project_name: string
  email: string | null
  user_id: string | null
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  status: Schemas['Invitation']['status']
  created_by: string
  created_by_name: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  expires_at: string
  verified: boolean | null
}

/**
 * The user with an id or an email address, whether the user is a member of the project, and whether the user
 * and the caller are members of one project or organization. A service account is found only for its own
 * project, and for projects of its organization.
 * @see prisma/sql/projects/find-invitee.sql
 */
export const findInvitee = optional<{ project_id: string; caller_id: string; user_id: string | null; email: string | null }, FindInviteeRow>(
  'projects/find-invitee',
  `SELECT u.id,
  EXISTS (SELECT FROM members m WHERE m.project_id = $1 AND m.user_id = u.id) AS "is_member",
  (s.id IS NOT NULL OR (EXISTS (
  SELECT FROM members own JOIN members m ON m.project_id = own.project_id
  WHERE own.user_id = $2 AND m.user_id = u.id AND own.project_status <> 'deleted'
) OR EXISTS (
  SELECT FROM organization_members own JOIN organization_members m ON m.organization_id = own.organization_id
  WHERE own.user_id = $2 AND own.status = 'active' AND m.user_id = u.id AND m.status = 'active'
))) AS "is_known"
FROM users u LEFT JOIN service_accounts s ON s.user_id = u.id
WHERE (u.id = $3 OR u.email = $4) AND u.status <> 'deleted' AND (
  s.id IS NULL OR s.project_id = $1
  OR s.organization_id = (SELECT p.organization_id FROM projects p WHERE p.id = $1)
)`,
  ['project_id', 'caller_id', 'user_id', 'email'],
  { reads: true },
)
export interface FindInviteeRow {
  id: string
  is_member: boolean
  is_known: boolean
}

/**
 * A member of a project.
 * @see prisma/sql/projects/find-member.sql
 */
export const findMember = optional<{ origin: string; id: string; project_id: string }, FindMemberRow>(
  'projects/find-member',
  `SELECT m.id, m.project_id, m.role, m.custom_role_id, m.organization_role, m.created_by, m.metadata, m.created_at,
m.updated_at,
jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $1 || u.avatar_url
) AS user
FROM members m JOIN users u ON u.id = m.user_id
WHERE m.id = $2 AND m.project_id = $3`,
  ['origin', 'id', 'project_id'],
  { reads: true },
)
export interface FindMemberRow {
  id: string
  project_id: string
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  custom_role_id: string | null
  organization_role: Schemas['Member']['organization_role'] | null
  created_by: string | null
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  user: Schemas['Member']['user']
}

/**
 * The user's role in a project for the scope :scope, null for none, and whether the project is deleted.
 * @see prisma/sql/projects/find-membership.sql
 */
export const findMembership = optional<{ scope: string; user_id: string; project_id: string }, FindMembershipRow>(
  'projects/find-membership',
  `SELECT role_by_scope($1, m.role, m.storage_role, m.ai_role, m.payments_role) AS "role",
  p.status = 'deleted' AS deleted
FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = $2
WHERE p.id = $3`,
  ['scope', 'user_id', 'project_id'],
  { reads: true },
)
export interface FindMembershipRow {
  role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  deleted: boolean
}

/**
 * The longest-standing owner of a project besides this member.
 * @see prisma/sql/projects/find-other-owner.sql
 */
export const findOtherOwner = optional<{ project_id: string; member_id: string }, FindOtherOwnerRow>(
  'projects/find-other-owner',
  `SELECT user_id FROM members
WHERE project_id = $1 AND role = 'owner' AND id <> $2
ORDER BY created_at, id LIMIT 1`,
  ['project_id', 'member_id'],
  { reads: true },
)
export interface FindOtherOwnerRow {
  user_id: string
}

/**
 * The invitation of an email address or of a user to a project that is `pending` in the table.
 * @see prisma/sql/projects/find-pending-invitation.sql
 */
export const findPendingInvitation = optional<{ project_id: string; email: string; user_id: string | null }, FindPendingInvitationRow>(
  'projects/find-pending-invitation',
  `SELECT i.id, CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS status
FROM invitations i
WHERE i.project_id = $1 AND i.status = 'pending'
  AND i.email = $2 AND (i.email <> '' OR i.user_id = $3)
LIMIT 1`,
  ['project_id', 'email', 'user_id'],
  { reads: true },
)
export interface FindPendingInvitationRow {
  id: string
  status: Schemas['Invitation']['status']
}

/**
 * A project that exists or can be restored, and the caller's role in it for the scope :scope.
 * @see prisma/sql/projects/find-project.sql
 */
export const findProject = optional<{ scope: string; user_id: string; id: string; restorable_days: number }, FindProjectRow>(
  'projects/find-project',
  `SELECT p.id, p.name, p.description, p.category, p.tags, p.metadata, p.status, p.owner_id, p.organization_id, p.member_count, p.version,
p.created_by, p.created_at, p.updated_at, p.archived_at, p.deleted_at,
  role_by_scope($1, m.role, m.storage_role, m.ai_role, m.payments_role) AS your_role
FROM projects p LEFT JOIN members m ON m.project_id = p.id AND m.user_id = $2
WHERE p.id = $3
  AND (p.deleted_at IS NULL OR p.deleted_at >= now() - make_interval(days => $4))`,
  ['scope', 'user_id', 'id', 'restorable_days'],
  { reads: true },
)
export interface FindProjectRow {
  id: string
  name: string
  description: string | null
  category: string | null
  tags: string[]
  metadata: Record<string, string>
  status: 'active' | 'archived' | 'deleted'
  owner_id: string
  organization_id: string | null
  member_count: number
  version: number
  created_by: string | null
  created_at: string
  updated_at: string
  archived_at: string | null
  deleted_at: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
}

/**
 * Inserts a pending invitation.
 * @see prisma/sql/projects/insert-invitation.sql
 */
export const insertInvitation = one<{ id: string; project_id: string; email: string; user_id: string | null; role: 'owner' | 'admin' | 'editor' | 'viewer'; created_by: string; metadata: object | string; created_at: Date | string; expires_at: Date | string }, InsertInvitationRow>(
  'projects/insert-invitation',
  `WITH i AS (
  INSERT INTO invitations
    (id, project_id, email, user_id, role, created_by, metadata, created_at, expires_at)
  VALUES
    ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  RETURNING *
)
SELECT i.id, i.project_id, p.name AS project_name, nullif(i.email, '') AS email, i.user_id, i.role,
CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS status, i.created_by, inviter.name AS created_by_name,
i.metadata, i.created_at, i.updated_at, i.expires_at FROM i JOIN projects p ON p.id = i.project_id
JOIN users inviter ON inviter.id = i.created_by`,
  ['id', 'project_id', 'email', 'user_id', 'role', 'created_by', 'metadata', 'created_at', 'expires_at'],
)
export interface InsertInvitationRow {
  id: string
  project_id: string
  project_name: string
  email: string | null
  user_id: string | null
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  status: Schemas['Invitation']['status']
  created_by: string
  created_by_name: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  expires_at: string
}

/**
 * Inserts a project with its owner as the first member.
 * @see prisma/sql/projects/insert-project.sql
 */
export const insertProject = none<{ id: string; name: string; description?: string | null; category?: string | null; tags: readonly string[]; metadata: object | string; owner_id: string; organization_id: string | null; created_by: string | null; created_at: Date | string; member_id: string }>(
  'projects/insert-project',
  `WITH p AS (
  INSERT INTO projects (id, name, description, category, tags, metadata, owner_id, organization_id, created_by, created_at,
    updated_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)
  RETURNING id, owner_id
)
INSERT INTO members (id, project_id, user_id, role, own_role, created_at)
SELECT $11, p.id, p.owner_id, 'owner', 'owner', $10 FROM p`,
  ['id', 'name', 'description', 'category', 'tags', 'metadata', 'owner_id', 'organization_id', 'created_by', 'created_at', 'member_id'],
)

/**
 * Makes the owners and admins of an organization members of a project.
 * @see prisma/sql/projects/join-organization.sql
 */
export const joinOrganization = none<{ created_at: Date | string; project_id: string }>(
  'projects/join-organization',
  `INSERT INTO members (id, project_id, user_id, role, organization_role, project_status, created_at)
SELECT new_id('mem', $1), p.id, o.user_id, r.role, r.role, p.status, $1
FROM projects p JOIN organization_members o ON o.organization_id = p.organization_id
  CROSS JOIN LATERAL (SELECT o.role::text::"MemberRole" AS role WHERE o.role <> 'member') r
WHERE p.id = $2 AND o.status = 'active' ORDER BY o.user_id
ON CONFLICT (project_id, user_id) DO UPDATE SET organization_role = excluded.organization_role`,
  ['created_at', 'project_id'],
)

/**
 * Makes a user an owner of a project that otherwise has none beside those of its organization.
 * @see prisma/sql/projects/keep-owner.sql
 */
export const keepOwner = none<{ created_at: Date | string; user_id: string; id: string }>(
  'projects/keep-owner',
  `INSERT INTO members (id, project_id, user_id, role, own_role, project_status, created_at)
SELECT new_id('mem', $1), p.id, $2, 'owner', 'owner', p.status, $1
FROM projects p
WHERE p.id = $3 AND NOT EXISTS (SELECT FROM members m WHERE m.project_id = p.id AND m.own_role = 'owner')
ON CONFLICT (project_id, user_id) DO UPDATE SET own_role = 'owner', custom_role_id = NULL`,
  ['created_at', 'user_id', 'id'],
)

/**
 * Ends what the organization of a project gave its members: a membership, or a custom role. A member with a
 * custom role keeps the least of what it allows, and is no member if it allows nothing somewhere. The service
 * accounts of the organization leave.
 * @see prisma/sql/projects/leave-organization.sql
 */
export const leaveOrganization = none<{ project_id: string }>(
  'projects/leave-organization',
  `WITH removed AS (
  DELETE FROM members m USING projects p WHERE p.id = m.project_id AND m.project_id = $1 AND (
    m.own_role IS NULL
    OR EXISTS (SELECT FROM custom_roles c WHERE c.id = m.custom_role_id
      AND (c.storage IS NULL OR c.ai IS NULL OR c.payments IS NULL))
    OR EXISTS (SELECT FROM service_accounts s
      WHERE s.user_id = m.user_id AND s.organization_id = p.organization_id)
  )
  RETURNING m.id
)
UPDATE members m SET organization_role = NULL, custom_role_id = NULL, own_role = coalesce(
    (SELECT greatest(c.projects, c.storage, c.ai, c.payments) FROM custom_roles c
     WHERE c.id = m.custom_role_id),
    m.own_role
  )
WHERE m.project_id = $1 AND (m.organization_role IS NOT NULL OR m.custom_role_id IS NOT NULL)
  AND m.id NOT IN (SELECT id FROM removed)`,
  ['project_id'],
)

/**
 * The deleted projects that can no longer be restored, after the project `id` or from the first.
 * @see prisma/sql/projects/list-expired-projects.sql
 */
export const listExpiredProjects = many<{ restorable_days: number; deleted_at: Date | string | null; id: string | null }, ListExpiredProjectsRow>(
  'projects/list-expired-projects',
  `SELECT p.id, p.deleted_at FROM projects p
WHERE p.deleted_at < now() - make_interval(days => $1)
  AND ($2::timestamptz IS NULL OR (p.deleted_at, p.id) > ($2, $3))
ORDER BY p.deleted_at, p.id LIMIT 100`,
  ['restorable_days', 'deleted_at', 'id'],
  { reads: true },
)
export interface ListExpiredProjectsRow {
  id: string
  deleted_at: string
}

/**
 * The invitations to a project.
 * @see prisma/sql/projects/list-invitations.sql
 */
export const listInvitations = page<{ project_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly string[] }, 'created_at' | 'email' | 'updated_at', ListInvitationsRow>(
  'projects/list-invitations',
  {
    select: `SELECT i.id, i.project_id, p.name AS project_name, nullif(i.email, '') AS email, i.user_id, i.role,
CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS status, i.created_by, inviter.name AS created_by_name,
i.metadata, i.created_at, i.updated_at, i.expires_at
FROM invitations i JOIN projects p ON p.id = i.project_id
JOIN users inviter ON inviter.id = i.created_by
WHERE i.project_id = $1`,
    names: ['project_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status'],
    filters: {
      created_after: { sql: `i.created_at >= $2`, searches: true },
      created_before: { sql: `i.created_at < $3`, searches: true },
      updated_after: { sql: `i.updated_at >= $4`, searches: true },
      updated_before: { sql: `i.updated_at < $5`, searches: true },
      metadata: { sql: `i.metadata <> '{}' AND i.metadata @> $6::jsonb`, searches: true },
      status: { sql: `CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END = ANY($7)` },
    },
    sorts: {
      created_at: `i.created_at`,
      email: `i.email`,
      updated_at: `i.updated_at`,
    },
    id: `i.id`,
    totals: {
      '': `SELECT count(*) AS total FROM invitations WHERE project_id = $1`,
    },
  },
)
export interface ListInvitationsRow {
  id: string
  project_id: string
  project_name: string
  email: string | null
  user_id: string | null
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  status: Schemas['Invitation']['status']
  created_by: string
  created_by_name: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  expires_at: string
}

/**
 * The members of a project.
 * Every member has a user: LEFT JOIN allows PostgreSQL to count filtered members without the users.
 * @see prisma/sql/projects/list-members.sql
 */
export const listMembers = page<{ origin: string; project_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; role: readonly ('owner' | 'admin' | 'editor' | 'viewer')[]; pattern: string }, 'created_at' | 'name' | 'updated_at', ListMembersRow>(
  'projects/list-members',
  {
    select: `SELECT m.id, m.project_id, m.role, m.custom_role_id, m.organization_role, m.created_by, m.metadata, m.created_at,
m.updated_at,
jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $1 || u.avatar_url
) AS user
FROM members m LEFT JOIN users u ON u.id = m.user_id
WHERE m.project_id = $2`,
    names: ['origin', 'project_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'role', 'pattern'],
    filters: {
      created_after: { sql: `m.created_at >= $3`, searches: true },
      created_before: { sql: `m.created_at < $4`, searches: true },
      updated_after: { sql: `m.updated_at >= $5`, searches: true },
      updated_before: { sql: `m.updated_at < $6`, searches: true },
      metadata: { sql: `m.metadata <> '{}' AND m.metadata @> $7::jsonb`, searches: true },
      role: { sql: `m.role = ANY($8)` },
      pattern: { sql: `u.name ILIKE $9 OR u.email LIKE lower($9)`, searches: true },
    },
    sorts: {
      created_at: `m.created_at`,
      name: `lower(u.name)`,
      updated_at: `m.updated_at`,
    },
    id: `m.id`,
    totals: {
      '': `SELECT member_count AS total FROM projects WHERE id = $2`,
    },
  },
)
export interface ListMembersRow {
  id: string
  project_id: string
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  custom_role_id: string | null
  organization_role: Schemas['Member']['organization_role'] | null
  created_by: string | null
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  user: Schemas['Member']['user']
}

/**
 * The pending invitations of a user, by id or by verified email address, to projects that are not deleted.
 * @see prisma/sql/projects/list-my-invitations.sql
 */
export const listMyInvitations = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; project_ids: readonly string[] }, 'created_at' | 'updated_at', ListMyInvitationsRow>(
  'projects/list-my-invitations',
  {
    select: `SELECT i.id, i.project_id, p.name AS project_name, nullif(i.email, '') AS email, i.user_id, i.role,
CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS status, i.created_by, inviter.name AS created_by_name,
i.metadata, i.created_at, i.updated_at, i.expires_at
FROM users u
  JOIN invitations i ON i.user_id = u.id OR (i.email = u.email AND u.email_verified)
  JOIN projects p ON p.id = i.project_id
JOIN users inviter ON inviter.id = i.created_by
WHERE u.id = $1 AND p.status <> 'deleted' AND i.status = 'pending' AND CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END = 'pending'`,
    names: ['user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'project_ids'],
    filters: {
      created_after: { sql: `i.created_at >= $2`, searches: true },
      created_before: { sql: `i.created_at < $3`, searches: true },
      updated_after: { sql: `i.updated_at >= $4`, searches: true },
      updated_before: { sql: `i.updated_at < $5`, searches: true },
      metadata: { sql: `i.metadata <> '{}' AND i.metadata @> $6::jsonb`, searches: true },
      project_ids: { sql: `i.project_id = ANY($7)` },
    },
    sorts: {
      created_at: `i.created_at`,
      updated_at: `i.updated_at`,
    },
    id: `i.id`,
    totals: {
    },
  },
)
export interface ListMyInvitationsRow {
  id: string
  project_id: string
  project_name: string
  email: string | null
  user_id: string | null
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  status: Schemas['Invitation']['status']
  created_by: string
  created_by_name: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  expires_at: string
}

/**
 * The projects that a user is a member of. The expression `|| ''` keeps PostgreSQL from a merge join on
 * the indexes, which would first read the newer projects of all other users.
 * @see prisma/sql/projects/list-projects.sql
 */
export const listProjects = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly ('active' | 'archived' | 'deleted')[]; project_ids: readonly string[]; organization_id: string; category: string; tag: string; pattern: string }, 'created_at' | 'updated_at' | 'name', ListProjectsRow>(
  'projects/list-projects',
  {
    select: `SELECT p.id, p.name, p.description, p.category, p.tags, p.metadata, p.status, p.owner_id, p.organization_id, p.member_count, p.version,
p.created_by, p.created_at, p.updated_at, p.archived_at, p.deleted_at, m.role AS your_role
FROM members m JOIN projects p ON p.id = m.project_id || ''
WHERE m.user_id = $1`,
    names: ['user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status', 'project_ids', 'organization_id', 'category', 'tag', 'pattern'],
    filters: {
      created_after: { sql: `m.project_id >= id_at('prj', $2)`, searches: true },
      created_before: { sql: `m.project_id < id_at('prj', $3)`, searches: true },
      updated_after: { sql: `p.updated_at >= $4`, searches: true },
      updated_before: { sql: `p.updated_at < $5`, searches: true },
      metadata: { sql: `p.metadata <> '{}' AND p.metadata @> $6::jsonb`, searches: true },
      status: { sql: `m.project_status = ANY($7)`, otherwise: `m.project_status <> 'deleted'` },
      project_ids: { sql: `m.project_id = ANY($8)` },
      organization_id: { sql: `p.organization_id = $9`, searches: true },
      category: { sql: `p.category = $10`, searches: true },
      tag: { sql: `p.tags @> ARRAY[$11::text]`, searches: true },
      pattern: { sql: `p.name ILIKE $12 OR p.description ILIKE $12`, searches: true },
    },
    sorts: {
      created_at: `m.project_id`,
      updated_at: `p.updated_at`,
      name: `lower(p.name)`,
    },
    id: `m.project_id`,
    totals: {
      '': `SELECT coalesce(sum(count), 0) AS total FROM project_counts WHERE user_id = $1 AND status <> 'deleted'`,
      'status': `SELECT coalesce(sum(count), 0) AS total FROM project_counts WHERE user_id = $1 AND status = ANY($7)`,
    },
  },
)
export interface ListProjectsRow {
  id: string
  name: string
  description: string | null
  category: string | null
  tags: string[]
  metadata: Record<string, string>
  status: 'active' | 'archived' | 'deleted'
  owner_id: string
  organization_id: string | null
  member_count: number
  version: number
  created_by: string | null
  created_at: string
  updated_at: string
  archived_at: string | null
  deleted_at: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer'
}

/**
 * Locks an expired project for its deletion. Returns no row if another process has locked it.
 * @see prisma/sql/projects/lock-expired-project.sql
 */
export const lockExpiredProject = optional<{ id: string; restorable_days: number }, LockExpiredProjectRow>(
  'projects/lock-expired-project',
  `SELECT p.id FROM projects p WHERE p.id = $1 AND p.deleted_at < now() - make_interval(days => $2) FOR UPDATE SKIP LOCKED`,
  ['id', 'restorable_days'],
)
export interface LockExpiredProjectRow {
  id: string
}

/**
 * Locks a project against other writers of it and of its members, not readers. Read it afterwards, in a
 * statement of its own: a statement that has waited for a lock reads other rows as they were before.
 * @see prisma/sql/projects/lock-project.sql
 */
export const lockProject = optional<{ id: string }, LockProjectRow>(
  'projects/lock-project',
  `SELECT id FROM projects WHERE id = $1 FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockProjectRow {
  id: string
}

/**
 * Gives a member of a project the role of an owner, beside what the organization of the project gives.
 * @see prisma/sql/projects/make-owner.sql
 */
export const makeOwner = none<{ project_id: string; user_id: string }>(
  'projects/make-owner',
  `UPDATE members SET own_role = 'owner', custom_role_id = NULL
WHERE project_id = $1 AND user_id = $2`,
  ['project_id', 'user_id'],
)

/**
 * The main owner of a project, and the number of its members.
 * @see prisma/sql/projects/read-owner-and-count.sql
 */
export const readOwnerAndCount = one<{ id: string }, ReadOwnerAndCountRow>(
  'projects/read-owner-and-count',
  `SELECT owner_id, member_count FROM projects WHERE id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadOwnerAndCountRow {
  owner_id: string
  member_count: number
}

/**
 * Sets when an invitation expires.
 * @see prisma/sql/projects/renew-invitation.sql
 */
export const renewInvitation = one<{ expires_at: Date | string; id: string }, RenewInvitationRow>(
  'projects/renew-invitation',
  `WITH i AS (UPDATE invitations SET expires_at = $1 WHERE id = $2 RETURNING *)
SELECT i.id, i.project_id, p.name AS project_name, nullif(i.email, '') AS email, i.user_id, i.role,
CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS status, i.created_by, inviter.name AS created_by_name,
i.metadata, i.created_at, i.updated_at, i.expires_at FROM i JOIN projects p ON p.id = i.project_id
JOIN users inviter ON inviter.id = i.created_by`,
  ['expires_at', 'id'],
)
export interface RenewInvitationRow {
  id: string
  project_id: string
  project_name: string
  email: string | null
  user_id: string | null
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  status: Schemas['Invitation']['status']
  created_by: string
  created_by_name: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  expires_at: string
}

/**
 * Makes the longest-standing owner of a project its main owner, if the main owner is no longer an owner.
 * @see prisma/sql/projects/repair-owner.sql
 */
export const repairOwner = none<{ id: string }>(
  'projects/repair-owner',
  `UPDATE projects p SET owner_id = o.user_id FROM (
  SELECT user_id FROM members WHERE project_id = $1 AND role = 'owner' ORDER BY created_at, id LIMIT 1
) o
WHERE p.id = $1 AND NOT EXISTS (
  SELECT FROM members m WHERE m.project_id = p.id AND m.user_id = p.owner_id AND m.role = 'owner'
)`,
  ['id'],
)

/**
 * Changes the `owner_id` of a project if it is this user.
 * @see prisma/sql/projects/transfer-project.sql
 */
export const transferProject = none<{ new_owner_id: string; id: string; owner_id: string }>(
  'projects/transfer-project',
  `UPDATE projects SET owner_id = $1, version = version + 1,
  updated_at = greatest(now(), updated_at + interval '1 millisecond')
WHERE id = $2 AND owner_id = $3`,
  ['new_owner_id', 'id', 'owner_id'],
)

/**
 * Sets the status of an invitation.
 * @see prisma/sql/projects/update-invitation.sql
 */
export const updateInvitation = one<{ status: 'pending' | 'accepted' | 'revoked' | 'declined'; id: string }, UpdateInvitationRow>(
  'projects/update-invitation',
  `WITH i AS (UPDATE invitations SET status = $1 WHERE id = $2 RETURNING *)
SELECT i.id, i.project_id, p.name AS project_name, nullif(i.email, '') AS email, i.user_id, i.role,
CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END AS status, i.created_by, inviter.name AS created_by_name,
i.metadata, i.created_at, i.updated_at, i.expires_at FROM i JOIN projects p ON p.id = i.project_id
JOIN users inviter ON inviter.id = i.created_by`,
  ['status', 'id'],
)
export interface UpdateInvitationRow {
  id: string
  project_id: string
  project_name: string
  email: string | null
  user_id: string | null
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  status: Schemas['Invitation']['status']
  created_by: string
  created_by_name: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  expires_at: string
}

/**
 * Updates a locked project.
 * @see prisma/sql/projects/update-project.sql
 */
export const updateProject = none<{ name: string; description: string | null; category: string | null; tags: readonly string[]; metadata: object | string; status: 'active' | 'archived' | 'deleted'; archived_at: Date | string | null; deleted_at: Date | string | null; version: number; updated_at: Date | string; id: string }>(
  'projects/update-project',
  `UPDATE projects p SET name = $1, description = $2, category = $3, tags = $4, metadata = $5, status = $6, archived_at = $7,
  deleted_at = $8, version = $9, updated_at = $10
WHERE p.id = $11`,
  ['name', 'description', 'category', 'tags', 'metadata', 'status', 'archived_at', 'deleted_at', 'version', 'updated_at', 'id'],
)
