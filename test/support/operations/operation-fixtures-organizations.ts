// Fixtures of the operations on organizations, custom roles, service accounts, and of `explainAccess`.
import { randomBytes } from 'node:crypto'
import { newId } from '../../../infra/ids.ts'
import { addOrganizationMember } from '../../../services/organizations/members.ts'
import { insertOrganization } from '../../../services/organizations/organizations.ts'
import { insertServiceAccount } from '../../../services/organizations/service-accounts.ts'
import {
  acquaint,
  createApiKey,
  createCustomRole,
  createMember,
  createProject,
  createUser,
} from '../database/db-fixtures.ts'
import type { Fixture, FixtureContext, ProjectRole, RequestBuilder } from './operation-fixture.ts'
import type { TestServer } from '../server/server.ts'

const randomHex = () => randomBytes(6).toString('hex')

export const organizationRoles = {
  none: null,
  viewer: 'member',
  editor: 'member',
  admin: 'admin',
  owner: 'owner',
} as const satisfies Record<ProjectRole, string | null>

/** An organization of the admin, in which the caller has the role. @returns its id */
export async function createOrganization({ server, caller, role }: FixtureContext): Promise<string> {
  const { id } = await server.services.database.transaction((tx) =>
    insertOrganization(tx, server.admin.id, { name: 'Theirs' }),
  )
  const own = organizationRoles[role]
  if (own !== null && caller.id !== server.admin.id) await addMemberTo(server, id, { userId: caller.id }, own)
  return id
}

/** Adds a user, or invites an email address. @returns the id of the member */
export async function addMemberTo(
  server: TestServer,
  organizationId: string,
  { userId = null, email = null, isAdded = userId !== null }: Partial<Invited>,
  role: 'owner' | 'admin' | 'member' = 'member',
  createdById = server.admin.id,
): Promise<string> {
  const { database } = server.services
  const who = { userId, email, isAdded }
  const fields = { role, createdById, origin: server.url }
  return (await database.transaction((tx) => addOrganizationMember(tx, organizationId, who, fields))).id
}

interface Invited {
  userId: string | null
  email: string | null
  isAdded: boolean
}

/** A service account of an organization or a project. */
export async function createServiceAccount(
  server: TestServer,
  place: { organization_id: string } | { project_id: string },
): Promise<{ id: string; userId: string }> {
  const { database } = server.services
  const accountId = 'organization_id' in place ? place.organization_id : server.admin.id
  const fields = { name: 'Deployments', role: 'member' as const, ...place }
  const made = { accountId, createdById: server.admin.id }
  const { id, user_id: userId } = await database.transaction((tx) => insertServiceAccount(tx, fields, made))
  if ('organization_id' in place) await addMemberTo(server, place.organization_id, { userId })
  else await createMember(server, place.project_id, userId, 'viewer')
  return { id, userId }
}

const onOrganization =
  (body?: () => Record<string, unknown>): RequestBuilder =>
  async (context) => ({ params: { id: await createOrganization(context) }, body: body?.() })

const onMember =
  (body?: Record<string, unknown>, role: 'owner' | 'member' = 'member'): RequestBuilder =>
  async (context) => {
    const id = await createOrganization(context)
    const userId = await createUser(context.server)
    return { params: { id, member_id: await addMemberTo(context.server, id, { userId }, role) }, body }
  }

/** The caller's own membership, or invitation. */
const onOwnMember: RequestBuilder = async (context) => {
  if (context.role === 'none') return await onInvitation()(context)
  const id = await createOrganization(context)
  const { id: member } = await memberOf(context.server, id, context.caller.id)
  return { params: { id, member_id: member } }
}

/** The only owner, who cannot leave. */
const onLastOwner =
  (body?: Record<string, unknown>): RequestBuilder =>
  async ({ server, caller }) => {
    const { id, your_membership: own } = await server.services.database.transaction((tx) =>
      insertOrganization(tx, caller.id, { name: 'Mine alone' }),
    )
    return { params: { id, member_id: own.id }, body }
  }

async function memberOf(server: TestServer, organizationId: string, userId: string) {
  return await server.services.database.prisma.organizationMember.findUniqueOrThrow({
    where: { organizationId_userId: { organizationId, userId } },
  })
}

