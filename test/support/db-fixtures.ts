// Rows that the contract tests need to be there before they ask, put there by the services themselves.
import { hash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import pg from 'pg'
import sharp from 'sharp'
import type { Test } from 'tap'
import { replaceChunks } from '../../services/ai/knowledge/chunk-index.ts'
import { insertKnowledgeBase } from '../../services/ai/knowledge/knowledge-bases.ts'
import { insertSession, type NewSession } from '../../services/ai/chat/sessions.ts'
import { countTokens } from '../../services/ai/chat/token-estimate.ts'
import { numberEvents } from '../../services/events/log.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import { insertMember } from '../../services/projects/members.ts'
import { insertProjectWithOwner, type Role } from '../../services/projects/projects.ts'
import { renderAvatar, replaceAvatar } from '../../services/storage/avatars.ts'
import { insertFile, newFileId, type NewFile } from '../../services/storage/files.ts'
import { insertLink } from '../../services/storage/links.ts'
import { insertUser, toProfile } from '../../services/users/users.ts'
import { insertApiKey, defaultScopes, type Scope } from '../../services/users/api-keys.ts'
import { newWebhookSecret } from '../../services/webhooks/signature.ts'
import type { Person, TestServer } from './server.ts'

interface Place {
  server: TestServer
  caller: Person
  rank: 'none' | Role
}

/** A project of the server's admin in which the caller has the rank. */
export async function insertedProject(
  { server, caller, rank }: Place,
  status: 'active' | 'archived' | 'deleted' = 'active',
): Promise<string> {
  const { database } = server.services
  const { id } = await insertProjectWithOwner(database, server.admin.id, { name: 'Theirs' })
  if (rank !== 'none' && caller.id !== server.admin.id) await insertedMember(server, id, caller.id, rank)
  const at = new Date()
  if (status !== 'active')
    await database.prisma.project.update({
      where: { id },
      data: { status, ...(status === 'archived' ? { archivedAt: at } : { deletedAt: at }) },
    })
  return id
}

/** In a project that is active or archived, or in none. */
export type Where = 'active' | 'archived' | 'own'

/** The project where something is to be, in which the caller has the rank; undefined for none. */
export async function projectFor(place: Place, where: Where): Promise<string | undefined> {
  return where === 'own' ? undefined : await insertedProject(place, where)
}

export async function insertedMember(
  server: TestServer,
  projectId: string,
  userId: string,
  role: Role,
): Promise<string> {
  return (
    await insertMember(
      server.services.database,
      { id: projectId },
      { userId, role, addedById: server.admin.id },
    )
  ).id
}

/** The caller's own member of the project, or its maker's. */
export async function ownMember({ server, caller, rank }: Place, projectId: string): Promise<string> {
  const userId = rank === 'none' ? server.admin.id : caller.id
  return (
    await server.services.database.prisma.member.findUniqueOrThrow({
      where: { projectId_userId: { projectId, userId } },
    })
  ).id
}

/** A user with no key. */
export async function insertedUser(server: TestServer): Promise<string> {
  const user = await server.services.database.transaction((tx) =>
    insertUser(tx, {
      email: `${randomBytes(8).toString('hex')}@example.com`,
      emailVerified: true,
      name: 'Someone',
      role: 'user',
    }),
  )
  return user.id
}

/** A key of the user; `secret` is for its requests. */
export async function insertedKey(
  server: TestServer,
  userId: string,
  {
    scopes = defaultScopes('user'),
    expiresAt = null,
    projectIds = null,
    revoked = false,
  }: { scopes?: Scope[]; expiresAt?: Date | null; projectIds?: string[] | null; revoked?: boolean } = {},
): Promise<{ id: string; secret: string }> {
  const { database } = server.services
  const { id, key } = await insertApiKey(database, 'test', {
    userId,
    name: 'spare',
    scopes,
    projectIds,
    expiresAt,
  })
  if (revoked) await database.prisma.apiKey.update({ where: { id }, data: { revokedAt: new Date() } })
  return { id, secret: key }
}

export async function insertedInvitation(
  server: TestServer,
  projectId: string,
  email: string,
  status: 'pending' | 'revoked' = 'pending',
): Promise<string> {
  const id = newId('inv')
  const createdAt = timeOf(id)
  await server.services.database.prisma.invitation.create({
    data: {
      id,
      projectId,
      email: email.toLowerCase(),
      role: 'viewer',
      status,
      invitedById: server.admin.id,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + 86_400_000),
    },
  })
  return id
}

/** An event of the user's own, whose scope is `user:read`. */
export async function insertedEvent(
  { services: { database, events } }: TestServer,
  userId: string,
): Promise<string> {
  return await database.transaction(async (tx) => {
    const profile = toProfile(await tx.prisma.user.findUniqueOrThrow({ where: { id: userId } }))
    return (await events.emit(tx, 'profile.updated', profile, { userId })).id
  })
}

/** Makes the log begin where the first two events were removed. */
export async function forgetFirstEvents({ services: { database } }: TestServer): Promise<void> {
  await database.prisma.eventLog.updateMany({
    where: { removedThrough: { lt: 2 } },
    data: { removedThrough: 2 },
  })
}

