// What each operation of the contract needs to be asked: one entry an operation, from which the contract tests build
// every request they send. An operation without an entry does not compile, and fails the run by name.
import { hash, randomBytes, randomInt } from 'node:crypto'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { allScopes, type Scope } from '../../services/users/api-keys.ts'
import { createClient, type Init, type Reply } from './client.ts'
import { aiFixtures } from './operation-fixtures-ai.ts'
import { fieldsOf, fieldsType, formOf, formType, type Attachment } from './contract-form.ts'
import { paymentsFixtures, unconfiguredOperations } from './operation-fixtures-payments.ts'
import {
  forgetFirstEvents,
  insertedAvatar,
  insertedDelivery,
  insertedEndpoint,
  insertedEndpoints,
  insertedEvent,
  insertedFile,
  insertedInvitation,
  insertedKey,
  insertedLink,
  insertedMember,
  insertedProject,
  insertedUpload,
  insertedUser,
  newPicture,
  ownMember,
} from './db-fixtures.ts'
import type { Ask, Fixture, Make, Rank, Scene } from './operation-fixture.ts'
import type { Person, TestServer } from './server.ts'

const nothing: Fixture = { make: () => ({}) }
const fresh = () => randomBytes(6).toString('hex')
const inAWeek = () => new Date(Date.now() + 7 * 86_400_000).toISOString()

const onProject =
  (status: 'active' | 'archived' | 'deleted' = 'active', body?: () => Record<string, unknown>): Make =>
  async (scene) => ({ params: { id: await insertedProject(scene, status) }, ...(body && { body: body() }) })

const onInvitation =
  ({ state = 'pending', email }: { state?: 'pending' | 'revoked'; email?: 'caller' } = {}): Make =>
  async (scene) => {
    const id = await insertedProject(scene)
    return {
      params: {
        id,
        invitation_id: await insertedInvitation(
          scene.server,
          id,
          email === 'caller' ? scene.caller.email : `${fresh()}@example.com`,
          state,
        ),
      },
    }
  }

const onMember =
  (status: 'active' | 'archived' = 'active', body?: Record<string, unknown>): Make =>
  async (scene) => {
    const id = await insertedProject(scene)
    const member = await insertedMember(scene.server, id, await insertedUser(scene.server), 'viewer')
    if (status === 'archived') await archive(scene.server, id)
    return { params: { id, member_id: member }, body }
  }

/** Of oneself, which every member may leave; of the project's maker for one who is none. */
const onOwnMember =
  (status: 'active' | 'archived' = 'active'): Make =>
  async (scene) => {
    const id = await insertedProject(scene)
    if (status === 'archived') await archive(scene.server, id)
    return { params: { id, member_id: await ownMember(scene, id) } }
  }

const onKey =
  (body?: () => Record<string, unknown>, revoked = false): Make =>
  async ({ server, caller }) => {
    const { id } = await insertedKey(server, caller.id, { revoked })
    return { params: { id }, body: body?.() }
  }

const onUser =
  (body?: () => Record<string, unknown>): Make =>
  async ({ server }) => ({ params: { id: await insertedUser(server) }, body: body?.() })

const onEndpoint =
  (body?: () => Record<string, unknown>, options: { enabled?: boolean } = {}): Make =>
  async ({ server, caller }) => {
    const id = await insertedEndpoint(server, caller.id, options)
    await insertedDelivery(server, caller.id, { endpointId: id })
    return { params: { id }, body: body?.() }
  }

const onDelivery =
  (status: 'pending' | 'succeeded' | 'failed' = 'failed'): Make =>
  async ({ server, caller }) => ({ params: { id: await insertedDelivery(server, caller.id, { status }) } })

const uploadFields = () => {
  const content = `What is reported, ${fresh()}`
  const file: Attachment = { filename: 'upload.txt', type: 'text/plain', bytes: Buffer.from(content) }
  return {
    name: `report ${fresh()}.txt`,
    path: 'reports/2026',
    visibility: 'private',
    metadata: { ticket: 'OPS-12' },
    tags: ['q4', 'big'],
    expires_at: inAWeek(),
    sha256: hash('sha256', content),
    file,
  }
}

