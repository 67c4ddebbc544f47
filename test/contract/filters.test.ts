// List filters: which items each filter returns, and whether the total counts them.
import { createClient } from '../support/http/client.ts'
import {
  addMemberTo,
  createOrganization,
  createServiceAccount,
} from '../support/operations/operation-fixtures-organizations.ts'
import { setTimeout } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { newId, newIdAt, timeOf } from '../../infra/ids.ts'
import { send, requestFor, operationInfos } from '../support/operations/operation-fixtures.ts'
import type { OperationRequest } from '../support/operations/operation-fixture.ts'
import {
  insertedCheckout,
  insertedOrder,
  insertedPrice,
  insertedCustomer,
  insertedFeature,
  insertedMeter,
  insertedProduct,
  insertedDispute,
  insertedPayment,
  insertedRefund,
  insertedSubscription,
} from '../support/database/db-fixtures-payments.ts'
import {
  createApiKey,
  createApiRequest,
  createSource,
  createUsage,
  createAuditEntry,
  createDelivery,
  createDocument,
  createFile,
  createFolder,
  createJob,
  createTrashedFile,
  createFileLink,
  createFileVersion,
  createShare,
  createUploadLink,
  createInvitation,
  createKnowledgeBase,
  createMember,
  createProject,
  createSession,
  createUser,
  createWebhookEndpoints,
  createBudget,
} from '../support/database/db-fixtures.ts'
import { cursorLists, queryOf } from '../support/contract/contract-schema.ts'
import { startServer } from '../support/server/server.ts'

const server = await startServer(t)
const { prisma } = server.services.database
/** lists.test.ts tests these for all lists. */
const commonParameters = [
  'page',
  'limit',
  'cursor',
  'sort',
  'order',
  'after',
  'metadata',
  'created_after',
  'created_before',
  'updated_after',
  'updated_before',
  'include',
]
const testedFilters = new Set<string>()

/** Asserts that the query returns exactly these items. */
async function assertFinds(
  t: Test,
  request: OperationRequest,
  query: Record<string, string | string[]>,
  ids: string[],
): Promise<void> {
  for (const name of Object.keys(query)) testedFilters.add(`${request.id} ${name}`)
  const reply = await send({ ...request, query })
  const what = JSON.stringify(query)
  t.equal(reply.status, 200, what)
  t.same(reply.body.data.map(({ id }: { id: string }) => id).sort(), [...ids].sort(), what)
  if (!cursorLists.includes(request.id) && request.id !== 'listStorageItems')
    t.equal(reply.body.pagination.total, ids.length, `${what} has the right total`)
}

t.test('projects are filtered by status, category, tag and text', async (t) => {
  const { id: callerId, ...caller } = await server.person()
  const request: OperationRequest = { id: 'listProjects', server, caller: { id: callerId, ...caller } }
  const make = async (fields: Record<string, unknown>) =>
    (await caller.client.post('/projects', fields)).body.id as string
  const launch = await make({ name: 'Launch 100%', category: 'ai', tags: ['q4', 'big'] })
  const other = await make({
    name: 'Other',
    description: 'Before the LAUNCH_day',
    category: 'AI',
    tags: ['q4x'],
  })
  const archived = await make({ name: 'Old', category: 'ai', tags: ['q4'] })
  const deleted = await make({ name: 'Gone launch', category: 'ai', tags: ['q4'] })
  await caller.client.post(`/projects/${archived}/archive`)
  await caller.client.delete(`/projects/${deleted}`)
  await assertFinds(t, request, {}, [launch, other, archived])
  await assertFinds(t, request, { status: 'active' }, [launch, other])
  await assertFinds(t, request, { status: 'archived' }, [archived])
  await assertFinds(t, request, { status: 'deleted' }, [deleted])
  await assertFinds(t, request, { status: ['archived', 'deleted'] }, [archived, deleted])
  await assertFinds(t, request, { category: 'ai' }, [launch, archived])
  await assertFinds(t, request, { category: 'a' }, [])
  await assertFinds(t, request, { tag: 'q4' }, [launch, archived])
  await assertFinds(t, request, { tag: 'q4", "big' }, [])
  await assertFinds(t, request, { q: 'launch' }, [launch, other])
  await assertFinds(t, request, { q: '100%' }, [launch])
  await assertFinds(t, request, { q: 'LAUNCH_' }, [other])
  await assertFinds(t, request, { q: '%' }, [launch])
  await assertFinds(t, request, { q: '_' }, [other])
  await assertFinds(t, request, { q: '\\' }, [])
  await assertFinds(t, request, { q: "' OR 1=1 --" }, [])
  await assertFinds(t, request, { q: 'launch', status: 'active', category: 'ai', tag: 'big' }, [launch])
})

t.test('users are filtered by status, role and text', async (t) => {
  const request = await requestFor(server, 'listUsers')
  const make = async (fields: { name: string; status?: 'active' | 'disabled'; role?: 'user' | 'admin' }) => {
    const id = await createUser(server)
    await prisma.user.update({
      where: { id },
      data: { ...fields, email: `${fields.name.split(' ')[0].toLowerCase()}@found.example` },
    })
    return id
  }
  const ada = await make({ name: 'Ada Lovelace' })
  const grace = await make({ name: 'Grace Found', status: 'disabled' })
  const linus = await make({ name: 'Linus 50%_', role: 'admin' })
  const deleted = await make({ name: 'Deleted Found' })
  await server.admin.client.delete(`/users/${deleted}`)
  await assertFinds(t, request, { q: '@FOUND.example' }, [ada, grace, linus])
  await assertFinds(t, request, { q: 'lovelace' }, [ada])
  await assertFinds(t, request, { q: 'found' }, [ada, grace, linus])
  await assertFinds(t, request, { status: 'disabled' }, [grace])
  await assertFinds(t, request, { status: 'active', q: '@found.example' }, [ada, linus])
  await assertFinds(t, request, { role: 'admin', q: '@found.example' }, [linus])
  await assertFinds(t, request, { role: 'user', q: '@found.example' }, [ada, grace])
  await assertFinds(t, request, { q: "' OR 1=1 --" }, [])
  await assertFinds(t, request, { email: 'ADA@found.example' }, [ada])
  await assertFinds(t, request, { email: 'da@found.example' }, [])
  await assertFinds(t, request, { role: ['user', 'admin'], q: '@found.example' }, [ada, grace, linus])
  await assertFinds(t, request, { status: ['active', 'disabled'], q: '@found.example' }, [ada, grace, linus])
})

t.test('a text search treats % and _ literally', async (t) => {
  const request = await requestFor(server, 'listUsers')
  const id = await createUser(server)
  await prisma.user.update({ where: { id }, data: { name: 'Only 50%_\\' } })
  await createUser(server)
  for (const q of ['50%', '%_\\', '50%_\\'])
    t.ok(
      (await send({ ...request, query: { q, limit: '100' } })).body.data.some(
        (user: { id: string }) => user.id === id,
      ),
      q,
    )
  for (const q of ['5_%', 'O%y', '_nly']) await assertFinds(t, request, { q }, [])
})

t.test('members are filtered by role', async (t) => {
  const request = await requestFor(server, 'listMembers')
  const { id } = request.params!
  const viewer = await createMember(server, id, await createUser(server), 'viewer')
  const editor = await createMember(server, id, await createUser(server), 'editor')
  const owners = (await prisma.member.findMany({ where: { projectId: id, role: 'owner' } })).map(
    (row) => row.id,
  )
  await assertFinds(t, request, {}, [viewer, editor, ...owners])
  await assertFinds(t, request, { role: 'viewer' }, [viewer])
  await assertFinds(t, request, { role: 'editor' }, [editor])
  await assertFinds(t, request, { role: 'owner' }, owners)
  await assertFinds(t, request, { role: 'admin' }, [])
  await assertFinds(t, request, { role: ['viewer', 'editor'] }, [viewer, editor])
  await assertFinds(t, request, { role: ['viewer', 'viewer'] }, [viewer])
  const { userId } = await prisma.member.findUniqueOrThrow({ where: { id: viewer } })
  await prisma.user.update({ where: { id: userId }, data: { name: 'Vera 50%', email: 'vera@q.example' } })
  await assertFinds(t, request, { q: 'VERA' }, [viewer])
  await assertFinds(t, request, { q: '@Q.example', role: 'viewer' }, [viewer])
  await assertFinds(t, request, { q: '%' }, [viewer])
  await assertFinds(t, request, { q: 'xyzzy' }, [])
})

