// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Counts the messages that a session gains.
 * @see prisma/sql/chat/add-session-messages.sql
 */
export const addSessionMessages = none<{ added_messages: number; id: string }>(
  'chat/add-session-messages',
  `UPDATE ai_sessions SET message_count = message_count + $1, last_message_at = now(),
  updated_at = now()
WHERE id = $2`,
  ['added_messages', 'id'],
)

/**
 * Adds the tokens of an answer to its session.
 * @see prisma/sql/chat/add-session-usage.sql
 */
export const addSessionUsage = none<{ prompt_tokens: number; completion_tokens: number; id: string }>(
  'chat/add-session-usage',
  `UPDATE ai_sessions SET prompt_tokens = prompt_tokens + $1,
  completion_tokens = completion_tokens + $2, last_message_at = now(), updated_at = now()
WHERE id = $3`,
  ['prompt_tokens', 'completion_tokens', 'id'],
)

/**
 * Counts an answer and its tokens to the day's usage of a user's API key.
 * @see prisma/sql/chat/add-usage.sql
 */
export const addUsage = one<{ user_id: string; api_key_id: string; prompt_tokens: number; completion_tokens: number; cost_micros: number; project_id: string | null; model: string }, AddUsageRow>(
  'chat/add-usage',
  `WITH counted AS (
  INSERT INTO ai_usage AS u
    (user_id, api_key_id, day, limits_of, requests, prompt_tokens, completion_tokens, cost_micros)
  VALUES ($1, $2, (now() AT TIME ZONE 'UTC')::date, limits_of($1), 1, $3, $4,
    $5)
  ON CONFLICT (api_key_id, day, limits_of) DO UPDATE SET requests = u.requests + 1,
    prompt_tokens = u.prompt_tokens + $3,
    completion_tokens = u.completion_tokens + $4, cost_micros = u.cost_micros + $5
  RETURNING day
)
SELECT count_usage($1, day, $2, coalesce($6, ''), $7, 0, 0, 0, 1, $3,
  $4, $5)
  + count_budgets($1, $2, coalesce($6, ''), 1,
    $3::bigint + $4::bigint, $5) AS n
FROM counted`,
  ['user_id', 'api_key_id', 'prompt_tokens', 'completion_tokens', 'cost_micros', 'project_id', 'model'],
)
export interface AddUsageRow {
  n: number | null
}

/**
 * Counts tokens to the usage of a user today, unless the user then has more than the limit, which is 0 for
 * none. The user must be locked. No row if they are not counted.
 * @see prisma/sql/chat/charge-tokens.sql
 */
export const chargeTokens = optional<{ user_id: string; api_key_id: string; tokens: number; cost_micros: number; tokens_per_day: number; heartbeat_timeout_seconds: number; is_reserved: boolean; credential_id: string | null; project_id: string | null; model: string }, ChargeTokensRow>(
  'chat/charge-tokens',
  `WITH charged AS (
  INSERT INTO ai_usage AS u
    (user_id, api_key_id, day, limits_of, requests, prompt_tokens, completion_tokens, cost_micros)
  SELECT $1, $2, (now() AT TIME ZONE 'UTC')::date, limits_of($1), 0, $3, 0, $4
  WHERE ($5::bigint = 0 OR coalesce((
  SELECT sum(prompt_tokens + completion_tokens)::bigint FROM ai_usage
  WHERE limits_of = limits_of($1) AND day = (now() AT TIME ZONE 'UTC')::date
), 0) + coalesce((
  SELECT sum(reserved_tokens)::bigint FROM ai_messages
  WHERE user_id IN (SELECT users_sharing_limits($1)) AND status = 'in_progress'
      AND heartbeat_at > now() - make_interval(secs => $6)
), 0) + $3::bigint <= $5::bigint)
    AND ($7 OR reserve_budgets($1, coalesce($8, ''), coalesce($9, ''),
      false, $6) IS NOT NULL)
  ON CONFLICT (api_key_id, day, limits_of) DO UPDATE
    SET prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
      cost_micros = u.cost_micros + excluded.cost_micros
  RETURNING day, limits_of
)
SELECT day::text, limits_of, now() AS charged_at, count_usage($1, day, coalesce($8, ''), coalesce($9, ''), $10, 0, 0, 0, 0,
  $3::bigint, 0, $4::bigint)
  + count_budgets($1, coalesce($8, ''), coalesce($9, ''), 0, $3::bigint,
    $4::bigint, now()) AS counted FROM charged`,
  ['user_id', 'api_key_id', 'tokens', 'cost_micros', 'tokens_per_day', 'heartbeat_timeout_seconds', 'is_reserved', 'credential_id', 'project_id', 'model'],
)
export interface ChargeTokensRow {
  day: string
  limits_of: string
  charged_at: string
  counted: number | null
}

/**
 * Corrects the tokens that were counted to the usage of a day, and to budgets at :charged_at.
 * @see prisma/sql/chat/correct-tokens.sql
 */
export const correctTokens = optional<{ tokens: number; cost_micros: number; api_key_id: string; day: string; limits_of: string; charged_at: Date | string; user_id: string; credential_id: string | null; project_id: string | null; model: string }, CorrectTokensRow>(
  'chat/correct-tokens',
  `WITH corrected AS (
  UPDATE ai_usage SET prompt_tokens = prompt_tokens + $1::bigint,
    cost_micros = cost_micros + $2::bigint
  WHERE api_key_id = $3 AND day = $4::text::date AND limits_of = $5
  RETURNING day
)
SELECT count_usage($7, day, coalesce($8, ''), coalesce($9, ''), $10, 0, 0, 0, 0,
  $1::bigint, 0, $2::bigint)
  + count_budgets($7, coalesce($8, ''), coalesce($9, ''), 0, $1::bigint,
    $2::bigint, $6) AS counted FROM corrected`,
  ['tokens', 'cost_micros', 'api_key_id', 'day', 'limits_of', 'charged_at', 'user_id', 'credential_id', 'project_id', 'model'],
)
export interface CorrectTokensRow {
  counted: number | null
}

/**
 * Deletes the messages after the given one from the session, which the caller has locked. Returns the first
 * of them, which is the answer, with its Idempotency-Key.
 * @see prisma/sql/chat/delete-messages-after.sql
 */