const onAvatar: Make = async ({ server, caller }) => {
  await insertedAvatar(server, caller.id)
  return {}
}

const onUpload =
  (status: 'active' | 'archived' = 'active'): Make =>
  async (scene) => {
    const project = await insertedProject(scene, status)
    return { project, body: { ...uploadFields(), project_id: project } }
  }

/** The caller's own, so that a project's role decides even then. */
const onFile =
  (body?: () => Record<string, unknown>, status: 'active' | 'archived' = 'active'): Make =>
  async (scene) => {
    const project = await insertedProject(scene, status)
    return {
      params: { id: await insertedFile(scene.server, scene.caller.id, { projectId: project }) },
      project,
      body: body?.(),
    }
  }

const onOwnFile =
  (body?: () => Record<string, unknown>): Make =>
  async ({ server, caller }) => ({ params: { id: await insertedFile(server, caller.id) }, body: body?.() })

const onLink =
  (of: Make = onFile()): Make =>
  async (scene) => {
    const { params, project } = await of(scene)
    const { id } = await insertedLink(scene.server, params!.id, scene.caller.id)
    return { params: { ...params, link_id: id }, project }
  }

const byLink =
  (options: { revoked?: boolean } = {}): Make =>
  async ({ server, caller }) => {
    const { token } = await insertedLink(server, await insertedFile(server, caller.id), caller.id, options)
    return { params: { token } }
  }

const tus = { 'tus-resumable': '1.0.0' }