t.test('invitations are filtered by status; expired ones by their expiry time', async (t) => {
  const request = await requestFor(server, 'listInvitations')
  const { id } = request.params!
  const pending = await createInvitation(server, id, 'a@example.com')
  const revoked = await createInvitation(server, id, 'b@example.com', 'revoked')
  const expired = await createInvitation(server, id, 'c@example.com')
  const accepted = await createInvitation(server, id, 'd@example.com')
  await prisma.invitation.update({ where: { id: expired }, data: { expiresAt: new Date(Date.now() - 1) } })
  await prisma.invitation.update({ where: { id: accepted }, data: { status: 'accepted' } })
  await assertFinds(t, request, {}, [pending, revoked, expired, accepted])
  for (const [status, one] of Object.entries({ pending, revoked, expired, accepted })) {
    await assertFinds(t, request, { status }, [one])
    t.equal((await send({ ...request, query: { status } })).body.data[0].status, status)
  }
})

t.test('events are filtered by type and project, among those that the caller may read', async (t) => {
  const caller = await server.person()
  const request: OperationRequest = { id: 'listEvents', server, caller }
  const make = async (name: string) => (await caller.client.post('/projects', { name })).body.id as string
  const [one, two] = [await make('One'), await make('Two')]
  await caller.client.put(`/projects/${one}`, { name: 'One and only' })
  await caller.client.put('/user/profile', { name: 'Another' })
  const [madeOne, madeTwo, changed, profile] = (await send(request)).body.data.map(
    ({ id }: { id: string }) => id,
  )
  await assertFinds(t, request, {}, [madeOne, madeTwo, changed, profile])
  await assertFinds(t, request, { type: 'project.created' }, [madeOne, madeTwo])
  await assertFinds(t, request, { type: 'profile.updated' }, [profile])
  await assertFinds(t, request, { type: 'user.created' }, [])
  await assertFinds(t, request, { project_id: one }, [madeOne, changed])
  await assertFinds(t, request, { project_id: two }, [madeTwo])
  await assertFinds(t, request, { project_id: one, type: 'project.updated' }, [changed])
  await assertFinds(t, request, { project_id: two, type: 'project.updated' }, [])
  await assertFinds(t, request, { project_id: two, type: 'profile.updated' }, [])
  await assertFinds(t, request, { project_id: '*' }, [madeOne, madeTwo, changed, profile])
  await assertFinds(t, request, { organization_id: newId('org') }, [])
})

t.test('deliveries are filtered by status', async (t) => {
  const request = await requestFor(server, 'listWebhookDeliveries')
  await prisma.webhookDelivery.deleteMany({ where: { endpointId: request.params!.id } })
  const make = (status: 'pending' | 'succeeded' | 'failed') =>
    createDelivery(server, request.caller.id, { status, endpointId: request.params!.id })
  const all = {
    pending: [await make('pending'), await make('pending')],
    succeeded: [await make('succeeded')],
    failed: [await make('failed')],
  }
  await assertFinds(t, request, {}, Object.values(all).flat())
  for (const [status, ids] of Object.entries(all)) await assertFinds(t, request, { status }, ids)
  await assertFinds(t, request, { status: ['pending', 'failed'] }, [...all.pending, ...all.failed])
  const { eventId } = await prisma.webhookDelivery.findUniqueOrThrow({ where: { id: all.failed[0] } })
  await prisma.event.update({ where: { id: eventId }, data: { type: 'file.deleted' } })
  await assertFinds(t, request, { event_type: 'file.deleted' }, all.failed)
  await assertFinds(t, request, { event_type: 'file.deleted', status: 'pending' }, [])
  await assertFinds(
    t,
    request,
    { event_type: ['file.deleted', 'file.created'], status: 'failed' },
    all.failed,
  )
})

t.test('the deliveries of all endpoints are filtered by endpoint, event, status and type', async (t) => {
  const caller = await server.person()
  const request = { id: 'listAllWebhookDeliveries', server, caller } as const
  const [one, other] = await createWebhookEndpoints(server, caller.id, 2)
  const make = (status: 'pending' | 'succeeded' | 'failed', endpointId: string, person = caller.id) =>
    createDelivery(server, person, { status, endpointId })
  const [failed, succeeded, pending] = [
    await make('failed', one),
    await make('succeeded', one),
    await make('pending', other),
  ]
  const stranger = await server.person()
  const [theirEndpoint] = await createWebhookEndpoints(server, stranger.id, 1)
  const theirs = await make('failed', theirEndpoint, stranger.id)
  const eventOf = async (id: string): Promise<string> =>
    (await prisma.webhookDelivery.findUniqueOrThrow({ where: { id } })).eventId
  await assertFinds(t, request, {}, [failed, succeeded, pending])
  await assertFinds(t, request, { endpoint_id: one }, [failed, succeeded])
  await assertFinds(t, request, { endpoint_id: theirEndpoint }, [])
  await assertFinds(t, request, { event_id: await eventOf(pending) }, [pending])
  await assertFinds(t, request, { event_id: await eventOf(pending), endpoint_id: one }, [])
  await assertFinds(t, request, { event_id: await eventOf(theirs) }, [])
  await assertFinds(t, request, { status: ['pending', 'failed'] }, [failed, pending])
  await assertFinds(t, request, { status: 'failed', endpoint_id: other }, [])
  await prisma.event.update({ where: { id: await eventOf(succeeded) }, data: { type: 'file.deleted' } })
  await assertFinds(t, request, { event_type: 'file.deleted' }, [succeeded])
  await caller.client.delete(`/webhooks/endpoints/${one}`)
  await assertFinds(t, request, {}, [pending])
})

t.test('the links of all files are filtered by project, file, status and author', async (t) => {
  const caller = await server.person()
  const request = { id: 'listAllFileLinks', server, caller } as const
  const project = await createProject({ server, caller, role: 'editor' })
  const [own, another] = [await createFile(server, caller.id), await createFile(server, caller.id)]
  const shared = await createFile(server, server.admin.id, { projectId: project })
  const foreign = await createFile(server, server.admin.id)
  const link = async (file: string, by = caller.id, options = {}): Promise<string> =>
    (await createFileLink(server, file, by, options)).id
  const [active, revoked, elsewhere] = [
    await link(own),
    await link(own, caller.id, { revoked: true }),
    await link(another),
  ]
  const mine = await link(shared)
  const hers = await link(shared, server.admin.id)
  await link(foreign, server.admin.id)
  await assertFinds(t, request, {}, [active, revoked, elsewhere])
  await assertFinds(t, request, { file_id: own }, [active, revoked])
  await assertFinds(t, request, { file_id: own, status: 'revoked' }, [revoked])
  await assertFinds(t, request, { file_id: foreign }, [])
  await assertFinds(t, request, { file_id: foreign, project_id: '*' }, [])
  await assertFinds(t, request, { project_id: project }, [mine, hers])
  await assertFinds(t, request, { project_id: project, created_by: caller.id }, [mine])
  await assertFinds(t, request, { project_id: project, file_id: own }, [])
  await assertFinds(t, request, { project_id: '*' }, [active, revoked, elsewhere, mine, hers])
  const organization_id = await ownedByOrganization(project)
  await assertFinds(t, request, { organization_id }, [mine, hers])
  await assertFinds(t, request, { organization_id, created_by: caller.id }, [mine])
  await prisma.file.update({ where: { id: own }, data: { expiresAt: new Date(0) } })
  await assertFinds(t, request, {}, [elsewhere])
})

t.test('upload links are filtered by project, status and author', async (t) => {
  const caller = await server.person()
  const request = { id: 'listUploadLinks', server, caller } as const
  const project = await createProject({ server, caller, role: 'editor' })
  const link = async (projectId: string | null, by = caller.id, revoked = false): Promise<string> =>
    (await createUploadLink(server, by, { projectId, revoked })).id
  const [active, revoked] = [await link(null), await link(null, caller.id, true)]
  const [mine, hers] = [await link(project), await link(project, server.admin.id)]
  await link(null, server.admin.id)
  await assertFinds(t, request, {}, [active, revoked])
  await assertFinds(t, request, { status: 'revoked' }, [revoked])
  await assertFinds(t, request, { project_id: project }, [mine, hers])
  await assertFinds(t, request, { project_id: project, created_by: caller.id }, [mine])
  await assertFinds(t, request, { project_id: '*' }, [active, revoked, mine, hers])
  const organization_id = await ownedByOrganization(project)
  await assertFinds(t, request, { organization_id }, [mine, hers])
})