/** Webhook endpoints of the user that are told of projects; only a key with `projects:read` may see them. */
export async function insertedEndpoints(
  server: TestServer,
  userId: string,
  count: number,
  { enabled = true } = {},
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId('whe'))
  await server.services.database.prisma.webhookEndpoint.createMany({
    data: ids.map((id) => ({
      id,
      userId,
      url: `https://example.com/${id}`,
      eventTypes: ['project.created'],
      scopes: ['projects:read'],
      enabled,
      secret: newWebhookSecret(),
      createdAt: timeOf(id),
    })),
  })
  return ids
}

export async function insertedEndpoint(
  server: TestServer,
  userId: string,
  options: { enabled?: boolean } = {},
): Promise<string> {
  return (await insertedEndpoints(server, userId, 1, options))[0]
}

/** A delivery to an endpoint of the user's; one that is not pending was tried once. */
export async function insertedDelivery(
  server: TestServer,
  userId: string,
  {
    status = 'failed',
    endpointId,
  }: { status?: 'pending' | 'succeeded' | 'failed'; endpointId?: string } = {},
): Promise<string> {
  const { database } = server.services
  const id = newId('whd')
  const at = timeOf(id)
  const tried = status !== 'pending'
  const answer =
    status === 'succeeded'
      ? { response_status: 204, error: null }
      : { response_status: 500, error: 'The endpoint answered 500.' }
  await database.prisma.webhookDelivery.create({
    data: {
      id,
      endpointId: endpointId ?? (await insertedEndpoint(server, userId)),
      eventId: await insertedEvent(server, userId),
      status,
      createdAt: at,
      nextAttemptAt: tried ? null : at,
      ...(tried && {
        attempts: [{ started_at: at.toISOString(), duration_ms: 7, response_body: '', ...answer }],
        request: { url: 'https://example.com/', headers: { 'webhook-id': 'evt_x' } },
      }),
    },
  })
  // Whatever is sent has its number.
  await numberEvents(database)
  return id
}

/** A small picture, each time another. */
export async function newPicture(): Promise<Buffer> {
  return await sharp(randomBytes(16 * 16 * 3), { raw: { width: 16, height: 16, channels: 3 } })
    .png()
    .toBuffer()
}

export async function insertedAvatar(
  { services: { storage, database } }: TestServer,
  userId: string,
): Promise<string> {
  const rendered = await renderAvatar(storage, {
    declaredType: null,
    content: Readable.from([await newPicture()]),
  })
  return (
    await storage.storeBlobs(rendered.files, () =>
      database.transaction((tx) => replaceAvatar(tx, userId, rendered)),
    )
  ).id
}

/** A file of the user's with its bytes in the store. It is in no project unless one is named. */
export async function insertedFile(
  { services: { storage, database } }: TestServer,
  ownerId: string,
  {
    content = `Theirs, ${randomBytes(6).toString('hex')}`,
    ...fields
  }: Partial<NewFile> & { content?: string } = {},
): Promise<string> {
  const arrived = await storage.tempFiles.receive(
    { declaredType: null, content: Readable.from([Buffer.from(content)]) },
    { maxBytes: Infinity },
  )
  const { bytes, sha256, contentType } = arrived
  const id = newFileId()
  await storage.storeBlob(id, arrived, () =>
    insertFile(database, id, {
      ownerId,
      projectId: null,
      name: 'Theirs.txt',
      contentType,
      declaredContentType: null,
      bytes,
      sha256,
      ...fields,
    }),
  )
  await arrived.discard()
  return id
}

/** A link to the file; `token` is the secret of its address. */
export async function insertedLink(
  { services: { database } }: TestServer,
  fileId: string,
  createdBy: string,
  {
    expiresAt,
    maxDownloads = null,
    revoked = false,
  }: { expiresAt?: Date; maxDownloads?: number | null; revoked?: boolean } = {},
): Promise<{ id: string; token: string }> {
  const id = newId('lnk')
  const createdAt = timeOf(id)
  const token = randomBytes(32).toString('base64url')
  await insertLink(
    database,
    { id: fileId },
    {
      id,
      token,
      maxDownloads,
      createdBy,
      createdAt,
      expiresAt: expiresAt ?? new Date(createdAt.getTime() + 86_400_000),
    },
  )
  if (revoked) await database.prisma.fileLink.update({ where: { id }, data: { revokedAt: new Date() } })
  return { id, token }
}

/** A resumable upload of the user's that nothing has come of yet. */
export async function insertedUpload(
  { services: { database } }: TestServer,
  userId: string,
  {
    projectId = null,
    length,
    expired = false,
  }: { projectId?: string | null; length: number; expired?: boolean },
): Promise<string> {
  const id = newId('upl')
  const createdAt = timeOf(id)
  const expiresAt = new Date(createdAt.getTime() + (expired ? -1000 : 86_400_000))
  const rawMetadata = `filename ${Buffer.from('Theirs.txt').toString('base64')}`
  await database.prisma.upload.create({
    data: {
      id,
      projectId,
      userId,
      spaceId: projectId ?? userId,
      name: 'Theirs.txt',
      rawMetadata,
      length,
      createdAt,
      expiresAt,
    },
  })
  return id
}

