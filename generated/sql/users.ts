// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Adds changes to the totals of the quotas. Returns the number of changes.
 * @see prisma/sql/users/add-up-quota-changes.sql
 */
export const addUpQuotaChanges = one<{ limit: number }, AddUpQuotaChangesRow>(
  'users/add-up-quota-changes',
  `WITH taken AS (
  DELETE FROM quota_changes
  WHERE id = ANY(ARRAY(SELECT id FROM quota_changes ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
  RETURNING user_id, quota, change
), added AS (
  INSERT INTO quota_totals AS t (user_id, quota, used)
  SELECT user_id, quota, sum(change) FROM taken GROUP BY user_id, quota ORDER BY user_id, quota
  ON CONFLICT (user_id, quota) DO UPDATE SET used = t.used + excluded.used
)
SELECT count(*)::int AS n FROM taken`,
  ['limit'],
)
export interface AddUpQuotaChangesRow {
  n: number
}

/**
 * Deletes what belongs to a user alone, apart from memberships. The webhook endpoints get the state of
 * deleted ones.
 * @see prisma/sql/users/delete-data-of-user.sql
 */
export const deleteDataOfUser = none<{ id: string; email: string }>(
  'users/delete-data-of-user',
  `WITH sign_ins_of_user AS (DELETE FROM sign_ins WHERE user_id = $1),
  passwords AS (DELETE FROM user_passwords WHERE user_id = $1),
  second_factors AS (DELETE FROM user_totp WHERE user_id = $1),
  codes AS (DELETE FROM recovery_codes WHERE user_id = $1),
  identities_of_user AS (DELETE FROM identities WHERE user_id = $1),
  passkeys_of_user AS (DELETE FROM passkeys WHERE user_id = $1),
  challenges AS (DELETE FROM passkey_challenges WHERE user_id = $1),
  tokens AS (DELETE FROM one_time_tokens WHERE user_id = $1 OR email = $2),
  mails_to_user AS (DELETE FROM mails WHERE user_id = $1 OR recipient = $2),
  exports AS (DELETE FROM account_exports WHERE user_id = $1),
  keys AS (DELETE FROM api_keys WHERE user_id = $1),
    usage_outside_projects AS (DELETE FROM usage_counts WHERE user_id = $1 AND project_id = ''),
  answers AS (DELETE FROM idempotency_records WHERE owner_id = $1),
  turns AS (DELETE FROM source_turns WHERE owner_id = $1),
  invitations_of_user AS (DELETE FROM invitations WHERE user_id = $1 OR email = $2),
  endpoints AS (
    UPDATE webhook_endpoints SET deleted_at = now(), enabled = false, disabled_reason = NULL, secret = '', previous_secret = NULL,
previous_expires_at = NULL WHERE user_id = $1 AND deleted_at IS NULL
  ),
  customers_of_user AS (
    UPDATE customers SET user_id = NULL, external_id = NULL, email = NULL, name = NULL, address = NULL, tax_ids = '[]', locale = NULL,
metadata = '{}', deleted_at = now() WHERE user_id = $1
  ),
  settings_of_user AS (DELETE FROM settings WHERE user_id = $1)
DELETE FROM avatars WHERE user_id = $1`,
  ['id', 'email'],
)

/**
 * Deletes the memberships of a user and returns them.
 * @see prisma/sql/users/delete-memberships.sql
 */