/** The beginning of an upload: all that it says is in its header. */
const onBeginning =
  (
    status: 'active' | 'archived' | 'none' = 'active',
    { bytes, ...others }: { bytes?: Buffer } & Record<string, unknown> = {},
  ): Make =>
  async (scene) => {
    const project = status === 'none' ? undefined : await insertedProject(scene, status)
    const { file, ...fields } = uploadFields()
    const metadata = Object.entries({ ...fields, ...(project !== undefined && { project_id: project }) })
      .map(
        ([name, value]) =>
          `${name} ${Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64')}`,
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

const uploadBytes = () => Buffer.from(`What is reported, ${fresh()}`)

const onUploading =
  ({
    status = 'active',
    expired = false,
    own = false,
  }: { status?: 'active' | 'archived'; expired?: boolean; own?: boolean } = {}): Make =>
  async (scene) => {
    const project = own ? undefined : await insertedProject(scene, status)
    return {
      params: {
        id: await insertedUpload(scene.server, scene.caller.id, {
          projectId: project,
          length: uploadBytes().length,
          expired,
        }),
      },
      project,
      headers: tus,
    }
  }

/** All of its bytes, which make it a file. */
const onAppending =
  (options: Parameters<typeof onUploading>[0] = {}, headers: Record<string, string> = {}, more = ''): Make =>
  async (scene) => ({
    ...(await onUploading(options)(scene)),
    bytes: Buffer.concat([uploadBytes(), Buffer.from(more)]),
    headers: { ...tus, 'upload-offset': '0', ...headers },
  })
const tusVersionMismatch = { 'tus-resumable': '0.2.2' }
const wrongChecksum = { 'upload-checksum': `sha1 ${hash('sha1', 'other bytes', 'base64')}` }

/** What names a project in its query. */
const inProject: Make = async (scene) => {
  const project = await insertedProject(scene)
  return { query: { project_id: project }, project }
}
const inNoProject: Make = () => ({ query: { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } })

/** What stands against reading the events of a project, or those after another. */
const unreadable: Record<number, Make> = {
  403: async (scene) => ({ query: { project_id: await insertedProject({ ...scene, rank: 'none' }) } }),
  404: () => ({ query: { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
  410: async ({ server }) => {
    await forgetFirstEvents(server)
    return { query: { after: '1' } }
  },
}

const projectFields = () => ({
  name: `Launch ${fresh()}`,
  description: 'All of it',
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
  url: `http://127.0.0.1:9/${fresh()}`,
  description: 'Tells the shop',
  event_types: ['project.updated', 'member.added'],
  enabled: false,
})
const fileFields = () => ({
  name: `final ${fresh()}.pdf`,
  path: 'reports/2026',
  visibility: 'public',
  metadata: { ticket: 'OPS-12' },
  tags: ['q4'],
  expires_at: inAWeek(),
})
const linkFields = () => ({ expires_in_seconds: randomInt(60, 3600), max_downloads: randomInt(1, 100) })
const recovery = () => ({ since: new Date(Date.now() - randomInt(86_400_000)).toISOString() })

export const fixtures: Record<OperationId, Fixture> = {
  getProfile: nothing,
  updateProfile: { make: () => ({ body: personFields() }) },
  getSettings: nothing,
  updateSettings: {
    make: async (scene) => ({
      body: {
        theme: 'dark',
        language: 'de',
        timezone: 'Europe/Berlin',
        notifications: { email: false, in_app: false },
        privacy: { profile_visibility: 'private' },
        ai: { default_model: 'extractive-1', store_history: false },
        default_project_id: await insertedProject(scene),
      },
    }),
    others: { 404: () => ({ body: { default_project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }) },
  },
  getAvatar: { make: onAvatar, others: { 404: () => ({}) } },
  uploadAvatar: {
    make: async ({ server, caller }) => {
      await insertedAvatar(server, caller.id)
      return {
        body: {
          file: { filename: 'me.png', type: 'image/png', bytes: await newPicture() } satisfies Attachment,
        },
      }
    },
  },
  deleteAvatar: { make: onAvatar, others: { 404: () => ({}) } },
  getAvatarImage: {
    make: async ({ server, caller }) => ({
      params: { id: await insertedAvatar(server, caller.id), size: '64' },
    }),
  },
  listMyInvitations: {
    make: async ({ server, caller }) => {
      await insertedInvitation(server, await insertedProject({ server, caller, rank: 'none' }), caller.email)
      return {}
    },
  },
  listApiKeys: nothing,
  createApiKey: {
    make: async (scene) => ({
      body: {
        name: 'reporting',
        scopes: ['projects:read'],
        project_ids: [await insertedProject(scene)],
        expires_at: inAWeek(),
      },
    }),
    others: {
      404: () => ({
        body: {
          name: 'reporting',
          scopes: ['projects:read'],
          project_ids: ['prj_01jd6y8m5qe8btc4y5w1r0n3fz'],
        },
      }),
    },
  },
  getApiKey: { make: onKey() },
  revokeApiKey: { make: onKey() },
  rotateApiKey: { make: onKey(rotation), others: { 409: onKey(rotation, true) } },
  listUsers: nothing,
  createUser: {
    make: () => ({
      body: { ...personFields(), email: `${fresh()}@example.com`, email_verified: false, role: 'user' },
    }),
    others: { 409: ({ server }) => ({ body: { name: 'Again', email: server.admin.email } }) },
  },
  getUser: { make: onUser() },
  updateUser: {
    make: onUser(() => ({
      ...personFields(),
      email: `${fresh()}@example.com`,
      email_verified: false,
      status: 'disabled',
      role: 'admin',
    })),
    others: {
      409: async (scene) => ({ ...(await onUser()(scene)), body: { email: scene.server.admin.email } }),
    },
  },
  deleteUser: {
    make: onUser(),
    others: {
      409: async ({ server }) => {
        const owner = await server.person()
        await owner.client.post('/projects', { name: 'Mine alone' })
        return { params: { id: owner.id } }
      },
    },
  },
  listProjects: {
    make: async (scene) => {
      await insertedProject(scene)
      return {}
    },
  },
  createProject: { make: () => ({ body: projectFields() }) },
  getProject: { make: onProject() },
  updateProject: {
    make: onProject('active', projectFields),
    others: { 409: onProject('archived', projectFields) },
  },
  deleteProject: { make: onProject() },
  restoreProject: { make: onProject('deleted'), others: { 409: onProject('active') } },
  archiveProject: { make: onProject(), others: { 409: onProject('archived') } },
  unarchiveProject: { make: onProject('archived'), others: { 409: onProject('active') } },
  listMembers: { make: onProject() },
  addMember: {
    make: async (scene) => ({
      ...(await onProject()(scene)),
      body: { user_id: await insertedUser(scene.server), role: 'viewer' },
    }),
    others: {
      202: onProject('active', () => ({ email: `${fresh()}@example.com`, role: 'viewer' })),
      409: async (scene) => ({
        ...(await onProject()(scene)),
        body: { user_id: scene.server.admin.id, role: 'viewer' },
      }),
    },
  },
  getMember: { make: onMember() },
  updateMember: {
    make: onMember('active', { role: 'editor' }),
    others: { 409: onMember('archived', { role: 'editor' }) },
  },
  removeMember: { make: onOwnMember(), others: { 409: onOwnMember('archived') } },
  listInvitations: { make: onProject() },
  getInvitation: { make: onInvitation() },
  revokeInvitation: { make: onInvitation(), others: { 409: onInvitation({ state: 'revoked' }) } },
  acceptInvitation: {
    make: onInvitation({ email: 'caller' }),
    others: { 409: onInvitation({ email: 'caller', state: 'revoked' }) },
    rank: 'none',
    whenMember: 409,
  },
  listEvents: {
    make: async ({ server, caller }) => {
      await insertedEvent(server, caller.id)
      return {}
    },
    others: unreadable,
  },
  streamEvents: { make: () => ({}), others: unreadable },
  getEvent: {
    make: async ({ server, caller }) => ({ params: { id: await insertedEvent(server, caller.id) } }),
    others: {
      403: async ({ server }) => ({
        params: { id: await insertedEvent(server, await insertedUser(server)) },
      }),
    },
    reads: ['user:read'],
  },
  listWebhookEndpoints: {
    make: async ({ server, caller }) => {
      await insertedEndpoint(server, caller.id)
      return {}
    },
  },
  createWebhookEndpoint: {
    make: () => ({ body: endpointFields() }),
    others: {
      409: async ({ server, caller }) => {
        await insertedEndpoints(server, caller.id, 50)
        return { body: endpointFields() }
      },
    },
    reads: ['projects:read'],
  },
  getWebhookEndpoint: { make: onEndpoint() },
  updateWebhookEndpoint: { make: onEndpoint(endpointFields), reads: ['projects:read'] },
  deleteWebhookEndpoint: { make: onEndpoint(), reads: ['projects:read'] },
  rotateWebhookSecret: {
    make: onEndpoint(() => ({ overlap_seconds: randomInt(604_800) })),
    reads: ['projects:read'],
  },
  testWebhookEndpoint: {
    make: onEndpoint(),
    others: { 409: onEndpoint(undefined, { enabled: false }) },
    reads: ['projects:read'],
  },
  recoverWebhookEndpoint: {
    make: onEndpoint(recovery),
    others: { 409: onEndpoint(recovery, { enabled: false }) },
    reads: ['projects:read'],
  },
  listWebhookDeliveries: { make: onEndpoint(), reads: ['projects:read'] },
  getWebhookDelivery: { make: onDelivery(), reads: ['projects:read'] },
  redeliverWebhookDelivery: {
    make: onDelivery(),
    others: { 409: onDelivery('pending') },
    reads: ['projects:read'],
  },
  listFiles: {
    make: async (scene) => {
      await insertedFile(scene.server, scene.caller.id)
      const asked = await inProject(scene)
      await insertedFile(scene.server, scene.server.admin.id, { projectId: asked.project })
      return asked
    },
    own: async ({ server, caller }) => {
      await insertedFile(server, caller.id)
      return {}
    },
    others: { 404: inNoProject },
  },
  uploadFile: {
    make: onUpload(),
    own: () => ({ body: uploadFields() }),
    others: {
      404: () => ({ body: { ...uploadFields(), project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
      409: onUpload('archived'),
    },
  },
  getFile: { make: onFile(), own: onOwnFile() },
  updateFile: {
    make: onFile(fileFields),
    own: onOwnFile(fileFields),
    others: { 409: onFile(fileFields, 'archived') },
  },
  deleteFile: { make: onFile(), own: onOwnFile(), others: { 409: onFile(undefined, 'archived') } },
  downloadFile: { make: onFile(), own: onOwnFile() },
  listFileLinks: {
    make: async (scene) => {
      const { params, project } = await onLink()(scene)
      return { params: { id: params!.id }, project }
    },
    own: onOwnFile(),
  },
  createFileLink: {
    make: onFile(linkFields),
    own: onOwnFile(linkFields),
    others: { 409: onFile(linkFields, 'archived') },
  },
  getFileLink: { make: onLink(), own: onLink(onOwnFile()) },
  revokeFileLink: {
    make: onLink(),
    own: onLink(onOwnFile()),
    others: { 409: onLink(onFile(undefined, 'archived')) },
  },
  downloadByLink: { make: byLink(), others: { 410: byLink({ revoked: true }) } },
  createUpload: {
    make: onBeginning(),
    own: onBeginning('none'),
    others: {
      404: onBeginning('none', {
        'upload-metadata': `filename eA==,project_id ${Buffer.from('prj_01jd6y8m5qe8btc4y5w1r0n3fz').toString('base64')}`,
      }),
      408: onBeginning('active', { bytes: uploadBytes() }),
      409: onBeginning('archived'),
      412: onBeginning('active', tusVersionMismatch),
      413: onBeginning('active', { 'upload-length': String(2 ** 50) }),
    },
  },
  getUploadOptions: nothing,
  getUpload: {
    make: onUploading(),
    own: onUploading({ own: true }),
    others: {
      410: onUploading({ expired: true }),
      412: async (scene) => ({ ...(await onUploading()(scene)), headers: tusVersionMismatch }),
    },
  },
  appendUpload: {
    make: onAppending(),
    own: onAppending({ own: true }),
    others: {
      409: onAppending({ status: 'archived' }),
      410: onAppending({ expired: true }),
      412: onAppending({}, tusVersionMismatch),
      413: onAppending({}, {}, 'and more'),
      460: onAppending({}, wrongChecksum),
    },
  },
  deleteUpload: {
    make: onUploading(),
    own: onUploading({ own: true }),
    others: { 409: onUploading({ status: 'archived' }), 410: onUploading({ expired: true }) },
  },
  getStorageUsage: { make: inProject, own: () => ({}), others: { 404: inNoProject } },
  ...aiFixtures,
  ...paymentsFixtures,
  getHealth: nothing,
  getReadiness: nothing,
  getOpenapiJson: nothing,
  getOpenapiYaml: nothing,
  getDocs: nothing,
}

export const operationIds = Object.keys(operations) as OperationId[]
export const infos = Object.values(operations) as Array<OperationInfo & { id: OperationId }>
export const secured = infos.filter((info) => info.scopes !== null)
/** What these servers answer with a success. */
export const served = infos.filter(({ id }) => !unconfiguredOperations.includes(id))
/** What is signed is read by who knows the signature. */
export const withJson = infos.filter(
  ({ body }) => body?.contentTypes.includes('application/json') === true && body.raw !== true,
)
export const withForm = infos.filter(({ body }) => body?.form !== undefined)
/** Those whose body is the fields of a page's form. */
export const withFields = infos.filter(({ body }) => body?.contentTypes.includes(fieldsType) === true)
/** Each with what its body goes as; what takes both JSON and a form is there twice. */
export const withBody = [
  ...withJson.map((info) => ({ ...info, form: false })),
  ...withForm.map((info) => ({ ...info, form: true })),
  ...withFields.map((info) => ({ ...info, form: false })),
]

/** A request that succeeds, by a new person unless a caller is given. */
export async function askFor(
  server: TestServer,
  id: OperationId,
  {
    caller,
    rank,
    other,
    own = false,
    form = false,
  }: { caller?: Person; rank?: Rank; other?: number; own?: boolean; form?: boolean } = {},
): Promise<Ask> {
  const fixture: Fixture = fixtures[id]
  const person = caller ?? (operations[id].scopes?.includes('admin') ? server.admin : await server.person())
  const scene: Scene = { server, caller: person, rank: rank ?? fixture.rank ?? 'owner' }
  const make = own
    ? fixture.own!
    : other !== undefined
      ? fixture.others![other]
      : form
        ? (fixture.form ?? fixture.make)
        : fixture.make
  return { id, server, caller: person, form, ...(await make(scene)) }
}

/** What another server needs to have the same database and files. */
export function beside({ databaseUrl, services }: TestServer): {
  databaseUrl: string
  env: Record<string, string>
} {
  return { databaseUrl, env: { STORAGE_DIR: services.config.storageDir } }
}

/** The project whose role and state decide. */
export function projectOf({ project, params }: Ask): string {
  return project ?? params!.id
}

/** An id, or a secret of an address, that is of nothing. What is neither stays. */
export function nobodys(value: string): string {
  if (/^[a-z]+_[0-9a-hjkmnp-tv-z]{26}$/.test(value))
    return value.replace(/_.*/, '_01jd6y8m5qe8btc4y5w1r0n3fz')
  return value.length === 43 ? 'A'.repeat(43) : value
}

/** The same request of what is not there. */
export function ofNothing(ask: Ask): Ask {
  return {
    ...ask,
    params: Object.fromEntries(
      Object.entries(ask.params ?? {}).map(([name, value]) => [name, nobodys(value)]),
    ),
  }
}

/** A scope that is of no use to the operation. */
export function otherScope(id: OperationId): Scope {
  return allScopes.find((scope) => scope !== 'admin' && !operations[id].scopes?.includes(scope))!
}

/** The body as it goes over the wire, and its Content-Type; undefined for none. */
export function contentOf({
  id,
  body,
  bytes,
  form: asForm,
}: Ask): { raw: string | Uint8Array<ArrayBuffer>; type: string } | undefined {
  const { form: info, contentTypes } = (operations[id] as OperationInfo).body ?? {}
  const form = asForm === true || contentTypes?.includes('application/json') !== true ? info : undefined
  if (bytes !== undefined) return { raw: new Uint8Array(bytes), type: contentTypes![0] }
  if (body === undefined) return undefined
  if (form !== undefined) return { raw: formOf(form, body), type: formType }
  return contentTypes?.includes(fieldsType) === true
    ? { raw: fieldsOf(body), type: fieldsType }
    : { raw: JSON.stringify(body), type: 'application/json' }
}

export function pathOf({ id, params = {}, query = {} }: Ask): string {
  const path = operations[id].path.replace(/\{([^}]+)\}/g, (_, name: string) => params[name])
  const text = new URLSearchParams(query).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Sends the request as it is, or with another key (null for none), method, headers or body. */
export async function send(
  ask: Ask,
  { key = ask.caller.key, ...init }: Init & { key?: string | null } = {},
): Promise<Reply> {
  const content = init.raw === undefined ? contentOf(ask) : undefined
  const sent = {
    headers: {
      ...ask.headers,
      ...(content !== undefined && { 'content-type': content.type }),
      ...init.headers,
    },
    ...(content !== undefined && { raw: content.raw }),
  }
  return await createClient(ask.server.url, key).call(operations[ask.id].method, pathOf(ask), {
    ...init,
    ...sent,
  })
}

/** The status of the operation's success. */
export function successOf(id: OperationId): number {
  return fixtures[id].success ?? Math.min(...Object.keys(operations[id].replies).map(Number))
}

async function archive(server: TestServer, id: string): Promise<void> {
  await server.services.database.prisma.project.update({
    where: { id },
    data: { status: 'archived', archivedAt: new Date() },
  })
}