/** An invitation of the caller, or with `isAdded` the membership, with the id of the member. */
const onInvitation =
  ({ isAdded = false, expired = false } = {}): RequestBuilder =>
  async (context) => {
    const { server, caller } = context
    const { database } = server.services
    // The caller is not in the organization yet.
    const inviter = caller.id === server.admin.id ? await createUser(server) : server.admin.id
    const { id } = await database.transaction((tx) => insertOrganization(tx, inviter, { name: 'Theirs' }))
    const member = await addMemberTo(server, id, { userId: caller.id, isAdded }, 'member', inviter)
    if (expired)
      await server.services.database.prisma.organizationMember.update({
        where: { id: member },
        data: { expiresAt: new Date(0) },
      })
    return { params: { id, member_id: member } }
  }

/** The same, with the id of the invitation. */
const onOwnInvitation =
  (options: Parameters<typeof onInvitation>[0] = {}): RequestBuilder =>
  async (context) => {
    const { id, member_id: invitation } = (await onInvitation(options)(context)).params!
    return { params: { id, invitation_id: invitation } }
  }

/** An invitation of another user to the caller's organization. */
const onSentInvitation: RequestBuilder = async (context) => {
  const id = await createOrganization(context)
  const email = `${randomHex()}@example.com`
  return { params: { id, invitation_id: await addMemberTo(context.server, id, { email }) } }
}

const roleFields = () => ({
  name: `Role ${randomHex()}`,
  description: 'For everybody who uploads.',
  permissions: { projects: 'read', storage: 'admin', ai: 'write', payments: 'none' },
})

const onCustomRole =
  (body?: () => Record<string, unknown>): RequestBuilder =>
  async (context) => {
    const id = await createOrganization(context)
    return { params: { id, role_id: await createCustomRole(context.server, id) }, body: body?.() }
  }

const onTakenName: RequestBuilder = async (context) => {
  const request = await onCustomRole()(context)
  const { id } = request.params!
  const fields = roleFields()
  await createCustomRole(context.server, id, { name: fields.name })
  return { ...request, body: fields }
}

const onUsedRole: RequestBuilder = async (context) => {
  const request = await onCustomRole()(context)
  const { prisma } = context.server.services.database
  const projectId = await createProject(context)
  await prisma.project.update({ where: { id: projectId }, data: { organizationId: request.params!.id } })
  const member = await createMember(context.server, projectId, await createUser(context.server), 'viewer')
  await prisma.member.update({ where: { id: member }, data: { customRoleId: request.params!.role_id } })
  return request
}

const onServiceAccount =
  (body?: () => Record<string, unknown>): RequestBuilder =>
  async (context) => {
    const organization = await createOrganization(context)
    const { id } = await createServiceAccount(context.server, { organization_id: organization })
    return { params: { id }, body: body?.() }
  }

const onServiceAccountKey: RequestBuilder = async (context) => {
  const organization = await createOrganization(context)
  const { id, userId } = await createServiceAccount(context.server, { organization_id: organization })
  const key = await createApiKey(context.server, userId)
  return { params: { id, key_id: key.id } }
}

const organizationFields = () => ({
  name: `Organization ${randomHex()}`,
  description: 'The makers of everything.',
  metadata: { plan: 'team' },
})