t.test('refunds, links, keys and endpoints are filtered by their state', async (t) => {
  const refunds = await requestFor(server, 'listRefunds')
  await insertedRefund(server, refunds.params!.id)
  const rows = await prisma.refund.findMany({ where: { orderId: refunds.params!.id } })
  for (const status of ['pending', 'succeeded', 'failed'])
    await assertFinds(
      t,
      refunds,
      { status },
      rows.filter((row) => row.status === status).map((row) => row.id),
    )
  await assertFinds(
    t,
    refunds,
    { status: ['pending', 'succeeded', 'failed'] },
    rows.map((row) => row.id),
  )

  const links = await requestFor(server, 'listFileLinks')
  const { id: revoked } = await createFileLink(server, links.params!.id, links.caller.id)
  await prisma.fileLink.update({ where: { id: revoked }, data: { revokedAt: new Date() } })
  await assertFinds(t, links, { status: 'revoked' }, [revoked])
  await assertFinds(t, links, { status: ['revoked', 'used_up'] }, [revoked])
  const { id: hers } = await createFileLink(server, links.params!.id, server.admin.id)
  await assertFinds(t, links, { created_by: server.admin.id }, [hers])
  await assertFinds(t, links, { created_by: links.caller.id, status: 'revoked' }, [revoked])

  const shares = await requestFor(server, 'listShares')
  const herShare = await createShare(server, shares.params!.id, server.admin.id, {
    projectId: shares.project,
  })
  await assertFinds(t, shares, { created_by: server.admin.id }, [herShare])

  const versions = await requestFor(server, 'listFileVersions')
  const herVersion = await createFileVersion(server, versions.params!.id, server.admin.id)
  await assertFinds(t, versions, { created_by: server.admin.id }, [herVersion])

  const caller = await server.person()
  const { id: expired } = await createApiKey(server, caller.id)
  const { id: dead } = await createApiKey(server, caller.id)
  await prisma.apiKey.update({ where: { id: expired }, data: { expiresAt: new Date(0) } })
  await prisma.apiKey.update({ where: { id: dead }, data: { revokedAt: new Date() } })
  await assertFinds(t, { id: 'listApiKeys', server, caller }, { active: 'false' }, [expired, dead])
  const works = await prisma.apiKey.findFirstOrThrow({
    where: { userId: caller.id, id: { notIn: [expired, dead] } },
  })
  await assertFinds(t, { id: 'listApiKeys', server, caller }, { active: 'true' }, [works.id])

  const [on, off] = await createWebhookEndpoints(server, caller.id, 2)
  await prisma.webhookEndpoint.update({ where: { id: off }, data: { enabled: false } })
  await assertFinds(t, { id: 'listWebhookEndpoints', server, caller }, { enabled: 'true' }, [on])
  await assertFinds(t, { id: 'listWebhookEndpoints', server, caller }, { enabled: 'false' }, [off])
})

t.test('usage is filtered by day, meter and project', async (t) => {
  const caller = await server.person()
  const project = await createProject({ server, caller, role: 'owner' })
  const request: OperationRequest = { id: 'listUsage', server, caller }
  const at = (day: string) => new Date(day)
  await createUsage(server, caller.id, { day: at('2026-03-01'), answers: 2 })
  await createUsage(server, caller.id, { day: at('2026-03-02'), projectId: project })
  await createUsage(server, (await server.person()).id, { day: at('2026-03-03'), projectId: project })
  const days = { from: '2026-03-01', to: '2026-03-31' }
  const idOf = (day: string, meter = 'requests', of = caller.id) => `${of}/${day}/-/-/${meter}/-`
  const answers = idOf('2026-03-01', 'answers')
  const [first, second] = [idOf('2026-03-01'), idOf('2026-03-02')]
  await assertFinds(t, request, days, [answers, first, second])
  await assertFinds(t, request, { ...days, from: '2026-03-02' }, [second])
  await assertFinds(t, request, { ...days, to: '2026-03-01' }, [answers, first])
  await assertFinds(t, request, { ...days, meter: 'answers' }, [answers])
  const ofAll = ['2026-03-02', '2026-03-03'].map((day) => idOf(day, 'requests', project))
  await assertFinds(t, request, { ...days, project_id: project }, ofAll)
  const organization = await createOrganization({ server, caller, role: 'owner' })
  await prisma.project.update({ where: { id: project }, data: { organizationId: organization } })
  const ofProjects = ['2026-03-02', '2026-03-03'].map((day) => idOf(day, 'requests', organization))
  await assertFinds(t, request, { ...days, organization_id: organization }, ofProjects)
  await assertFinds(t, request, { ...days, group_by: 'model', meter: 'answers' }, [idOf('-', 'answers')])
})

t.test('the usage of a meter is filtered by time, customer and group', async (t) => {
  const meter = await insertedMeter(server, { dimensions: ['region'] })
  const [ada, bob] = [await insertedCustomer(server), await insertedCustomer(server)]
  const hour = (n: number) => `2026-03-01T0${n}:00:00Z`
  const of = (customerId: string, n: number) => ({ meterId: meter, customerId, hour: new Date(hour(n)) })
  await prisma.usageHour.createMany({
    data: [
      { ...of(ada, 1), dimensions: '["eu"]', quantity: 1 },
      { ...of(bob, 2), dimensions: '["us"]', quantity: 2 },
    ],
  })
  const request: OperationRequest = {
    id: 'listMeterUsage',
    server,
    caller: server.admin,
    params: { id: meter },
  }
  const hours = { from: hour(0), to: hour(9), group_by: 'hour' }
  const [first, second] = [1, 2].map((n) => `${meter}/${hour(n)}/-/{}`)
  await assertFinds(t, request, hours, [first, second])
  await assertFinds(t, request, { ...hours, from: hour(2) }, [second])
  await assertFinds(t, request, { ...hours, to: hour(2) }, [first])
  await assertFinds(t, request, { ...hours, customer_id: ada }, [first])
  const regions = ['eu', 'us'].map((region) => `${meter}/-/-/{"region": "${region}"}`)
  await assertFinds(t, request, { ...hours, group_by: 'region' }, regions)
})

t.test('requests are filtered by operation, status, class of status, error code and key', async (t) => {
  const caller = await server.person()
  const request: OperationRequest = { id: 'listRequests', server, caller }
  const keyId = newId('key')
  const made = await createApiRequest(server, caller.id, { operation: 'createProject', status: 201 })
  const missing = await createApiRequest(server, caller.id, { status: 404, errorCode: 'NOT_FOUND', keyId })
  const refused = await createApiRequest(server, caller.id, { status: 403, errorCode: 'FORBIDDEN' })
  const failed = await createApiRequest(server, caller.id, { status: 500, errorCode: 'SERVER_ERROR' })
  await createApiRequest(server, (await server.person()).id, { keyId })
  await assertFinds(t, request, {}, [made, missing, refused, failed])
  await assertFinds(t, request, { operation: 'createProject' }, [made])
  await assertFinds(t, request, { operation: 'createproject' }, [])
  await assertFinds(t, request, { status: '404' }, [missing])
  await assertFinds(t, request, { status_class: '2xx' }, [made])
  await assertFinds(t, request, { status_class: '4xx' }, [missing, refused])
  await assertFinds(t, request, { status_class: '5xx' }, [failed])
  await assertFinds(t, request, { status_class: '4xx', status: '500' }, [])
  await assertFinds(t, request, { error_code: 'FORBIDDEN' }, [refused])
  for (const name of ['credential_id', 'key_id']) {
    await assertFinds(t, request, { [name]: keyId }, [missing])
    await assertFinds(t, request, { [name]: newId('key') }, [])
  }
  await assertFinds(t, request, { credential_id: keyId, key_id: keyId }, [missing])
})

