// Creates database rows for tests with the functions of the services.
import { hash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import sharp from 'sharp'
import * as budgets from '../../../generated/sql/budgets.ts'
import * as customRoles from '../../../generated/sql/custom_roles.ts'
import type { components } from '../../../generated/types.ts'
import { replaceChunks } from '../../../services/ai/knowledge/chunk-index.ts'
import { insertKnowledgeBase } from '../../../services/ai/knowledge/knowledge-bases.ts'
import { insertSession, type NewSession } from '../../../services/ai/chat/sessions.ts'
import { countTokens } from '../../../services/ai/chat/token-estimate.ts'
import { numberEvents } from '../../../services/events/log.ts'
import type { EndedRequest } from '../../../services/usage/recorder.ts'
import type { Prisma } from '../../../generated/prisma/client.js'
import type { Db } from '../../../infra/database/database.ts'
import { newId, newRequestId, timeOf } from '../../../infra/ids.ts'
import { insertMember } from '../../../services/projects/members.ts'
import { insertProjectWithOwner, type Role } from '../../../services/projects/projects.ts'
import { renderAvatar, replaceAvatar } from '../../../services/storage/avatars.ts'
import { ensureFolder, replaceContent, trashFiles } from '../../../generated/sql/storage.ts'
import { advanceJob, insertJob } from '../../../generated/sql/tracked_jobs.ts'
import { findFile, insertFile, newFileId, type NewFile } from '../../../services/storage/files.ts'
import { insertUploadLink } from '../../../services/storage/upload-links.ts'
import { insertLink } from '../../../services/storage/links.ts'
import { insertUser, toProfile } from '../../../services/users/users.ts'
import { insertApiKey, type NewApiKey } from '../../../services/users/api-keys.ts'
import { defaultScopes } from '../../../services/users/scopes.ts'
import { encryptSecret } from '../../../services/webhooks/secrets.ts'
import { newWebhookSecret } from '../../../services/webhooks/signature.ts'
import type { Person, TestServer } from '../server/server.ts'

interface ProjectContext {
  server: TestServer
  caller: Person
  role: 'none' | Role
}

/** A project of the server's admin in which the caller has the given role. */
export async function createProject(
  { server, caller, role }: ProjectContext,
  status: 'active' | 'archived' | 'deleted' = 'active',
): Promise<string> {
  const { database } = server.services
  const { id } = await database.transaction((tx) =>
    insertProjectWithOwner(tx, server.admin.id, { name: 'Theirs' }),
  )
  if (role !== 'none' && caller.id !== server.admin.id) await createMember(server, id, caller.id, role)
  const at = new Date()
  if (status !== 'active')
    await database.prisma.project.update({
      where: { id },
      data: { status, ...(status === 'archived' ? { archivedAt: at } : { deletedAt: at }) },
    })
  return id
}

/** In an active project, in an archived project, or in no project (`own`). */
export type Placement = 'active' | 'archived' | 'own'

/** Creates the project for this placement, with the caller's role in it. undefined for `own`. */
export async function projectFor(place: ProjectContext, where: Placement): Promise<string | undefined> {
  return where === 'own' ? undefined : await createProject(place, where)
}

export async function createMember(
  server: TestServer,
  projectId: string,
  userId: string,
  role: Role,
): Promise<string> {
  const fields = { userId, role, createdById: server.admin.id }
  const member = await server.services.database.transaction((tx) =>
    insertMember(tx, { id: projectId }, fields, server.url),
  )
  return member.id
}

/** Makes users members of a common project, so that each may add the others to projects by id. */
export async function acquaint(server: TestServer, ...users: Array<{ id: string }>): Promise<void> {
  const project = await server.services.database.transaction((tx) =>
    insertProjectWithOwner(tx, server.admin.id, { name: 'Common' }),
  )
  for (const { id } of users) if (id !== server.admin.id) await createMember(server, project.id, id, 'viewer')
}

/** The caller's membership in the project; without a role, that of the project's owner. */
export async function callerMemberId(
  { server, caller, role }: ProjectContext,
  projectId: string,
): Promise<string> {
  const userId = role === 'none' ? server.admin.id : caller.id
  return (
    await server.services.database.prisma.member.findUniqueOrThrow({
      where: { projectId_userId: { projectId, userId } },
    })
  ).id
}

/** A custom role of the organization. @returns its id. */
export async function createCustomRole(
  { admin, services: { database } }: TestServer,
  organizationId: string,
  fields: Partial<components['schemas']['CustomRoleCreate']> = {},
): Promise<string> {
  const id = newId('rol')
  const name = `Role ${randomBytes(6).toString('hex')}`
  const permissions = { projects: 'read', storage: 'write', ai: 'none', payments: 'none' } as const
  const place = { organization_id: organizationId, created_by: admin.id, created_at: timeOf(id) }
  await customRoles.insert(database, { id, name, description: null, permissions, ...fields, ...place })
  return id
}

/** A user without an API key. */
export async function createUser(server: TestServer): Promise<string> {
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

/** An API key of the user. `secret` authenticates requests. */
export async function createApiKey(
  server: TestServer,
  userId: string,
  {
    scopes = defaultScopes('user'),
    expiresAt = null,
    projectIds = null,
    allowedAddresses = null,
    revoked = false,
  }: Partial<NewApiKey> & { revoked?: boolean } = {},
): Promise<{ id: string; secret: string }> {
  const { database } = server.services
  const fields = { userId, name: 'spare', scopes, projectIds, allowedAddresses, expiresAt }
  const { id, key } = await database.transaction((tx) => insertApiKey(tx, 'test', fields))
  if (revoked) await database.prisma.apiKey.update({ where: { id }, data: { revokedAt: new Date() } })
  return { id, secret: key }
}

/** A budget of an API key of the user, who created it. */
export async function createBudget(
  server: TestServer,
  userId: string,
  fields: Partial<components['schemas']['Budget']> = {},
): Promise<string> {
  const id = newId('bdg')
  const row = {
    subject_type: 'key' as const,
    subject_id: fields.subject_id ?? (await createApiKey(server, userId)).id,
    unit: 'tokens' as const,
    amount: '1000',
    period: 'month' as const,
    starts_at: new Date(Date.UTC(2026, 0, 1)).toISOString(),
    thresholds: [80, 100],
    enforced: true,
    metadata: {},
    created_by: userId,
    ...fields,
  }
  await budgets.insert(server.services.database, { ...row, id, created_at: timeOf(id) })
  return id
}

export async function createApiRequest(
  server: TestServer,
  userId: string,
  { id = newId('arq'), ...fields }: Partial<Prisma.ApiRequestUncheckedCreateInput> = {},
): Promise<string> {
  await server.services.database.prisma.apiRequest.create({
    data: {
      id,
      userId,
      keyId: newId('key'),
      operation: 'listProjects',
      method: 'GET',
      status: 200,
      durationMs: 3,
      requestId: newRequestId(),
      createdAt: timeOf(id),
      ...fields,
    },
  })
  return id
}

/** What a user used on a day: by default one request today. */
export async function createUsage(
  server: TestServer,
  userId: string,
  {
    day = new Date(),
    credentialId = newId('key'),
    ...fields
  }: Partial<Prisma.UsageCountUncheckedCreateInput> = {},
): Promise<void> {
  const noTokens = { answers: 0, promptTokens: 0, completionTokens: 0, costMicros: 0 }
  const none = { errors: 0, downloadedBytes: 0, ...noTokens }
  await server.services.database.prisma.usageCount.create({
    data: { userId, day, credentialId, projectId: '', model: '', requests: 1, ...none, ...fields },
  })
}

let auditSequence = 1_000_000_000

/** An entry of the audit log outside of its chain. */
export async function createAuditEntry(
  server: TestServer,
  userId: string,
  fields: Partial<Prisma.AuditEntryUncheckedCreateInput> = {},
): Promise<string> {
  const id = newId('aud')
  await server.services.database.prisma.auditEntry.create({
    data: {
      sequence: auditSequence++,
      id,
      userId,
      credentialId: newId('key'),
      operation: 'updateProject',
      method: 'PUT',
      status: 200,
      ip: '192.0.2.1',
      requestId: newRequestId(),
      signature: '',
      createdAt: timeOf(id),
      ...fields,
    },
  })
  return id
}

export async function createInvitation(
  server: TestServer,
  projectId: string,
  email: string,
  status: 'pending' | 'revoked' | 'declined' = 'pending',
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
      createdById: server.admin.id,
      createdAt,
      expiresAt: new Date(createdAt.getTime() + 86_400_000),
    },
  })
  return id
}