export const deleteMessagesAfter = optional<{ session_id: string; message_id: string }, DeleteMessagesAfterRow>(
  'chat/delete-messages-after',
  `WITH deleted AS (
    DELETE FROM ai_messages
    WHERE session_id = $1 AND position > (SELECT position FROM ai_messages WHERE id = $2)
    RETURNING position, user_id, key_digest, body_hash),
  counted AS (
    UPDATE ai_sessions SET message_count = message_count - (SELECT count(*) FROM deleted)
    WHERE id = $1)
SELECT user_id, key_digest, body_hash FROM deleted ORDER BY position LIMIT 1`,
  ['session_id', 'message_id'],
)
export interface DeleteMessagesAfterRow {
  user_id: string
  key_digest: Buffer | null
  body_hash: Buffer | null
}

/**
 * Deletes answers without a session after a day.
 * @see prisma/sql/chat/delete-messages-without-session.sql
 */
export const deleteMessagesWithoutSession = one<{ limit: number }, DeleteMessagesWithoutSessionRow>(
  'chat/delete-messages-without-session',
  `WITH deleted AS (
  DELETE FROM ai_messages WHERE id = ANY(ARRAY(
    SELECT id FROM ai_messages
    WHERE session_id IS NULL AND status <> 'in_progress' AND created_at < now() - interval '24 hours'
    LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteMessagesWithoutSessionRow {
  n: number
}

/**
 * Deletes the usage of API keys after 400 days.
 * @see prisma/sql/chat/delete-old-usage.sql
 */
export const deleteOldUsage = one<{ limit: number }, DeleteOldUsageRow>(
  'chat/delete-old-usage',
  `WITH deleted AS (
  DELETE FROM ai_usage WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM ai_usage WHERE day < now() - interval '400 days' LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldUsageRow {
  n: number
}

/**
 * Deletes the sessions of deleted users.
 * @see prisma/sql/chat/delete-sessions-of-deleted-users.sql
 */
export const deleteSessionsOfDeletedUsers = one<{ limit: number }, DeleteSessionsOfDeletedUsersRow>(
  'chat/delete-sessions-of-deleted-users',
  `WITH deleted AS (
  DELETE FROM ai_sessions WHERE id = ANY(ARRAY(
    SELECT s.id FROM users u JOIN ai_sessions s ON s.workspace_id = u.id
    WHERE u.status = 'deleted' LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteSessionsOfDeletedUsersRow {
  n: number
}

/**
 * An answer of a session in progress.
 * @see prisma/sql/chat/find-answer-in-progress.sql
 */
export const findAnswerInProgress = optional<{ session_id: string }, FindAnswerInProgressRow>(
  'chat/find-answer-in-progress',
  `SELECT id FROM ai_messages WHERE session_id = $1 AND status = 'in_progress' LIMIT 1`,
  ['session_id'],
  { reads: true },
)
export interface FindAnswerInProgressRow {
  id: string
}

/**
 * A message with the citations that the user may read, without authorization.
 * @see prisma/sql/chat/find-message.sql
 */
export const findMessage = optional<{ user_id: string; project_ids: readonly string[] | null; id: string }, FindMessageRow>(
  'chat/find-message',
  `SELECT m.id, m.session_id, m.role, m.content, m.image_file_ids, m.status, m.model, m.provider, m.finish_reason,
jsonb_build_object('prompt_tokens', m.prompt_tokens, 'completion_tokens', m.completion_tokens,
  'total_tokens', m.prompt_tokens + m.completion_tokens, 'cost_micros', m.cost_micros) AS usage,
coalesce((
  SELECT jsonb_agg(
    (c - 'revision' - 'at' - 'workspace_id')
      || jsonb_build_object('stale', d.revision IS DISTINCT FROM (c ->> 'revision')::int) ORDER BY n)
  FROM jsonb_array_elements(m.citations) WITH ORDINALITY AS cited (c, n)
    LEFT JOIN documents d ON d.id = c ->> 'document_id'
  WHERE CASE WHEN (c->>'workspace_id') = $1 THEN $2::text[] IS NULL
  ELSE ($2::text[] IS NULL OR (c->>'workspace_id') = ANY($2)) AND EXISTS (
    SELECT 1 FROM members r
    WHERE r.project_id = (c->>'workspace_id') AND r.user_id = $1 AND r.ai_role IS NOT NULL
      AND r.project_status <> 'deleted') END), '[]') AS citations,
m.tool_calls, m.refusal, m.searched, m.error, m.metadata, m.user_id AS created_by, m.created_at, m.updated_at, m.project_id, m.user_id, m.owner_id
FROM (
  SELECT m.*, s.project_id, coalesce(s.owner_id, m.user_id) AS owner_id,
    CASE WHEN m.session_id IS NULL THEN m.usage_project_id END AS key_project_id
  FROM ai_messages m LEFT JOIN ai_sessions s ON s.id = m.session_id
  WHERE m.id = $3
) m`,
  ['user_id', 'project_ids', 'id'],
  { reads: true },
)
export interface FindMessageRow {
  id: string
  session_id: string | null
  role: 'system' | 'user' | 'assistant'
  content: string
  image_file_ids: string[]
  status: 'in_progress' | 'completed' | 'incomplete' | 'canceled' | 'failed'
  model: string | null
  provider: string | null
  finish_reason: Schemas['FinishReason'] | null
  usage: Schemas['Usage']
  citations: Schemas['Citation'][]
  tool_calls: Schemas['Message']['tool_calls'] | null
  refusal: string | null
  searched: Schemas['Message']['searched'] | null
  error: Schemas['Message']['error'] | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  user_id: string
  owner_id: string
}

/**
 * The last question of a session up to a message.
 * @see prisma/sql/chat/find-question.sql
 */
export const findQuestion = optional<{ session_id: string; message_id: string }, FindQuestionRow>(
  'chat/find-question',
  `SELECT id, content, image_file_ids, position FROM ai_messages
WHERE session_id = $1 AND position <= (SELECT position FROM ai_messages WHERE id = $2)
  AND role = 'user'
ORDER BY position DESC LIMIT 1`,
  ['session_id', 'message_id'],
  { reads: true },
)
export interface FindQuestionRow {
  id: string
  content: string
  image_file_ids: string[]
  position: number
}

/**
 * A session that exists, without authorization.
 * @see prisma/sql/chat/find-session.sql
 */
export const findSession = one<{ id: string }, FindSessionRow>(
  'chat/find-session',
  `SELECT s.id, s.title, s.model, s.system_prompt,
ARRAY(
  SELECT k.id FROM unnest(s.knowledge_base_ids) WITH ORDINALITY AS named (id, n)
    JOIN knowledge_bases k ON k.id = named.id ORDER BY n) AS knowledge_base_ids,
s.status, s.message_count, s.last_message_at, jsonb_build_object('prompt_tokens', s.prompt_tokens,
  'completion_tokens', s.completion_tokens,
  'total_tokens', s.prompt_tokens + s.completion_tokens) AS usage, s.metadata,
s.owner_id AS created_by, s.created_at, s.updated_at, s.project_id
FROM ai_sessions s
WHERE s.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindSessionRow {
  id: string
  title: string | null
  model: string | null
  system_prompt: string | null
  knowledge_base_ids: string[]
  status: 'active' | 'archived'
  message_count: number
  last_message_at: string | null
  usage: Schemas['Usage']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * Finishes an answer in progress: stores its status, content and tokens. Returns no row if it was already
 * finished. Without :keep_idempotency_key, a later request with the same Idempotency-Key generates a new
 * answer.
 * @see prisma/sql/chat/finish-message.sql
 */
export const finishMessage = optional<{ status: 'in_progress' | 'completed' | 'incomplete' | 'canceled' | 'failed'; finish_reason: string | null; prompt_tokens: number; completion_tokens: number; cost_micros: number | null; provider: string | null; content: string; citations: object | string; tool_calls: object | string | null; refusal: string | null; error: object | string | null; passages: number | null; keep_idempotency_key: boolean; id: string }, FinishMessageRow>(
  'chat/finish-message',
  `UPDATE ai_messages SET
  status = $1,
  finish_reason = $2,
  prompt_tokens = $3,
  completion_tokens = $4,
  cost_micros = $5,
  provider = $6,
  content = $7,
  citations = $8,
  tool_calls = $9,
  refusal = $10,
  error = $11,
  searched = searched || jsonb_strip_nulls(jsonb_build_object('passages', $12::int)),
  heartbeat_at = NULL,
  key_digest = CASE WHEN $13 THEN key_digest END
WHERE id = $14 AND status = 'in_progress'
RETURNING session_id`,
  ['status', 'finish_reason', 'prompt_tokens', 'completion_tokens', 'cost_micros', 'provider', 'content', 'citations', 'tool_calls', 'refusal', 'error', 'passages', 'keep_idempotency_key', 'id'],
)
export interface FinishMessageRow {
  session_id: string | null
}

/**
 * Whether a session goes on after a message: with anything but answers that failed or were canceled.
 * @see prisma/sql/chat/goes-on.sql
 */
export const goesOn = one<{ session_id: string; id: string }, GoesOnRow>(
  'chat/goes-on',
  `SELECT EXISTS (
  SELECT FROM ai_messages
  WHERE session_id = $1 AND status NOT IN ('failed', 'canceled')
    AND position > (SELECT position FROM ai_messages WHERE id = $2)
) AS "goes_on"`,
  ['session_id', 'id'],
  { reads: true },
)
export interface GoesOnRow {
  goes_on: boolean
}

/**
 * Inserts a message at the end of its session. The caller has locked the session, so that the position is
 * unique.
 * @see prisma/sql/chat/insert-message.sql
 */
export const insertMessage = none<{ id: string; session_id: string | null; usage_project_id: string | null; user_id: string; api_key_id: string; role: 'system' | 'user' | 'assistant'; content: string; image_file_ids: readonly string[]; status: 'in_progress' | 'completed' | 'incomplete' | 'canceled' | 'failed'; model: string | null; metadata: object | string; workspace_ids: readonly string[]; searched: object | string | null; reserved_tokens: number; reserved_cost_micros: number; heartbeat_timeout_seconds: number; key_digest: Buffer | null; body_hash: Buffer | null; created_at: Date | string }>(
  'chat/insert-message',
  `INSERT INTO ai_messages (id, session_id, usage_project_id, user_id, api_key_id, role, content,
  image_file_ids, status, model,
  metadata, workspace_ids, searched, reserved_tokens,
  reserved_cost_micros, budget_ids, key_digest, body_hash, heartbeat_at, created_at,
  position)
VALUES ($1, $2, $3, $4, $5, $6, $7,
  $8,
  $9::"MessageStatus", $10, $11, $12, $13, $14,
  $15, CASE WHEN $9 = 'in_progress' THEN reserve_budgets($4, $5,
    coalesce($3, ''), true, $16) ELSE '{}' END, $17,
  $18, CASE WHEN $9 = 'in_progress' THEN now() END, $19,
  (SELECT coalesce(max(position), 0) + 1 FROM ai_messages WHERE session_id = $2))`,
  ['id', 'session_id', 'usage_project_id', 'user_id', 'api_key_id', 'role', 'content', 'image_file_ids', 'status', 'model', 'metadata', 'workspace_ids', 'searched', 'reserved_tokens', 'reserved_cost_micros', 'heartbeat_timeout_seconds', 'key_digest', 'body_hash', 'created_at'],
)

/**
 * Inserts a session.
 * @see prisma/sql/chat/insert-session.sql
 */
export const insertSession = one<{ id: string; project_id: string | null; owner_id: string; title: string | null; model: string | null; system_prompt: string | null; knowledge_base_ids: readonly string[]; metadata: object | string; created_at: Date | string }, InsertSessionRow>(
  'chat/insert-session',
  `WITH s AS (
  INSERT INTO ai_sessions (id, project_id, owner_id, workspace_id, title, model, system_prompt,
    knowledge_base_ids, metadata, created_at, updated_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6,
    $7, $8, $9, $9)
  RETURNING *
)
SELECT s.id, s.title, s.model, s.system_prompt,
ARRAY(
  SELECT k.id FROM unnest(s.knowledge_base_ids) WITH ORDINALITY AS named (id, n)
    JOIN knowledge_bases k ON k.id = named.id ORDER BY n) AS knowledge_base_ids,
s.status, s.message_count, s.last_message_at, jsonb_build_object('prompt_tokens', s.prompt_tokens,
  'completion_tokens', s.completion_tokens,
  'total_tokens', s.prompt_tokens + s.completion_tokens) AS usage, s.metadata,
s.owner_id AS created_by, s.created_at, s.updated_at, s.project_id FROM s`,
  ['id', 'project_id', 'owner_id', 'title', 'model', 'system_prompt', 'knowledge_base_ids', 'metadata', 'created_at'],
)
export interface InsertSessionRow {
  id: string
  title: string | null
  model: string | null
  system_prompt: string | null
  knowledge_base_ids: string[]
  status: 'active' | 'archived'
  message_count: number
  last_message_at: string | null
  usage: Schemas['Usage']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The answers of a session in progress.
 * @see prisma/sql/chat/list-answers-in-progress.sql
 */
export const listAnswersInProgress = many<{ heartbeat_timeout_seconds: number; session_id: string }, ListAnswersInProgressRow>(
  'chat/list-answers-in-progress',
  `SELECT id, heartbeat_at < now() - make_interval(secs => $1) AS "is_stale"
FROM ai_messages WHERE session_id = $2 AND status = 'in_progress'`,
  ['heartbeat_timeout_seconds', 'session_id'],
  { reads: true },
)
export interface ListAnswersInProgressRow {
  id: string
  is_stale: boolean
}

/**
 * The newest knowledge bases of a workspace, at most 100.
 * @see prisma/sql/chat/list-knowledge-bases.sql
 */
export const listKnowledgeBases = many<{ workspace_id: string }, ListKnowledgeBasesRow>(
  'chat/list-knowledge-bases',
  `SELECT id FROM knowledge_bases WHERE workspace_id = $1 ORDER BY id DESC LIMIT 100`,
  ['workspace_id'],
  { reads: true },
)
export interface ListKnowledgeBasesRow {
  id: string
}

/**
 * The messages of a session.
 * @see prisma/sql/chat/list-messages.sql
 */
export const listMessages = page<{ user_id: string; project_ids: readonly string[] | null; session_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string }, 'position', ListMessagesRow>(
  'chat/list-messages',
  {
    select: `SELECT m.id, m.session_id, m.role, m.content, m.image_file_ids, m.status, m.model, m.provider, m.finish_reason,
jsonb_build_object('prompt_tokens', m.prompt_tokens, 'completion_tokens', m.completion_tokens,
  'total_tokens', m.prompt_tokens + m.completion_tokens, 'cost_micros', m.cost_micros) AS usage,
coalesce((
  SELECT jsonb_agg(
    (c - 'revision' - 'at' - 'workspace_id')
      || jsonb_build_object('stale', d.revision IS DISTINCT FROM (c ->> 'revision')::int) ORDER BY n)
  FROM jsonb_array_elements(m.citations) WITH ORDINALITY AS cited (c, n)
    LEFT JOIN documents d ON d.id = c ->> 'document_id'
  WHERE CASE WHEN (c->>'workspace_id') = $1 THEN $2::text[] IS NULL
  ELSE ($2::text[] IS NULL OR (c->>'workspace_id') = ANY($2)) AND EXISTS (
    SELECT 1 FROM members r
    WHERE r.project_id = (c->>'workspace_id') AND r.user_id = $1 AND r.ai_role IS NOT NULL
      AND r.project_status <> 'deleted') END), '[]') AS citations,
m.tool_calls, m.refusal, m.searched, m.error, m.metadata, m.user_id AS created_by, m.created_at, m.updated_at, s.project_id
FROM ai_messages m JOIN ai_sessions s ON s.id = m.session_id
WHERE m.session_id = $3`,
    names: ['user_id', 'project_ids', 'session_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata'],
    filters: {
      created_after: { sql: `m.created_at >= $4`, searches: true },
      created_before: { sql: `m.created_at < $5`, searches: true },
      updated_after: { sql: `m.updated_at >= $6`, searches: true },
      updated_before: { sql: `m.updated_at < $7`, searches: true },
      metadata: { sql: `m.metadata <> '{}' AND m.metadata @> $8::jsonb`, searches: true },
    },
    sorts: {
      position: `m.position`,
    },
    id: `m.id`,
    totals: {
      '': `SELECT count(*) AS total FROM ai_messages m WHERE m.session_id = $3`,
    },
  },
)
export interface ListMessagesRow {
  id: string
  session_id: string
  role: 'system' | 'user' | 'assistant'
  content: string
  image_file_ids: string[]
  status: 'in_progress' | 'completed' | 'incomplete' | 'canceled' | 'failed'
  model: string | null
  provider: string | null
  finish_reason: Schemas['FinishReason'] | null
  usage: Schemas['Usage']
  citations: Schemas['Citation'][]
  tool_calls: Schemas['Message']['tool_calls'] | null
  refusal: string | null
  searched: Schemas['Message']['searched'] | null
  error: Schemas['Message']['error'] | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The sessions of a workspace, or of all that a user can read. `title` is a pattern for LIKE. Ids sort by
 * creation time.
 * @see prisma/sql/chat/list-sessions.sql
 */
export const listSessions = page<{}, { reader: string; least_role: 'owner' | 'admin' | 'editor' | 'viewer'; key_projects: readonly string[] | null; own: string | null; workspace_id: string; organization_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly ('active' | 'archived')[]; title: string; created_by: string }, 'created_at' | 'updated_at', ListSessionsRow>(
  'chat/list-sessions',
  {
    select: `SELECT s.id, s.title, s.model, s.system_prompt,
ARRAY(
  SELECT k.id FROM unnest(s.knowledge_base_ids) WITH ORDINALITY AS named (id, n)
    JOIN knowledge_bases k ON k.id = named.id ORDER BY n) AS knowledge_base_ids,
s.status, s.message_count, s.last_message_at, jsonb_build_object('prompt_tokens', s.prompt_tokens,
  'completion_tokens', s.completion_tokens,
  'total_tokens', s.prompt_tokens + s.completion_tokens) AS usage, s.metadata,
s.owner_id AS created_by, s.created_at, s.updated_at, s.project_id
FROM ai_sessions s
WHERE true`,
    names: ['reader', 'least_role', 'key_projects', 'own', 'workspace_id', 'organization_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status', 'title', 'created_by'],
    filters: {
      reader: { sql: `s.workspace_id IN (
  SELECT my.project_id FROM members my
  WHERE my.user_id = $1 AND my.project_status <> 'deleted' AND my.ai_role <= $2::"MemberRole"
    AND ($3::text[] IS NULL OR my.project_id = ANY($3))
  UNION ALL SELECT $4::text)`, otherwise: `s.workspace_id = $5`, searches: true },
      organization_id: { sql: `s.project_id IN (SELECT its.id FROM projects its WHERE its.organization_id = $6)`, searches: true },
      created_after: { sql: `s.id >= id_at('cs', $7)`, searches: true },
      created_before: { sql: `s.id < id_at('cs', $8)`, searches: true },
      updated_after: { sql: `s.updated_at >= $9`, searches: true },
      updated_before: { sql: `s.updated_at < $10`, searches: true },
      metadata: { sql: `s.metadata <> '{}' AND s.metadata @> $11::jsonb`, searches: true },
      status: { sql: `s.status = ANY($12)` },
      title: { sql: `lower(s.title) LIKE lower($13)` },
      created_by: { sql: `s.owner_id = $14` },
    },
    sorts: {
      created_at: `s.id`,
      updated_at: `s.updated_at`,
    },
    id: `s.id`,
    totals: {
    },
  },
)
export interface ListSessionsRow {
  id: string
  title: string | null
  model: string | null
  system_prompt: string | null
  knowledge_base_ids: string[]
  status: 'active' | 'archived'
  message_count: number
  last_message_at: string | null
  usage: Schemas['Usage']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The answers in progress whose process died: all of them, or only the message with the given id.
 * @see prisma/sql/chat/list-stale-messages.sql
 */
export const listStaleMessages = many<{ heartbeat_timeout_seconds: number; id: string | null; limit: number }, ListStaleMessagesRow>(
  'chat/list-stale-messages',
  `SELECT id FROM ai_messages
WHERE status = 'in_progress' AND heartbeat_at < now() - make_interval(secs => $1) AND ($2::text IS NULL OR id = $2)
LIMIT $3`,
  ['heartbeat_timeout_seconds', 'id', 'limit'],
  { reads: true },
)
export interface ListStaleMessagesRow {
  id: string
}

/**
 * The workspaces of those knowledge bases that the user may read, which are those that a search reads.
 * @see prisma/sql/chat/list-workspaces.sql
 */
export const listWorkspaces = many<{ knowledge_base_ids: readonly string[]; user_id: string; project_ids: readonly string[] | null }, ListWorkspacesRow>(
  'chat/list-workspaces',
  `SELECT DISTINCT k.workspace_id FROM knowledge_bases k
WHERE k.id = ANY($1) AND CASE WHEN k.workspace_id = $2 THEN $3::text[] IS NULL
  ELSE ($3::text[] IS NULL OR k.workspace_id = ANY($3)) AND EXISTS (
    SELECT 1 FROM members r
    WHERE r.project_id = k.workspace_id AND r.user_id = $2 AND r.ai_role IS NOT NULL
      AND r.project_status <> 'deleted') END`,
  ['knowledge_base_ids', 'user_id', 'project_ids'],
  { reads: true },
)
export interface ListWorkspacesRow {
  workspace_id: string
}

/**
 * Like `read-session`, but locks the session against other writers, and its project.
 * @see prisma/sql/chat/lock-session.sql
 */
export const lockSession = optional<{ user_id: string; id: string }, LockSessionRow>(
  'chat/lock-session',
  `SELECT s.id, s.title, s.model, s.system_prompt,
ARRAY(
  SELECT k.id FROM unnest(s.knowledge_base_ids) WITH ORDINALITY AS named (id, n)
    JOIN knowledge_bases k ON k.id = named.id ORDER BY n) AS knowledge_base_ids,
s.status, s.message_count, s.last_message_at, jsonb_build_object('prompt_tokens', s.prompt_tokens,
  'completion_tokens', s.completion_tokens,
  'total_tokens', s.prompt_tokens + s.completion_tokens) AS usage, s.metadata,
s.owner_id AS created_by, s.created_at, s.updated_at, s.project_id, s.owner_id,
(locked_member(s.project_id, $1)).ai_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = s.project_id FOR SHARE) AS project_status
FROM ai_sessions s
WHERE s.id = $2
FOR NO KEY UPDATE OF s`,
  ['user_id', 'id'],
)
export interface LockSessionRow {
  id: string
  title: string | null
  model: string | null
  system_prompt: string | null
  knowledge_base_ids: string[]
  status: 'active' | 'archived'
  message_count: number
  last_message_at: string | null
  usage: Schemas['Usage']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The stored part of an answer in progress. Locks it against other writers.
 * @see prisma/sql/chat/lock-unfinished-message.sql
 */
export const lockUnfinishedMessage = optional<{ id: string }, LockUnfinishedMessageRow>(
  'chat/lock-unfinished-message',
  `SELECT user_id, api_key_id, usage_project_id, model AS "model", prompt_tokens, content, citations
FROM ai_messages
WHERE id = $1 AND status = 'in_progress'
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockUnfinishedMessageRow {
  user_id: string
  api_key_id: string | null
  usage_project_id: string | null
  model: string
  prompt_tokens: number
  content: string
  citations: (Omit<Schemas['Citation'], 'stale'> & { workspace_id: string; revision: number; at: number })[]
}

/**
 * Serializes the chat requests of a user, and of those who share the user's limits, until the end of the
 * transaction.
 * @see prisma/sql/chat/lock-user.sql
 */
export const lockUser = one<{ user_id: string }, LockUserRow>(
  'chat/lock-user',
  `SELECT pg_advisory_xact_lock(hashtextextended('ai ' || limits_of($1), 0))`,
  ['user_id'],
)
export interface LockUserRow {
  pg_advisory_xact_lock: unknown | null
}

/**
 * Stores the Idempotency-Key of a deleted answer with its question, so that a repeated request does not
 * generate a second answer.
 * @see prisma/sql/chat/move-idempotency-key.sql
 */
export const moveIdempotencyKey = none<{ key_digest: Buffer; body_hash: Buffer | null; id: string; user_id: string }>(
  'chat/move-idempotency-key',
  `UPDATE ai_messages SET key_digest = $1, body_hash = $2
WHERE id = $3 AND user_id = $4 AND key_digest IS NULL`,
  ['key_digest', 'body_hash', 'id', 'user_id'],
)

/**
 * Notifies the process that generates the answer :id that the user has canceled it.
 * @see prisma/sql/chat/notify-cancel.sql
 */
export const notifyCancel = one<{ channel: string; id: string }, NotifyCancelRow>(
  'chat/notify-cancel',
  `SELECT pg_notify($1, $2)`,
  ['channel', 'id'],
)
export interface NotifyCancelRow {
  pg_notify: unknown | null
}

/**
 * The text and the citations of an answer.
 * @see prisma/sql/chat/read-answer-content.sql
 */
export const readAnswerContent = optional<{ id: string }, ReadAnswerContentRow>(
  'chat/read-answer-content',
  `SELECT content, citations FROM ai_messages WHERE id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadAnswerContentRow {
  content: string
  citations: (Omit<Schemas['Citation'], 'stale'> & { workspace_id: string; revision: number; at: number })[]
}

/**
 * The state of an answer without its content, which may be large.
 * @see prisma/sql/chat/read-answer-state.sql
 */
export const readAnswerState = optional<{ heartbeat_timeout_seconds: number; id: string }, ReadAnswerStateRow>(
  'chat/read-answer-state',
  `SELECT status, octet_length(content) + jsonb_array_length(citations) AS size,
  coalesce(heartbeat_at > now() - make_interval(secs => $1), false) AS alive
FROM ai_messages WHERE id = $2`,
  ['heartbeat_timeout_seconds', 'id'],
  { reads: true },
)
export interface ReadAnswerStateRow {
  status: 'in_progress' | 'completed' | 'incomplete' | 'canceled' | 'failed'
  size: number
  alive: boolean
}

/**
 * The messages of a session before a position, newest first: at most 200 with at most :max_characters
 * together. Leaves out answers from sources that the caller may no longer read, and questions whose answer
 * failed.
 * @see prisma/sql/chat/read-history.sql
 */
export const readHistory = many<{ session_id: string; before: number; user_id: string; project_ids: readonly string[] | null; max_characters: number }, ReadHistoryRow>(
  'chat/read-history',
  `SELECT id, role, content, image_file_ids, tool_calls, workspace_ids FROM (
  SELECT m.id, m.role, m.content, m.image_file_ids, m.tool_calls, m.workspace_ids, m.position,
    sum(length(m.content) + coalesce(length(m.tool_calls::text), 0))
      OVER (ORDER BY m.position DESC) AS characters
  FROM ai_messages m
  WHERE m.session_id = $1 AND m.position < $2
    AND m.status IN ('completed', 'incomplete', 'canceled')
    AND (m.content <> '' OR m.tool_calls IS NOT NULL)
    AND NOT (m.role = 'user' AND EXISTS (
      SELECT 1 FROM ai_messages a WHERE a.session_id = $1 AND a.status = 'failed'
        AND a.position = (
          SELECT min(n.position) FROM ai_messages n
          WHERE n.session_id = $1 AND n.position > m.position)))
    AND NOT EXISTS (
      SELECT 1 FROM unnest(m.workspace_ids) AS space (id) WHERE NOT CASE WHEN space.id = $3 THEN $4::text[] IS NULL
  ELSE ($4::text[] IS NULL OR space.id = ANY($4)) AND EXISTS (
    SELECT 1 FROM members r
    WHERE r.project_id = space.id AND r.user_id = $3 AND r.ai_role IS NOT NULL
      AND r.project_status <> 'deleted') END)
  ORDER BY m.position DESC LIMIT 200
) h WHERE characters <= $5 ORDER BY position DESC`,
  ['session_id', 'before', 'user_id', 'project_ids', 'max_characters'],
  { reads: true },
)
export interface ReadHistoryRow {
  id: string
  role: 'system' | 'user' | 'assistant'
  content: string
  image_file_ids: string[]
  tool_calls: Schemas['Message']['tool_calls'] | null
  workspace_ids: string[]
}

/**
 * Like `read-message`, but locks the message's project, as every transaction that changes a message must. The
 * lock of the session keeps other writers of the message out.
 * @see prisma/sql/chat/read-message-and-lock-project.sql
 */
export const readMessageAndLockProject = optional<{ user_id: string; project_ids: readonly string[] | null; id: string }, ReadMessageAndLockProjectRow>(
  'chat/read-message-and-lock-project',
  `SELECT m.id, m.session_id, m.role, m.content, m.image_file_ids, m.status, m.model, m.provider, m.finish_reason,
jsonb_build_object('prompt_tokens', m.prompt_tokens, 'completion_tokens', m.completion_tokens,
  'total_tokens', m.prompt_tokens + m.completion_tokens, 'cost_micros', m.cost_micros) AS usage,
coalesce((
  SELECT jsonb_agg(
    (c - 'revision' - 'at' - 'workspace_id')
      || jsonb_build_object('stale', d.revision IS DISTINCT FROM (c ->> 'revision')::int) ORDER BY n)
  FROM jsonb_array_elements(m.citations) WITH ORDINALITY AS cited (c, n)
    LEFT JOIN documents d ON d.id = c ->> 'document_id'
  WHERE CASE WHEN (c->>'workspace_id') = $1 THEN $2::text[] IS NULL
  ELSE ($2::text[] IS NULL OR (c->>'workspace_id') = ANY($2)) AND EXISTS (
    SELECT 1 FROM members r
    WHERE r.project_id = (c->>'workspace_id') AND r.user_id = $1 AND r.ai_role IS NOT NULL
      AND r.project_status <> 'deleted') END), '[]') AS citations,
m.tool_calls, m.refusal, m.searched, m.error, m.metadata, m.user_id AS created_by, m.created_at, m.updated_at, m.user_id, m.key_project_id, m.project_id, m.owner_id,
(locked_member(m.project_id, $1)).ai_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = m.project_id FOR SHARE) AS project_status
FROM (
  SELECT m.*, s.project_id, coalesce(s.owner_id, m.user_id) AS owner_id,
    CASE WHEN m.session_id IS NULL THEN m.usage_project_id END AS key_project_id
  FROM ai_messages m LEFT JOIN ai_sessions s ON s.id = m.session_id
  WHERE m.id = $3
) m`,
  ['user_id', 'project_ids', 'id'],
)
export interface ReadMessageAndLockProjectRow {
  id: string
  session_id: string | null
  role: 'system' | 'user' | 'assistant'
  content: string
  image_file_ids: string[]
  status: 'in_progress' | 'completed' | 'incomplete' | 'canceled' | 'failed'
  model: string | null
  provider: string | null
  finish_reason: Schemas['FinishReason'] | null
  usage: Schemas['Usage']
  citations: Schemas['Citation'][]
  tool_calls: Schemas['Message']['tool_calls'] | null
  refusal: string | null
  searched: Schemas['Message']['searched'] | null
  error: Schemas['Message']['error'] | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  user_id: string
  key_project_id: string | null
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * A message and the caller's access to it.
 * @see prisma/sql/chat/read-message.sql
 */
export const readMessage = optional<{ user_id: string; project_ids: readonly string[] | null; id: string }, ReadMessageRow>(
  'chat/read-message',
  `SELECT m.id, m.session_id, m.role, m.content, m.image_file_ids, m.status, m.model, m.provider, m.finish_reason,
jsonb_build_object('prompt_tokens', m.prompt_tokens, 'completion_tokens', m.completion_tokens,
  'total_tokens', m.prompt_tokens + m.completion_tokens, 'cost_micros', m.cost_micros) AS usage,
coalesce((
  SELECT jsonb_agg(
    (c - 'revision' - 'at' - 'workspace_id')
      || jsonb_build_object('stale', d.revision IS DISTINCT FROM (c ->> 'revision')::int) ORDER BY n)
  FROM jsonb_array_elements(m.citations) WITH ORDINALITY AS cited (c, n)
    LEFT JOIN documents d ON d.id = c ->> 'document_id'
  WHERE CASE WHEN (c->>'workspace_id') = $1 THEN $2::text[] IS NULL
  ELSE ($2::text[] IS NULL OR (c->>'workspace_id') = ANY($2)) AND EXISTS (
    SELECT 1 FROM members r
    WHERE r.project_id = (c->>'workspace_id') AND r.user_id = $1 AND r.ai_role IS NOT NULL
      AND r.project_status <> 'deleted') END), '[]') AS citations,
m.tool_calls, m.refusal, m.searched, m.error, m.metadata, m.user_id AS created_by, m.created_at, m.updated_at, m.user_id, m.key_project_id, m.project_id, m.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = m.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = m.project_id) AS project_status
FROM (
  SELECT m.*, s.project_id, coalesce(s.owner_id, m.user_id) AS owner_id,
    CASE WHEN m.session_id IS NULL THEN m.usage_project_id END AS key_project_id
  FROM ai_messages m LEFT JOIN ai_sessions s ON s.id = m.session_id
  WHERE m.id = $3
) m`,
  ['user_id', 'project_ids', 'id'],
  { reads: true },
)
export interface ReadMessageRow {
  id: string
  session_id: string | null
  role: 'system' | 'user' | 'assistant'
  content: string
  image_file_ids: string[]
  status: 'in_progress' | 'completed' | 'incomplete' | 'canceled' | 'failed'
  model: string | null
  provider: string | null
  finish_reason: Schemas['FinishReason'] | null
  usage: Schemas['Usage']
  citations: Schemas['Citation'][]
  tool_calls: Schemas['Message']['tool_calls'] | null
  refusal: string | null
  searched: Schemas['Message']['searched'] | null
  error: Schemas['Message']['error'] | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  user_id: string
  key_project_id: string | null
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * A session and the caller's access to it.
 * @see prisma/sql/chat/read-session.sql
 */
export const readSession = optional<{ user_id: string; id: string }, ReadSessionRow>(
  'chat/read-session',
  `SELECT s.id, s.title, s.model, s.system_prompt,
ARRAY(
  SELECT k.id FROM unnest(s.knowledge_base_ids) WITH ORDINALITY AS named (id, n)
    JOIN knowledge_bases k ON k.id = named.id ORDER BY n) AS knowledge_base_ids,
s.status, s.message_count, s.last_message_at, jsonb_build_object('prompt_tokens', s.prompt_tokens,
  'completion_tokens', s.completion_tokens,
  'total_tokens', s.prompt_tokens + s.completion_tokens) AS usage, s.metadata,
s.owner_id AS created_by, s.created_at, s.updated_at, s.project_id, s.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = s.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = s.project_id) AS project_status
FROM ai_sessions s
WHERE s.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadSessionRow {
  id: string
  title: string | null
  model: string | null
  system_prompt: string | null
  knowledge_base_ids: string[]
  status: 'active' | 'archived'
  message_count: number
  last_message_at: string | null
  usage: Schemas['Usage']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The status of an answer, and whether the process that generates it is alive.
 * @see prisma/sql/chat/read-status.sql
 */
export const readStatus = optional<{ heartbeat_timeout_seconds: number; id: string }, ReadStatusRow>(
  'chat/read-status',
  `SELECT status, coalesce(heartbeat_at > now() - make_interval(secs => $1), false) AS alive
FROM ai_messages WHERE id = $2`,
  ['heartbeat_timeout_seconds', 'id'],
  { reads: true },
)
export interface ReadStatusRow {
  status: 'in_progress' | 'completed' | 'incomplete' | 'canceled' | 'failed'
  alive: boolean
}

/**
 * The tokens that a user has used today, and those that answers in progress have reserved.
 * @see prisma/sql/chat/read-tokens-used.sql
 */
export const readTokensUsed = one<{ user_id: string; heartbeat_timeout_seconds: number }, ReadTokensUsedRow>(
  'chat/read-tokens-used',
  `SELECT coalesce((
  SELECT sum(prompt_tokens + completion_tokens)::bigint FROM ai_usage
  WHERE limits_of = limits_of($1) AND day = (now() AT TIME ZONE 'UTC')::date
), 0) + coalesce((
  SELECT sum(reserved_tokens)::bigint FROM ai_messages
  WHERE user_id IN (SELECT users_sharing_limits($1)) AND status = 'in_progress'
      AND heartbeat_at > now() - make_interval(secs => $2)
), 0) AS "tokens"`,
  ['user_id', 'heartbeat_timeout_seconds'],
  { reads: true },
)
export interface ReadTokensUsedRow {
  tokens: number
}

/**
 * The usage of a user today.
 * @see prisma/sql/chat/read-usage-today.sql
 */
export const readUsageToday = one<{ user_id: string }, ReadUsageTodayRow>(
  'chat/read-usage-today',
  `SELECT (now() AT TIME ZONE 'UTC')::date::text AS day, coalesce(sum(requests), 0)::int AS requests,
  coalesce(sum(prompt_tokens), 0)::bigint AS prompt_tokens,
  coalesce(sum(completion_tokens), 0)::bigint AS completion_tokens,
  coalesce(sum(cost_micros), 0)::bigint AS cost_micros
FROM ai_usage WHERE user_id = $1 AND day = (now() AT TIME ZONE 'UTC')::date`,
  ['user_id'],
  { reads: true },
)
export interface ReadUsageTodayRow {
  day: string
  requests: number
  prompt_tokens: number
  completion_tokens: number
  cost_micros: number
}

/**
 * The answers of a user in progress, the tokens that the user has used today, and the seconds until the day
 * (UTC) ends; and the body and the answer of the earlier request with this Idempotency-Key, which are null
 * if there is none. If the answer of an Idempotency-Key was replaced or deleted, the key is stored with the
 * question (see `delete-messages-after`). The answer is then the message after the question.
 * @see prisma/sql/chat/read-user-state.sql
 */
export const readUserState = one<{ user_id: string; heartbeat_timeout_seconds: number; key_digest: Buffer | null }, ReadUserStateRow>(
  'chat/read-user-state',
  `SELECT (
    SELECT count(*) FROM ai_messages
    WHERE user_id IN (SELECT users_sharing_limits($1)) AND status = 'in_progress'
      AND heartbeat_at > now() - make_interval(secs => $2)
  )::int AS open,
  coalesce((
  SELECT sum(prompt_tokens + completion_tokens)::bigint FROM ai_usage
  WHERE limits_of = limits_of($1) AND day = (now() AT TIME ZONE 'UTC')::date
), 0) + coalesce((
  SELECT sum(reserved_tokens)::bigint FROM ai_messages
  WHERE user_id IN (SELECT users_sharing_limits($1)) AND status = 'in_progress'
      AND heartbeat_at > now() - make_interval(secs => $2)
), 0) AS tokens,
  ceil(extract(epoch FROM
    date_trunc('day', now() AT TIME ZONE 'UTC') + interval '1 day' - (now() AT TIME ZONE 'UTC')))::int
    AS seconds_left,
  m.body_hash, a.id AS answer_id, a.status, a.heartbeat_at < now() - make_interval(secs => $2) AS is_stale
FROM (SELECT 1) AS one
  LEFT JOIN ai_messages m
    ON m.user_id = $1 AND m.key_digest = $3 AND m.created_at > now() - interval '24 hours'
  LEFT JOIN LATERAL (SELECT CASE m.role WHEN 'user' THEN (
    SELECT n.id FROM ai_messages n
    WHERE n.session_id = m.session_id AND n.position > m.position AND n.role = 'assistant'
    ORDER BY n.position LIMIT 1
  ) ELSE m.id END AS id) AS answering ON true
  LEFT JOIN ai_messages a ON a.id = answering.id`,
  ['user_id', 'heartbeat_timeout_seconds', 'key_digest'],
  { reads: true },
)
export interface ReadUserStateRow {
  open: number
  tokens: number
  seconds_left: number
  body_hash: Buffer | null
  answer_id: string | null
  status: 'in_progress' | 'completed' | 'incomplete' | 'canceled' | 'failed' | null
  is_stale: boolean | null
}

/**
 * Removes an Idempotency-Key from its message after 24 hours, so that it can be used again.
 * @see prisma/sql/chat/release-idempotency-key.sql
 */
export const releaseIdempotencyKey = none<{ user_id: string; key_digest: Buffer }>(
  'chat/release-idempotency-key',
  `UPDATE ai_messages SET key_digest = NULL
WHERE user_id = $1 AND key_digest = $2 AND created_at <= now() - interval '24 hours'`,
  ['user_id', 'key_digest'],
)

/**
 * Stores answers in progress with a heartbeat. Returns those that are still in progress.
 * @see prisma/sql/chat/save-answers.sql
 */
export const saveAnswers = many<{ ids: readonly string[]; contents: readonly string[]; citations: readonly string[]; prompt_tokens: readonly number[] }, SaveAnswersRow>(
  'chat/save-answers',
  `UPDATE ai_messages m SET content = w.content, citations = w.citations::jsonb,
  prompt_tokens = w.prompt_tokens, heartbeat_at = now()
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[])
  AS w (id, content, citations, prompt_tokens)
WHERE m.id = w.id AND m.status = 'in_progress' RETURNING m.id`,
  ['ids', 'contents', 'citations', 'prompt_tokens'],
)
export interface SaveAnswersRow {
  id: string
}

/**
 * Stores a heartbeat of answers in progress. Returns those that are still in progress.
 * @see prisma/sql/chat/save-heartbeats.sql
 */
export const saveHeartbeats = many<{ ids: readonly string[] }, SaveHeartbeatsRow>(
  'chat/save-heartbeats',
  `UPDATE ai_messages SET heartbeat_at = now() WHERE id = ANY($1) AND status = 'in_progress' RETURNING id`,
  ['ids'],
)
export interface SaveHeartbeatsRow {
  id: string
}

/**
 * Sets the title of a session.
 * @see prisma/sql/chat/update-title.sql
 */
export const updateTitle = none<{ title: string; id: string }>(
  'chat/update-title',
  `UPDATE ai_sessions SET title = $1, updated_at = now() WHERE id = $2`,
  ['title', 'id'],
)