t.test('the audit log is filtered by user, credential, operation and outcome', async (t) => {
  const caller = await server.person()
  const request: OperationRequest = { id: 'listAuditEntries', server, caller }
  const keyId = newId('key')
  const done = await createAuditEntry(server, caller.id, { operation: 'createProject' })
  const refused = await createAuditEntry(server, caller.id, { status: 403, credentialId: keyId })
  const failed = await createAuditEntry(server, caller.id, { status: 404 })
  await createAuditEntry(server, (await server.person()).id, { credentialId: keyId })
  await assertFinds(t, request, {}, [done, refused, failed])
  await assertFinds(t, request, { operation: 'createProject' }, [done])
  await assertFinds(t, request, { outcome: 'done' }, [done])
  await assertFinds(t, request, { outcome: 'refused' }, [refused])
  await assertFinds(t, request, { outcome: 'failed' }, [failed])
  await assertFinds(t, request, { credential_id: keyId }, [refused])
  const organizationId = await createOrganization({ server, caller, role: 'owner' })
  const [project_id, resource_id] = [newId('prj'), newId('file')]
  const places = { organizationId, projectId: project_id, resourceId: resource_id, ip: '2001:db8::7' }
  const foreign = await createAuditEntry(server, server.admin.id, places)
  const placed = await createAuditEntry(server, caller.id, places)
  await assertFinds(t, request, { project_id }, [placed])
  await assertFinds(t, request, { resource_id }, [placed])
  await assertFinds(t, request, { ip: '2001:db8::7' }, [placed])
  await assertFinds(t, request, { organization_id: organizationId }, [foreign, placed])
  await prisma.auditEntry.delete({ where: { id: placed } })
  await assertFinds(t, request, { user_id: caller.id }, [done, refused, failed])
  await assertFinds(t, request, { user_id: newId('usr') }, [])
})

t.test('orders are filtered by number, price and author', async (t) => {
  const caller = await server.person()
  const request: OperationRequest = { id: 'listOrders', server, caller }
  const [order, other] = [await insertedOrder(server, caller.id), await insertedOrder(server, caller.id)]
  const { number } = await prisma.order.findUniqueOrThrow({ where: { id: order } })
  const { priceId } = await prisma.orderItem.findFirstOrThrow({ where: { orderId: order } })
  const ofPrice = await prisma.orderItem.findMany({ where: { priceId, orderId: { in: [order, other] } } })
  await assertFinds(t, request, { number }, [order])
  await assertFinds(t, request, { number: '000000-0000' }, [])
  await assertFinds(t, request, { price_id: priceId }, [...new Set(ofPrice.map(({ orderId }) => orderId))])
  await assertFinds(t, request, { price_id: 'prc_01jd6y8m5qe8btc4y5w1r0n3fz' }, [])
  await prisma.order.update({ where: { id: other }, data: { createdBy: server.admin.id } })
  await assertFinds(t, request, { created_by: server.admin.id }, [other])
  await assertFinds(t, request, { created_by: caller.id }, [])
})

t.test('created_after and created_before include the first and exclude the second moment', async (t) => {
  const { id, client } = await server.person()
  const sessions = []
  for (const title of ['one', 'two']) {
    sessions.push((await client.post('/ai/sessions', { title })).body)
    await setTimeout(5)
  }
  const [one, two] = sessions
  const find = async (query: string): Promise<string[]> =>
    (await client.get(`/ai/sessions?order=asc&${query}`)).body.data.map((item: { id: string }) => item.id)
  t.same(await find(`created_after=${one.created_at}`), [one.id, two.id])
  t.same(await find(`created_after=${two.created_at}`), [two.id])
  t.same(await find(`created_before=${two.created_at}`), [one.id])
  t.same(await find(`created_after=${one.created_at}&created_before=${two.created_at}`), [one.id])
  t.same(await find('created_after=0001-01-01T00:00:00Z&created_before=9999-12-31T23:59:59Z'), [
    one.id,
    two.id,
  ])
  t.same(await find('created_before=0001-01-01T00:00:00Z'), [])
  t.ok(id)
})

t.test('id_at is the lowest id of a time', async (t) => {
  for (const at of [new Date(0), new Date(), new Date('2026-11-23T01:02:03.004Z'), new Date(2 ** 45)]) {
    const { rows } = await server.services.database.pool.query('SELECT id_at($1, $2) AS id', ['ord', at])
    t.equal(timeOf(rows[0].id).getTime(), at.getTime())
    t.equal(rows[0].id.slice(-16), '0'.repeat(16))
    t.equal(rows[0].id.slice(0, 14), newIdAt('ord', at).slice(0, 14))
  }
})

t.test('files are filtered by project, type, visibility, tag, folder and name', async (t) => {
  const caller = await server.person()
  const request: OperationRequest = { id: 'listFiles', server, caller }
  const project = await createProject({ server, caller, role: 'viewer' })
  const [one, two] = [
    await createFile(server, server.admin.id, { projectId: project }),
    await createFile(server, caller.id, { projectId: project, tags: ['q4'] }),
  ]
  const make = (fields: Parameters<typeof createFile>[2]) => createFile(server, caller.id, fields)
  const report = await make({
    name: 'Report 100%.pdf',
    path: 'reports/2026',
    contentType: 'application/pdf',
    tags: ['q4', 'big'],
  })
  const photo = await make({
    name: 'photo_1.PNG',
    path: 'reports/2026/may',
    contentType: 'image/png',
    visibility: 'public',
    tags: ['q4x'],
  })
  const notes = await make({ name: 'reporting.txt', path: 'reports/2026x', contentType: 'text/plain' })
  const wild = await make({
    name: 'wild',
    path: 'reports/202_',
    contentType: 'image/p%',
    visibility: 'public',
  })
  const top = await make({ name: 'top.txt', contentType: 'text/plain' })
  await make({
    name: 'report deleted',
    path: 'reports/2026',
    contentType: 'image/png',
    visibility: 'public',
    tags: ['q4'],
    expiresAt: new Date(Date.now() - 1000).toISOString(),
  })
  await createFile(server, server.admin.id, { tags: ['q4'], visibility: 'public' })

  await assertFinds(t, request, {}, [report, photo, notes, wild, top])
  await assertFinds(t, request, { project_id: project }, [one, two])
  await assertFinds(t, request, { project_id: project, tag: 'q4' }, [two])
  await assertFinds(t, request, { folder: '/reports/2026/' }, [report])
  await assertFinds(t, request, { folder: 'reports/202_' }, [wild])
  await assertFinds(t, request, { folder: '/' }, [top])
  const folder = await createFolder(server.services.database, caller.id, 'reports/2026')
  await assertFinds(t, request, { folder_id: folder }, [report])
  await assertFinds(t, request, { folder_id: newId('fld') }, [])
  await assertFinds(t, request, { name: 'photo_1.PNG' }, [photo])
  await assertFinds(t, request, { name: 'photo_1.png' }, [])
  await assertFinds(t, request, { folder: 'reports/2026', name: 'Report 100%.pdf' }, [report])
  await assertFinds(t, request, { folder: 'reports/2026', name: 'photo_1.PNG' }, [])
  await assertFinds(t, request, { project_id: project, created_by: caller.id }, [two])
  await assertFinds(t, request, { project_id: '*' }, [one, two, report, photo, notes, wild, top])
  const organization_id = await ownedByOrganization(project)
  await assertFinds(t, request, { organization_id }, [one, two])
  await assertFinds(t, request, { organization_id, tag: 'q4' }, [two])
  await assertFinds(t, request, { project_id: project, created_by: server.admin.id }, [one])
  await assertFinds(t, request, { created_by: server.admin.id }, [])
  await assertFinds(t, request, { content_type: 'image/' }, [photo, wild])
  await assertFinds(t, request, { content_type: 'image/png' }, [photo])
  await assertFinds(t, request, { content_type: 'image/p%' }, [wild])
  await assertFinds(t, request, { content_type: 'mage' }, [])
  await assertFinds(t, request, { visibility: 'public' }, [photo, wild])
  await assertFinds(t, request, { visibility: 'private' }, [report, notes, top])
  await assertFinds(t, request, { tag: 'q4' }, [report])
  await assertFinds(t, request, { tag: 'q4", "big' }, [])
  await assertFinds(t, request, { path: 'reports' }, [report, photo, notes, wild])
  await assertFinds(t, request, { path: 'reports/' }, [report, photo, notes, wild])
  await assertFinds(t, request, { path: 'reports/2026' }, [report, photo])
  await assertFinds(t, request, { path: 'reports/202_' }, [wild])
  await assertFinds(t, request, { path: 'report' }, [])
  await assertFinds(t, request, { path: 'REPORTS' }, [])
  await assertFinds(t, request, { q: 'REPORT' }, [report, notes])
  await assertFinds(t, request, { q: '100%' }, [report])
  await assertFinds(t, request, { q: '_' }, [photo])
  await assertFinds(t, request, { q: "' OR 1=1 --" }, [])
  await assertFinds(
    t,
    request,
    { q: 'report', path: 'reports/2026', tag: 'big', content_type: 'application/', visibility: 'private' },
    [report],
  )
})

