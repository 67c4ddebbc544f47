// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Forgets the wrong passwords of a network, after the right one.
 * @see prisma/sql/auth/clear-attempts.sql
 */
export const clearAttempts = none<{ account: string; network: string }>(
  'auth/clear-attempts',
  `DELETE FROM sign_in_failures WHERE account = decode($1, 'hex') AND network = $2`,
  ['account', 'network'],
)

/**
 * Confirms the secret that a code was made with, and notes the time step of the code. No row if it was
 * replaced or confirmed meanwhile.
 * @see prisma/sql/auth/confirm-totp.sql
 */
export const confirmTotp = optional<{ step: number; user_id: string; secret: string }, ConfirmTotpRow>(
  'auth/confirm-totp',
  `UPDATE user_totp SET confirmed_at = now(), last_step = $1
WHERE user_id = $2 AND secret = $3 AND confirmed_at IS NULL
RETURNING confirmed_at AS "confirmed_at"`,
  ['step', 'user_id', 'secret'],
)
export interface ConfirmTotpRow {
  confirmed_at: string
}

/**
 * Counts an attempt to sign in with a password, before the password is checked. The row is written whether or
 * not the address has an account. No row if the network must wait: after five wrong passwords a second, then
 * twice as long each time, up to 15 minutes. `before` are the wrong passwords from all networks before it.
 * @see prisma/sql/auth/count-attempt.sql
 */
export const countAttempt = optional<{ account: string; network: string }, CountAttemptRow>(
  'auth/count-attempt',
  `INSERT INTO sign_in_failures AS f (account, network, failures, failed_at)
VALUES (decode($1, 'hex'), $2, 1, now())
ON CONFLICT (account, network) DO UPDATE SET
  failures = CASE WHEN f.failed_at < now() - interval '1 day' THEN 1 ELSE f.failures + 1 END,
  failed_at = now()
WHERE f.failures < 5
  OR f.failed_at <= now() - least(interval '15 minutes',
    interval '1 second' * power(2, least(f.failures - 5, 10)))
RETURNING f.failures, (SELECT coalesce(sum(f.failures), 0) FROM sign_in_failures f
  WHERE f.account = decode($1, 'hex') AND f.failed_at > now() - interval '1 day')::int AS "before"`,
  ['account', 'network'],
)
export interface CountAttemptRow {
  failures: number
  before: number
}

/**
 * Deletes the tokens of earlier changes of a user's address.
 * @see prisma/sql/auth/delete-email-changes.sql
 */
export const deleteEmailChanges = none<{ user_id: string }>(
  'auth/delete-email-changes',
  `DELETE FROM one_time_tokens WHERE user_id = $1 AND purpose = 'email_change'`,
  ['user_id'],
)

/**
 * Removes the identities with an address that is no longer that of their user.
 * @see prisma/sql/auth/delete-identities-of-address.sql
 */
export const deleteIdentitiesOfAddress = many<{ user_id: string; email: string }, DeleteIdentitiesOfAddressRow>(
  'auth/delete-identities-of-address',
  `DELETE FROM identities i WHERE i.user_id = $1 AND i.email = $2
RETURNING i.id, i.user_id, i.provider, i.email, i.created_at, i.updated_at, i.last_used_at`,
  ['user_id', 'email'],
)
export interface DeleteIdentitiesOfAddressRow {
  id: string
  user_id: string
  provider: string
  email: string
  created_at: string
  updated_at: string
  last_used_at: string
}

/**
 * Deletes an e-mail that will not be sent. One with a key keeps its row, without address and content, so that
 * it is not queued again.
 * @see prisma/sql/auth/delete-mail.sql
 */
export const deleteMail = none<{ id: string }>(
  'auth/delete-mail',
  `WITH deleted AS (
  DELETE FROM mails WHERE id = $1 AND status = 'queued' AND dedupe_key IS NULL
)
UPDATE mails SET status = 'dropped', recipient = '', secret = NULL, subject = NULL, content = NULL
WHERE id = $1 AND status = 'queued' AND dedupe_key IS NOT NULL`,
  ['id'],
)

/**
 * Deletes a batch of expired challenges.
 * @see prisma/sql/auth/delete-old-challenges.sql
 */
