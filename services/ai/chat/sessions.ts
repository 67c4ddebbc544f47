// Chat sessions as the API returns them, and their statements.
import * as sql from '../../../generated/sql/chat.ts'
import type { components } from '../../../generated/types.ts'
import type { ListQuery } from '../../../infra/contract/query.ts'
import type { Db } from '../../../infra/database/database.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { containsPattern, type Page } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import { requireAccess } from '../../projects/resource-access.ts'
import type { WorkspaceFilter } from '../../projects/workspaces.ts'
import { truncateText } from '../../../infra/text.ts'

export type Session = components['schemas']['Session']

interface SessionRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

/** A session with its owner. */
export type OwnedSession = Session & { owner_id: string }

/**
 * The session of the request, in one statement. Throws 403, 404 or 409 if the operation is not allowed on it.
 * `lock` locks the row against other writers.
 */
export async function openSession(
  db: Db,
  request: SessionRequest,
  { lock = false } = {},
): Promise<OwnedSession> {
  const {
    params: { id },
    principal,
  } = request
  const found = await (lock ? sql.lockSession : sql.readSession)(db, { id, user_id: principal.userId })
  requireAccess(found, request, { name: 'session', id })
  const { your_role: _role, project_status: _status, ...session } = found
  return session
}

export function toSession({ owner_id: _owner, ...session }: OwnedSession): Session {
  return session
}

export async function findSession(db: Db, id: string): Promise<Session> {
  return await sql.findSession(db, { id })
}

export interface NewSession {
  projectId: string | null
  ownerId: string
  title?: string | null
  model?: string | null
  systemPrompt?: string | null
  knowledgeBaseIds?: string[]
  metadata?: Record<string, string>
}

export async function insertSession(db: Db, session: NewSession): Promise<Session> {
  const id = newId('cs')
  const {
    projectId,
    ownerId,
    title = null,
    model = null,
    systemPrompt = null,
    knowledgeBaseIds = [],
    metadata = {},
  } = session
  return await sql.insertSession(db, {
    id,
    project_id: projectId,
    owner_id: ownerId,
    title,
    model,
    system_prompt: systemPrompt,
    knowledge_base_ids: knowledgeBaseIds,
    metadata,
    created_at: timeOf(id),
  })
}

/** One page of the sessions of workspaces with the total, in one statement. */
export async function listSessions(
  db: Db,
  workspaces: WorkspaceFilter,
  query: ListQuery<'listSessions'>,
): Promise<Page<Session>> {
  const { q, ...rest } = query
  const title = q === undefined ? undefined : containsPattern(q)
  return await sql.listSessions(db, { title, ...rest, ...workspaces })
}

const maxTitleLength = 80

/** A title for a session: the first sentence of its first question, cut at a word after 80 characters. */
export function titleFrom(question: string): string {
  const line =
    question
      .trim()
      .split('\n')[0]
      .replace(/^[#>*\-\s]+/, '')
      .trim() || question.trim()
  const [{ segment }] = new Intl.Segmenter('und', { granularity: 'sentence' }).segment(line)
  const sentence = segment.trim()
  if (sentence.length <= maxTitleLength) return sentence
  const cut = truncateText(sentence, maxTitleLength)
  const space = cut.lastIndexOf(' ')
  return `${space > maxTitleLength / 2 ? cut.slice(0, space) : cut}…`
}