/** An event of the user. Reading it needs the scope `user:read`. */
export async function createEvent(
  { url, services: { database, events } }: TestServer,
  userId: string,
): Promise<string> {
  return await database.transaction(async (tx) => {
    const profile = toProfile(await tx.prisma.user.findUniqueOrThrow({ where: { id: userId } }), url)
    return (await events.emit(tx, 'profile.updated', profile, { userId })).id
  })
}

/** Removes the first two events from the log. */
export async function removeFirstEvents({ services: { database } }: TestServer): Promise<void> {
  await database.prisma.eventLog.updateMany({
    where: { removedThrough: { lt: 2 } },
    data: { removedThrough: 2 },
  })
}

/** Webhook endpoints of the user for project events. Only a key with `projects:read` can see them. */
export async function createWebhookEndpoints(
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
      projectIds: [],
      enabled,
      secret: encryptSecret(server.services.cipher, id, newWebhookSecret()),
      createdAt: timeOf(id),
    })),
  })
  return ids
}

export async function createWebhookEndpoint(
  server: TestServer,
  userId: string,
  options: { enabled?: boolean } = {},
): Promise<string> {
  return (await createWebhookEndpoints(server, userId, 1, options))[0]
}

/** A delivery to an endpoint of the user. A delivery that is not pending has one attempt. */
export async function createDelivery(
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
      endpointId: endpointId ?? (await createWebhookEndpoint(server, userId)),
      eventId: await createEvent(server, userId),
      status,
      createdAt: at,
      nextAttemptAt: tried ? null : at,
      ...(tried && {
        attempts: [{ started_at: at.toISOString(), duration_ms: 7, response_body: '', ...answer }],
        request: { url: 'https://example.com/', headers: { 'webhook-id': 'evt_x' } },
      }),
    },
  })
  // Every event that was sent has a sequence number.
  await numberEvents(database)
  return id
}