export const deleteOldChallenges = one<{ limit: number }, DeleteOldChallengesRow>(
  'auth/delete-old-challenges',
  `WITH deleted AS (
  DELETE FROM passkey_challenges WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM passkey_challenges WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldChallengesRow {
  n: number
}

/**
 * Deletes a batch of wrong passwords of more than a day ago.
 * @see prisma/sql/auth/delete-old-failures.sql
 */
export const deleteOldFailures = one<{ limit: number }, DeleteOldFailuresRow>(
  'auth/delete-old-failures',
  `WITH deleted AS (
  DELETE FROM sign_in_failures WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM sign_in_failures WHERE failed_at < now() - interval '1 day'
    LIMIT $1 FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldFailuresRow {
  n: number
}

/**
 * Deletes a batch of e-mails of more than seven days ago.
 * @see prisma/sql/auth/delete-old-mails.sql
 */
export const deleteOldMails = one<{ limit: number }, DeleteOldMailsRow>(
  'auth/delete-old-mails',
  `WITH deleted AS (
  DELETE FROM mails WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM mails WHERE created_at < now() - interval '7 days' LIMIT $1 FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldMailsRow {
  n: number
}

/**
 * Deletes a batch of sessions that have expired.
 * @see prisma/sql/auth/delete-old-sessions.sql
 */
export const deleteOldSessions = one<{ limit: number }, DeleteOldSessionsRow>(
  'auth/delete-old-sessions',
  `WITH deleted AS (
  DELETE FROM sign_ins WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM sign_ins WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldSessionsRow {
  n: number
}

/**
 * Deletes a batch of expired one-time tokens.
 * @see prisma/sql/auth/delete-old-tokens.sql
 */
export const deleteOldTokens = one<{ limit: number }, DeleteOldTokensRow>(
  'auth/delete-old-tokens',
  `WITH deleted AS (
  DELETE FROM one_time_tokens WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM one_time_tokens WHERE expires_at < now() LIMIT $1 FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldTokensRow {
  n: number
}

/**
 * Deletes a one-time token that will not be sent.
 * @see prisma/sql/auth/delete-token.sql
 */
export const deleteToken = none<{ digest: string }>(
  'auth/delete-token',
  `DELETE FROM one_time_tokens WHERE digest = decode($1, 'hex')`,
  ['digest'],
)

/**
 * Deletes the one-time tokens of a user: those that were sent to the address, and those that change it.
 * @see prisma/sql/auth/delete-tokens-of-user.sql
 */
export const deleteTokensOfUser = none<{ user_id: string; email: string }>(
  'auth/delete-tokens-of-user',
  `DELETE FROM one_time_tokens WHERE user_id = $1 OR email = $2`,
  ['user_id', 'email'],
)

/**
 * Removes the second factor of a user with its recovery codes.
 * @see prisma/sql/auth/delete-totp.sql
 */
export const deleteTotp = none<{ user_id: string }>(
  'auth/delete-totp',
  `WITH codes AS (DELETE FROM recovery_codes WHERE user_id = $1)
DELETE FROM user_totp WHERE user_id = $1`,
  ['user_id'],
)

/**
 * Ends a session.
 * @see prisma/sql/auth/end-session.sql
 */
export const endSession = optional<{ id: string }, EndSessionRow>(
  'auth/end-session',
  `DELETE FROM sign_ins s WHERE s.id = $1 RETURNING s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids"`,
  ['id'],
)
export interface EndSessionRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * Ends the sessions of a user, all but one if it is named.
 * @see prisma/sql/auth/end-sessions.sql
 */
export const endSessions = many<{ user_id: string; except: string | null }, EndSessionsRow>(
  'auth/end-sessions',
  `DELETE FROM sign_ins s WHERE s.user_id = $1 AND s.id IS DISTINCT FROM $2
RETURNING s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids"`,
  ['user_id', 'except'],
)
export interface EndSessionsRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * Ends the least used sessions of a user beyond the 99 that may stay beside a new one.
 * @see prisma/sql/auth/end-surplus-sessions.sql
 */
export const endSurplusSessions = many<{ user_id: string }, EndSurplusSessionsRow>(
  'auth/end-surplus-sessions',
  `DELETE FROM sign_ins s WHERE s.id IN (
  SELECT id FROM sign_ins WHERE user_id = $1 ORDER BY last_used_at DESC, id DESC OFFSET 99
)
RETURNING s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids"`,
  ['user_id'],
)
export interface EndSurplusSessionsRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * An active user by verified email address, and whether an invitation to a project or an organization waits
 * for the address.
 * @see prisma/sql/auth/find-account.sql
 */
export const findAccount = one<{ email: string }, FindAccountRow>(
  'auth/find-account',
  `SELECT (SELECT id FROM users WHERE email = $1 AND status = 'active' AND email_verified) AS "user_id",
  EXISTS (SELECT 1 FROM users WHERE email = $1) AS "is_taken",
  EXISTS (SELECT 1 FROM invitations i WHERE i.email = $1 AND CASE WHEN i.status <> 'pending' THEN i.status::text
  WHEN NOT may_give(i.created_by, i.project_id, i.role, i.role, i.role, i.role) OR NOT EXISTS (
    SELECT FROM members a WHERE a.project_id = i.project_id AND a.user_id = i.created_by
      AND a.created_at <= i.created_at
  ) THEN 'revoked'
  WHEN i.expires_at <= now() THEN 'expired' ELSE 'pending' END = 'pending')
    OR EXISTS (SELECT 1 FROM organization_members m
      WHERE m.email = $1 AND CASE WHEN m.status = 'invited' AND (
    m.expires_at <= now() OR NOT may_give_in_organization(m.created_by, m.organization_id, m.role)
  ) THEN 'expired' ELSE m.status::text END = 'invited')
    AS "is_invited"`,
  ['email'],
  { reads: true },
)
export interface FindAccountRow {
  user_id: string | null
  is_taken: boolean
  is_invited: boolean
}

/**
 * The verified email address of an active person. Another may belong to a stranger, and that of a service
 * account receives no e-mails.
 * @see prisma/sql/auth/find-address.sql
 */
export const findAddress = optional<{ user_id: string }, FindAddressRow>(
  'auth/find-address',
  `SELECT u.email AS "email" FROM users u
WHERE u.id = $1 AND u.status = 'active' AND u.email_verified
  AND NOT EXISTS (SELECT 1 FROM service_accounts s WHERE s.user_id = u.id)`,
  ['user_id'],
  { reads: true },
)
export interface FindAddressRow {
  email: string
}

/**
 * A challenge of a user, or of a sign-in, that has not expired.
 * @see prisma/sql/auth/find-challenge.sql
 */
export const findChallenge = optional<{ digest: string; user_id: string | null }, FindChallengeRow>(
  'auth/find-challenge',
  `SELECT c.expires_at FROM passkey_challenges c
WHERE c.digest = decode($1, 'hex') AND c.user_id IS NOT DISTINCT FROM $2 AND c.expires_at > now()`,
  ['digest', 'user_id'],
  { reads: true },
)
export interface FindChallengeRow {
  expires_at: string
}

/**
 * The user of an account at an identity provider.
 * @see prisma/sql/auth/find-identity.sql
 */
export const findIdentity = optional<{ provider: string; subject: string }, FindIdentityRow>(
  'auth/find-identity',
  `SELECT i.user_id FROM identities i WHERE i.provider = $1 AND i.subject = $2`,
  ['provider', 'subject'],
  { reads: true },
)
export interface FindIdentityRow {
  user_id: string
}

/**
 * A passkey by the id that its device gave it, with what verifies its signatures.
 * @see prisma/sql/auth/find-passkey.sql
 */
export const findPasskey = optional<{ credential: string }, FindPasskeyRow>(
  'auth/find-passkey',
  `SELECT p.id, p.user_id, encode(p.public_key, 'base64') AS "public_key", p.counter
FROM passkeys p WHERE p.credential = $1`,
  ['credential'],
  { reads: true },
)
export interface FindPasskeyRow {
  id: string
  user_id: string
  public_key: string
  counter: number
}

/**
 * An active user by email address, with the hash of the password. `failures` are the wrong passwords from all
 * networks that had one in the last day. `is_known` is true if the user has a session from the network.
 * @see prisma/sql/auth/find-password.sql
 */
export const findPassword = optional<{ account: string; network: string; email: string }, FindPasswordRow>(
  'auth/find-password',
  `SELECT u.id, p.hash, (SELECT coalesce(sum(f.failures), 0) FROM sign_in_failures f
  WHERE f.account = decode($1, 'hex') AND f.failed_at > now() - interval '1 day')::int AS "failures", EXISTS (SELECT 1 FROM sign_ins s WHERE s.user_id = u.id AND s.network = $2) AS "is_known"
FROM users u JOIN user_passwords p ON p.user_id = u.id
WHERE u.email = $3 AND u.status = 'active'`,
  ['account', 'network', 'email'],
  { reads: true },
)
export interface FindPasswordRow {
  id: string
  hash: string
  failures: number
  is_known: boolean
}

/**
 * A session whose refresh token with a number was first used less than `seconds` ago, if its latest refresh
 * came from the network. A time in the future, by a clock that jumped, does not count.
 * @see prisma/sql/auth/find-repeated-refresh.sql
 */
export const findRepeatedRefresh = optional<{ id: string; network: string; generation: number; seconds: number }, FindRepeatedRefreshRow>(
  'auth/find-repeated-refresh',
  `SELECT s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids", s.in_cookie
FROM sign_ins s JOIN users u ON u.id = s.user_id
WHERE s.id = $1 AND s.network = $2 AND s.expires_at > now() AND u.status = 'active'
  AND s.refreshed_at[cardinality(s.refreshed_at) - (s.generation - $3) + 1]
    BETWEEN now() - interval '1 second' * $4 AND now() + interval '1 second' * $4`,
  ['id', 'network', 'generation', 'seconds'],
  { reads: true },
)
export interface FindRepeatedRefreshRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
  in_cookie: boolean
}

/**
 * A session with what decides about its user.
 * @see prisma/sql/auth/find-session.sql
 */
export const findSession = optional<{ id: string }, FindSessionRow>(
  'auth/find-session',
  `SELECT s.id, s.user_id, s.in_cookie, s.expires_at, u.status, u.role, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids"
FROM sign_ins s JOIN users u ON u.id = s.user_id
WHERE s.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindSessionRow {
  id: string
  user_id: string
  in_cookie: boolean
  expires_at: string
  status: 'active' | 'disabled' | 'deleted'
  role: 'user' | 'admin'
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * The address of a one-time token of a purpose, and the identity provider whose identity it links.
 * @see prisma/sql/auth/find-token.sql
 */
export const findToken = optional<{ digest: string; purpose: string }, FindTokenRow>(
  'auth/find-token',
  `SELECT t.email, t.provider FROM one_time_tokens t
WHERE t.digest = decode($1, 'hex') AND t.purpose = $2 AND t.expires_at > now()`,
  ['digest', 'purpose'],
  { reads: true },
)
export interface FindTokenRow {
  email: string
  provider: string | null
}

/**
 * Second factors after `after` with a secret that was not encrypted with the current key. `pattern` fits the
 * secrets that were.
 * @see prisma/sql/auth/find-totp-of-other-keys.sql
 */
export const findTotpOfOtherKeys = many<{ after: string; pattern: string; count: number }, FindTotpOfOtherKeysRow>(
  'auth/find-totp-of-other-keys',
  `SELECT user_id, secret FROM user_totp
WHERE user_id > $1 AND secret NOT LIKE $2
ORDER BY user_id LIMIT $3`,
  ['after', 'pattern', 'count'],
  { reads: true },
)
export interface FindTotpOfOtherKeysRow {
  user_id: string
  secret: string
}

/**
 * Ends the work on an e-mail. What was sent is not stored.
 * @see prisma/sql/auth/finish-mail.sql
 */
export const finishMail = none<{ status: string; error: string | null; id: string }>(
  'auth/finish-mail',
  `UPDATE mails SET status = $1, error = $2, attempts = attempts + 1, secret = NULL,
  content = CASE WHEN $1 = 'kept' THEN content END,
  sent_at = CASE WHEN $1 = 'sent' THEN now() END
WHERE id = $3`,
  ['status', 'error', 'id'],
)

/**
 * Locks the password of a user against a change. No row if it has another hash meanwhile.
 * @see prisma/sql/auth/hold-password.sql
 */
export const holdPassword = optional<{ user_id: string; hash: string }, HoldPasswordRow>(
  'auth/hold-password',
  `SELECT user_id FROM user_passwords WHERE user_id = $1 AND hash = $2 FOR SHARE`,
  ['user_id', 'hash'],
)
export interface HoldPasswordRow {
  user_id: string
}

/**
 * Stores a challenge, by its SHA-256.
 * @see prisma/sql/auth/insert-challenge.sql
 */
export const insertChallenge = none<{ digest: string; user_id: string | null; seconds: number }>(
  'auth/insert-challenge',
  `INSERT INTO passkey_challenges (digest, user_id, expires_at)
VALUES (decode($1, 'hex'), $2, now() + interval '1 second' * $3)`,
  ['digest', 'user_id', 'seconds'],
)

/**
 * Links an account at an identity provider to a user. No row if it is linked to a user already.
 * @see prisma/sql/auth/insert-identity.sql
 */
export const insertIdentity = optional<{ id: string; user_id: string; provider: string; subject: string; email: string; created_at: Date | string }, InsertIdentityRow>(
  'auth/insert-identity',
  `INSERT INTO identities AS i (id, user_id, provider, subject, email, created_at, updated_at, last_used_at)
VALUES ($1, $2, $3, $4, $5, $6::timestamptz, $6::timestamptz,
  $6::timestamptz)
ON CONFLICT (provider, subject) DO NOTHING
RETURNING i.id, i.user_id, i.provider, i.email, i.created_at, i.updated_at, i.last_used_at`,
  ['id', 'user_id', 'provider', 'subject', 'email', 'created_at'],
)
export interface InsertIdentityRow {
  id: string
  user_id: string
  provider: string
  email: string | null
  created_at: string
  updated_at: string
  last_used_at: string
}

/**
 * Queues an e-mail. No row if one with the same key was queued before.
 * @see prisma/sql/auth/insert-mail.sql
 */
export const insertMail = optional<{ id: string; kind: string; recipient: string; user_id: string | null; secret: string | null; resource_id: string | null; subject: string | null; content: string | null; dedupe_key: string | null; created_at: Date | string }, InsertMailRow>(
  'auth/insert-mail',
  `INSERT INTO mails (id, kind, recipient, user_id, secret, resource_id, subject, content, dedupe_key,
  created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8,
  $9, $10::timestamptz)
ON CONFLICT (dedupe_key) DO NOTHING
RETURNING id`,
  ['id', 'kind', 'recipient', 'user_id', 'secret', 'resource_id', 'subject', 'content', 'dedupe_key', 'created_at'],
)
export interface InsertMailRow {
  id: string
}

/**
 * Adds a passkey. No row if it exists.
 * @see prisma/sql/auth/insert-passkey.sql
 */
export const insertPasskey = optional<{ id: string; user_id: string; name: string; credential: string; public_key: string; counter: number; transports: readonly string[]; synced: boolean; created_at: Date | string }, InsertPasskeyRow>(
  'auth/insert-passkey',
  `INSERT INTO passkeys AS p (id, user_id, name, credential, public_key, counter, transports, synced, created_at,
  updated_at)
VALUES ($1, $2, $3, $4, decode($5, 'base64'), $6, $7::text[],
  $8, $9::timestamptz, $9::timestamptz)
ON CONFLICT (credential) DO NOTHING
RETURNING p.id, p.user_id, p.name, p.synced, p.created_at, p.updated_at, p.last_used_at`,
  ['id', 'user_id', 'name', 'credential', 'public_key', 'counter', 'transports', 'synced', 'created_at'],
)
export interface InsertPasskeyRow {
  id: string
  user_id: string
  name: string
  synced: boolean
  created_at: string
  updated_at: string
  last_used_at: string | null
}

/**
 * Stores the one-time token of a sign-in at an identity provider, by its SHA-256. With :provider and :subject
 * its use links that identity to the user.
 * @see prisma/sql/auth/insert-provider-token.sql
 */
export const insertProviderToken = none<{ digest: string; email: string; user_id: string; provider: string | null; subject: string | null; seconds: number }>(
  'auth/insert-provider-token',
  `INSERT INTO one_time_tokens (digest, purpose, email, user_id, provider, subject, expires_at)
VALUES (decode($1, 'hex'), 'oidc', $2, $3, $4, $5,
  now() + interval '1 second' * $6)`,
  ['digest', 'email', 'user_id', 'provider', 'subject', 'seconds'],
)

/**
 * Creates a session.
 * @see prisma/sql/auth/insert-session.sql
 */
export const insertSession = one<{ id: string; user_id: string; methods: readonly string[]; ip: string | null; network: string; device: string | null; in_cookie: boolean; scopes: readonly string[] | null; project_ids: readonly string[] | null; created_at: Date | string; idle_seconds: number; max_seconds: number }, InsertSessionRow>(
  'auth/insert-session',
  `INSERT INTO sign_ins AS s (id, user_id, methods, ip, network, device, in_cookie, scopes, all_scopes,
  project_ids, all_projects, created_at, updated_at, last_used_at, expires_at)
VALUES ($1, $2, $3::text[], $4, $5, $6, $7,
  coalesce($8::text[], '{}'), $8 IS NULL,
  coalesce($9::text[], '{}'), $9 IS NULL, $10::timestamptz,
  $10::timestamptz, $10::timestamptz,
  $10::timestamptz + interval '1 second' * least($11::int, $12::int))
RETURNING s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids"`,
  ['id', 'user_id', 'methods', 'ip', 'network', 'device', 'in_cookie', 'scopes', 'project_ids', 'created_at', 'idle_seconds', 'max_seconds'],
)
export interface InsertSessionRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * Stores a one-time token, by its SHA-256.
 * @see prisma/sql/auth/insert-token.sql
 */
export const insertToken = none<{ digest: string; purpose: string; email: string; user_id: string | null; name: string | null; seconds: number }>(
  'auth/insert-token',
  `INSERT INTO one_time_tokens (digest, purpose, email, user_id, name, expires_at)
VALUES (decode($1, 'hex'), $2, $3, $4, $5,
  now() + interval '1 second' * $6)`,
  ['digest', 'purpose', 'email', 'user_id', 'name', 'seconds'],
)

/**
 * Limits a session, which must be locked, further. Null changes nothing.
 * @see prisma/sql/auth/limit-session.sql
 */
export const limitSession = one<{ scopes: readonly string[] | null; project_ids: readonly string[] | null; id: string }, LimitSessionRow>(
  'auth/limit-session',
  `UPDATE sign_ins s SET
  scopes = coalesce($1::text[], s.scopes), all_scopes = s.all_scopes AND $1 IS NULL,
  project_ids = coalesce($2::text[], s.project_ids),
  all_projects = s.all_projects AND $2 IS NULL
WHERE s.id = $3
RETURNING s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids"`,
  ['scopes', 'project_ids', 'id'],
)
export interface LimitSessionRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * The identities of a user.
 * @see prisma/sql/auth/list-identities.sql
 */
export const listIdentities = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string }, 'created_at', ListIdentitiesRow>(
  'auth/list-identities',
  {
    select: `SELECT i.id, i.user_id, i.provider, i.email, i.created_at, i.updated_at, i.last_used_at
FROM identities i
WHERE i.user_id = $1`,
    names: ['user_id', 'created_after', 'created_before', 'updated_after', 'updated_before'],
    filters: {
      created_after: { sql: `i.id >= id_at('idn', $2)`, searches: true },
      created_before: { sql: `i.id < id_at('idn', $3)`, searches: true },
      updated_after: { sql: `i.updated_at >= $4`, searches: true },
      updated_before: { sql: `i.updated_at < $5`, searches: true },
    },
    sorts: {
      created_at: `i.id`,
    },
    id: `i.id`,
    totals: {
    },
  },
)
export interface ListIdentitiesRow {
  id: string
  user_id: string
  provider: string
  email: string | null
  created_at: string
  updated_at: string
  last_used_at: string
}

/**
 * The latest e-mails of the outbox.
 * @see prisma/sql/auth/list-outbox.sql
 */
export const listOutbox = many<{ limit: number }, ListOutboxRow>(
  'auth/list-outbox',
  `SELECT m.id, m.recipient, m.subject, m.content, m.status, m.error, m.created_at
FROM mails m WHERE m.status IN ('kept', 'queued', 'failed') ORDER BY m.id DESC LIMIT $1`,
  ['limit'],
  { reads: true },
)
export interface ListOutboxRow {
  id: string
  recipient: string
  subject: string | null
  content: string | null
  status: string
  error: string | null
  created_at: string
}

/**
 * The identities of a user, newest first.
 * @see prisma/sql/auth/list-own-identities.sql
 */
export const listOwnIdentities = many<{ user_id: string; limit: number }, ListOwnIdentitiesRow>(
  'auth/list-own-identities',
  `SELECT i.id, i.user_id, i.provider, i.email, i.created_at, i.updated_at, i.last_used_at FROM identities i WHERE i.user_id = $1 ORDER BY i.id DESC LIMIT $2`,
  ['user_id', 'limit'],
  { reads: true },
)
export interface ListOwnIdentitiesRow {
  id: string
  user_id: string
  provider: string
  email: string | null
  created_at: string
  updated_at: string
  last_used_at: string
}

/**
 * The passkeys of a user, newest first.
 * @see prisma/sql/auth/list-own-passkeys.sql
 */
export const listOwnPasskeys = many<{ user_id: string; limit: number }, ListOwnPasskeysRow>(
  'auth/list-own-passkeys',
  `SELECT p.id, p.user_id, p.name, p.synced, p.created_at, p.updated_at, p.last_used_at FROM passkeys p WHERE p.user_id = $1 ORDER BY p.id DESC LIMIT $2`,
  ['user_id', 'limit'],
  { reads: true },
)
export interface ListOwnPasskeysRow {
  id: string
  user_id: string
  name: string
  synced: boolean
  created_at: string
  updated_at: string
  last_used_at: string | null
}

/**
 * The newest sessions of a user that have not ended.
 * @see prisma/sql/auth/list-own-sessions.sql
 */
export const listOwnSessions = many<{ current: string; user_id: string; limit: number }, ListOwnSessionsRow>(
  'auth/list-own-sessions',
  `SELECT s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids", s.id = $1 AS "current"
FROM sign_ins s
WHERE s.user_id = $2 AND s.expires_at > now()
ORDER BY s.id DESC
LIMIT $3`,
  ['current', 'user_id', 'limit'],
  { reads: true },
)
export interface ListOwnSessionsRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
  current: boolean
}

/**
 * The passkeys of a user.
 * @see prisma/sql/auth/list-passkeys.sql
 */
export const listPasskeys = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string }, 'created_at', ListPasskeysRow>(
  'auth/list-passkeys',
  {
    select: `SELECT p.id, p.user_id, p.name, p.synced, p.created_at, p.updated_at, p.last_used_at
FROM passkeys p
WHERE p.user_id = $1`,
    names: ['user_id', 'created_after', 'created_before', 'updated_after', 'updated_before'],
    filters: {
      created_after: { sql: `p.id >= id_at('pky', $2)`, searches: true },
      created_before: { sql: `p.id < id_at('pky', $3)`, searches: true },
      updated_after: { sql: `p.updated_at >= $4`, searches: true },
      updated_before: { sql: `p.updated_at < $5`, searches: true },
    },
    sorts: {
      created_at: `p.id`,
    },
    id: `p.id`,
    totals: {
    },
  },
)
export interface ListPasskeysRow {
  id: string
  user_id: string
  name: string
  synced: boolean
  created_at: string
  updated_at: string
  last_used_at: string | null
}

