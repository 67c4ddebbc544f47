// Fixtures of all operations: one entry per operation, from which the contract tests build every request. An
// operation without an entry does not compile.
import { flattened } from '../../../infra/validation/query-objects.ts'
import { hash, randomBytes, randomInt } from 'node:crypto'
import { operations, type OperationId } from '../../../generated/operations.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { insertArchive } from '../../../services/storage/archives.ts'
import { allScopes, isOperatorScope, type Scope } from '../../../services/users/scopes.ts'
import { createClient, type Reply, type CallOptions } from '../http/client.ts'
import { cursorAt } from './event-cursors.ts'
import { authFixtures, providerOperations } from './operation-fixtures-auth.ts'
import { createOrganization, organizationFixtures } from './operation-fixtures-organizations.ts'
import { aiFixtures } from './operation-fixtures-ai.ts'
import { fieldsOf, fieldsType, formOf, formType, type Attachment } from '../http/form-body.ts'
import { paymentsFixtures, unconfiguredOperations } from './operation-fixtures-payments.ts'
import {
  removeFirstEvents,
  createAvatar,
  createDelivery,
  createWebhookEndpoint,
  createEvent,
  createFile,
  createFolder,
  createJob,
  createShare,
  createTrashedFile,
  createInvitation,
  createApiKey,
  createApiRequest,
  createUsage,
  createAuditEntry,
  createFileLink,
  createFileVersion,
  createUploadLink,
  type UploadLinkOptions,
  createMember,
  createProject,
  createUpload,
  acquaint,
  createUser,
  randomImage,
  callerMemberId,
} from '../database/db-fixtures.ts'
import type {
  OperationRequest,
  Fixture,
  RequestBuilder,
  ProjectRole,
  FixtureContext,
} from './operation-fixture.ts'
import type { Person, TestServer } from '../server/server.ts'

const noInput: Fixture = { build: () => ({}) }
const randomHex = () => randomBytes(6).toString('hex')
const toBase64 = (text: string) => Buffer.from(text).toString('base64')
const inAWeek = () => new Date(Date.now() + 7 * 86_400_000).toISOString()

const onProject =
  (
    status: 'active' | 'archived' | 'deleted' = 'active',
    body?: () => Record<string, unknown>,
  ): RequestBuilder =>
  async (context) => ({ params: { id: await createProject(context, status) }, ...(body && { body: body() }) })

const onInvitation =
  ({
    state = 'pending',
    email,
  }: { state?: 'pending' | 'revoked' | 'declined'; email?: 'caller' } = {}): RequestBuilder =>
  async (context) => {
    const id = await createProject(context)
    return {
      params: {
        id,
        invitation_id: await createInvitation(
          context.server,
          id,
          email === 'caller' ? context.caller.email : `${randomHex()}@example.com`,
          state,
        ),
      },
    }
  }

const onMember =
  (status: 'active' | 'archived' = 'active', body?: Record<string, unknown>): RequestBuilder =>
  async (context) => {
    const id = await createProject(context)
    const member = await createMember(context.server, id, await createUser(context.server), 'viewer')
    if (status === 'archived') await archive(context.server, id)
    return { params: { id, member_id: member }, body }
  }

/**
 * The caller's own membership, which every member may delete; for a non-member, that of the project's owner.
 */
const onOwnMember = (): RequestBuilder => async (context) => {
  const id = await createProject(context)
  return { params: { id, member_id: await callerMemberId(context, id) } }
}

const onKey =
  (body?: () => Record<string, unknown>, revoked = false): RequestBuilder =>
  async ({ server, caller }) => {
    const { id } = await createApiKey(server, caller.id, { revoked })
    return { params: { id }, body: body?.() }
  }

const keyUpdate = () => ({
  name: 'reports',
  scopes: ['projects:read'],
  allowed_addresses: ['127.0.0.0/8', '::1'],
  metadata: { team: 'data' },
})

const onUser =
  (body?: () => Record<string, unknown>): RequestBuilder =>
  async ({ server }) => ({ params: { id: await createUser(server) }, body: body?.() })

const onEndpoint =
  (body?: () => Record<string, unknown>, options: { enabled?: boolean } = {}): RequestBuilder =>
  async ({ server, caller }) => {
    const id = await createWebhookEndpoint(server, caller.id, options)
    await createDelivery(server, caller.id, { endpointId: id })
    return { params: { id }, body: body?.() }
  }

const onDelivery =
  (options: { enabled?: boolean } = {}): RequestBuilder =>
  async ({ server, caller }) => {
    const endpointId = await createWebhookEndpoint(server, caller.id, options)
    return { params: { id: await createDelivery(server, caller.id, { endpointId }) } }
  }

const uploadFields = () => {
  const content = `Quarterly report, ${randomHex()}`
  const file: Attachment = { filename: 'upload.txt', type: 'text/plain', bytes: Buffer.from(content) }
  return {
    name: `report ${randomHex()}.txt`,
    visibility: 'private',
    metadata: { ticket: 'OPS-12' },
    tags: ['q4', 'big'],
    expires_at: inAWeek(),
    sha256: hash('sha256', content),
    file,
  }
}

const contentFields = () => {
  const { file, sha256 } = uploadFields()
  return { file, sha256 }
}

const onAvatar: RequestBuilder = async ({ server, caller }) => {
  await createAvatar(server, caller.id)
  return {}
}

const openAiUploadFields = () => ({
  name: `report ${randomHex()}.txt`,
  purpose: 'assistants',
  'expires_after[anchor]': 'created_at',
  'expires_after[seconds]': 86_400,
  file: uploadFields().file,
})

const onOpenAiUpload =
  (status: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    return { project, body: { ...openAiUploadFields(), project_id: project } }
  }

const onUpload =
  (status: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    return { project, body: { ...uploadFields(), project_id: project } }
  }

type BodyBuilder = (
  context: FixtureContext,
  project?: string,
) => Record<string, unknown> | Promise<Record<string, unknown>>

/** A file of the caller in a project. The project role decides even about the owner's own file. */
const onFile =
  (body?: BodyBuilder, status: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    return {
      params: { id: await createFile(context.server, context.caller.id, { projectId: project }) },
      project,
      body: await body?.(context, project),
    }
  }