/** A small PNG with random pixels. */
export async function randomImage(): Promise<Buffer> {
  return await sharp(randomBytes(16 * 16 * 3), { raw: { width: 16, height: 16, channels: 3 } })
    .png()
    .toBuffer()
}

export async function createAvatar(
  { url, services: { storage, database } }: TestServer,
  userId: string,
): Promise<string> {
  const rendered = await renderAvatar(storage, userId, {
    declaredType: null,
    content: Readable.from([await randomImage()]),
  })
  return (
    await storage.storeBlobs(rendered.files, () =>
      database.transaction((tx) => replaceAvatar(tx, userId, rendered, url)),
    )
  ).id
}

/** A file of the user with its content in the store. Default: without a project. */
export async function createFile(
  { services: { storage, database } }: TestServer,
  ownerId: string,
  {
    content = `Theirs, ${randomBytes(6).toString('hex')}`,
    path,
    ...fields
  }: Partial<NewFile> & { content?: string | Buffer; path?: string } = {},
): Promise<string> {
  const arrived = await storage.tempFiles.receive(
    { declaredType: null, content: Readable.from([Buffer.from(content as string)]) },
    { maxBytes: Infinity },
  )
  const { bytes, sha256, contentType } = arrived
  const id = newFileId()
  const folderId = path === undefined ? null : await createFolder(database, ownerId, path, fields.projectId)
  await storage.storeBlob(id, arrived, () =>
    insertFile(database, id, {
      ownerId,
      projectId: null,
      name: 'Theirs.txt',
      contentType,
      declaredContentType: null,
      bytes,
      sha256,
      folderId,
      ...fields,
    }),
  )
  await arrived.discard()
  return id
}

/** A version of a file with other bytes than the present ones. */
export async function createFileVersion(server: TestServer, fileId: string, userId: string): Promise<string> {
  const { database, storage } = server.services
  const file = (await findFile(database, fileId))!
  const content = Buffer.from(`Other, ${randomBytes(6).toString('hex')}`)
  const arrived = await storage.tempFiles.receive(
    { declaredType: null, content: Readable.from([content]) },
    { maxBytes: Infinity },
  )
  const [id, key] = [newId('ver'), newFileId()]
  await storage.storeBlob(key, arrived, () =>
    replaceContent(database, {
      id: fileId,
      version_id: id,
      is_kept: true,
      blob_key: key,
      bytes: arrived.bytes,
      sha256: arrived.sha256,
      content_type: file.content_type,
      declared_content_type: file.declared_content_type,
      user_id: userId,
    }),
  )
  await arrived.discard()
  await database.prisma.fileVersion.update({ where: { id }, data: { createdById: userId } })
  return id
}