/**
 * The sessions of a user that have not ended.
 * @see prisma/sql/auth/list-sessions.sql
 */
export const listSessions = page<{ current: string; user_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string }, 'created_at', ListSessionsRow>(
  'auth/list-sessions',
  {
    select: `SELECT s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids", s.id = $1 AS "current"
FROM sign_ins s
WHERE s.user_id = $2 AND s.expires_at > now()`,
    names: ['current', 'user_id', 'created_after', 'created_before', 'updated_after', 'updated_before'],
    filters: {
      created_after: { sql: `s.id >= id_at('ses', $3)`, searches: true },
      created_before: { sql: `s.id < id_at('ses', $4)`, searches: true },
      updated_after: { sql: `s.updated_at >= $5`, searches: true },
      updated_before: { sql: `s.updated_at < $6`, searches: true },
    },
    sorts: {
      created_at: `s.id`,
    },
    id: `s.id`,
    totals: {
    },
  },
)
export interface ListSessionsRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
  current: boolean
}

/**
 * Locks an e-mail that is to be sent. The counts are the others to the same address before it, of its kind or
 * of `open_kinds`: those that were sent, and older ones that are being sent.
 * @see prisma/sql/auth/lock-mail.sql
 */
export const lockMail = optional<{ open_kinds: readonly string[]; id: string }, LockMailRow>(
  'auth/lock-mail',
  `SELECT m.id, m.kind, m.recipient, m.secret, m.resource_id, m.content, m.attempts, m.created_at,
  earlier.lately AS "lately", earlier.last_hour AS "last_hour", earlier.today AS "today",
  earlier.open_today AS "open_today"
FROM mails m CROSS JOIN LATERAL (
  SELECT
    count(*) FILTER (WHERE o.kind = m.kind AND o.created_at > m.created_at - interval '15 minutes')::int
      AS lately,
    count(*) FILTER (WHERE o.kind = m.kind AND o.created_at > m.created_at - interval '1 hour')::int
      AS last_hour,
    count(*) FILTER (WHERE o.kind = m.kind)::int AS today,
    count(*) FILTER (WHERE o.kind = ANY($1))::int AS open_today
  FROM mails o WHERE o.recipient = m.recipient AND o.kind = ANY(m.kind || $1)
    AND o.created_at > m.created_at - interval '1 day'
    AND (o.status IN ('sent', 'kept') OR (o.content IS NOT NULL AND o.id < m.id))
) earlier
WHERE m.id = $2 AND m.status = 'queued' FOR NO KEY UPDATE OF m`,
  ['open_kinds', 'id'],
)
export interface LockMailRow {
  id: string
  kind: string
  recipient: string
  secret: string | null
  resource_id: string | null
  content: string | null
  attempts: number
  created_at: string
  lately: number
  last_hour: number
  today: number
  open_today: number
}

