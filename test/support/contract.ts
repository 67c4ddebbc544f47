// What each operation of the contract needs to be asked: one entry an operation, from which the contract tests build
// every request they send. An operation without an entry does not compile, and fails the run by name.
import { randomBytes, randomInt } from 'node:crypto'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { OperationInfo } from '../../services/operation.ts'
import type { Role } from '../../services/projects.ts'
import type { Scope } from '../../services/users.ts'
import { createClient, type Init, type Reply } from './client.ts'
import {
  forgetFirstEvents, insertedDelivery, insertedEndpoint, insertedEndpoints, insertedEvent, insertedInvitation, insertedKey, insertedMember, insertedProject, insertedUser, ownMember
} from './contract-rows.ts'
import type { Person, TestServer } from './server.ts'

export type Rank = 'none' | Role
export interface Scene { server: TestServer, caller: Person, rank: Rank }

/** What a request says beside its method and path. */
export interface Parts { params?: Record<string, string>, query?: Record<string, string>, body?: Record<string, unknown> }
/** One request that its operation answers with a success, unless a test bends it. */
export interface Ask extends Parts { id: OperationId, server: TestServer, caller: Person }

type Make = (scene: Scene) => Parts | Promise<Parts>
export interface Fixture {
  /** Makes what the request is about. A PUT's body has every field that the spec lets it have. */
  make: Make
  /** The same for the other statuses that need a state of their own. */
  others?: Record<number, Make>
  /** The caller's role in the project for the ordinary request; owner unless said. */
  rank?: Rank
  /** What a member gets where the operation is for outsiders. */
  whenMember?: number
  /** The scopes that a key needs for what the request is about, beside those of the operation. */
  reads?: Scope[]
}

const nothing: Fixture = { make: () => ({}) }
const fresh = () => randomBytes(6).toString('hex')
const inAWeek = () => new Date(Date.now() + 7 * 86_400_000).toISOString()

const onProject = (status: 'active' | 'archived' | 'deleted' = 'active', body?: () => Record<string, unknown>): Make =>
  async (scene) => ({ params: { id: await insertedProject(scene, status) }, ...(body && { body: body() }) })

const onInvitation = ({ state = 'pending', email }: { state?: 'pending' | 'revoked', email?: 'caller' } = {}): Make => async (scene) => {
  const id = await insertedProject(scene)
  return { params: { id, invitation_id: await insertedInvitation(scene.server, id, email === 'caller' ? scene.caller.email : `${fresh()}@example.com`, state) } }
}

const onMember = (status: 'active' | 'archived' = 'active', body?: Record<string, unknown>): Make => async (scene) => {
  const id = await insertedProject(scene)
  const member = await insertedMember(scene.server, id, await insertedUser(scene.server), 'viewer')
  if (status === 'archived') await archive(scene.server, id)
  return { params: { id, member_id: member }, body }
}

/** Of oneself, which every member may leave; of the project's maker for one who is none. */
const onOwnMember = (status: 'active' | 'archived' = 'active'): Make => async (scene) => {
  const id = await insertedProject(scene)
  if (status === 'archived') await archive(scene.server, id)
  return { params: { id, member_id: await ownMember(scene, id) } }
}

const onKey = (body?: () => Record<string, unknown>, revoked = false): Make => async ({ server, caller }) => {
  const { id } = await insertedKey(server, caller.id, { revoked })
  return { params: { id }, body: body?.() }
}

const onUser = (body?: () => Record<string, unknown>): Make => async ({ server }) => ({ params: { id: await insertedUser(server) }, body: body?.() })

const onEndpoint = (body?: () => Record<string, unknown>, options: { enabled?: boolean } = {}): Make => async ({ server, caller }) => {
  const id = await insertedEndpoint(server, caller.id, options)
  await insertedDelivery(server, caller.id, { endpointId: id })
  return { params: { id }, body: body?.() }
}

const onDelivery = (status: 'pending' | 'succeeded' | 'failed' = 'failed'): Make => async ({ server, caller }) =>
  ({ params: { id: await insertedDelivery(server, caller.id, { status }) } })