export const organizationFixtures = {
  listOrganizations: {
    build: async (context) => {
      await createOrganization(context)
      return {}
    },
  },
  createOrganization: { build: () => ({ body: organizationFields() }) },
  getOrganization: { build: onOrganization() },
  updateOrganization: { build: onOrganization(organizationFields) },
  deleteOrganization: {
    build: onOrganization(),
    byStatus: {
      409: async (context) => {
        const id = await createOrganization(context)
        await context.server.services.database.prisma.project.update({
          where: { id: await createProject(context) },
          data: { organizationId: id },
        })
        return { params: { id } }
      },
    },
  },
  getOrganizationLimits: { build: onOrganization() },
  listOrganizationMembers: { build: onOrganization() },
  addOrganizationMember: {
    build: async (context) => {
      const id = await createUser(context.server)
      await acquaint(context.server, context.caller, { id })
      return { ...(await onOrganization()(context)), body: { user_id: id, role: 'member' } }
    },
    byStatus: {
      409: async (context) => ({
        ...(await onOrganization()(context)),
        body: { user_id: context.server.admin.id, role: 'member' },
      }),
    },
  },
  getOrganizationMember: { build: onMember() },
  updateOrganizationMember: {
    build: onMember({ role: 'admin' }),
    byStatus: { 409: onLastOwner({ role: 'admin' }) },
  },
  removeOrganizationMember: { build: onOwnMember, byStatus: { 409: onLastOwner() } },
  acceptOrganizationInvitation: {
    build: onInvitation(),
    role: 'none',
    byStatus: { 409: onInvitation({ expired: true }) },
  },
  listOrganizationInvitations: { build: onOrganization() },
  getOrganizationInvitation: { build: onOwnInvitation(), role: 'none' },
  revokeOrganizationInvitation: { build: onSentInvitation },
  resendOrganizationInvitation: { build: onSentInvitation },
  acceptInvitationToOrganization: {
    build: onOwnInvitation(),
    role: 'none',
    byStatus: { 409: onOwnInvitation({ expired: true }) },
  },
  declineOrganizationInvitation: {
    build: onOwnInvitation(),
    role: 'none',
    byStatus: { 409: onOwnInvitation({ isAdded: true }) },
  },
  listCustomRoles: {
    build: async (context) => {
      const { params } = await onCustomRole()(context)
      return { params: { id: params!.id } }
    },
  },
  createCustomRole: { build: onOrganization(roleFields), byStatus: { 409: onTakenName } },
  getCustomRole: { build: onCustomRole() },
  updateCustomRole: { build: onCustomRole(roleFields), byStatus: { 409: onTakenName } },
  deleteCustomRole: { build: onCustomRole(), byStatus: { 409: onUsedRole } },
  listServiceAccounts: {
    build: async (context) => {
      const organization = await createOrganization(context)
      await createServiceAccount(context.server, { organization_id: organization })
      return { query: { organization_id: organization } }
    },
    byStatus: { 404: () => ({ query: { organization_id: 'org_01jd6y8m5qe8btc4y5w1r0n3fz' } }) },
  },
  createServiceAccount: {
    build: async (context) => ({
      body: {
        name: 'Deployments',
        organization_id: await createOrganization(context),
        role: 'member',
        metadata: { team: 'platform' },
      },
    }),
    byStatus: {
      404: () => ({
        body: { name: 'Nowhere', organization_id: 'org_01jd6y8m5qe8btc4y5w1r0n3fz', role: 'member' },
      }),
    },
  },
  getServiceAccount: { build: onServiceAccount() },
  updateServiceAccount: {
    build: onServiceAccount(() => ({ name: `Releases ${randomHex()}`, metadata: { team: 'releases' } })),
    byStatus: {
      409: async (context) => {
        const project = await createProject(context, 'archived')
        const { id } = await createServiceAccount(context.server, { project_id: project })
        return { params: { id }, body: { name: 'Releases' } }
      },
    },
  },
  deleteServiceAccount: { build: onServiceAccount() },
  listServiceAccountKeys: {
    build: async (context) => {
      const { params } = await onServiceAccountKey(context)
      return { params: { id: params!.id } }
    },
  },
  createServiceAccountKey: {
    build: onServiceAccount(() => ({
      name: 'deploy',
      scopes: ['projects:read'],
      project_ids: null,
      allowed_addresses: ['127.0.0.0/8', '::1'],
      expires_at: new Date(Date.now() + 7 * 86_400_000).toISOString(),
      metadata: { team: 'platform' },
    })),
    extraScopes: ['projects:read'],
  },
  getServiceAccountKey: { build: onServiceAccountKey },
  revokeServiceAccountKey: { build: onServiceAccountKey },
  explainAccess: {
    build: () => ({ body: { method: 'GET', path: `/v1/projects/${newId('prj')}` } }),
    byStatus: { 404: () => ({ body: { method: 'GET', path: '/v1/nothing' } }) },
  },
} satisfies Record<string, Fixture>