/**
 * A session that has not ended, locked until the transaction ends.
 * @see prisma/sql/auth/lock-session.sql
 */
export const lockSession = optional<{ id: string }, LockSessionRow>(
  'auth/lock-session',
  `SELECT s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids" FROM sign_ins s WHERE s.id = $1 AND s.expires_at > now()
FOR NO KEY UPDATE OF s`,
  ['id'],
)
export interface LockSessionRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * Moves a session into a cookie: its tokens are no longer valid. No row if the token is not the latest one,
 * or if the session or its user has ended.
 * @see prisma/sql/auth/move-session-to-cookie.sql
 */
export const moveSessionToCookie = optional<{ ip: string | null; network: string; idle_seconds: number; max_seconds: number; id: string; generation: number }, MoveSessionToCookieRow>(
  'auth/move-session-to-cookie',
  `UPDATE sign_ins s SET generation = s.generation + 1, refreshed_at = s.refreshed_at[greatest(cardinality(s.refreshed_at) - 8, 1):] || now(),
  in_cookie = true, updated_at = now(), last_used_at = now(), ip = $1, network = $2,
  expires_at = least(now() + interval '1 second' * $3,
    s.created_at + interval '1 second' * $4)
FROM users u
WHERE s.id = $5 AND s.generation = $6 AND s.expires_at > now()
  AND u.id = s.user_id AND u.status = 'active'
RETURNING s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids"`,
  ['ip', 'network', 'idle_seconds', 'max_seconds', 'id', 'generation'],
)
export interface MoveSessionToCookieRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * Notes that an e-mail could not be sent yet.
 * @see prisma/sql/auth/note-failed-attempt.sql
 */
