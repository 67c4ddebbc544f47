// Inserts users, projects, knowledge bases and indexed documents into a database, without a server.
import { createHash } from 'node:crypto'
import type { Database, Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { removedChunkTasks } from '../../../services/ai/knowledge/retention.ts'
import { runRetention } from '../../../infra/jobs/retention.ts'
import { replaceChunks } from '../../../services/ai/knowledge/chunk-index.ts'
import { chunkDocument } from '../../../services/ai/parsing/chunker.ts'
import type { NewChunk } from '../../../services/ai/parsing/parse.ts'
import { parseMarkdown } from '../../../services/ai/parsing/markdown.ts'
import { newId } from '../../../infra/ids.ts'
import type { Principal } from '../../../services/users/authentication.ts'
import { insertUser } from '../../../services/users/users.ts'

/** Inserts a user. @returns the principal of an API key for all projects. */
export async function addUser(db: Db): Promise<Principal> {
  const fields = { email: `${newId('usr')}@example.com`, emailVerified: true, name: 'Reader' }
  const { id } = await db.transaction((tx) => insertUser(tx, { ...fields, role: 'user' }))
  return {
    type: 'api_key',
    userId: id,
    accountId: id,
    serviceAccountId: null,
    grantorId: null,
    mayOperate: false,
    credentialId: newId('key'),
    keyName: 'Key',
    scopes: new Set(['ai:read']),
    projectIds: null,
    isLimitedSession: false,
    networks: null,
    expiresAt: null,
  }
}

export function limitedToProjects(principal: Principal, ...projectIds: string[]): Principal {
  return { ...principal, projectIds: new Set(projectIds) }
}

export async function addProject(db: Db, owner: Principal): Promise<string> {
  const id = newId('prj')
  await db.transaction(async (tx) => {
    await tx.prisma.project.create({ data: { id, name: 'Shelf', ownerId: owner.userId } })
    await addMember(tx, id, owner, 'owner')
  })
  return id
}

export async function addMember(
  db: Db,
  projectId: string,
  { userId }: Principal,
  role: 'owner' | 'editor' | 'viewer' = 'viewer',
): Promise<void> {
  await db.prisma.member.create({ data: { id: newId('mem'), projectId, userId, role } })
}

export async function addKnowledgeBase(
  db: Db,
  { userId }: Principal,
  projectId: string | null = null,
): Promise<string> {
  const id = newId('kb')
  await db.prisma.knowledgeBase.create({
    data: {
      id,
      ownerId: userId,
      projectId,
      workspaceId: projectId ?? userId,
      name: 'Shelf',
      maxTokens: 120,
      overlapTokens: 0,
    },
  })
  return id
}

export interface NewDocument {
  name?: string
  language?: string
  metadata?: Record<string, string>
  /** Computes the vector of a chunk. */
  embed?: (text: string) => number[]
  maxTokens?: number
}

/** Inserts a ready Markdown document with its chunks. @returns its id. */
export async function addDocument(
  db: Db,
  knowledgeBaseId: string,
  text: string,
  { name = 'document.md', language = 'english', metadata = {}, embed, maxTokens = 120 }: NewDocument = {},
): Promise<string> {
  const id = newId('doc')
  const chunks = toChunks(text, maxTokens)
  await db.transaction(async (tx) => {
    await tx.prisma.document.create({
      data: {
        id,
        knowledgeBaseId,
        name,
        contentType: 'text/markdown',
        sha256: createHash('sha256').update(id).digest('hex'),
        source: text,
        metadata,
        status: 'ready',
        revision: 1,
      },
    })
    await tx.prisma.documentText.create({ data: { documentId: id, knowledgeBaseId, name, metadata, text } })
    await replaceChunks(tx, { id, knowledgeBaseId }, chunks, {
      language,
      embeddings: embed === undefined ? null : chunks.map((chunk) => embed(chunk.text)),
    })
  })
  return id
}

export function toChunks(text: string, maxTokens = 120): NewChunk[] {
  return chunkDocument(parseMarkdown(text), { maxTokens, overlapTokens: 0 }).chunks.map((range) => ({
    ...range,
    text: text.slice(range.start, range.end),
  }))
}

const selectMismatches = statement<{ wrong: number }>(`
  WITH terms AS (
    SELECT c.knowledge_base_id, term, count(*)::int AS chunks
    FROM chunks c, unnest(c.terms) term GROUP BY 1, 2
  ), sizes AS (
    SELECT knowledge_base_id, language, count(*)::int AS chunks, sum(tokens) AS tokens
    FROM chunks GROUP BY 1, 2
  )
  SELECT (
      SELECT count(*) FROM lexemes l FULL JOIN terms t
        ON t.term = l.id AND t.knowledge_base_id = l.knowledge_base_id
      WHERE l.chunks IS DISTINCT FROM t.chunks
    )::int + (
      SELECT count(*) FROM chunk_counts s FULL JOIN sizes z USING (knowledge_base_id, language)
      WHERE (s.chunks, s.tokens) IS DISTINCT FROM (z.chunks, z.tokens)
    )::int AS wrong`)

/** Subtracts removed chunks and recounts the index. @returns the number of stored counts that are wrong. */
export async function countMismatches(db: Database): Promise<number> {
  await runRetention(db, { tasks: removedChunkTasks() })
  return (await db.sql(selectMismatches, []))[0].wrong
}