/** The folder with this path, and those above it. Default: without a project. */
export async function createFolder(
  database: Db,
  ownerId: string,
  path: string,
  projectId: string | null = null,
): Promise<string> {
  const workspace = { workspace_id: projectId ?? ownerId, project_id: projectId, owner_id: ownerId }
  return (await ensureFolder(database, { ...workspace, path, most: 10_000 })).id!
}

/** A share of a folder. Default: a folder without a project, a random e-mail address, the role viewer. */
export async function createShare(
  { services: { database } }: TestServer,
  folderId: string,
  ownerId: string,
  fields: { email?: string; role?: 'viewer' | 'editor'; projectId?: string | null } = {},
): Promise<string> {
  const id = newId('shr')
  const createdAt = timeOf(id)
  const email = `${randomBytes(8).toString('hex')}@example.com`
  await database.prisma.folderShare.create({
    data: { id, folderId, ownerId, email, role: 'viewer', createdAt, ...fields },
  })
  return id
}

/** A file in the trash. Default: without a project. */
export async function createTrashedFile(
  server: TestServer,
  ownerId: string,
  fields: Parameters<typeof createFile>[2] = {},
): Promise<string> {
  const id = await createFile(server, ownerId, fields)
  await trashFiles(server.services.database, { ids: [id], user_id: ownerId, days: 30 })
  return id
}

/** A job that no worker knows of. Default: without a project. */
export async function createJob(
  { services: { database } }: TestServer,
  ownerId: string,
  { projectId = null, status = 'queued' }: { projectId?: string | null; status?: string } = {},
): Promise<string> {
  const id = newId('job')
  const job = {
    id,
    type: 'trash_empty' as const,
    project_id: projectId,
    owner_id: ownerId,
    resource_id: null,
  }
  await insertJob(database, { ...job, total: 3, until: null, created_at: timeOf(id) })
  if (status !== 'queued') await advanceJob(database, { id, n: 3, status, error: null })
  return id
}

/** An export of the user that is ready, with its file in the store. */
export async function createExport(
  { services: { storage, database } }: TestServer,
  userId: string,
): Promise<string> {
  const file = await storage.tempFiles.receive(
    { declaredType: null, content: Readable.from([Buffer.from(`{ "profile": "${userId}" }`)]) },
    { maxBytes: Infinity },
  )
  const { bytes, sha256 } = file
  const id = newId('exp')
  const at = timeOf(id)
  const expiresAt = new Date(at.getTime() + 7 * 86_400_000)
  const times = { createdAt: at, updatedAt: at, completedAt: at, expiresAt }
  await storage.storeBlob(id, file, () =>
    database.prisma.accountExport.create({
      data: { id, userId, status: 'ready', blobKey: id, bytes, sha256, ...times },
    }),
  )
  await file.discard()
  return id
}

/** A link to the file. `token` is the secret in its URL. */
export async function createFileLink(
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

export interface UploadLinkOptions {
  projectId?: string | null
  expiresAt?: Date
  maxBytes?: number | null
  maxFiles?: number | null
  contentTypes?: string[]
  revoked?: boolean
}

/** An upload link. `token` is the secret in its URLs. */
export async function createUploadLink(
  { services: { database } }: TestServer,
  ownerId: string,
  {
    projectId = null,
    expiresAt,
    maxBytes = null,
    maxFiles = null,
    contentTypes = [],
    revoked = false,
  }: UploadLinkOptions = {},
): Promise<{ id: string; token: string }> {
  const id = newId('ulk')
  const createdAt = timeOf(id)
  const token = randomBytes(32).toString('base64url')
  await insertUploadLink(database, {
    id,
    token,
    projectId,
    ownerId,
    path: '',
    title: null,
    maxBytes,
    contentTypes,
    maxFiles,
    createdAt,
    expiresAt: expiresAt ?? new Date(createdAt.getTime() + 86_400_000),
  })
  if (revoked) await database.prisma.uploadLink.update({ where: { id }, data: { revokedAt: new Date() } })
  return { id, token }
}

/** A resumable upload of the user that has received no bytes. */
export async function createUpload(
  { services: { database } }: TestServer,
  userId: string,
  {
    projectId = null,
    linkId = null,
    length,
    expired = false,
  }: { projectId?: string | null; linkId?: string | null; length: number; expired?: boolean },
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
      workspaceId: projectId ?? userId,
      uploadLinkId: linkId,
      name: 'Theirs.txt',
      rawMetadata,
      length,
      createdAt,
      expiresAt,
    },
  })
  return id
}