export const noteFailedAttempt = none<{ error: string; id: string }>(
  'auth/note-failed-attempt',
  `UPDATE mails SET attempts = attempts + 1, error = $1 WHERE id = $2`,
  ['error', 'id'],
)

/**
 * The ids that devices gave to the passkeys of a user.
 * @see prisma/sql/auth/passkey-credentials.sql
 */
export const passkeyCredentials = many<{ user_id: string }, PasskeyCredentialsRow>(
  'auth/passkey-credentials',
  `SELECT p.credential FROM passkeys p WHERE p.user_id = $1`,
  ['user_id'],
  { reads: true },
)
export interface PasskeyCredentialsRow {
  credential: string
}

/**
 * The wrong codes of a user from all networks, and whether the user has a session from this one.
 * @see prisma/sql/auth/read-failures.sql
 */
export const readFailures = optional<{ account: string; network: string; user_id: string }, ReadFailuresRow>(
  'auth/read-failures',
  `SELECT (SELECT coalesce(sum(f.failures), 0) FROM sign_in_failures f
  WHERE f.account = decode($1, 'hex') AND f.failed_at > now() - interval '1 day')::int AS "failures", EXISTS (SELECT 1 FROM sign_ins s WHERE s.user_id = u.id AND s.network = $2) AS "is_known" FROM users u WHERE u.id = $3`,
  ['account', 'network', 'user_id'],
  { reads: true },
)
export interface ReadFailuresRow {
  failures: number
  is_known: boolean
}