/** Text that a search for its words finds, each time another. */
export function newText(): string {
  return `Theirs is a rule: events are kept for thirty days. It has the number ${randomBytes(6).toString('hex')}.`
}

export async function insertedKnowledgeBase(
  { services: { database } }: TestServer,
  ownerId: string,
  {
    projectId,
    name = 'Theirs',
    description,
  }: { projectId?: string; name?: string; description?: string } = {},
): Promise<string> {
  return (await insertKnowledgeBase(database, ownerId, { project_id: projectId, name, description })).id
}

/** A document made from text; one that is ready is found by its words. No job reads it. */
export async function insertedDocument(
  { services: { database } }: TestServer,
  knowledgeBaseId: string,
  {
    status = 'ready',
    name = 'Theirs.md',
    text = newText(),
  }: { status?: 'queued' | 'processing' | 'ready' | 'failed'; name?: string; text?: string } = {},
): Promise<string> {
  const id = newId('doc')
  const createdAt = timeOf(id)
  const tokens = countTokens(text)
  await database.transaction(async (tx) => {
    await tx.prisma.document.create({
      data: {
        id,
        knowledgeBaseId,
        name,
        contentType: 'text/markdown',
        sha256: hash('sha256', text),
        source: text,
        status,
        createdAt,
        updatedAt: createdAt,
        ...(status === 'failed' && { error: { code: 'damaged', message: 'The document is damaged.' } }),
        ...(status === 'ready' && {
          revision: 1,
          tokens,
          chunkCount: 1,
          indexedAt: createdAt,
          text: { create: { text } },
        }),
      },
    })
    if (status === 'ready')
      await replaceChunks(
        tx,
        { id, knowledgeBaseId },
        [{ start: 0, end: text.length, page: null, heading: null, tokens, text }],
        { language: 'english', embeddings: null },
      )
  })
  return id
}

/** A session that has a title, so that the first message gives it none. */
export async function insertedSession(
  { services: { database } }: TestServer,
  ownerId: string,
  { projectId = null, title = 'Theirs', ...fields }: Partial<NewSession> = {},
): Promise<string> {
  return (await insertSession(database, { ownerId, projectId, title, ...fields })).id
}

/** A message of the session. One that is in progress was begun an hour ago by a process that is no more. */
export async function insertedMessage(
  { services: { database } }: TestServer,
  sessionId: string,
  userId: string,
  {
    role = 'assistant',
    status = 'completed',
  }: { role?: 'user' | 'assistant'; status?: 'in_progress' | 'completed' } = {},
): Promise<string> {
  const id = newId('msg')
  const createdAt = timeOf(id)
  const ended = status === 'completed'
  await database.prisma.message.create({
    data: {
      id,
      sessionId,
      userId,
      role,
      status,
      content: role === 'user' ? 'How long are events kept by Theirs?' : 'Theirs are kept for thirty days.',
      createdAt,
      ...(role === 'assistant' && { model: 'extractive-1', finishReason: ended ? 'stop' : null }),
      ...(!ended && { heartbeatAt: new Date(createdAt.getTime() - 3_600_000) }),
    },
  })
  await database.prisma.session.update({
    where: { id: sessionId },
    data: { messageCount: { increment: 1 }, lastMessageAt: createdAt },
  })
  return id
}

/**
 * Everything that is in the tables, by table: to be compared before and after. When a key was last used is no change, nor
 * is how often a file was downloaded, nor the number of an event: all that is written a moment after it happens.
 */
export async function createDump(
  t: Pick<Test, 'teardown'>,
  { databaseUrl }: TestServer,
): Promise<() => Promise<Record<string, unknown>>> {
  const client = new pg.Client({ connectionString: databaseUrl })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  const { rows } = await client.query<{ table: string; moving: string | null }>(`
    SELECT n.nspname || '.' || c.relname AS table, min(a.attname) FILTER (WHERE a.attname IN ('last_used_at', 'download_count')) AS moving
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relkind IN ('r', 'p') AND (n.nspname = 'public' AND c.relname <> '_prisma_migrations' OR n.nspname = 'pgboss' AND c.relname = 'job') GROUP BY 1 ORDER BY 1`)
  const each = rows.map(({ table, moving }) => {
    const row = moving === null ? 'r::text' : `(to_jsonb(r) - '${moving}')::text`
    // No two rows of a table are the same, so that none takes another's hash out again.
    return `SELECT '${table.replace('public.', '')}' AS name, count(*)::int AS rows, bit_xor(hashtextextended(${row}, 0))::text AS content FROM ${table} r`
  })
  return async () => {
    await client.query('SELECT number_events(1000000)')
    return Object.fromEntries(
      (await client.query({ name: 'dump', text: each.join(' UNION ALL ') })).rows.map(({ name, ...rest }) => [
        name,
        rest,
      ]),
    )
  }
}