t.test('folders, the trash and jobs are filtered', async (t) => {
  const caller = await server.person()
  const { database } = server.services
  const project = await createProject({ server, caller, role: 'viewer' })
  const organization_id = await ownedByOrganization(project)
  const folders: OperationRequest = { id: 'listFolders', server, caller }
  const own = await createFolder(database, caller.id, 'Own 100%')
  const inner = await createFolder(database, caller.id, 'Own 100%/inner')
  const shared = await createFolder(database, server.admin.id, 'shared', project)
  const second = await createFolder(database, caller.id, 'second', project)
  await createFolder(database, server.admin.id, 'Own')
  await assertFinds(t, folders, {}, [own])
  await assertFinds(t, folders, { parent_id: own }, [inner])
  await assertFinds(t, folders, { parent_id: '*' }, [own, inner])
  await assertFinds(t, folders, { parent_id: '*', project_id: '*' }, [own, inner, shared, second])
  await assertFinds(t, folders, { project_id: project }, [shared, second])
  await assertFinds(t, folders, { project_id: project, created_by: caller.id }, [second])
  await assertFinds(t, folders, { organization_id }, [shared, second])
  await assertFinds(t, folders, { q: 'own 100%' }, [own])
  await assertFinds(t, folders, { q: 'own_' }, [])
  const trash: OperationRequest = { id: 'listTrash', server, caller }
  const trashed = await createTrashedFile(server, caller.id, { name: 'Mine 100%' })
  const theirs = await createTrashedFile(server, server.admin.id, { projectId: project })
  const mine = await createTrashedFile(server, caller.id, { projectId: project })
  await createTrashedFile(server, caller.id, { expiresAt: new Date(Date.now() - 1000).toISOString() })
  await createFile(server, caller.id)
  await assertFinds(t, trash, {}, [trashed])
  await assertFinds(t, trash, { project_id: project }, [theirs, mine])
  await assertFinds(t, trash, { project_id: project, created_by: caller.id }, [mine])
  await assertFinds(t, trash, { project_id: '*' }, [trashed, theirs, mine])
  await assertFinds(t, trash, { organization_id }, [theirs, mine])
  await assertFinds(t, trash, { q: 'mine 100%' }, [trashed])
  const jobs: OperationRequest = { id: 'listJobs', server, caller }
  const queued = await createJob(server, caller.id)
  const ended = await createJob(server, caller.id, { status: 'succeeded' })
  const inProject = await createJob(server, server.admin.id, { projectId: project })
  await assertFinds(t, jobs, {}, [queued, ended])
  await assertFinds(t, jobs, { status: 'succeeded' }, [ended])
  await assertFinds(t, jobs, { type: 'trash_empty' }, [queued, ended])
  await assertFinds(t, jobs, { type: 'folder_delete' }, [])
  await assertFinds(t, jobs, { project_id: project }, [inProject])
  await assertFinds(t, jobs, { project_id: project, created_by: caller.id }, [])
  await assertFinds(t, jobs, { organization_id }, [inProject])
  const items: OperationRequest = { id: 'listStorageItems', server, caller }
  await assertFinds(t, items, { folder_id: own }, [inner])
  await assertFinds(t, items, { project_id: project }, [shared, second])
})

t.test('sessions are filtered by project, status and title', async (t) => {
  const caller = await server.person()
  const request: OperationRequest = { id: 'listSessions', server, caller }
  const project = await createProject({ server, caller, role: 'viewer' })
  const theirs = [
    await createSession(server, server.admin.id, { projectId: project, title: 'Launch' }),
    await createSession(server, caller.id, { projectId: project }),
  ]
  const launch = await createSession(server, caller.id, { title: 'Launch 100%' })
  const other = await createSession(server, caller.id, { title: 'Before the LAUNCH_day' })
  const archived = await createSession(server, caller.id, { title: 'Old launch' })
  const nameless = await createSession(server, caller.id, { title: null })
  await prisma.session.update({ where: { id: archived }, data: { status: 'archived' } })
  await assertFinds(t, request, {}, [launch, other, archived, nameless])
  await assertFinds(t, request, { project_id: project }, theirs)
  await assertFinds(t, request, { project_id: project, q: 'launch' }, [theirs[0]])
  await assertFinds(t, request, { project_id: project, created_by: caller.id }, [theirs[1]])
  const organization_id = await ownedByOrganization(project)
  await assertFinds(t, request, { organization_id }, theirs)
  await assertFinds(t, request, { created_by: server.admin.id }, [])
  await assertFinds(t, request, { project_id: project, status: 'archived' }, [])
  await assertFinds(t, request, { status: 'active' }, [launch, other, nameless])
  await assertFinds(t, request, { status: 'archived' }, [archived])
  await assertFinds(t, request, { q: 'launch' }, [launch, other, archived])
  await assertFinds(t, request, { q: '100%' }, [launch])
  await assertFinds(t, request, { q: '_' }, [other])
  await assertFinds(t, request, { q: "' OR 1=1 --" }, [])
  await assertFinds(t, request, { q: 'launch', status: 'archived' }, [archived])
})

t.test('knowledge bases are filtered by project, name and description', async (t) => {
  const caller = await server.person()
  const request: OperationRequest = { id: 'listKnowledgeBases', server, caller }
  const project = await createProject({ server, caller, role: 'viewer' })
  const theirs = [
    await createKnowledgeBase(server, server.admin.id, { projectId: project, name: 'Handbook' }),
    await createKnowledgeBase(server, caller.id, { projectId: project }),
  ]
  const handbook = await createKnowledgeBase(server, caller.id, { name: 'Handbook 100%' })
  const other = await createKnowledgeBase(server, caller.id, {
    name: 'Other',
    description: 'Not the HANDBOOK_2026',
  })
  await assertFinds(t, request, {}, [handbook, other])
  await assertFinds(t, request, { project_id: project }, theirs)
  await assertFinds(t, request, { project_id: project, q: 'handbook' }, [theirs[0]])
  await assertFinds(t, request, { project_id: project, created_by: caller.id }, [theirs[1]])
  const organization_id = await ownedByOrganization(project)
  await assertFinds(t, request, { organization_id }, theirs)
  await assertFinds(t, request, { created_by: server.admin.id }, [])
  await assertFinds(t, request, { q: 'handbook' }, [handbook, other])
  await assertFinds(t, request, { q: '100%' }, [handbook])
  await assertFinds(t, request, { q: 'book_' }, [other])
  await assertFinds(t, request, { q: '\\' }, [])
  await assertFinds(t, request, { q: "' OR 1=1 --" }, [])
})

t.test('documents are filtered by status and name', async (t) => {
  const caller = await server.person()
  const base = await createKnowledgeBase(server, caller.id)
  await createDocument(server, await createKnowledgeBase(server, caller.id))
  const request: OperationRequest = { id: 'listDocuments', server, caller, params: { id: base } }
  const queued = await createDocument(server, base, { status: 'queued', name: 'Report 100%.md' })
  const processing = await createDocument(server, base, { status: 'processing', name: 'notes_1.md' })
  const ready = [
    await createDocument(server, base, { name: 'reporting.md' }),
    await createDocument(server, base),
  ]
  const failed = await createDocument(server, base, { status: 'failed', createdBy: caller.id })
  await assertFinds(t, request, {}, [queued, processing, ...ready, failed])
  await assertFinds(t, request, { status: 'queued' }, [queued])
  await assertFinds(t, request, { status: 'processing' }, [processing])
  await assertFinds(t, request, { status: 'ready' }, ready)
  await assertFinds(t, request, { status: 'failed' }, [failed])
  await assertFinds(t, request, { created_by: caller.id }, [failed])
  await assertFinds(t, request, { created_by: server.admin.id }, [])
  await assertFinds(t, request, { q: 'REPORT' }, [queued, ready[0]])
  await assertFinds(t, request, { q: '100%' }, [queued])
  await assertFinds(t, request, { q: '_' }, [processing])
  await assertFinds(t, request, { q: "' OR 1=1 --" }, [])
  await assertFinds(t, request, { q: 'report', status: 'ready' }, [ready[0]])
})

t.test('sources are filtered by their author', async (t) => {
  const caller = await server.person()
  const base = await createKnowledgeBase(server, caller.id)
  const request: OperationRequest = { id: 'listSources', server, caller, params: { id: base } }
  const own = await createSource(server, base, caller.id)
  const other = await createSource(server, base, server.admin.id)
  await assertFinds(t, request, {}, [own, other])
  await assertFinds(t, request, { created_by: caller.id }, [own])
})