/** What stands against reading the events of a project, or those after another. */
const unreadable: Record<number, Make> = {
  403: async (scene) => ({ query: { project_id: await insertedProject({ ...scene, rank: 'none' }) } }),
  404: () => ({ query: { project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }),
  410: async ({ server }) => {
    await forgetFirstEvents(server)
    return { query: { after: '1' } }
  }
}

const projectFields = () => ({ name: `Launch ${fresh()}`, description: 'All of it', category: 'ai', tags: ['q4'], metadata: { ticket: 'OPS-12' } })
const personFields = () => ({ name: 'Ada Lovelace', bio: 'Wrote the first one', locale: 'pt-BR', timezone: 'Europe/Berlin', metadata: { team: 'blue' } })
const rotation = () => ({ overlap_seconds: 60, expires_at: inAWeek() })
const endpointFields = () => ({ url: `http://127.0.0.1:9/${fresh()}`, description: 'Tells the shop', event_types: ['project.updated', 'member.added'], enabled: false })
const recovery = () => ({ since: new Date(Date.now() - randomInt(86_400_000)).toISOString() })

export const fixtures = {
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
        default_project_id: await insertedProject(scene)
      }
    }),
    others: { 404: () => ({ body: { default_project_id: 'prj_01jd6y8m5qe8btc4y5w1r0n3fz' } }) }
  },
  listMyInvitations: { make: async ({ server, caller }) => { await insertedInvitation(server, await insertedProject({ server, caller, rank: 'none' }), caller.email); return {} } },
  listApiKeys: nothing,
  createApiKey: {
    make: async (scene) => ({ body: { name: 'reporting', scopes: ['projects:read'], project_ids: [await insertedProject(scene)], expires_at: inAWeek() } }),
    others: { 404: () => ({ body: { name: 'reporting', scopes: ['projects:read'], project_ids: ['prj_01jd6y8m5qe8btc4y5w1r0n3fz'] } }) }
  },
  getApiKey: { make: onKey() },
  revokeApiKey: { make: onKey() },
  rotateApiKey: { make: onKey(rotation), others: { 409: onKey(rotation, true) } },
  listUsers: nothing,
  createUser: {
    make: () => ({ body: { ...personFields(), email: `${fresh()}@example.com`, email_verified: false, role: 'user' } }),
    others: { 409: ({ server }) => ({ body: { name: 'Again', email: server.admin.email } }) }
  },
  getUser: { make: onUser() },
  updateUser: {
    make: onUser(() => ({ ...personFields(), email: `${fresh()}@example.com`, email_verified: false, status: 'disabled', role: 'admin' })),
    others: { 409: async (scene) => ({ ...await onUser()(scene), body: { email: scene.server.admin.email } }) }
  },
  deleteUser: {
    make: onUser(),
    others: {
      409: async ({ server }) => {
        const owner = await server.person()
        await owner.client.post('/projects', { name: 'Mine alone' })
        return { params: { id: owner.id } }
      }
    }
  },
  listProjects: { make: async (scene) => { await insertedProject(scene); return {} } },
  createProject: { make: () => ({ body: projectFields() }) },
  getProject: { make: onProject() },
  updateProject: { make: onProject('active', projectFields), others: { 409: onProject('archived', projectFields) } },
  deleteProject: { make: onProject() },
  restoreProject: { make: onProject('deleted'), others: { 409: onProject('active') } },
  archiveProject: { make: onProject(), others: { 409: onProject('archived') } },
  unarchiveProject: { make: onProject('archived'), others: { 409: onProject('active') } },
  listMembers: { make: onProject() },
  addMember: {
    make: async (scene) => ({ ...await onProject()(scene), body: { user_id: await insertedUser(scene.server), role: 'viewer' } }),
    others: {
      202: onProject('active', () => ({ email: `${fresh()}@example.com`, role: 'viewer' })),
      409: async (scene) => ({ ...await onProject()(scene), body: { user_id: scene.server.admin.id, role: 'viewer' } })
    }
  },
  getMember: { make: onMember() },
  updateMember: { make: onMember('active', { role: 'editor' }), others: { 409: onMember('archived', { role: 'editor' }) } },
  removeMember: { make: onOwnMember(), others: { 409: onOwnMember('archived') } },
  listInvitations: { make: onProject() },
  getInvitation: { make: onInvitation() },
  revokeInvitation: { make: onInvitation(), others: { 409: onInvitation({ state: 'revoked' }) } },
  acceptInvitation: { make: onInvitation({ email: 'caller' }), others: { 409: onInvitation({ email: 'caller', state: 'revoked' }) }, rank: 'none', whenMember: 409 },
  listEvents: { make: async ({ server, caller }) => { await insertedEvent(server, caller.id); return {} }, others: unreadable },
  streamEvents: { make: () => ({}), others: unreadable },
  getEvent: {
    make: async ({ server, caller }) => ({ params: { id: await insertedEvent(server, caller.id) } }),
    others: { 403: async ({ server }) => ({ params: { id: await insertedEvent(server, await insertedUser(server)) } }) },
    reads: ['user:read']
  },
  listWebhookEndpoints: { make: async ({ server, caller }) => { await insertedEndpoint(server, caller.id); return {} } },
  createWebhookEndpoint: {
    make: () => ({ body: endpointFields() }),
    others: { 409: async ({ server, caller }) => { await insertedEndpoints(server, caller.id, 50); return { body: endpointFields() } } },
    reads: ['projects:read']
  },
  getWebhookEndpoint: { make: onEndpoint() },
  updateWebhookEndpoint: { make: onEndpoint(endpointFields), reads: ['projects:read'] },
  deleteWebhookEndpoint: { make: onEndpoint(), reads: ['projects:read'] },
  rotateWebhookSecret: { make: onEndpoint(() => ({ overlap_seconds: randomInt(604_800) })), reads: ['projects:read'] },
  testWebhookEndpoint: { make: onEndpoint(), others: { 409: onEndpoint(undefined, { enabled: false }) }, reads: ['projects:read'] },
  recoverWebhookEndpoint: { make: onEndpoint(recovery), others: { 409: onEndpoint(recovery, { enabled: false }) }, reads: ['projects:read'] },
  listWebhookDeliveries: { make: onEndpoint(), reads: ['projects:read'] },
  getWebhookDelivery: { make: onDelivery(), reads: ['projects:read'] },
  redeliverWebhookDelivery: { make: onDelivery(), others: { 409: onDelivery('pending') }, reads: ['projects:read'] },
  getHealth: nothing,
  getReadiness: nothing,
  getOpenapiJson: nothing,
  getOpenapiYaml: nothing,
  getDocs: nothing
} satisfies Record<OperationId, Fixture>