const onOwnFile =
  (body?: BodyBuilder): RequestBuilder =>
  async (context) => ({
    params: { id: await createFile(context.server, context.caller.id) },
    body: await body?.(context),
  })

const tagged = (ids: string[]) => ({ action: 'tag', ids, tags: [randomHex()] })

const folderName = () => `reports ${randomHex()}`
const folderFields = () => ({ name: folderName(), metadata: { ticket: 'OPS-12' } })

/** A folder of the caller in a project. */
const onFolder =
  (body?: BodyBuilder, status: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    const { database } = context.server.services
    return {
      params: { id: await createFolder(database, context.caller.id, folderName(), project) },
      project,
      body: await body?.(context, project),
    }
  }

const onOwnFolder =
  (body?: BodyBuilder): RequestBuilder =>
  async (context) => ({
    params: { id: await createFolder(context.server.services.database, context.caller.id, folderName()) },
    body: await body?.(context),
  })

const shareFields = () => ({ email: `${randomHex()}@example.com`, role: 'editor' })

/** A share of the folder. */
const onShare =
  (folder: RequestBuilder): RequestBuilder =>
  async (context) => {
    const { params, project } = await folder(context)
    const fields = { projectId: project ?? null }
    const share = await createShare(context.server, params!.id, context.caller.id, fields)
    return { params: { id: params!.id, share_id: share }, project }
  }

/** A folder of the admin that is shared with the caller. */
const sharedWithCaller: RequestBuilder = async ({ server, caller }) => {
  const { admin } = server
  const folder = await createFolder(server.services.database, admin.id, folderName())
  return { params: { id: await createShare(server, folder, admin.id, { email: caller.email }) } }
}

/** An update with every field: the new parent is in the same workspace. */
const folderUpdate = async ({ server, caller }: FixtureContext, project?: string) => ({
  ...folderFields(),
  parent_id: await createFolder(server.services.database, caller.id, folderName(), project),
})

const onNewFolder =
  (status: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    return { project, body: { ...folderFields(), project_id: project } }
  }

const onTrashed =
  (body?: BodyBuilder, status: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    return {
      params: { id: await createTrashedFile(context.server, context.caller.id, { projectId: project }) },
      project,
      body: await body?.(context, project),
    }
  }

const onOwnTrashed =
  (body?: BodyBuilder): RequestBuilder =>
  async (context) => ({
    params: { id: await createTrashedFile(context.server, context.caller.id) },
    body: await body?.(context),
  })

const onJob =
  ({
    status = 'active',
    job = 'queued',
  }: { status?: 'active' | 'archived'; job?: string } = {}): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    const id = await createJob(context.server, context.caller.id, { projectId: project, status: job })
    return { params: { id }, project }
  }

const onOwnJob =
  (): RequestBuilder =>
  async ({ server, caller }) => ({ params: { id: await createJob(server, caller.id) } })

const onTrash =
  (status: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    await createTrashedFile(context.server, context.caller.id, { projectId: project })
    return { project, body: { project_id: project } }
  }

/** A list with an item of the caller, and of another member in a project. */
const listOf = (
  add: (context: FixtureContext, ownerId: string, project: string | null) => Promise<unknown>,
): Fixture => ({
  build: async (context) => {
    await add(context, context.caller.id, null)
    const asked = await inProject(context)
    await add(context, context.server.admin.id, asked.project!)
    return asked
  },
  withoutProject: async (context) => {
    await add(context, context.caller.id, null)
    return {}
  },
  byStatus: { 404: inUnknownProject },
})

const onLink =
  (buildFile: RequestBuilder = onFile()): RequestBuilder =>
  async (context) => {
    const { params, project } = await buildFile(context)
    const { id } = await createFileLink(context.server, params!.id, context.caller.id)
    return { params: { ...params, link_id: id }, project }
  }

const onVersion =
  (buildFile: RequestBuilder = onFile()): RequestBuilder =>
  async (context) => {
    const { params, project } = await buildFile(context)
    const id = await createFileVersion(context.server, params!.id, context.caller.id)
    return { params: { ...params, version_id: id }, project }
  }

const onVersions =
  (buildFile?: RequestBuilder): RequestBuilder =>
  async (context) => {
    const { params, project } = await onVersion(buildFile)(context)
    return { params: { id: params!.id }, project }
  }

const byLink =
  (options: { revoked?: boolean } = {}): RequestBuilder =>
  async ({ server, caller }) => {
    const { token } = await createFileLink(server, await createFile(server, caller.id), caller.id, options)
    return { params: { token } }
  }

/** An upload link of the caller in a project. */
const onUploadLink =
  (status: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    const { id } = await createUploadLink(context.server, context.caller.id, { projectId: project })
    return { params: { id }, project }
  }

const onOwnUploadLink = async ({ server, caller }: FixtureContext) => ({
  params: { id: (await createUploadLink(server, caller.id)).id },
})

const onNewUploadLink =
  (status: 'active' | 'archived' = 'active'): RequestBuilder =>
  async (context) => {
    const project = await createProject(context, status)
    return { project, body: { ...uploadLinkFields(), project_id: project } }
  }

const uploadLinkFields = (): Record<string, unknown> => ({ max_files: 3, title: randomHex() })

/** The page of an upload link of the caller. */
const onUploadPage =
  (options: { revoked?: boolean } = {}): RequestBuilder =>
  async ({ server, caller }) => ({
    params: { token: (await createUploadLink(server, caller.id, options)).token },
  })

/** A file sent by an upload link of the caller. */
const byUploadLink =
  (options: UploadLinkOptions & { archived?: boolean } = {}): RequestBuilder =>
  async (context) => {
    const { server, caller } = context
    const projectId = options.archived === true ? await createProject(context, 'archived') : null
    const { token } = await createUploadLink(server, caller.id, { ...options, projectId })
    return { params: { token }, body: { file: uploadFields().file } }
  }

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** A picture of the caller. */
const onPicture =
  (inProject = true): RequestBuilder =>
  async (context) => {
    const project = inProject ? await createProject(context, 'active') : undefined
    const fields = { projectId: project ?? null, content: png }
    return { params: { id: await createFile(context.server, context.caller.id, fields) }, project }
  }