t.test('products are filtered by name and by whether they are active', async (t) => {
  const request = await requestFor(server, 'listProducts')
  const active = await insertedProduct(server, { name: 'Bicycle 100%' })
  const archived = await insertedProduct(server, { name: 'Old BICYCLE_bell' })
  await prisma.product.update({ where: { id: archived }, data: { active: false } })
  await assertFinds(t, request, { q: 'bicycle' }, [active, archived])
  await assertFinds(t, request, { q: 'bicycle', active: 'true' }, [active])
  await assertFinds(t, request, { q: 'bicycle', active: 'false' }, [archived])
  await assertFinds(t, request, { active: 'false' }, [archived])
  await assertFinds(t, request, { q: '100%' }, [active])
  await assertFinds(t, request, { q: 'bicycle_' }, [archived])
  const created_by = await createUser(server)
  await prisma.product.update({ where: { id: archived }, data: { createdBy: created_by } })
  await assertFinds(t, request, { created_by }, [archived])
  await assertFinds(t, request, { created_by, active: 'true' }, [])
  await assertFinds(t, request, { q: "' OR 1=1 --" }, [])
})

t.test('customers are filtered by email, external id, user and author', async (t) => {
  const request = await requestFor(server, 'listCustomers')
  const [user_id, created_by] = [await createUser(server), await createUser(server)]
  const external_id = `crm-${user_id}`
  const email = `${user_id}@example.com`
  const known = await insertedCustomer(server, { external_id, email })
  const buyer = await insertedCustomer(server, { user_id, email })
  await prisma.customer.update({ where: { id: buyer }, data: { createdBy: created_by } })
  await assertFinds(t, request, { email }, [known, buyer])
  await assertFinds(t, request, { external_id }, [known])
  await assertFinds(t, request, { user_id }, [buyer])
  const buyer_organization_id = await createOrganization({ ...request, role: 'none' })
  const organization = await insertedCustomer(server, { buyer_organization_id })
  await assertFinds(t, request, { buyer_organization_id }, [organization])
  await assertFinds(t, request, { created_by }, [buyer])
  await assertFinds(t, request, { created_by, external_id }, [])
})

t.test('meters are filtered by key, author and whether they are active', async (t) => {
  const request = await requestFor(server, 'listMeters')
  const created_by = await createUser(server)
  const key = `tokens_${created_by}`
  const active = await insertedMeter(server, { key })
  const archived = await insertedMeter(server)
  await prisma.meter.update({ where: { id: archived }, data: { active: false, createdBy: created_by } })
  await assertFinds(t, request, { key }, [active])
  await assertFinds(t, request, { key, active: 'false' }, [])
  await assertFinds(t, request, { active: 'false' }, [archived])
  await assertFinds(t, request, { created_by }, [archived])
})

t.test('features are filtered by key, type, author and whether they are active', async (t) => {
  const request = await requestFor(server, 'listFeatures')
  const created_by = await createUser(server)
  const key = `projects_${created_by}`
  const active = await insertedFeature(server, { key, type: 'on_off' })
  const archived = await insertedFeature(server)
  await prisma.feature.update({ where: { id: archived }, data: { active: false, createdBy: created_by } })
  await assertFinds(t, request, { key, type: 'on_off' }, [active])
  await assertFinds(t, request, { key, active: 'false' }, [])
  await assertFinds(t, request, { type: 'limit', active: 'false' }, [archived])
  await assertFinds(t, request, { created_by }, [archived])
})

t.test('budgets are filtered by subject and author', async (t) => {
  const request = await requestFor(server, 'listBudgets')
  const { caller } = request
  const subject_id = (await createApiKey(server, caller.id)).id
  const own = await createBudget(server, caller.id, { subject_id })
  await createBudget(server, caller.id, { created_by: null })
  await assertFinds(t, request, { subject_type: 'project' }, [])
  await assertFinds(t, request, { created_by: await createUser(server) }, [])
  await assertFinds(t, request, { subject_id }, [own])
  await assertFinds(t, request, { subject_id, subject_type: 'project' }, [])
  await assertFinds(t, request, { subject_id, subject_type: 'key', created_by: caller.id }, [own])
})

t.test('prices are filtered by product, currency and whether they are active', async (t) => {
  const request = await requestFor(server, 'listPrices')
  const product = await insertedProduct(server)
  const euros = await insertedPrice(server, product)
  const yen = await insertedPrice(server, product, { currency: 'jpy' })
  const archived = await insertedPrice(server, product)
  await insertedPrice(server, await insertedProduct(server), { currency: 'jpy' })
  await prisma.price.update({ where: { id: archived }, data: { active: false } })
  await assertFinds(t, request, { product_id: product }, [euros, yen, archived])
  await assertFinds(t, request, { product_id: product, currency: 'eur' }, [euros, archived])
  await assertFinds(t, request, { product_id: product, currency: 'jpy' }, [yen])
  await assertFinds(t, request, { product_id: product, currency: 'usd' }, [])
  await assertFinds(t, request, { product_id: product, active: 'true' }, [euros, yen])
  const created_by = await createUser(server)
  await prisma.price.update({ where: { id: yen }, data: { createdBy: created_by } })
  await assertFinds(t, request, { created_by }, [yen])
  await assertFinds(t, request, { created_by, currency: 'eur' }, [])
  await assertFinds(t, request, { active: 'false' }, [archived])
})

t.test('orders are filtered by project, status and subscription', async (t) => {
  const caller = await server.person()
  const request: OperationRequest = { id: 'listOrders', server, caller }
  const project = await createProject({ server, caller, role: 'viewer' })
  const theirs = [
    await insertedOrder(server, server.admin.id, { projectId: project }),
    await insertedOrder(server, caller.id, { projectId: project, status: 'paid' }),
  ]
  const pending = await insertedOrder(server, caller.id)
  const paid = await insertedOrder(server, caller.id, { status: 'paid' })
  const partly = await insertedOrder(server, caller.id, { status: 'paid' })
  const refunded = await insertedOrder(server, caller.id, { status: 'paid' })
  await insertedRefund(server, partly)
  await insertedRefund(server, refunded, { amount: 1999 })
  const canceled = await insertedOrder(server, caller.id)
  await prisma.order.update({ where: { id: canceled }, data: { status: 'canceled' } })
  const subscription = await insertedSubscription(server, caller.id)
  const { latestOrderId } = await prisma.subscription.findUniqueOrThrow({ where: { id: subscription } })
  await insertedOrder(server, server.admin.id)
  await assertFinds(t, request, {}, [pending, paid, partly, refunded, canceled, latestOrderId!])
  await assertFinds(t, request, { project_id: project }, theirs)
  await assertFinds(t, request, { project_id: project, status: 'paid' }, [theirs[1]])
  await assertFinds(t, request, { status: 'pending' }, [pending])
  await assertFinds(t, request, { status: 'paid' }, [paid, latestOrderId!])
  await assertFinds(t, request, { status: 'partially_refunded' }, [partly])
  await assertFinds(t, request, { status: 'refunded' }, [refunded])
  await assertFinds(t, request, { status: 'canceled' }, [canceled])
  await assertFinds(t, request, { project_id: project, user_id: caller.id }, [theirs[1]])
  await assertFinds(t, request, { user_id: caller.id, status: 'pending' }, [pending])
  await assertFinds(t, request, { subscription_id: subscription }, [latestOrderId!])
  await assertFinds(t, request, { subscription_id: subscription, status: 'pending' }, [])
  await assertFinds(t, request, { subscription_id: 'sub_01jd6y8m5qe8btc4y5w1r0n3fz' }, [])
})

t.test('subscriptions are filtered by project and status', async (t) => {
  const caller = await server.person()
  const request: OperationRequest = { id: 'listSubscriptions', server, caller }
  const project = await createProject({ server, caller, role: 'viewer' })
  const theirs = [
    await insertedSubscription(server, server.admin.id, { projectId: project }),
    await insertedSubscription(server, caller.id, { projectId: project, status: 'canceled' }),
  ]
  const incomplete = await insertedSubscription(server, caller.id, { status: 'incomplete' })
  const active = [
    await insertedSubscription(server, caller.id),
    await insertedSubscription(server, caller.id, { status: 'ending' }),
  ]
  const overdue = await insertedSubscription(server, caller.id)
  await prisma.subscription.update({ where: { id: overdue }, data: { status: 'past_due' } })
  const canceled = await insertedSubscription(server, caller.id, { status: 'canceled' })
  await insertedSubscription(server, server.admin.id)
  await assertFinds(t, request, {}, [incomplete, ...active, overdue, canceled])
  await assertFinds(t, request, { project_id: project }, theirs)
  await assertFinds(t, request, { project_id: project, status: 'canceled' }, [theirs[1]])
  await assertFinds(t, request, { project_id: project, user_id: caller.id }, [theirs[1]])
  await assertFinds(t, request, { user_id: caller.id, status: 'active' }, active)
  await assertFinds(t, request, { status: 'incomplete' }, [incomplete])
  await assertFinds(t, request, { status: 'active' }, active)
  await assertFinds(t, request, { status: 'past_due' }, [overdue])
  await assertFinds(t, request, { status: 'canceled' }, [canceled])
  const { data } = (await send({ ...request, query: { sort: 'current_period_end', order: 'asc' } })).body
  t.equal(data.at(-1).id, incomplete, 'a subscription without a period comes last by period end')
})