export const operationIds = Object.keys(operations) as OperationId[]
export const infos = Object.values(operations) as Array<OperationInfo & { id: OperationId }>
export const secured = infos.filter((info) => info.scopes !== null)
export const withBody = infos.filter((info) => info.body !== null)

/** A request that succeeds, by a new person unless a caller is given. */
export async function askFor (server: TestServer, id: OperationId, { caller, rank, other }: { caller?: Person, rank?: Rank, other?: number } = {}): Promise<Ask> {
  const fixture: Fixture = fixtures[id]
  const person = caller ?? (operations[id].scopes?.includes('admin') ? server.admin : await server.person())
  const scene: Scene = { server, caller: person, rank: rank ?? fixture.rank ?? 'owner' }
  return { id, server, caller: person, ...await (other === undefined ? fixture.make : fixture.others![other])(scene) }
}

export function pathOf ({ id, params = {}, query = {} }: Ask): string {
  const path = operations[id].path.replace(/\{([^}]+)\}/g, (_, name: string) => params[name])
  const text = new URLSearchParams(query).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Sends the request as it is, or with another key (null for none), method, headers or body. */
export async function send (ask: Ask, { key = ask.caller.key, ...init }: Init & { key?: string | null } = {}): Promise<Reply> {
  const body = init.raw === undefined && ask.body !== undefined ? { body: ask.body } : {}
  return await createClient(ask.server.url, key).call(operations[ask.id].method, pathOf(ask), { ...body, ...init })
}

/** The status of the operation's success. */
export function successOf (id: OperationId): number {
  return Math.min(...Object.keys(operations[id].replies).map(Number))
}

async function archive (server: TestServer, id: string): Promise<void> {
  await server.services.database.prisma.project.update({ where: { id }, data: { status: 'archived', archivedAt: new Date() } })
}