/** A text with a random part. Searches for its words find it. */
export function randomText(): string {
  const number = randomBytes(6).toString('hex')
  return `Theirs is a rule: events are kept for thirty days. It has the number ${number}.`
}

export async function createKnowledgeBase(
  { services: { database } }: TestServer,
  ownerId: string,
  {
    projectId,
    name = 'Theirs',
    description,
  }: { projectId?: string; name?: string; description?: string } = {},
): Promise<string> {
  const fields = { project_id: projectId, name, description }
  return (await database.transaction((tx) => insertKnowledgeBase(tx, ownerId, fields))).id
}

/** A source that is synced by hand only. */
export async function createSource(
  { services: { database } }: TestServer,
  knowledgeBaseId: string,
  createdById: string,
): Promise<string> {
  const id = newId('src')
  const createdAt = timeOf(id)
  const url = `https://example.com/${id}`
  await database.prisma.knowledgeSource.create({
    data: {
      id,
      knowledgeBaseId,
      type: 'page',
      url,
      status: 'synced',
      createdById,
      createdAt,
      updatedAt: createdAt,
    },
  })
  return id
}

/** A document from text. A ready document is indexed, so searches find it. No parse job is created. */
export async function createDocument(
  { services: { database } }: TestServer,
  knowledgeBaseId: string,
  {
    status = 'ready',
    name = 'Theirs.md',
    text = randomText(),
    createdBy = null,
  }: {
    status?: 'queued' | 'processing' | 'ready' | 'failed'
    name?: string
    text?: string
    createdBy?: string | null
  } = {},
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
        createdById: createdBy,
        createdAt,
        updatedAt: createdAt,
        ...(status === 'failed' && { error: { code: 'damaged', message: 'The document is damaged.' } }),
        ...(status === 'ready' && {
          revision: 1,
          tokens,
          chunkCount: 1,
          indexedAt: createdAt,
        }),
      },
    })
    if (status === 'ready') {
      await tx.prisma.documentText.create({ data: { documentId: id, knowledgeBaseId, name, text } })
      await replaceChunks(
        tx,
        { id, knowledgeBaseId },
        [{ start: 0, end: text.length, page: null, heading: null, tokens, text }],
        { language: 'english', embeddings: null },
      )
    }
  })
  return id
}

/** A session with a title, so that its first message does not generate a title. */
export async function createSession(
  { services: { database } }: TestServer,
  ownerId: string,
  { projectId = null, title = 'Theirs', ...fields }: Partial<NewSession> = {},
): Promise<string> {
  return (await insertSession(database, { ownerId, projectId, title, ...fields })).id
}

/**
 * A message of the session. A message in progress has a heartbeat of an hour ago, so its process counts as
 * dead.
 */
export async function createMessage(
  { services: { database } }: TestServer,
  sessionId: string,
  userId: string,
  {
    role = 'assistant',
    status = 'completed',
    toolCalls,
  }: { role?: 'user' | 'assistant'; status?: 'in_progress' | 'completed'; toolCalls?: object[] } = {},
): Promise<string> {
  const id = newId('msg')
  const createdAt = timeOf(id)
  const ended = status === 'completed'
  const { messageCount: position } = await database.prisma.session.update({
    where: { id: sessionId },
    data: { messageCount: { increment: 1 }, lastMessageAt: createdAt },
  })
  await database.prisma.message.create({
    data: {
      id,
      sessionId,
      position,
      userId,
      role,
      status,
      content: role === 'user' ? 'How long are events kept by Theirs?' : 'Theirs are kept for thirty days.',
      createdAt,
      toolCalls,
      ...(role === 'assistant' && { model: 'extractive-1', finishReason: ended ? 'stop' : null }),
      ...(!ended && { heartbeatAt: new Date(createdAt.getTime() - 3_600_000) }),
    },
  })
  return id
}

/** A request that has ended, for a recorder. */
export function requestOf(userId: string, fields: Partial<EndedRequest> = {}): EndedRequest {
  return {
    userId,
    keyId: newId('key'),
    projectId: null,
    operation: 'listProjects',
    method: 'GET',
    status: 200,
    errorCode: null,
    durationMs: 1,
    requestId: 'req_1',
    clientRequestId: null,
    downloadedBytes: 0,
    ...fields,
  }
}