t.test('projects and sales are filtered by organization, sales for its admins', async (t) => {
  const [caller, guest, stranger] = [await server.person(), await server.person(), await server.person()]
  const organizationOf = async (): Promise<string> =>
    (await caller.client.post('/organizations', { name: 'Acme' })).body.id
  const [organization, other] = [await organizationOf(), await organizationOf()]
  const projectOf = async (organization_id?: string): Promise<string> =>
    (await caller.client.post('/projects', { name: 'Launch', organization_id })).body.id
  const projects = [await projectOf(organization), await projectOf(organization)]
  const [elsewhere, own] = [await projectOf(other), await projectOf()]
  await addMemberTo(server, organization, { userId: guest.id })
  const list = { server, caller }
  await assertFinds(t, { id: 'listProjects', ...list }, { organization_id: organization }, projects)
  await assertFinds(t, { id: 'listProjects', ...list }, { organization_id: other }, [elsewhere])

  for (const projectId of [...projects, elsewhere, own, null]) {
    await insertedCheckout(server, await insertedOrder(server, guest.id, { projectId }))
    await insertedRefund(server, await insertedOrder(server, guest.id, { projectId, status: 'paid' }))
    await insertedDispute(server, await insertedOrder(server, guest.id, { projectId, status: 'paid' }))
    await insertedSubscription(server, guest.id, { projectId })
  }
  const where = { projectId: { in: projects } }
  const expected = {
    listOrders: await prisma.order.findMany({ where }),
    listCheckouts: await prisma.checkout.findMany({ where }),
    listAllRefunds: await prisma.refund.findMany({ where }),
    listPayments: await prisma.payment.findMany({ where }),
    listDisputes: await prisma.dispute.findMany({ where }),
    listSubscriptions: await prisma.subscription.findMany({ where }),
  }
  const { secret } = await createApiKey(server, caller.id, { projectIds: projects })
  const limited = { ...caller, key: secret, client: createClient(server.url, secret) }
  const admin = await server.person({ role: 'admin' })
  for (const [id, rows] of Object.entries(expected)) {
    t.ok(rows.length >= 2, id)
    const request = { id: id as OperationId, ...list }
    const query = { organization_id: organization }
    const ids = rows.map((row) => row.id)
    await assertFinds(t, request, query, ids)
    await assertFinds(t, { ...request, caller: admin }, query, ids)
    await assertFinds(t, request, { ...query, user_id: caller.id }, [])
    await assertFinds(t, request, { ...query, project_id: elsewhere }, [])
    const statusFor = async (person: OperationRequest['caller'], sent: Record<string, string> = query) =>
      (await send({ ...request, caller: person, query: sent })).status
    t.equal(await statusFor(guest), 403, `${id} of a member who is no admin`)
    t.equal(await statusFor(stranger), 403, `${id} of a stranger`)
    t.equal(await statusFor(limited), 403, `${id} with a limited key`)
    t.equal(await statusFor(caller, { organization_id: 'org_01jd6y8m5qe8btc4y5w1r0n3fz' }), 404, id)
  }
})

t.test('payments and disputes are filtered by project, user, status, order, subscription', async (t) => {
  const caller = await server.person()
  const project = await createProject({ server, caller, role: 'viewer' })
  const order = (owner: string, projectId?: string) =>
    insertedOrder(server, owner, { projectId, status: 'paid' })
  const paymentOf = async (orderId: string) =>
    (await prisma.payment.findFirstOrThrow({ where: { orderId } })).id
  const [own, another] = [await order(caller.id), await order(caller.id)]
  const inProject = [await order(server.admin.id, project), await order(caller.id, project)]
  await order(server.admin.id)
  const [first, second, failed] = [
    await paymentOf(own),
    await paymentOf(another),
    await insertedPayment(server, another),
  ]
  const payments = { id: 'listPayments', server, caller } as const
  await assertFinds(t, payments, {}, [first, second, failed])
  await assertFinds(t, payments, { status: 'succeeded' }, [first, second])
  for (const status of ['requires_confirmation', 'processing', 'returning', 'returned'])
    await assertFinds(t, payments, { status }, [])
  await assertFinds(t, payments, { status: 'failed' }, [failed])
  await assertFinds(t, payments, { order_id: another }, [second, failed])
  await assertFinds(t, payments, { order_id: inProject[0] }, [])
  const [theirs, mine] = [await paymentOf(inProject[0]), await paymentOf(inProject[1])]
  await assertFinds(t, payments, { project_id: project }, [theirs, mine])
  await assertFinds(t, payments, { project_id: project, user_id: caller.id }, [mine])
  const subscription = await insertedSubscription(server, caller.id)
  const { latestOrderId } = await prisma.subscription.findUniqueOrThrow({ where: { id: subscription } })
  await assertFinds(t, payments, { subscription_id: subscription }, [await paymentOf(latestOrderId!)])

  const disputes = { id: 'listDisputes', server, caller } as const
  const [open, lost] = [await insertedDispute(server, own), await insertedDispute(server, another)]
  await prisma.dispute.update({ where: { id: lost }, data: { status: 'lost' } })
  const others = [await insertedDispute(server, inProject[0]), await insertedDispute(server, inProject[1])]
  await assertFinds(t, disputes, {}, [open, lost])
  await assertFinds(t, disputes, { status: 'needs_response' }, [open])
  await assertFinds(t, disputes, { status: 'lost' }, [lost])
  await assertFinds(t, disputes, { status: 'won' }, [])
  await assertFinds(t, disputes, { order_id: own }, [open])
  await assertFinds(t, disputes, { payment_id: second }, [lost])
  await assertFinds(t, disputes, { project_id: project }, others)
  await assertFinds(t, disputes, { project_id: project, user_id: caller.id }, [others[1]])
})

t.test('checkout sessions and refunds are filtered by project, user, status and order', async (t) => {
  const caller = await server.person()
  const project = await createProject({ server, caller, role: 'viewer' })
  const order = (owner: string, projectId?: string) =>
    insertedOrder(server, owner, { projectId, status: 'paid' })
  const [own, another] = [await order(caller.id), await order(caller.id)]
  const inProject = [await order(server.admin.id, project), await order(caller.id, project)]
  await insertedRefund(server, await order(server.admin.id))
  const refunds = { id: 'listAllRefunds', server, caller } as const
  const [first, second, failed] = [
    await insertedRefund(server, own),
    await insertedRefund(server, another),
    await insertedRefund(server, another),
  ]
  await prisma.$executeRaw`ALTER TABLE refunds DISABLE TRIGGER refunds_transition`
  await prisma.refund.update({ where: { id: failed }, data: { status: 'failed' } })
  await prisma.$executeRaw`ALTER TABLE refunds ENABLE TRIGGER refunds_transition`
  const theirs = [await insertedRefund(server, inProject[0]), await insertedRefund(server, inProject[1])]
  await assertFinds(t, refunds, {}, [first, second, failed])
  await assertFinds(t, refunds, { status: 'failed' }, [failed])
  await assertFinds(t, refunds, { status: 'succeeded' }, [first, second])
  await assertFinds(t, refunds, { status: 'pending' }, [])
  await assertFinds(t, refunds, { order_id: another }, [second, failed])
  await assertFinds(t, refunds, { order_id: inProject[0] }, [])
  await assertFinds(t, refunds, { project_id: project }, theirs)
  await assertFinds(t, refunds, { project_id: project, user_id: caller.id }, [theirs[1]])

  const checkouts = { id: 'listCheckouts', server, caller } as const
  const pending = (owner: string, projectId?: string) => insertedOrder(server, owner, { projectId })
  const waiting = await pending(caller.id)
  await insertedCheckout(server, await pending(server.admin.id))
  const expired = await insertedCheckout(server, waiting, 'expired')
  const open = await insertedCheckout(server, waiting)
  const complete = await insertedCheckout(server, await pending(caller.id), 'complete')
  const others = [
    await insertedCheckout(server, await pending(server.admin.id, project)),
    await insertedCheckout(server, await pending(caller.id, project)),
  ]
  const { data } = (await send({ ...checkouts, query: { limit: '100' } })).body
  const paid = data.map(({ id }: any) => id).filter((id: string) => ![expired, open, complete].includes(id))
  await assertFinds(t, checkouts, {}, [expired, open, complete, ...paid])
  await assertFinds(t, checkouts, { status: 'open' }, [open])
  await assertFinds(t, checkouts, { status: 'expired' }, [expired])
  await assertFinds(t, checkouts, { status: 'complete' }, [complete, ...paid])
  await assertFinds(t, checkouts, { order_id: waiting }, [expired, open])
  await assertFinds(t, checkouts, { project_id: project, status: 'open' }, others)
  await assertFinds(t, checkouts, { project_id: project, user_id: caller.id, status: 'open' }, [others[1]])
})