/**
 * An identity.
 * @see prisma/sql/auth/read-identity.sql
 */
export const readIdentity = optional<{ id: string }, ReadIdentityRow>(
  'auth/read-identity',
  `SELECT i.id, i.user_id, i.provider, i.email, i.created_at, i.updated_at, i.last_used_at FROM identities i WHERE i.id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadIdentityRow {
  id: string
  user_id: string
  provider: string
  email: string | null
  created_at: string
  updated_at: string
  last_used_at: string
}

/**
 * A passkey.
 * @see prisma/sql/auth/read-passkey.sql
 */
export const readPasskey = optional<{ id: string }, ReadPasskeyRow>(
  'auth/read-passkey',
  `SELECT p.id, p.user_id, p.name, p.synced, p.created_at, p.updated_at, p.last_used_at FROM passkeys p WHERE p.id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadPasskeyRow {
  id: string
  user_id: string
  name: string
  synced: boolean
  created_at: string
  updated_at: string
  last_used_at: string | null
}

/**
 * A session that has not expired.
 * @see prisma/sql/auth/read-session.sql
 */
export const readSession = optional<{ id: string }, ReadSessionRow>(
  'auth/read-session',
  `SELECT s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids" FROM sign_ins s WHERE s.id = $1 AND s.expires_at > now()`,
  ['id'],
  { reads: true },
)
export interface ReadSessionRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * The facts that decide whether a user who has signed in must give the password again.
 * @see prisma/sql/auth/read-sign-in.sql
 */
export const readSignIn = optional<{ session_id: string; user_id: string }, ReadSignInRow>(
  'auth/read-sign-in',
  `SELECT u.email AS "email", EXISTS (SELECT 1 FROM user_passwords p WHERE p.user_id = u.id) AS "has_password",
  (s.methods && ARRAY['link', 'oidc', 'passkey']
    AND s.created_at > now() - interval '10 minutes'
    AND s.created_at < now() + interval '1 minute') AS "is_recent"
FROM sign_ins s JOIN users u ON u.id = s.user_id
WHERE s.id = $1 AND s.user_id = $2 AND s.expires_at > now()`,
  ['session_id', 'user_id'],
  { reads: true },
)
export interface ReadSignInRow {
  email: string
  has_password: boolean
  is_recent: boolean
}

/**
 * The second factor of a user, and how many recovery codes are left.
 * @see prisma/sql/auth/read-totp.sql
 */
export const readTotp = optional<{ user_id: string }, ReadTotpRow>(
  'auth/read-totp',
  `SELECT t.secret, t.confirmed_at, t.last_step,
  (SELECT count(*) FROM recovery_codes r WHERE r.user_id = t.user_id)::int AS "recovery_codes_left"
FROM user_totp t WHERE t.user_id = $1`,
  ['user_id'],
  { reads: true },
)
export interface ReadTotpRow {
  secret: string
  confirmed_at: string | null
  last_step: number
  recovery_codes_left: number
}

/**
 * Moves a session to its next refresh token. No row if the token is not the latest one, or if the session or
 * its user has ended.
 * @see prisma/sql/auth/refresh-session.sql
 */
export const refreshSession = optional<{ ip: string | null; network: string; idle_seconds: number; max_seconds: number; id: string; generation: number }, RefreshSessionRow>(
  'auth/refresh-session',
  `UPDATE sign_ins s SET generation = s.generation + 1, refreshed_at = s.refreshed_at[greatest(cardinality(s.refreshed_at) - 8, 1):] || now(),
  updated_at = now(), last_used_at = now(), ip = $1, network = $2,
  expires_at = least(now() + interval '1 second' * $3,
    s.created_at + interval '1 second' * $4)
FROM users u
WHERE s.id = $5 AND s.generation = $6 AND s.expires_at > now()
  AND u.id = s.user_id AND u.status = 'active'
RETURNING s.id, s.user_id, s.methods AS "methods", s.ip, s.device, s.created_at, s.updated_at,
s.last_used_at, s.expires_at, CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids"`,
  ['ip', 'network', 'idle_seconds', 'max_seconds', 'id', 'generation'],
)
export interface RefreshSessionRow {
  id: string
  user_id: string
  methods: Schemas['SignInSession']['methods']
  ip: string | null
  device: string | null
  created_at: string
  updated_at: string
  last_used_at: string
  expires_at: string
  scopes: Schemas['SignInSession']['scopes'] | null
  project_ids: string[] | null
}

/**
 * Renames a passkey.
 * @see prisma/sql/auth/rename-passkey.sql
 */
export const renamePasskey = one<{ name: string; id: string }, RenamePasskeyRow>(
  'auth/rename-passkey',
  `UPDATE passkeys p SET name = $1 WHERE p.id = $2
RETURNING p.id, p.user_id, p.name, p.synced, p.created_at, p.updated_at, p.last_used_at`,
  ['name', 'id'],
)
export interface RenamePasskeyRow {
  id: string
  user_id: string
  name: string
  synced: boolean
  created_at: string
  updated_at: string
  last_used_at: string | null
}

/**
 * Replaces the recovery codes of a user.
 * @see prisma/sql/auth/replace-recovery-codes.sql
 */
export const replaceRecoveryCodes = none<{ user_id: string; digests: readonly string[] }>(
  'auth/replace-recovery-codes',
  `WITH removed AS (
  DELETE FROM recovery_codes WHERE user_id = $1 AND NOT encode(digest, 'hex') = ANY($2)
)
INSERT INTO recovery_codes (user_id, digest) SELECT $1, decode(d, 'hex') FROM unnest($2::text[]) d`,
  ['user_id', 'digests'],
)

/**
 * Stores the re-encrypted secrets of second factors, unless a new set-up has replaced them.
 * @see prisma/sql/auth/replace-totp-secrets.sql
 */
export const replaceTotpSecrets = none<{ ids: readonly string[]; known: readonly string[]; secrets: readonly string[] }>(
  'auth/replace-totp-secrets',
  `UPDATE user_totp t SET secret = n.secret
FROM unnest($1::text[], $2::text[], $3::text[]) AS n (id, known, secret)
WHERE t.user_id = n.id AND t.secret = n.known`,
  ['ids', 'known', 'secrets'],
)

/**
 * Stores a new secret that is not confirmed yet. No row if the user has a confirmed one.
 * @see prisma/sql/auth/start-totp.sql
 */
export const startTotp = optional<{ user_id: string; secret: string }, StartTotpRow>(
  'auth/start-totp',
  `INSERT INTO user_totp AS t (user_id, secret) VALUES ($1, $2)
ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret WHERE t.confirmed_at IS NULL
RETURNING t.user_id`,
  ['user_id', 'secret'],
)
export interface StartTotpRow {
  user_id: string
}

/**
 * Stores the content of an e-mail before it is sent, so that each attempt sends the same bytes.
 * @see prisma/sql/auth/store-content.sql
 */
export const storeContent = none<{ subject: string; content: string; id: string }>(
  'auth/store-content',
  `UPDATE mails SET subject = $1, content = $2, secret = NULL WHERE id = $3`,
  ['subject', 'content', 'id'],
)

/**
 * Sets the password of a user.
 * @see prisma/sql/auth/store-password.sql
 */
export const storePassword = none<{ user_id: string; hash: string }>(
  'auth/store-password',
  `INSERT INTO user_passwords (user_id, hash, changed_at) VALUES ($1, $2, now())
ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, changed_at = excluded.changed_at`,
  ['user_id', 'hash'],
)

/**
 * Uses a challenge. Of several requests, one gets the row.
 * @see prisma/sql/auth/use-challenge.sql
 */
export const useChallenge = optional<{ digest: string }, UseChallengeRow>(
  'auth/use-challenge',
  `DELETE FROM passkey_challenges c WHERE c.digest = decode($1, 'hex') AND c.expires_at > now()
RETURNING c.expires_at`,
  ['digest'],
)
export interface UseChallengeRow {
  expires_at: string
}

/**
 * Notes that an identity was used to sign in.
 * @see prisma/sql/auth/use-identity.sql
 */
export const useIdentity = none<{ email: string | null; provider: string; subject: string }>(
  'auth/use-identity',
  `UPDATE identities i SET email = $1, last_used_at = now(),
  updated_at = CASE WHEN i.email IS DISTINCT FROM $1 THEN now() ELSE i.updated_at END
WHERE i.provider = $2 AND i.subject = $3`,
  ['email', 'provider', 'subject'],
)

/**
 * Notes that a passkey was used to sign in. No row if it was removed, or if a copy of it has signed
 * meanwhile.
 * @see prisma/sql/auth/use-passkey.sql
 */
export const usePasskey = optional<{ counter: number; id: string }, UsePasskeyRow>(
  'auth/use-passkey',
  `UPDATE passkeys p SET counter = $1, last_used_at = now()
WHERE p.id = $2 AND (p.counter < $1 OR (p.counter = 0 AND $1 = 0))
RETURNING p.user_id`,
  ['counter', 'id'],
)
export interface UsePasskeyRow {
  user_id: string
}

/**
 * Uses a recovery code. Of several requests, one gets the row.
 * @see prisma/sql/auth/use-recovery-code.sql
 */
export const useRecoveryCode = optional<{ user_id: string; digest: string }, UseRecoveryCodeRow>(
  'auth/use-recovery-code',
  `DELETE FROM recovery_codes WHERE user_id = $1 AND digest = decode($2, 'hex') RETURNING user_id`,
  ['user_id', 'digest'],
)
export interface UseRecoveryCodeRow {
  user_id: string
}

/**
 * Uses a one-time token of a purpose. Of several requests, one gets the row.
 * @see prisma/sql/auth/use-token.sql
 */
export const useToken = optional<{ digest: string; purpose: string }, UseTokenRow>(
  'auth/use-token',
  `DELETE FROM one_time_tokens t
WHERE t.digest = decode($1, 'hex') AND t.purpose = $2 AND t.expires_at > now()
RETURNING t.email, t.user_id, t.name, t.provider, t.subject`,
  ['digest', 'purpose'],
)
export interface UseTokenRow {
  email: string
  user_id: string | null
  name: string | null
  provider: string | null
  subject: string | null
}

/**
 * Notes that a code was used. No row for a code of this or a later time step that was used before.
 * @see prisma/sql/auth/use-totp-step.sql
 */
export const useTotpStep = optional<{ step: number; user_id: string }, UseTotpStepRow>(
  'auth/use-totp-step',
  `UPDATE user_totp SET last_step = $1
WHERE user_id = $2 AND confirmed_at IS NOT NULL AND last_step < $1
RETURNING user_id`,
  ['step', 'user_id'],
)
export interface UseTotpStepRow {
  user_id: string
}