const byPictureLink =
  (options: { revoked?: boolean } = {}): RequestBuilder =>
  async ({ server, caller }) => {
    const file = await createFile(server, caller.id, { content: png })
    return { params: { token: (await createFileLink(server, file, caller.id, options)).token } }
  }

const onNewArchive =
  (buildFile: RequestBuilder = onFile()): RequestBuilder =>
  async (context) => {
    const { params, project } = await buildFile(context)
    return { project, body: { project_id: project, file_ids: [params!.id] } }
  }

const onArchive =
  (buildFile: RequestBuilder = onFile()): RequestBuilder =>
  async (context) => {
    const { params, project } = await buildFile(context)
    const archive = {
      projectId: project ?? null,
      ownerId: context.caller.id,
      workspaceId: project ?? context.caller.id,
      name: 'files.zip',
      fileIds: [params!.id],
      path: '',
    }
    const { database } = context.server.services
    const { id } = await database.transaction(async (tx) => await insertArchive(tx, archive))
    return { params: { id }, project }
  }

const tus = { 'tus-resumable': '1.0.0' }

/** Starts an upload. All its data is in the headers. */
const onNewUpload =
  (
    status: 'active' | 'archived' | 'none' = 'active',
    { bytes, ...others }: { bytes?: Buffer } & Record<string, unknown> = {},
  ): RequestBuilder =>
  async (context) => {
    const project = status === 'none' ? undefined : await createProject(context, status)
    const { file, ...fields } = uploadFields()
    const metadata = Object.entries({ ...fields, ...(project !== undefined && { project_id: project }) })
      .map(
        ([name, value]) => `${name} ${toBase64(typeof value === 'string' ? value : JSON.stringify(value))}`,
      )
      .join(',')
    return {
      project,
      bytes,
      headers: {
        ...tus,
        'upload-length': '1000',
        'upload-metadata': metadata,
        ...(others as Record<string, string>),
      },
    }
  }

const uploadBytes = () => Buffer.from(`Quarterly report, ${randomHex()}`)

const onOpenUpload =
  ({
    status = 'active',
    expired = false,
    own = false,
  }: { status?: 'active' | 'archived'; expired?: boolean; own?: boolean } = {}): RequestBuilder =>
  async (context) => {
    const project = own ? undefined : await createProject(context, status)
    return {
      params: {
        id: await createUpload(context.server, context.caller.id, {
          projectId: project,
          length: uploadBytes().length,
          expired,
        }),
      },
      project,
      headers: tus,
    }
  }

/** Starts an upload by an upload link of the caller. */
const onNewLinkUpload =
  (
    options: Parameters<typeof byUploadLink>[0] = {},
    { bytes, ...headers }: { bytes?: Buffer } & Record<string, unknown> = {},
  ): RequestBuilder =>
  async (context) => {
    const { params } = await byUploadLink(options)(context)
    const upload = await onNewUpload('none', { bytes })(context)
    return { params, bytes, headers: { ...upload.headers, ...(headers as Record<string, string>) } }
  }

/** An upload by an upload link of the caller, for its bytes with `chunk`. */
const onLinkUpload =
  (
    {
      chunk = false,
      expired = false,
      ...options
    }: UploadLinkOptions & { archived?: boolean; expired?: boolean; chunk?: boolean } = {},
    headers: Record<string, string> = {},
    more = '',
  ): RequestBuilder =>
  async (context) => {
    const { server, caller } = context
    const projectId = options.archived === true ? await createProject(context, 'archived') : null
    const { id: linkId, token } = await createUploadLink(server, caller.id, { ...options, projectId })
    const { length } = uploadBytes()
    const id = await createUpload(server, caller.id, { projectId, linkId, length, expired })
    return {
      params: { token, id },
      ...(chunk && { bytes: Buffer.concat([uploadBytes(), Buffer.from(more)]) }),
      headers: { ...tus, ...(chunk && { 'upload-offset': '0' }), ...headers },
    }
  }

/** An upload that has become a file. */
const onFinishedUpload =
  (options: Parameters<typeof onOpenUpload>[0] = {}): RequestBuilder =>
  async (context) => {
    const { params, project } = await onOpenUpload(options)(context)
    const fileId = await createFile(context.server, context.caller.id, { projectId: project })
    const { prisma } = context.server.services.database
    const { length } = uploadBytes()
    await prisma.upload.update({ where: { id: params!.id }, data: { fileId, received: length } })
    return { params, project }
  }

/** An upload with all bytes, which are no file yet. */
const onReceivedUpload =
  (options: Parameters<typeof onOpenUpload>[0] & { sha256?: string } = {}): RequestBuilder =>
  async (context) => {
    const { params, project } = await onOpenUpload(options)(context)
    const { id } = params!
    const { database, storage } = context.server.services
    const { sha256 } = options
    const received = uploadBytes().length
    const { tempName } = await database.prisma.upload.update({ where: { id }, data: { received, sha256 } })
    const writer = await storage.partialFiles.open(tempName ?? id, 0)
    await writer.write(uploadBytes())
    await writer.sync()
    await writer.close()
    return { params, project }
  }

/** Sends all bytes of the upload, which completes the file. */
const onUploadChunk =
  (
    options: Parameters<typeof onOpenUpload>[0] = {},
    headers: Record<string, string> = {},
    more = '',
  ): RequestBuilder =>
  async (context) => ({
    ...(await onOpenUpload(options)(context)),
    bytes: Buffer.concat([uploadBytes(), Buffer.from(more)]),
    headers: { ...tus, 'upload-offset': '0', ...headers },
  })
const unsupportedTusVersion = { 'tus-resumable': '0.2.2' }
const wrongChecksum = { 'upload-checksum': `sha1 ${hash('sha1', 'other bytes', 'base64')}` }

/** A request with `project_id` in its query. */
const inProject: RequestBuilder = async (context) => {
  const project = await createProject(context)
  return { query: { project_id: project }, project }
}
const inUnknownProject: RequestBuilder = () => ({ query: { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } })

/** Requests for events of a foreign or unknown project, or after an expired cursor. */
const unreadableEvents: Record<number, RequestBuilder> = {
  403: async (context) => ({ query: { project_id: await createProject({ ...context, role: 'none' }) } }),
  404: () => ({ query: { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
  410: async ({ server }) => {
    await removeFirstEvents(server)
    return { query: { cursor: await cursorAt(server, 1) } }
  },
}

const projectFields = () => ({
  name: `Launch ${randomHex()}`,
  description: 'The launch',
  category: 'ai',
  tags: ['q4'],
  metadata: { ticket: 'OPS-12' },
})
const personFields = () => ({
  name: 'Ada Lovelace',
  bio: 'Wrote the first one',
  locale: 'pt-BR',
  timezone: 'Europe/Berlin',
  metadata: { team: 'blue' },
})
const rotation = () => ({ overlap_seconds: 60, expires_at: inAWeek() })
const endpointFields = () => ({
  url: `http://127.0.0.1:9/${randomHex()}`,
  description: 'Notifies the shop',
  event_types: ['project.updated', 'member.added'],
  enabled: false,
  metadata: { shop: randomHex() },
})
const fileFields = async ({ server, caller }: FixtureContext, project?: string) => ({
  name: `final ${randomHex()}.pdf`,
  folder_id: await createFolder(server.services.database, caller.id, 'reports/2026', project),
  visibility: 'public',
  metadata: { ticket: 'OPS-12' },
  tags: ['q4'],
  expires_at: inAWeek(),
})
/** A copy outside of projects needs only the role viewer. */
const copyFields = () => ({ project_id: null, name: `copy ${randomHex()}.txt` })
const moveFields = () => ({ name: `moved ${randomHex()}.txt`, on_conflict: 'rename' })
const linkFields = () => ({ expires_in_seconds: randomInt(60, 3600), max_downloads: randomInt(1, 100) })
const recovery = () => ({ since: new Date(Date.now() - randomInt(86_400_000)).toISOString() })

export const fixtures: Record<OperationId, Fixture> = {
  getProfile: noInput,
  updateProfile: { build: () => ({ body: personFields() }) },
  getSettings: noInput,
  getLimits: noInput,
  updateSettings: {
    build: async (context) => ({
      body: {
        theme: 'dark',
        ai: { default_model: 'extractive-1', store_history: false },
        default_project_id: await createProject(context),
      },
    }),
    byStatus: { 404: () => ({ body: { default_project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }) },
  },
  getAvatar: { build: onAvatar, byStatus: { 404: () => ({}) } },
  uploadAvatar: {
    build: async ({ server, caller }) => {
      await createAvatar(server, caller.id)
      return {
        body: {
          file: { filename: 'me.png', type: 'image/png', bytes: await randomImage() } satisfies Attachment,
        },
      }
    },
  },
  deleteAvatar: { build: onAvatar, byStatus: { 404: () => ({}) } },
  getAvatarImage: {
    build: async ({ server, caller }) => ({
      params: { id: await createAvatar(server, caller.id), size: '64' },
    }),
  },
  listMyInvitations: {
    build: async ({ server, caller }) => {
      await createInvitation(server, await createProject({ server, caller, role: 'none' }), caller.email)
      return {}
    },
  },
  getCurrentApiKey: noInput,
  listRequests: {
    build: async (context) => {
      await createApiRequest(context.server, context.caller.id)
      return {}
    },
  },
  listAuditEntries: {
    build: async (context) => {
      await createAuditEntry(context.server, context.caller.id)
      return {}
    },
    byStatus: { 404: () => ({ query: { organization_id: 'org_01jd6y8m5qe8btc4y5w1r0n3fz' } }) },
  },
  getUsage: noInput,
  listUsage: {
    build: async (context) => {
      await createUsage(context.server, context.caller.id)
      return { query: { group_by: 'day' } }
    },
    byStatus: { 404: () => ({ query: { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }) },
  },
  listApiKeys: noInput,
  createApiKey: {
    build: async (context) => ({
      body: {
        name: 'reporting',
        scopes: ['projects:read'],
        project_ids: [await createProject(context)],
        allowed_addresses: ['127.0.0.0/8', '::1'],
        expires_at: inAWeek(),
      },
    }),
    byStatus: {
      404: () => ({
        body: {
          name: 'reporting',
          scopes: ['projects:read'],
          project_ids: ['prj_01jd6y8m5qe8btc4y5w1r0n3fz'],
        },
      }),
    },
  },
  getApiKey: { build: onKey() },
  updateApiKey: { build: onKey(keyUpdate), byStatus: { 409: onKey(keyUpdate, true) } },
  revokeApiKey: { build: onKey() },
  rotateApiKey: { build: onKey(rotation), byStatus: { 409: onKey(rotation, true) } },
  listUsers: noInput,
  createUser: {
    build: () => ({
      body: { ...personFields(), email: `${randomHex()}@example.com`, email_verified: false, role: 'user' },
    }),
    byStatus: { 409: ({ server }) => ({ body: { name: 'Again', email: server.admin.email } }) },
  },
  getUser: { build: onUser() },
  updateUser: {
    build: onUser(() => ({
      ...personFields(),
      email: `${randomHex()}@example.com`,
      email_verified: false,
      status: 'disabled',
      role: 'admin',
    })),
    byStatus: {
      409: async (context) => ({ ...(await onUser()(context)), body: { email: context.server.admin.email } }),
    },
  },
  deleteUser: {
    build: onUser(),
    byStatus: {
      409: async ({ server }) => {
        const owner = await server.person()
        await owner.client.post('/projects', { name: 'Mine alone' })
        return { params: { id: owner.id } }
      },
    },
  },
  listProjects: {
    build: async (context) => {
      await createProject(context)
      return {}
    },
  },
  createProject: {
    build: async (context) => ({
      body: { ...projectFields(), organization_id: await createOrganization(context) },
    }),
    byStatus: {
      404: () => ({ body: { ...projectFields(), organization_id: 'org_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
    },
  },
  transferProject: {
    build: async (context) => ({
      params: { id: await createProject(context) },
      body: { organization_id: await createOrganization(context) },
    }),
  },
  getProject: { build: onProject() },
  updateProject: {
    build: onProject('active', projectFields),
    byStatus: { 409: onProject('archived', projectFields) },
  },
  deleteProject: { build: onProject() },
  restoreProject: { build: onProject('deleted') },
  archiveProject: { build: onProject() },
  unarchiveProject: { build: onProject('archived') },
  listMembers: { build: onProject() },
  addMember: {
    build: async (context) => {
      const id = await createUser(context.server)
      await acquaint(context.server, context.caller, { id })
      return { ...(await onProject()(context)), body: { user_id: id, role: 'viewer' } }
    },
    byStatus: {
      202: onProject('active', () => ({ email: `${randomHex()}@example.com`, role: 'viewer' })),
      409: async (context) => ({
        ...(await onProject()(context)),
        body: { user_id: context.server.admin.id, role: 'viewer' },
      }),
    },
  },
  getMember: { build: onMember() },
  updateMember: {
    build: onMember('active', { role: 'editor', metadata: { team: 'press' } }),
    byStatus: { 409: onMember('archived', { role: 'editor' }) },
  },
  removeMember: { build: onOwnMember(), byStatus: { 409: onMember('archived') } },
  listInvitations: { build: onProject() },
  getInvitation: { build: onInvitation({ email: 'caller' }), role: 'none' },
  revokeInvitation: { build: onInvitation(), byStatus: { 409: onInvitation({ state: 'declined' }) } },
  resendInvitation: { build: onInvitation(), byStatus: { 409: onInvitation({ state: 'revoked' }) } },
  acceptInvitation: {
    build: onInvitation({ email: 'caller' }),
    byStatus: { 409: onInvitation({ email: 'caller', state: 'revoked' }) },
    role: 'none',
    statusForMember: 409,
  },
  declineInvitation: {
    build: onInvitation({ email: 'caller' }),
    byStatus: { 409: onInvitation({ email: 'caller', state: 'revoked' }) },
    role: 'none',
  },
  listEvents: {
    build: async ({ server, caller }) => {
      await createEvent(server, caller.id)
      return {}
    },
    byStatus: unreadableEvents,
  },
  streamEvents: { build: () => ({}), byStatus: unreadableEvents },
  getEvent: {
    build: async ({ server, caller }) => ({ params: { id: await createEvent(server, caller.id) } }),
    byStatus: {
      403: async ({ server }) => ({
        params: { id: await createEvent(server, await createUser(server)) },
      }),
    },
    extraScopes: ['user:read'],
  },
  listWebhookEndpoints: {
    build: async ({ server, caller }) => {
      await createWebhookEndpoint(server, caller.id)
      return {}
    },
  },
  createWebhookEndpoint: {
    build: () => ({ body: endpointFields() }),
    extraScopes: ['projects:read'],
  },
  getWebhookEndpoint: { build: onEndpoint() },
  updateWebhookEndpoint: { build: onEndpoint(endpointFields), extraScopes: ['projects:read'] },
  deleteWebhookEndpoint: { build: onEndpoint(), extraScopes: ['projects:read'] },
  rotateWebhookSecret: {
    build: onEndpoint(() => ({ overlap_seconds: randomInt(604_800) })),
    extraScopes: ['projects:read'],
  },
  testWebhookEndpoint: {
    build: onEndpoint(),
    byStatus: { 409: onEndpoint(undefined, { enabled: false }) },
    extraScopes: ['projects:read'],
  },
  recoverWebhookEndpoint: {
    build: onEndpoint(recovery),
    byStatus: { 409: onEndpoint(recovery, { enabled: false }) },
    extraScopes: ['projects:read'],
  },
  listWebhookDeliveries: { build: onEndpoint(), extraScopes: ['projects:read'] },
  listAllWebhookDeliveries: {
    async build(context) {
      await onEndpoint()(context)
      return {}
    },
  },
  getWebhookDelivery: { build: onDelivery(), extraScopes: ['projects:read'] },
  redeliverWebhookDelivery: {
    build: onDelivery(),
    byStatus: { 409: onDelivery({ enabled: false }) },
    extraScopes: ['projects:read'],
  },
  listFiles: {
    build: async (context) => {
      await createFile(context.server, context.caller.id)
      const asked = await inProject(context)
      await createFile(context.server, context.server.admin.id, { projectId: asked.project })
      return asked
    },
    withoutProject: async ({ server, caller }) => {
      await createFile(server, caller.id)
      return {}
    },
    byStatus: { 404: inUnknownProject },
  },
  uploadFile: {
    build: onUpload(),
    withoutProject: () => ({ body: uploadFields() }),
    byStatus: {
      404: () => ({ body: { ...uploadFields(), project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
      409: onUpload('archived'),
    },
  },
  listFolders: listOf(({ server }, ownerId, project) =>
    createFolder(server.services.database, ownerId, folderName(), project),
  ),
  createFolder: {
    build: onNewFolder(),
    withoutProject: () => ({ body: folderFields() }),
    differentBody: () => ({ name: folderName() }),
    byStatus: {
      404: () => ({ body: { ...folderFields(), project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
      409: onNewFolder('archived'),
    },
  },
  getFolder: { build: onFolder(), withoutProject: onOwnFolder() },
  updateFolder: {
    build: onFolder(folderUpdate),
    withoutProject: onOwnFolder(folderUpdate),
    byStatus: { 409: onFolder(folderFields, 'archived') },
  },
  deleteFolder: {
    build: onFolder(),
    withoutProject: onOwnFolder(),
    byStatus: { 409: onFolder(undefined, 'archived') },
  },
  listShares: {
    build: async (context) => {
      const { params, project } = await onShare(onFolder())(context)
      return { params: { id: params!.id }, project }
    },
    withoutProject: onOwnFolder(),
  },
  createShare: {
    build: onFolder(shareFields),
    withoutProject: onOwnFolder(shareFields),
    byStatus: { 409: onFolder(shareFields, 'archived') },
  },
  getShare: { build: onShare(onFolder()), withoutProject: onShare(onOwnFolder()) },
  deleteShare: {
    build: onShare(onFolder()),
    withoutProject: onShare(onOwnFolder()),
    byStatus: { 409: onShare(onFolder(undefined, 'archived')) },
  },
  listSharedFolders: {
    build: async (context) => {
      await sharedWithCaller(context)
      return {}
    },
  },
  getSharedFolder: { build: sharedWithCaller },
  leaveSharedFolder: { build: sharedWithCaller },
  listStorageItems: listOf(async ({ server }, ownerId, project) => {
    await createFolder(server.services.database, ownerId, folderName(), project)
    await createFile(server, ownerId, { projectId: project })
  }),
  listTrash: listOf(({ server }, ownerId, project) =>
    createTrashedFile(server, ownerId, { projectId: project }),
  ),
  emptyTrash: {
    build: onTrash(),
    withoutProject: async ({ server, caller }) => {
      await createTrashedFile(server, caller.id)
      return { body: {} }
    },
    byStatus: {
      404: () => ({ body: { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
      409: onTrash('archived'),
    },
  },
  getTrashedFile: { build: onTrashed(), withoutProject: onOwnTrashed() },
  deleteTrashedFile: {
    build: onTrashed(),
    withoutProject: onOwnTrashed(),
    byStatus: { 409: onTrashed(undefined, 'archived') },
  },
  restoreFile: {
    build: onTrashed(() => ({ on_conflict: 'rename' })),
    withoutProject: onOwnTrashed(() => ({ on_conflict: 'rename' })),
    differentBody: () => ({ on_conflict: 'fail' }),
    byStatus: { 409: onTrashed(() => ({}), 'archived') },
  },
  listJobs: listOf(({ server }, ownerId, project) => createJob(server, ownerId, { projectId: project })),
  getJob: { build: onJob(), withoutProject: onOwnJob() },
  cancelJob: {
    build: onJob(),
    withoutProject: onOwnJob(),
    byStatus: { 409: onJob({ job: 'succeeded' }) },
  },
  listOpenAiFiles: {
    build: async (context) => {
      const asked = await inProject(context)
      await createFile(context.server, context.server.admin.id, { projectId: asked.project })
      return asked
    },
    withoutProject: async ({ server, caller }) => {
      await createFile(server, caller.id)
      return {}
    },
    byStatus: { 404: inUnknownProject },
  },
  createOpenAiFile: {
    build: onOpenAiUpload(),
    withoutProject: () => ({ body: openAiUploadFields() }),
    byStatus: {
      404: () => ({ body: { ...openAiUploadFields(), project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
      409: onOpenAiUpload('archived'),
    },
  },
  getOpenAiFile: { build: onFile(), withoutProject: onOwnFile() },
  deleteOpenAiFile: {
    build: onFile(),
    withoutProject: onOwnFile(),
    byStatus: { 409: onFile(undefined, 'archived') },
  },
  getOpenAiFileContent: { build: onFile(), withoutProject: onOwnFile() },
  getFile: { build: onFile(), withoutProject: onOwnFile() },
  updateFile: {
    build: onFile(fileFields),
    withoutProject: onOwnFile(fileFields),
    byStatus: { 409: onFile(fileFields, 'archived') },
  },
  replaceFileContent: {
    build: onFile(contentFields),
    withoutProject: onOwnFile(contentFields),
    byStatus: { 409: onFile(contentFields, 'archived') },
  },
  deleteFile: {
    build: onFile(),
    withoutProject: onOwnFile(),
    byStatus: { 409: onFile(undefined, 'archived') },
  },
  listFileVersions: { build: onVersions(), withoutProject: onVersions(onOwnFile()) },
  getFileVersion: { build: onVersion(), withoutProject: onVersion(onOwnFile()) },
  downloadFileVersion: { build: onVersion(), withoutProject: onVersion(onOwnFile()) },
  restoreFileVersion: {
    build: onVersion(),
    withoutProject: onVersion(onOwnFile()),
    byStatus: { 409: onVersion(onFile(undefined, 'archived')) },
  },
  deleteFileVersion: {
    build: onVersion(),
    withoutProject: onVersion(onOwnFile()),
    byStatus: { 409: onVersion(onFile(undefined, 'archived')) },
  },
  batchFiles: {
    build: async (context) => {
      const { params, project } = await onFile()(context)
      // The events are compared with the file of this id.
      return { params, body: tagged([params!.id as string]), project }
    },
    withoutProject: async ({ server, caller }) => ({
      body: tagged([await createFile(server, caller.id)]),
    }),
  },
  copyFile: {
    build: onFile(copyFields),
    withoutProject: onOwnFile(copyFields),
    byStatus: { 409: onFile(() => ({ name: 'copy.txt' }), 'archived') },
  },
  moveFile: {
    build: onFile(moveFields),
    withoutProject: onOwnFile(moveFields),
    byStatus: { 409: onFile(moveFields, 'archived') },
  },
  downloadFile: { build: onFile(), withoutProject: onOwnFile() },
  listFileLinks: {
    build: async (context) => {
      const { params, project } = await onLink()(context)
      return { params: { id: params!.id }, project }
    },
    withoutProject: onOwnFile(),
  },
  listAllFileLinks: {
    build: async (context) => {
      await onLink(onOwnFile())(context)
      const { project } = await onLink()(context)
      return { query: { project_id: project! }, project }
    },
    withoutProject: async (context) => {
      await onLink(onOwnFile())(context)
      return {}
    },
    byStatus: { 404: inUnknownProject },
  },
  createFileLink: {
    build: onFile(linkFields),
    withoutProject: onOwnFile(linkFields),
    byStatus: { 409: onFile(linkFields, 'archived') },
  },
  getFileLink: { build: onLink(), withoutProject: onLink(onOwnFile()) },
  revokeFileLink: {
    build: onLink(),
    withoutProject: onLink(onOwnFile()),
    byStatus: { 409: onLink(onFile(undefined, 'archived')) },
  },
  downloadByLink: { build: byLink(), byStatus: { 410: byLink({ revoked: true }) } },
  createArchive: {
    build: onNewArchive(),
    withoutProject: onNewArchive(onOwnFile()),
    byStatus: { 404: () => ({ body: { file_ids: ['file_01jd6y8m5qe8btc4y5w1r0n3fz'] } }) },
  },
  getArchive: { build: onArchive(), withoutProject: onArchive(onOwnFile()) },
  downloadArchive: { build: onArchive(), withoutProject: onArchive(onOwnFile()) },
  getFileImage: {
    build: onPicture(),
    withoutProject: onPicture(false),
    byStatus: { 409: onFile() },
  },
  getImageByLink: {
    build: byPictureLink(),
    byStatus: { 409: byLink(), 410: byPictureLink({ revoked: true }) },
  },
  listUploadLinks: {
    build: async (context) => {
      await onOwnUploadLink(context)
      const { project } = await onUploadLink()(context)
      return { query: { project_id: project! }, project }
    },
    withoutProject: async (context) => {
      await onOwnUploadLink(context)
      return {}
    },
    byStatus: { 404: inUnknownProject },
  },
  createUploadLink: {
    build: onNewUploadLink(),
    withoutProject: () => ({ body: uploadLinkFields() }),
    byStatus: {
      404: () => ({ body: { ...uploadLinkFields(), project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
      409: onNewUploadLink('archived'),
    },
  },
  getUploadLink: { build: onUploadLink(), withoutProject: onOwnUploadLink },
  revokeUploadLink: {
    build: onUploadLink(),
    withoutProject: onOwnUploadLink,
    byStatus: { 409: onUploadLink('archived') },
  },
  uploadByLink: {
    build: byUploadLink(),
    byStatus: {
      409: byUploadLink({ archived: true }),
      410: byUploadLink({ revoked: true }),
      413: byUploadLink({ maxBytes: 1 }),
      415: byUploadLink({ contentTypes: ['image/*'] }),
    },
  },
  showUploadPage: { build: onUploadPage(), byStatus: { 410: onUploadPage({ revoked: true }) } },
  submitUploadPage: {
    build: byUploadLink(),
    byStatus: {
      410: byUploadLink({ revoked: true }),
      413: byUploadLink({ maxBytes: 1 }),
      422: byUploadLink({ contentTypes: ['image/*'] }),
    },
  },
  createUpload: {
    build: onNewUpload(),
    withoutProject: onNewUpload('none'),
    byStatus: {
      404: onNewUpload('none', {
        'upload-metadata': `filename eA==,project_id ${toBase64('prj_01jd6y8m5qe8btc4y5w1r0n3fz')}`,
      }),
      408: onNewUpload('active', { bytes: uploadBytes() }),
      409: onNewUpload('archived'),
      412: onNewUpload('active', unsupportedTusVersion),
      413: onNewUpload('active', { 'upload-length': String(2 ** 50) }),
    },
  },
  createLinkUpload: {
    build: onNewLinkUpload(),
    byStatus: {
      408: onNewLinkUpload({}, { bytes: uploadBytes() }),
      409: onNewLinkUpload({ archived: true }),
      410: onNewLinkUpload({ revoked: true }),
      412: onNewLinkUpload({}, unsupportedTusVersion),
      413: onNewLinkUpload({ maxBytes: 1 }),
      415: onNewLinkUpload(
        { contentTypes: ['image/*'] },
        { 'upload-metadata': `filename eA==,filetype ${toBase64('text/plain')}` },
      ),
      460: onNewLinkUpload(
        {},
        {
          bytes: uploadBytes(),
          'upload-length': String(uploadBytes().length),
          'upload-metadata': `filename eA==,sha256 ${toBase64(hash('sha256', 'other bytes'))}`,
        },
      ),
    },
  },
  getLinkUpload: {
    build: onLinkUpload(),
    byStatus: {
      409: onLinkUpload({ archived: true }),
      410: onLinkUpload({ revoked: true }),
      412: onLinkUpload({}, unsupportedTusVersion),
    },
  },
  appendLinkUpload: {
    build: onLinkUpload({ chunk: true }),
    byStatus: {
      409: onLinkUpload({ chunk: true, archived: true }),
      410: onLinkUpload({ chunk: true, expired: true }),
      412: onLinkUpload({ chunk: true }, unsupportedTusVersion),
      413: onLinkUpload({ chunk: true }, {}, 'and more'),
      415: onLinkUpload({ chunk: true, contentTypes: ['image/*'] }),
      460: onLinkUpload({ chunk: true }, wrongChecksum),
    },
  },
  deleteLinkUpload: {
    build: onLinkUpload(),
    byStatus: {
      409: onLinkUpload({ archived: true }),
      410: onLinkUpload({ revoked: true }),
    },
  },
  getUploadOptions: noInput,
  getUpload: {
    build: onOpenUpload(),
    withoutProject: onOpenUpload({ own: true }),
    byStatus: {
      410: onOpenUpload({ expired: true }),
      412: async (context) => ({ ...(await onOpenUpload()(context)), headers: unsupportedTusVersion }),
    },
  },
  appendUpload: {
    build: onUploadChunk(),
    withoutProject: onUploadChunk({ own: true }),
    byStatus: {
      409: onUploadChunk({ status: 'archived' }),
      410: onUploadChunk({ expired: true }),
      412: onUploadChunk({}, unsupportedTusVersion),
      413: onUploadChunk({}, {}, 'and more'),
      460: onUploadChunk({}, wrongChecksum),
    },
  },
  signUploadParts: {
    build: onFinishedUpload(),
    withoutProject: onFinishedUpload({ own: true }),
    byStatus: { 409: onFinishedUpload({ status: 'archived' }), 410: onFinishedUpload({ expired: true }) },
  },
  completeUpload: {
    build: onReceivedUpload(),
    withoutProject: onReceivedUpload({ own: true }),
    byStatus: {
      409: onReceivedUpload({ status: 'archived' }),
      410: onReceivedUpload({ expired: true }),
      460: onReceivedUpload({ sha256: hash('sha256', 'other bytes') }),
    },
  },
  deleteUpload: {
    build: onOpenUpload(),
    withoutProject: onOpenUpload({ own: true }),
    byStatus: { 409: onOpenUpload({ status: 'archived' }), 410: onOpenUpload({ expired: true }) },
  },
  getStorageUsage: { build: inProject, withoutProject: () => ({}), byStatus: { 404: inUnknownProject } },
  ...aiFixtures,
  ...paymentsFixtures,
  ...authFixtures,
  ...organizationFixtures,
  getHealth: noInput,
  getReadiness: noInput,
  getOpenapiJson: noInput,
  getOpenapiYaml: noInput,
  getDocs: noInput,
}

export const operationIds = Object.keys(operations) as OperationId[]
export const operationInfos = Object.values(operations) as Array<OperationInfo & { id: OperationId }>
export const secured = operationInfos.filter((info) => info.scopes !== null)
/** The operations that succeed on a server with the default settings. */
export const served = operationInfos.filter(
  ({ id }) => !unconfiguredOperations.includes(id) && !providerOperations.includes(id),
)
/** The operations with a JSON body, except those with a signed body. */
export const withJson = operationInfos.filter(
  ({ body }) => body?.contentTypes.includes('application/json') === true && body.raw !== true,
)
export const withForm = operationInfos.filter(({ body }) => body?.form !== undefined)
/** The operations with a URL-encoded body. */
export const withFields = operationInfos.filter(
  ({ body }) => body?.contentTypes.includes(fieldsType) === true,
)
/** Every operation with a body. An operation that accepts JSON and a form appears twice. */
export const withBody = [
  ...withJson.map((info) => ({ ...info, form: false })),
  ...withForm.map((info) => ({ ...info, form: true })),
  ...withFields.map((info) => ({ ...info, form: false })),
]

/** Builds a valid request. Default caller: a new user, or the admin for operations with the scope admin. */
export async function requestFor(
  server: TestServer,
  id: OperationId,
  {
    caller,
    role,
    forStatus,
    withoutProject = false,
    form = false,
  }: {
    caller?: Person
    role?: ProjectRole
    forStatus?: number
    withoutProject?: boolean
    form?: boolean
  } = {},
): Promise<OperationRequest> {
  const fixture: Fixture = fixtures[id]
  const person =
    caller ?? (operations[id].scopes?.some(isOperatorScope) ? server.admin : await server.person())
  const context: FixtureContext = { server, caller: person, role: role ?? fixture.role ?? 'owner' }
  const build = withoutProject
    ? fixture.withoutProject!
    : forStatus !== undefined
      ? fixture.byStatus![forStatus]
      : form
        ? (fixture.form ?? fixture.build)
        : fixture.build
  const { key, ...parts } = await build(context)
  const client = key === undefined ? person.client : createClient(server.url, key)
  return { id, server, caller: key === undefined ? person : { ...person, key, client }, form, ...parts }
}

/** The options that start another server on the same database and files. */
export function sharedDataOf({ databaseUrl, services }: TestServer): {
  databaseUrl: string
  env: Record<string, string>
} {
  return { databaseUrl, env: { STORAGE_DIR: services.config.storageDir } }
}

/** The project whose role and state are checked. */
export function projectOf({ project, params }: OperationRequest): string {
  return project ?? params!.id
}

/** Replaces an id or a link token by one that does not exist. Returns other values unchanged. */
export function toUnknownId(value: string): string {
  if (/^[a-z]+_[0-9a-hjkmnp-tv-z]{26}$/.test(value))
    return value.replace(/_.*/, '_01jd6y8m5qe8btc4y5w1r0n3fz')
  return value.length === 43 ? 'A'.repeat(43) : value
}

/** The same request with ids that do not exist. */
export function withUnknownIds(request: OperationRequest): OperationRequest {
  return {
    ...request,
    params: Object.fromEntries(
      Object.entries(request.params ?? {}).map(([name, value]) => [name, toUnknownId(value)]),
    ),
  }
}

/** A scope that the operation does not accept. */
export function unrelatedScope(id: OperationId): Scope {
  return allScopes.find((scope) => scope !== 'admin' && !operations[id].scopes?.includes(scope))!
}

/** The encoded body with its Content-Type; undefined without a body. */
export function encodedBody({
  id,
  body,
  bytes,
  form: asForm,
}: OperationRequest): { raw: string | Uint8Array<ArrayBuffer>; type: string } | undefined {
  const { form: info, contentTypes } = (operations[id] as OperationInfo).body ?? {}
  const form = asForm === true || contentTypes?.includes('application/json') !== true ? info : undefined
  if (bytes !== undefined) return { raw: new Uint8Array(bytes), type: contentTypes![0] }
  if (body === undefined) return undefined
  if (form !== undefined) return { raw: formOf(form, body), type: formType }
  return contentTypes?.includes(fieldsType) === true
    ? { raw: fieldsOf(body), type: fieldsType }
    : { raw: JSON.stringify(body), type: 'application/json' }
}

export function pathOf({ id, params = {}, query = {} }: OperationRequest): string {
  const path = operations[id].path.replace(/\{([^}]+)\}/g, (_, name: string) => params[name])
  const text = new URLSearchParams(flattened(query)).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Sends the request, optionally with another key (null for none), headers or body. */
export async function send(
  request: OperationRequest,
  {
    key = request.caller.key,
    method = operations[request.id].method,
    ...init
  }: CallOptions & { key?: string | null; method?: string } = {},
): Promise<Reply> {
  const content = init.raw === undefined ? encodedBody(request) : undefined
  const sent = {
    headers: {
      ...request.headers,
      ...(content !== undefined && { 'content-type': content.type }),
      ...init.headers,
    },
    ...(content !== undefined && { raw: content.raw }),
  }
  return await createClient(request.server.url, key).call(method, pathOf(request), {
    ...init,
    ...sent,
  })
}

/** The status of a successful answer. */
export function successStatus(id: OperationId): number {
  return fixtures[id].successStatus ?? Math.min(...Object.keys(operations[id].replies).map(Number))
}

async function archive(server: TestServer, id: string): Promise<void> {
  await server.services.database.prisma.project.update({
    where: { id },
    data: { status: 'archived', archivedAt: new Date() },
  })
}