export const deleteMemberships = many<{ user_id: string; origin: string }, DeleteMembershipsRow>(
  'users/delete-memberships',
  `WITH deleted AS (DELETE FROM members WHERE user_id = $1 RETURNING *)
SELECT m.id, m.project_id, m.role, m.custom_role_id, m.organization_role, m.created_by, m.metadata, m.created_at,
m.updated_at,
jsonb_build_object(
  'id', u.id, 'name', u.name, 'email', u.email, 'avatar_url', $2 || u.avatar_url
) AS user FROM deleted m JOIN users u ON u.id = m.user_id ORDER BY m.project_id`,
  ['user_id', 'origin'],
)
export interface DeleteMembershipsRow {
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
 * Deletes the limits that were last reached before today.
 * @see prisma/sql/users/delete-reached-limits.sql
 */
export const deleteReachedLimits = one<{ limit: number }, DeleteReachedLimitsRow>(
  'users/delete-reached-limits',
  `WITH deleted AS (
  DELETE FROM reached_limits WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM reached_limits WHERE day < (now() AT TIME ZONE 'UTC')::date LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteReachedLimitsRow {
  n: number
}

/**
 * Deletes the recorded requests of a user.
 * @see prisma/sql/users/delete-requests-of-user.sql
 */
export const deleteRequestsOfUser = none<{ id: string }>(
  'users/delete-requests-of-user',
  `DELETE FROM api_requests WHERE user_id = $1`,
  ['id'],
)

/**
 * Deletes the usage of a user by day.
 * @see prisma/sql/users/delete-usage-of-user.sql
 */
export const deleteUsageOfUser = none<{ id: string }>(
  'users/delete-usage-of-user',
  `DELETE FROM usage_days WHERE user_id = $1`,
  ['id'],
)

/**
 * Revokes a batch of expired keys: they no longer count as keys of their users.
 * @see prisma/sql/users/end-expired-keys.sql
 */
export const endExpiredKeys = one<{ limit: number }, EndExpiredKeysRow>(
  'users/end-expired-keys',
  `WITH ended AS (
  UPDATE api_keys SET revoked_at = expires_at WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM api_keys WHERE revoked_at IS NULL AND expires_at < now() LIMIT $1
    FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM ended`,
  ['limit'],
)
export interface EndExpiredKeysRow {
  n: number
}

/**
 * Removes the members of the deleted projects that have no owner besides the user, so that no one can restore
 * them, and makes them old enough to be purged.
 * @see prisma/sql/users/expire-solely-owned-projects.sql
 */
export const expireSolelyOwnedProjects = none<{ days: number; user_id: string }>(
  'users/expire-solely-owned-projects',
  `WITH expired AS (
  UPDATE projects p SET deleted_at = now() - make_interval(days => $1) FROM members m
  WHERE m.project_id = p.id AND m.user_id = $2 AND m.role = 'owner' AND p.status = 'deleted'
    AND NOT EXISTS (
      SELECT 1 FROM members o WHERE o.project_id = p.id AND o.role = 'owner' AND o.user_id <> $2
    )
  RETURNING p.id
)
DELETE FROM members WHERE project_id IN (SELECT id FROM expired)`,
  ['days', 'user_id'],
)

/**
 * The account whose limits of use a user shares.
 * @see prisma/sql/users/find-account-of-limits.sql
 */
export const findAccountOfLimits = one<{ user_id: string }, FindAccountOfLimitsRow>(
  'users/find-account-of-limits',
  `SELECT limits_of($1) AS "account_id"`,
  ['user_id'],
  { reads: true },
)
export interface FindAccountOfLimitsRow {
  account_id: string
}

/**
 * An API key by its id.
 * @see prisma/sql/users/find-api-key-by-id.sql
 */
export const findApiKeyById = optional<{ id: string }, FindApiKeyByIdRow>(
  'users/find-api-key-by-id',
  `SELECT k.id, k.name, k.user_id, k.scopes, k.project_ids, k.all_projects, k.allowed_addresses,
  k.expires_at, k.revoked_at, u.status, a.status AS "account_status",
  g.id AS "grantor_id", coalesce(g.role = 'admin' AND g.status = 'active', false) AS may_operate,
  s.id AS "service_account_id", coalesce(o.limits_of, s.account_id) AS "limits_of"
FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN service_accounts s ON s.user_id = u.id
  LEFT JOIN users g ON g.id = CASE WHEN s.id IS NULL THEN u.id ELSE k.created_by END
  LEFT JOIN users a ON a.id = s.account_id LEFT JOIN organizations o ON o.id = s.account_id
WHERE k.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindApiKeyByIdRow {
  id: string
  name: string
  user_id: string
  scopes: string[]
  project_ids: string[]
  all_projects: boolean
  allowed_addresses: string[]
  expires_at: string | null
  revoked_at: string | null
  status: 'active' | 'disabled' | 'deleted'
  account_status: 'active' | 'disabled' | 'deleted' | null
  grantor_id: string | null
  may_operate: boolean
  service_account_id: string | null
  limits_of: string | null
}

/**
 * An API key by the digest of its secret, in hex.
 * @see prisma/sql/users/find-api-key.sql
 */
export const findApiKey = optional<{ digest: string }, FindApiKeyRow>(
  'users/find-api-key',
  `SELECT k.id, k.name, k.user_id, k.scopes, k.project_ids, k.all_projects, k.allowed_addresses,
  k.expires_at, k.revoked_at, u.status, a.status AS "account_status",
  g.id AS "grantor_id", coalesce(g.role = 'admin' AND g.status = 'active', false) AS may_operate,
  s.id AS "service_account_id", coalesce(o.limits_of, s.account_id) AS "limits_of"
FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN service_accounts s ON s.user_id = u.id
  LEFT JOIN users g ON g.id = CASE WHEN s.id IS NULL THEN u.id ELSE k.created_by END
  LEFT JOIN users a ON a.id = s.account_id LEFT JOIN organizations o ON o.id = s.account_id
WHERE k.digest = decode($1, 'hex')`,
  ['digest'],
  { reads: true },
)
export interface FindApiKeyRow {
  id: string
  name: string
  user_id: string
  scopes: string[]
  project_ids: string[]
  all_projects: boolean
  allowed_addresses: string[]
  expires_at: string | null
  revoked_at: string | null
  status: 'active' | 'disabled' | 'deleted'
  account_status: 'active' | 'disabled' | 'deleted' | null
  grantor_id: string | null
  may_operate: boolean
  service_account_id: string | null
  limits_of: string | null
}

/**
 * The first active admin of the installation.
 * @see prisma/sql/users/find-oldest-admin.sql
 */
export const findOldestAdmin = optional<{}, FindOldestAdminRow>(
  'users/find-oldest-admin',
  `SELECT id FROM users WHERE role = 'admin' AND status = 'active' ORDER BY created_at, id LIMIT 1`,
  [],
  { reads: true },
)
export interface FindOldestAdminRow {
  id: string
}

/**
 * The profile of a user who is not deleted, with the role.
 * @see prisma/sql/users/find-profile.sql
 */
export const findProfile = optional<{ origin: string; id: string }, FindProfileRow>(
  'users/find-profile',
  `SELECT u.id, u.email AS "email", u.email_verified, u.name, u.bio, u.locale, u.timezone,
$1 || u.avatar_url AS avatar_url, u.status,
u.role, u.metadata, u.created_at, u.updated_at FROM users u WHERE u.id = $2 AND u.status <> 'deleted'`,
  ['origin', 'id'],
  { reads: true },
)
export interface FindProfileRow {
  id: string
  email: string
  email_verified: boolean
  name: string
  bio: string | null
  locale: string
  timezone: string
  avatar_url: string | null
  status: Schemas['User']['status']
  role: 'user' | 'admin'
  metadata: Record<string, string>
  created_at: string
  updated_at: string
}

/**
 * A project that exists and has no owner besides the user.
 * @see prisma/sql/users/find-solely-owned-project.sql
 */
export const findSolelyOwnedProject = optional<{ user_id: string }, FindSolelyOwnedProjectRow>(
  'users/find-solely-owned-project',
  `SELECT m.project_id AS id FROM members m
WHERE m.user_id = $1 AND m.role = 'owner' AND m.project_status <> 'deleted'
  AND NOT EXISTS (
    SELECT 1 FROM members o WHERE o.project_id = m.project_id AND o.role = 'owner' AND o.user_id <> $1
  )
LIMIT 1`,
  ['user_id'],
  { reads: true },
)
export interface FindSolelyOwnedProjectRow {
  id: string
}

/**
 * A row if there is an active admin besides the user.
 * @see prisma/sql/users/has-other-admin.sql
 */
export const hasOtherAdmin = optional<{ id: string }, HasOtherAdminRow>(
  'users/has-other-admin',
  `SELECT true AS found FROM users WHERE role = 'admin' AND status = 'active' AND id <> $1 LIMIT 1`,
  ['id'],
  { reads: true },
)
export interface HasOtherAdminRow {
  found: boolean
}

/**
 * Whether there is a user, also a deleted one.
 * @see prisma/sql/users/has-users.sql
 */
export const hasUsers = one<{}, HasUsersRow>(
  'users/has-users',
  `SELECT EXISTS (SELECT FROM users) AS found`,
  [],
  { reads: true },
)
export interface HasUsersRow {
  found: boolean
}

/**
 * A row if the user is an active admin.
 * @see prisma/sql/users/is-admin.sql
 */
export const isAdmin = optional<{ id: string }, IsAdminRow>(
  'users/is-admin',
  `SELECT true AS found FROM users WHERE role = 'admin' AND status = 'active' AND id = $1`,
  ['id'],
  { reads: true },
)
export interface IsAdminRow {
  found: boolean
}

/**
 * A row if the key `id` belongs to the family of the key `family_of`.
 * @see prisma/sql/users/is-in-key-family.sql
 */
export const isInKeyFamily = optional<{ id: string; family_of: string }, IsInKeyFamilyRow>(
  'users/is-in-key-family',
  `SELECT true AS found FROM api_keys k WHERE k.id = $1 AND k.id IN (WITH RECURSIVE family AS (
  SELECT id, replaced_by FROM api_keys WHERE id = $2
  UNION
  SELECT c.id, c.replaced_by FROM family f
    JOIN api_keys c ON c.created_by_key = f.id OR c.id = f.replaced_by OR c.replaced_by = f.id
)
SELECT id FROM family)`,
  ['id', 'family_of'],
  { reads: true },
)
export interface IsInKeyFamilyRow {
  found: boolean
}

/**
 * A session whose user signed in during the last ten minutes. One from the future, by a clock that jumped, is
 * not recent.
 * @see prisma/sql/users/is-recent-sign-in.sql
 */
export const isRecentSignIn = optional<{ id: string }, IsRecentSignInRow>(
  'users/is-recent-sign-in',
  `SELECT id FROM sign_ins WHERE id = $1 AND created_at > now() - interval '10 minutes'
  AND created_at < now() + interval '1 minute' AND expires_at > now()`,
  ['id'],
  { reads: true },
)
export interface IsRecentSignInRow {
  id: string
}

/**
 * Whether a user is a service account.
 * @see prisma/sql/users/is-service-account.sql
 */
export const isServiceAccount = optional<{ id: string }, IsServiceAccountRow>(
  'users/is-service-account',
  `SELECT id FROM service_accounts WHERE user_id = $1`,
  ['id'],
  { reads: true },
)
export interface IsServiceAccountRow {
  id: string
}

/**
 * The API keys of a user.
 * @see prisma/sql/users/list-api-keys.sql
 */
export const listApiKeys = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; active: boolean; created_by: string; family_of: string }, 'created_at' | 'name' | 'updated_at', ListApiKeysRow>(
  'users/list-api-keys',
  {
    select: `SELECT k.id, k.name, k.start, k.scopes AS "scopes",
CASE WHEN NOT k.all_projects THEN k.project_ids END AS project_ids,
nullif(k.allowed_addresses, '{}') AS allowed_addresses, k.expires_at,
k.last_used_at, k.last_used_ip, k.metadata, k.created_at, k.updated_at, k.revoked_at, k.replaced_by,
k.created_by_key, k.created_by
FROM api_keys k
WHERE k.user_id = $1`,
    names: ['user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'active', 'created_by', 'family_of'],
    filters: {
      created_after: { sql: `k.created_at >= $2`, searches: true },
      created_before: { sql: `k.created_at < $3`, searches: true },
      updated_after: { sql: `k.updated_at >= $4`, searches: true },
      updated_before: { sql: `k.updated_at < $5`, searches: true },
      metadata: { sql: `k.metadata <> '{}' AND k.metadata @> $6::jsonb`, searches: true },
      active: { sql: `(k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true)) = $7` },
      created_by: { sql: `k.created_by = $8` },
      family_of: { sql: `k.id IN (WITH RECURSIVE family AS (
  SELECT id, replaced_by FROM api_keys WHERE id = $9
  UNION
  SELECT c.id, c.replaced_by FROM family f
    JOIN api_keys c ON c.created_by_key = f.id OR c.id = f.replaced_by OR c.replaced_by = f.id
)
SELECT id FROM family)` },
    },
    sorts: {
      created_at: `k.created_at`,
      name: `lower(k.name)`,
      updated_at: `k.updated_at`,
    },
    id: `k.id`,
    totals: {
    },
  },
)
export interface ListApiKeysRow {
  id: string
  name: string
  start: string
  scopes: Schemas['ApiKey']['scopes']
  project_ids: string[] | null
  allowed_addresses: string[] | null
  expires_at: string | null
  last_used_at: string | null
  last_used_ip: string | null
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  revoked_at: string | null
  replaced_by: string | null
  created_by_key: string | null
  created_by: string | null
}

/**
 * The active and disabled users, without service accounts. `pattern` is a LIKE pattern.
 * @see prisma/sql/users/list-users.sql
 */
export const listUsers = page<{ origin: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly ('active' | 'disabled' | 'deleted')[]; role: readonly ('user' | 'admin')[]; email: string; pattern: string }, 'created_at' | 'updated_at' | 'name' | 'email', ListUsersRow>(
  'users/list-users',
  {
    select: `SELECT u.id, u.email AS "email", u.email_verified, u.name, u.bio, u.locale, u.timezone,
$1 || u.avatar_url AS avatar_url, u.status,
u.role, u.metadata, u.created_at, u.updated_at
FROM users u
WHERE u.status <> 'deleted' AND NOT EXISTS (SELECT FROM service_accounts a WHERE a.user_id = u.id)`,
    names: ['origin', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status', 'role', 'email', 'pattern'],
    filters: {
      created_after: { sql: `u.created_at >= $2`, searches: true },
      created_before: { sql: `u.created_at < $3`, searches: true },
      updated_after: { sql: `u.updated_at >= $4`, searches: true },
      updated_before: { sql: `u.updated_at < $5`, searches: true },
      metadata: { sql: `u.metadata <> '{}' AND u.metadata @> $6::jsonb`, searches: true },
      status: { sql: `u.status = ANY($7)` },
      role: { sql: `u.role = ANY($8)` },
      email: { sql: `u.email = lower($9)` },
      pattern: { sql: `u.name ILIKE $10 OR u.email LIKE lower($10)`, searches: true },
    },
    sorts: {
      created_at: `u.created_at`,
      updated_at: `u.updated_at`,
      name: `lower(u.name)`,
      email: `u.email`,
    },
    id: `u.id`,
    totals: {
    },
  },
)
export interface ListUsersRow {
  id: string
  email: string
  email_verified: boolean
  name: string
  bio: string | null
  locale: string
  timezone: string
  avatar_url: string | null
  status: Schemas['User']['status']
  role: 'user' | 'admin'
  metadata: Record<string, string>
  created_at: string
  updated_at: string
}

/**
 * Locks all active admins, ordered by id.
 * @see prisma/sql/users/lock-admins.sql
 */
export const lockAdmins = many<{}, LockAdminsRow>(
  'users/lock-admins',
  `SELECT id FROM users WHERE role = 'admin' AND status = 'active' ORDER BY id FOR NO KEY UPDATE`,
)
export interface LockAdminsRow {
  id: string
}

/**
 * Waits until no other server creates the first admin.
 * @see prisma/sql/users/lock-first-admin.sql
 */
export const lockFirstAdmin = one<{}, LockFirstAdminRow>(
  'users/lock-first-admin',
  `SELECT pg_advisory_xact_lock(hashtextextended('bootstrap', 0))`,
)
export interface LockFirstAdminRow {
  pg_advisory_xact_lock: unknown | null
}

/**
 * Locks a user. After this lock, no other transaction can add the user to a project: the trigger
 * `members_require_existing_user` waits for the lock and then refuses a deleted user.
 * @see prisma/sql/users/lock-for-deletion.sql
 */
export const lockForDeletion = optional<{ id: string }, LockForDeletionRow>(
  'users/lock-for-deletion',
  `SELECT id FROM users WHERE id = $1 FOR UPDATE`,
  ['id'],
)
export interface LockForDeletionRow {
  id: string
}

/**
 * The keys of a family that are not revoked, locked against other writers.
 * @see prisma/sql/users/lock-key-family.sql
 */
export const lockKeyFamily = many<{ family_of: string }, LockKeyFamilyRow>(
  'users/lock-key-family',
  `SELECT k.id, k.name, k.start, k.scopes AS "scopes",
CASE WHEN NOT k.all_projects THEN k.project_ids END AS project_ids,
nullif(k.allowed_addresses, '{}') AS allowed_addresses, k.expires_at,
k.last_used_at, k.last_used_ip, k.metadata, k.created_at, k.updated_at, k.revoked_at, k.replaced_by,
k.created_by_key, k.created_by FROM api_keys k
WHERE k.id IN (WITH RECURSIVE family AS (
  SELECT id, replaced_by FROM api_keys WHERE id = $1
  UNION
  SELECT c.id, c.replaced_by FROM family f
    JOIN api_keys c ON c.created_by_key = f.id OR c.id = f.replaced_by OR c.replaced_by = f.id
)
SELECT id FROM family) AND k.revoked_at IS NULL
ORDER BY k.id FOR NO KEY UPDATE OF k`,
  ['family_of'],
)
export interface LockKeyFamilyRow {
  id: string
  name: string
  start: string
  scopes: Schemas['ApiKey']['scopes']
  project_ids: string[] | null
  allowed_addresses: string[] | null
  expires_at: string | null
  last_used_at: string | null
  last_used_ip: string | null
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  revoked_at: string | null
  replaced_by: string | null
  created_by_key: string | null
  created_by: string | null
}

/**
 * Locks a user, so that no other request changes the user's keys, and a key of the user. No row if the key
 * was revoked or expired meanwhile.
 * @see prisma/sql/users/lock-keys-of-caller.sql
 */
export const lockKeysOfCaller = optional<{ id: string }, LockKeysOfCallerRow>(
  'users/lock-keys-of-caller',
  `SELECT k.id FROM users u JOIN api_keys k ON k.user_id = u.id
WHERE k.id = $1 AND k.revoked_at IS NULL AND coalesce(k.expires_at > now(), true)
FOR NO KEY UPDATE OF u, k`,
  ['id'],
)
export interface LockKeysOfCallerRow {
  id: string
}

/**
 * Locks the projects that a user is a member of.
 * @see prisma/sql/users/lock-projects.sql
 */
export const lockProjects = many<{ user_id: string }, LockProjectsRow>(
  'users/lock-projects',
  `SELECT p.id FROM projects p WHERE p.id IN (SELECT project_id FROM members WHERE user_id = $1)
ORDER BY p.id FOR NO KEY UPDATE`,
  ['user_id'],
)
export interface LockProjectsRow {
  id: string
}

/**
 * Locks a user, so that no other request changes the user's keys, and a session of the user. No row if the
 * session has ended meanwhile.
 * @see prisma/sql/users/lock-session-of-caller.sql
 */
export const lockSessionOfCaller = optional<{ id: string }, LockSessionOfCallerRow>(
  'users/lock-session-of-caller',
  `SELECT s.id FROM users u JOIN sign_ins s ON s.user_id = u.id
WHERE s.id = $1 AND s.expires_at > now()
FOR NO KEY UPDATE OF u, s`,
  ['id'],
)
export interface LockSessionOfCallerRow {
  id: string
}

/**
 * Locks a user that is not deleted.
 * @see prisma/sql/users/lock-user.sql
 */
export const lockUser = optional<{ id: string }, LockUserRow>(
  'users/lock-user',
  `SELECT id FROM users WHERE id = $1 AND status <> 'deleted' FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockUserRow {
  id: string
}

/**
 * Notes that a limit was reached today. No row if that is noted already. Of two transactions at once, the
 * second waits for the first.
 * @see prisma/sql/users/note-reached-limit.sql
 */
export const noteReachedLimit = optional<{ subject_id: string; name: string }, NoteReachedLimitRow>(
  'users/note-reached-limit',
  `INSERT INTO reached_limits AS r (subject_id, name, day)
SELECT $1, $2, (now() AT TIME ZONE 'UTC')::date
WHERE NOT EXISTS (SELECT FROM reached_limits known
  WHERE known.subject_id = $1 AND known.name = $2 AND known.day = (now() AT TIME ZONE 'UTC')::date)
ON CONFLICT (subject_id, name) DO UPDATE SET day = excluded.day WHERE r.day < excluded.day
RETURNING r.name`,
  ['subject_id', 'name'],
)
export interface NoteReachedLimitRow {
  name: string
}

/**
 * The users who own the keys.
 * @see prisma/sql/users/owners-of-keys.sql
 */
export const ownersOfKeys = many<{ ids: readonly string[] }, OwnersOfKeysRow>(
  'users/owners-of-keys',
  `SELECT DISTINCT user_id FROM api_keys WHERE id = ANY($1)`,
  ['ids'],
  { reads: true },
)
export interface OwnersOfKeysRow {
  user_id: string
}

/**
 * How much of each quota a user or an organization has used.
 * @see prisma/sql/users/read-quotas.sql
 */
export const readQuotas = one<{ account_id: string }, ReadQuotasRow>(
  'users/read-quotas',
  `SELECT coalesce(jsonb_object_agg(quota, used), '{}') AS "quotas" FROM quota_usage WHERE user_id = $1`,
  ['account_id'],
  { reads: true },
)
export interface ReadQuotasRow {
  quotas: Record<string, number>
}

/**
 * The settings of a user. `default_project_id` is null when the user is no longer a member of the project, or
 * the project is deleted.
 * @see prisma/sql/users/read-settings.sql
 */
export const readSettings = one<{ user_id: string }, ReadSettingsRow>(
  'users/read-settings',
  `SELECT s.theme,
  jsonb_build_object('default_model', s.ai_default_model, 'store_history', s.ai_store_history) AS ai,
  m.project_id AS default_project_id, s.updated_at
FROM settings s LEFT JOIN members m
  ON m.project_id = s.default_project_id AND m.user_id = s.user_id AND m.project_status <> 'deleted'
WHERE s.user_id = $1`,
  ['user_id'],
  { reads: true },
)
export interface ReadSettingsRow {
  theme: 'system' | 'light' | 'dark'
  ai: Schemas['Settings']['ai']
  default_project_id: string | null
  updated_at: string
}

/**
 * The quotas and limits that a user has used, without those that servers count in memory.
 * @see prisma/sql/users/read-use.sql
 */
export const readUse = one<{ user_id: string; heartbeat_timeout_seconds: number }, ReadUseRow>(
  'users/read-use',
  `SELECT
  (SELECT used FROM storage_use(account_of($1), NULL)) AS "storage_bytes",
  coalesce((
  SELECT sum(prompt_tokens + completion_tokens)::bigint FROM ai_usage
  WHERE limits_of = limits_of($1) AND day = (now() AT TIME ZONE 'UTC')::date
), 0) + coalesce((
  SELECT sum(reserved_tokens)::bigint FROM ai_messages
  WHERE user_id IN (SELECT users_sharing_limits($1)) AND status = 'in_progress'
      AND heartbeat_at > now() - make_interval(secs => $2)
), 0) AS tokens,
  ((now() AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC' AS "day_ends",
  (
    SELECT count(*) FROM ai_messages
    WHERE user_id IN (SELECT users_sharing_limits($1)) AND status = 'in_progress'
      AND heartbeat_at > now() - make_interval(secs => $2)
  )::int AS answers,
  coalesce((
    SELECT jsonb_object_agg(quota, used) FROM quota_usage WHERE user_id = account_of($1)
  ), '{}') AS quotas`,
  ['user_id', 'heartbeat_timeout_seconds'],
  { reads: true },
)
export interface ReadUseRow {
  storage_bytes: number
  tokens: number
  day_ends: string
  answers: number
  quotas: Record<string, number>
}

/**
 * The public data of those of the users :ids whom the user :reader may see: the reader, members of the
 * reader's projects (only of :key_projects, if these are not null), and all users for an operator.
 * @see prisma/sql/users/read-visible-users.sql
 */
export const readVisibleUsers = many<{ origin: string; ids: readonly string[]; is_operator: boolean; reader: string; key_projects: readonly string[] | null }, ReadVisibleUsersRow>(
  'users/read-visible-users',
  `SELECT u.id, u.name, u.email AS "email", $1 || u.avatar_url AS avatar_url
FROM users u
WHERE u.id = ANY($2) AND u.status <> 'deleted' AND ($3 OR u.id = $4 OR u.id IN (
  SELECT their.user_id FROM members their
  WHERE their.user_id = ANY($2) AND their.project_id IN (
    SELECT my.project_id FROM members my
    WHERE my.user_id = $4 AND my.project_status <> 'deleted'
      AND ($5::text[] IS NULL OR my.project_id = ANY($5)))))`,
  ['origin', 'ids', 'is_operator', 'reader', 'key_projects'],
  { reads: true },
)
export interface ReadVisibleUsersRow {
  id: string
  name: string
  email: string
  avatar_url: string | null
}

/**
 * Revokes keys and returns them.
 * @see prisma/sql/users/revoke-keys.sql
 */
export const revokeKeys = many<{ ids: readonly string[] }, RevokeKeysRow>(
  'users/revoke-keys',
  `UPDATE api_keys k SET revoked_at = now() WHERE k.id = ANY($1) AND k.revoked_at IS NULL
RETURNING k.id, k.name, k.start, k.scopes AS "scopes",
CASE WHEN NOT k.all_projects THEN k.project_ids END AS project_ids,
nullif(k.allowed_addresses, '{}') AS allowed_addresses, k.expires_at,
k.last_used_at, k.last_used_ip, k.metadata, k.created_at, k.updated_at, k.revoked_at, k.replaced_by,
k.created_by_key, k.created_by`,
  ['ids'],
)
export interface RevokeKeysRow {
  id: string
  name: string
  start: string
  scopes: Schemas['ApiKey']['scopes']
  project_ids: string[] | null
  allowed_addresses: string[] | null
  expires_at: string | null
  last_used_at: string | null
  last_used_ip: string | null
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  revoked_at: string | null
  replaced_by: string | null
  created_by_key: string | null
  created_by: string | null
}

/**
 * Stores the limits of the quotas.
 * @see prisma/sql/users/store-quota-limits.sql
 */
export const storeQuotaLimits = none<{ quotas: readonly string[]; values: readonly number[] }>(
  'users/store-quota-limits',
  `INSERT INTO quota_limits (quota, value)
SELECT * FROM unnest($1::text[], $2::bigint[])
ON CONFLICT (quota) DO UPDATE SET value = excluded.value WHERE quota_limits.value <> excluded.value`,
  ['quotas', 'values'],
)

/**
 * Gives the projects whose `owner_id` is the user to their longest-standing other owners.
 * @see prisma/sql/users/transfer-projects.sql
 */
export const transferProjects = none<{ user_id: string }>(
  'users/transfer-projects',
  `UPDATE projects p SET version = version + 1, owner_id = o.user_id,
  updated_at = greatest(now(), updated_at + interval '1 millisecond')
FROM (
  SELECT DISTINCT ON (m.project_id) m.project_id, m.user_id
  FROM projects owned JOIN members m ON m.project_id = owned.id
  WHERE owned.owner_id = $1 AND m.role = 'owner' AND m.user_id <> $1
  ORDER BY m.project_id, m.created_at, m.id
) o
WHERE o.project_id = p.id`,
  ['user_id'],
)

/**
 * Records when, and from which addresses, API keys and sessions were last used.
 * @see prisma/sql/users/update-last-used.sql
 */
export const updateLastUsed = none<{ ids: readonly string[]; times: readonly (Date | string)[]; ips: readonly string[]; max_seconds: number; idle_seconds: number }>(
  'users/update-last-used',
  `WITH used AS (
  SELECT u.id, u.at, u.ip FROM unnest($1::text[], $2::timestamptz[], $3::text[]) AS u(id, at, ip)
), sessions AS (
    UPDATE sign_ins s SET last_used_at = u.at, ip = u.ip,
    expires_at = CASE WHEN s.in_cookie AND u.until > s.expires_at + interval '1 hour'
      THEN least(u.until, s.created_at + interval '1 second' * $4::int) ELSE s.expires_at END
  FROM (SELECT *, at + interval '1 second' * $5::int AS until FROM used) u
  WHERE s.id = u.id AND s.last_used_at < u.at
)
UPDATE api_keys k SET last_used_at = u.at, last_used_ip = u.ip
FROM used u
WHERE k.id = u.id AND (k.last_used_at IS NULL OR k.last_used_at < u.at)`,
  ['ids', 'times', 'ips', 'max_seconds', 'idle_seconds'],
)