t.test('sales are filtered by customer', async (t) => {
  const [caller, other] = [await server.person(), await server.person()]
  const order = await insertedOrder(server, caller.id)
  const found = {
    listCheckouts: [await insertedCheckout(server, order)],
    listSubscriptions: [await insertedSubscription(server, caller.id)],
  }
  const { customerId, latestOrderId } = await prisma.subscription.findUniqueOrThrow({
    where: { id: found.listSubscriptions[0] },
  })
  await insertedSubscription(server, other.id)
  await insertedCheckout(server, await insertedOrder(server, other.id))
  const theirs = await prisma.customer.findFirstOrThrow({ where: { userId: other.id } })
  for (const [id, ids] of Object.entries({ ...found, listOrders: [order, latestOrderId!] })) {
    const request = { id: id as OperationId, server, caller }
    await assertFinds(t, request, { customer_id: customerId! }, ids)
    await assertFinds(t, { ...request, caller: server.admin }, { customer_id: customerId! }, ids)
    await assertFinds(t, request, { customer_id: theirs.id }, [])
  }
})

t.test('what is sold, and sales, are filtered by the seller', async (t) => {
  const caller = await server.person()
  const { body: organization } = await caller.client.post('/organizations', { name: 'Shop' })
  const of = { organization_id: organization.id }
  const { body: product } = await caller.client.post('/payments/products', { name: 'Book', ...of })
  const price = { product_id: product.id, unit_amount: 100, currency: 'eur' }
  const { id: priceId } = (await caller.client.post('/payments/prices', price)).body
  const { id: customer } = (await caller.client.post('/payments/customers', of)).body
  const goods = { key: 'projects', name: 'Projects', type: 'on_off' }
  const fields = { key: 'tokens', name: 'Tokens', aggregation: 'count' }
  const { id: meter } = (await caller.client.post('/payments/meters', { ...fields, ...of })).body
  const feature = (await caller.client.post('/payments/features', { ...goods, ...of })).body.id
  const sale = { customer_id: customer, items: [{ price_id: priceId }] }
  const { body: order } = await caller.client.post('/payments/orders', sale)
  const found = {
    listProducts: product.id,
    listPrices: priceId,
    listCustomers: customer,
    listMeters: meter,
    listFeatures: feature,
  }
  for (const [id, own] of Object.entries(found))
    await assertFinds(t, { id: id as OperationId, server, caller }, of, [own])
  const none = [
    'listCheckouts',
    'listSubscriptions',
    'listAllRefunds',
    'listPayments',
    'listDisputes',
  ] as const
  const seller = { seller_organization_id: organization.id }
  await assertFinds(t, { id: 'listOrders', server, caller }, seller, [order.id])
  await assertFinds(t, { id: 'listOrders', server, caller }, {}, [])
  for (const id of none) await assertFinds(t, { id, server, caller }, seller, [])
})

t.test('organizations are filtered by the membership', async (t) => {
  const request = await requestFor(server, 'listOrganizations')
  const { caller } = request
  const member = (await prisma.organizationMember.findMany({ where: { userId: caller.id } }))[0]
  const invited = await createOrganization({ server, caller, role: 'none' })
  await addMemberTo(server, invited, { userId: caller.id, isAdded: false })
  await assertFinds(t, request, {}, [member.organizationId])
  await assertFinds(t, request, { status: 'active' }, [member.organizationId])
  await assertFinds(t, request, { status: 'invited' }, [invited])
})

t.test('members of an organization are filtered by role and status', async (t) => {
  const request = await requestFor(server, 'listOrganizationMembers')
  const { id } = request.params!
  const owners = (await prisma.organizationMember.findMany({ where: { organizationId: id } })).map(
    (row) => row.id,
  )
  const member = await addMemberTo(server, id, { userId: await createUser(server) })
  const invited = await addMemberTo(server, id, { email: 'a@example.org' }, 'admin')
  const expired = await addMemberTo(server, id, { email: 'b@example.org' }, 'admin')
  await prisma.organizationMember.update({ where: { id: expired }, data: { expiresAt: new Date(0) } })
  await assertFinds(t, request, {}, [...owners, member, invited, expired])
  await assertFinds(t, request, { role: 'owner' }, owners)
  await assertFinds(t, request, { role: ['member', 'admin'] }, [member, invited, expired])
  await assertFinds(t, request, { status: 'active' }, [...owners, member])
  await assertFinds(t, request, { status: 'invited' }, [invited])
  await assertFinds(t, request, { status: ['expired'] }, [expired])

  const list = { ...request, id: 'listOrganizationInvitations' } as const
  const asOwner = await addMemberTo(server, id, { email: 'c@example.org' }, 'owner')
  await assertFinds(t, list, {}, [invited, expired, asOwner])
  await assertFinds(t, list, { role: ['owner', 'member'] }, [asOwner])
  await assertFinds(t, list, { status: 'invited' }, [invited, asOwner])
  await assertFinds(t, list, { status: ['expired', 'active'] }, [expired])
})

t.test('service accounts are filtered by their place, and their keys by whether they work', async (t) => {
  const request = await requestFor(server, 'listServiceAccounts')
  const { caller } = request
  const organization_id = request.query!.organization_id as string
  const project_id = await createProject({ server, caller, role: 'owner' })
  const inProject = await createServiceAccount(server, { project_id })
  const [first] = await prisma.serviceAccount.findMany({ where: { organizationId: organization_id } })
  await assertFinds(t, { ...request, query: {} }, {}, [first.id, inProject.id])
  await assertFinds(t, { ...request, query: {} }, { organization_id }, [first.id])
  await assertFinds(t, { ...request, query: {} }, { project_id }, [inProject.id])
  const works = await createApiKey(server, inProject.userId)
  const revoked = await createApiKey(server, inProject.userId, { revoked: true })
  const params = { id: inProject.id }
  const keys = { ...request, id: 'listServiceAccountKeys', params, query: {} } as const
  await assertFinds(t, keys, {}, [works.id, revoked.id])
  await assertFinds(t, keys, { active: 'true' }, [works.id])
  await assertFinds(t, keys, { active: 'false' }, [revoked.id])
  const created_by = caller.id
  for (const { id } of [works, revoked])
    await prisma.apiKey.update({ where: { id }, data: { createdById: created_by } })
  await assertFinds(t, keys, { created_by }, [works.id, revoked.id])
  await assertFinds(t, keys, { created_by, active: 'true' }, [works.id])
  await assertFinds(t, keys, { created_by: server.admin.id }, [])
  await assertFinds(t, { ...request, query: {} }, { key_created_by: created_by }, [inProject.id])
  await prisma.apiKey.update({ where: { id: works.id }, data: { revokedAt: new Date() } })
  await assertFinds(t, { ...request, query: {} }, { key_created_by: created_by }, [])
})

/** Gives the project to an organization. @returns its id. */
async function ownedByOrganization(id: string): Promise<string> {
  const organizationId = await createOrganization({ server, caller: server.admin, role: 'owner' })
  await prisma.project.update({ where: { id }, data: { organizationId } })
  return organizationId
}

t.test('every declared filter is tested here', async (t) => {
  const declared = [
    ...operationInfos.filter((info) => info.paged).map(({ id }) => id as OperationId),
    ...cursorLists,
  ].flatMap((id) =>
    queryOf(id)
      .filter(({ name }) => !commonParameters.includes(name))
      .map(({ name }) => `${id} ${name}`),
  )
  t.same(
    declared.filter((filter) => !testedFilters.has(filter)),
    [],
  )
})
