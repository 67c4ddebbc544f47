// Lists: the values of page, limit, sort and order; all pages together contain every item exactly once.
// In `npm test` one list gets all invalid values of a parameter that lists share, and the others one each;
// `npm run faults` sends all to all lists.
import { randomBytes, randomInt } from 'node:crypto'
import t from 'tap'
import type { OperationId } from '../../generated/operations.ts'
import { newId } from '../../infra/ids.ts'
import { storeCard } from '../../services/payments/payment-methods.ts'
import { toNewCard } from '../../services/payments/sandbox/gateway.ts'
import {
  operationIds,
  pathOf,
  send,
  requestFor,
  operationInfos,
} from '../support/operations/operation-fixtures.ts'
import type { OperationRequest } from '../support/operations/operation-fixture.ts'
import {
  addMemberTo,
  createOrganization,
  createServiceAccount,
} from '../support/operations/operation-fixtures-organizations.ts'
import {
  insertedCheckout,
  insertedOrder,
  insertedPrice,
  insertedCustomer,
  insertedFeature,
  insertedMeter,
  insertedOverride,
  insertedProduct,
  insertedDispute,
  insertedPayment,
  insertedRefund,
  insertedSubscription,
} from '../support/database/db-fixtures-payments.ts'
import {
  createDelivery,
  createWebhookEndpoint,
  createDocument,
  createSource,
  createWebhookEndpoints,
  createEvent,
  createFile,
  createFolder,
  createJob,
  createTrashedFile,
  createInvitation,
  createApiKey,
  createApiRequest,
  createUsage,
  createCustomRole,
  createAuditEntry,
  createKnowledgeBase,
  createFileLink,
  createFileVersion,
  createShare,
  createUploadLink,
  createMember,
  createMessage,
  createProject,
  createSession,
  createUser,
  createBudget,
} from '../support/database/db-fixtures.ts'
import { createIdentity, createPasskey, createSignIn } from '../support/operations/operation-fixtures-auth.ts'
import { cursorLists, queryOf } from '../support/contract/contract-schema.ts'
import { createClient, type Reply } from '../support/http/client.ts'
import { isLongForm } from '../support/long-form.ts'
import { startServer, type Person } from '../support/server/server.ts'

/** Models of a provider that no test calls. */
const models = ['m-7', 'a-1', 'Z', 'm-10', 'm-1', 'b', 'zz']
const server = await startServer(t, {
  env: {
    AI_UPSTREAMS: JSON.stringify([
      { name: 'nowhere', base_url: 'http://127.0.0.1:9/v1', models: models.map((id) => ({ id })) },
    ]),
  },
})
const { prisma } = server.services.database
const lists = operationInfos.filter((info) => info.paged)
const itemCount = 7
/** An entitlement has no id: its feature has one. */
const idOf = (item: { id?: string; feature_id?: string }): string => item.id ?? item.feature_id!

const createMany = <T>(make: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: itemCount }, (_, i) => make(i)))

/** Creates seven items, equal in every sortable field that is not unique, and the request that lists them. */
const seeds: Partial<Record<OperationId, () => Promise<{ request: OperationRequest; ids: string[] }>>> = {
  async listSignIns() {
    const request = await requestFor(server, 'listProjects')
    const ids = await createMany(async () => (await createSignIn(server, request.caller.id)).id)
    return { request: { ...request, id: 'listSignIns' }, ids }
  },
  async listIdentities() {
    const request = await requestFor(server, 'listProjects')
    const ids = await createMany(() => createIdentity({ server, caller: request.caller, role: 'owner' }))
    return { request: { ...request, id: 'listIdentities' }, ids }
  },
  async listPasskeys() {
    const request = await requestFor(server, 'listProjects')
    const ids = await createMany(() => createPasskey({ server, caller: request.caller, role: 'owner' }))
    return { request: { ...request, id: 'listPasskeys' }, ids }
  },
  async listMyInvitations() {
    const request = await requestFor(server, 'listProjects')
    const ids = await createMany(
      async () =>
        await createInvitation(
          server,
          await createProject({ server, caller: request.caller, role: 'none' }),
          request.caller.email,
        ),
    )
    await prisma.invitation.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request: { ...request, id: 'listMyInvitations' }, ids }
  },
  async listApiKeys() {
    const request = await requestFor(server, 'listApiKeys')
    const ids = await createMany(async () => (await createApiKey(server, request.caller.id)).id)
    await prisma.apiKey.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: new Date(), name: 'alike' },
    })
    return { request, ids }
  },
  async listAuditEntries() {
    const { caller } = await requestFor(server, 'listApiKeys')
    const ids = await createMany(() => createAuditEntry(server, caller.id))
    return { request: { id: 'listAuditEntries', server, caller }, ids }
  },
  async listRequests() {
    const { caller } = await requestFor(server, 'listApiKeys')
    const ids = await createMany(() => createApiRequest(server, caller.id))
    return { request: { id: 'listRequests', server, caller }, ids }
  },
  async listUsage() {
    const { caller } = await requestFor(server, 'listApiKeys')
    const keys = await createMany(async () => {
      const credentialId = newId('key')
      await createUsage(server, caller.id, { credentialId })
      return credentialId
    })
    const query = { group_by: 'credential_id', meter: 'requests' }
    return {
      request: { id: 'listUsage', server, caller, query },
      ids: keys.map((id) => `${caller.id}/-/-/${id}/requests/-`),
    }
  },
  async listMeterUsage() {
    const meterId = await insertedMeter(server)
    const customers = Array.from({ length: itemCount }, () => newId('cus'))
    const hour = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000)
    await prisma.usageHour.createMany({
      data: customers.map((customerId) => ({ meterId, customerId, hour, dimensions: '', quantity: 1 })),
    })
    const query = { group_by: 'customer_id' }
    return {
      request: { id: 'listMeterUsage', server, caller: server.admin, params: { id: meterId }, query },
      ids: customers.map((id) => `${meterId}/-/${id}/{}`),
    }
  },
  async listUsers() {
    const at = new Date()
    const ids = await createMany(async () => await createUser(server))
    await prisma.user.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: at, updatedAt: at, name: 'Alike' },
    })
    // The other users of this test are more than a page.
    const request = await requestFor(server, 'listUsers')
    return { request: { ...request, query: { q: 'Alike' } }, ids }
  },
  async listOrganizations() {
    const request = await requestFor(server, 'listProjects')
    const ids = await createMany(() => createOrganization({ server, caller: request.caller, role: 'viewer' }))
    return { request: { ...request, id: 'listOrganizations' }, ids }
  },
  async listOrganizationMembers() {
    const request = await requestFor(server, 'listOrganizationMembers')
    const { id } = request.params!
    await createMany(async () => await addMemberTo(server, id, { userId: await createUser(server) }))
    const members = await prisma.organizationMember.findMany({ where: { organizationId: id } })
    return { request, ids: members.map((member) => member.id) }
  },
  async listOrganizationInvitations() {
    const request = await requestFor(server, 'listOrganizationInvitations')
    const { id } = request.params!
    const ids = await createMany((i) => addMemberTo(server, id, { email: `alike-${i}@example.org` }))
    return { request, ids }
  },
  async listCustomRoles() {
    const request = await requestFor(server, 'listCustomRoles')
    const { id } = request.params!
    await createMany(() => createCustomRole(server, id))
    const roles = await prisma.customRole.findMany({ where: { organizationId: id } })
    return { request, ids: roles.map((role) => role.id) }
  },
  async listServiceAccounts() {
    const request = await requestFor(server, 'listServiceAccounts')
    const organization_id = request.query!.organization_id as string
    await createMany(async () => (await createServiceAccount(server, { organization_id })).id)
    const accounts = await prisma.serviceAccount.findMany({ where: { organizationId: organization_id } })
    return { request, ids: accounts.map(({ id }) => id) }
  },
  async listServiceAccountKeys() {
    const request = await requestFor(server, 'listServiceAccountKeys')
    const { userId } = await prisma.serviceAccount.findUniqueOrThrow({ where: { id: request.params!.id } })
    await createMany(async () => (await createApiKey(server, userId)).id)
    const keys = await prisma.apiKey.findMany({ where: { userId } })
    return { request, ids: keys.map(({ id }) => id) }
  },
  async listProjects() {
    const request = await requestFor(server, 'listApiKeys')
    const ids = await createMany(
      async () => await createProject({ server, caller: request.caller, role: 'viewer' }),
    )
    await prisma.project.updateMany({ where: { id: { in: ids } }, data: { updatedAt: new Date() } })
    return { request: { ...request, id: 'listProjects' }, ids }
  },
  async listMembers() {
    const request = await requestFor(server, 'listMembers')
    const ids = await createMany(
      async () => await createMember(server, request.params!.id, await createUser(server), 'viewer'),
    )
    await prisma.member.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listInvitations() {
    const request = await requestFor(server, 'listInvitations')
    const ids = await createMany(
      async (i) => await createInvitation(server, request.params!.id, `guest${i}@example.com`),
    )
    await prisma.invitation.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listFiles() {
    const request = await requestFor(server, 'listFiles')
    const ids = await createMany(() =>
      createFile(server, request.caller.id, {
        projectId: request.project,
        content: 'alike',
        name: 'Alike.txt',
      }),
    )
    await prisma.file.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listFolders() {
    const request = await requestFor(server, 'listFolders')
    await prisma.folder.deleteMany({ where: { projectId: request.project } })
    const ids = await createMany((i) => newFolder(request, `alike ${i}`))
    await prisma.folder.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listStorageItems() {
    const request = await requestFor(server, 'listStorageItems')
    const folder = await newFolder(request, 'items')
    const ids: string[] = []
    for (const name of ['a', 'b', 'C']) ids.push(await newFolder(request, `items/${name}`))
    while (ids.length < itemCount)
      ids.push(
        await createFile(server, request.caller.id, {
          projectId: request.project,
          folderId: folder,
          content: 'alike',
          name: 'Alike.txt',
        }),
      )
    return { request: { ...request, query: { ...request.query, folder_id: folder } }, ids }
  },
  async listTrash() {
    const request = await requestFor(server, 'listTrash')
    const ids = await createMany(() =>
      createTrashedFile(server, request.caller.id, {
        projectId: request.project,
        content: 'alike',
        name: 'Alike.txt',
      }),
    )
    const at = new Date()
    await prisma.file.updateMany({ where: { id: { in: ids } }, data: { createdAt: at, trashedAt: at } })
    return { request, ids }
  },
  async listJobs() {
    const request = await requestFor(server, 'listJobs')
    const ids = await createMany(() => createJob(server, request.caller.id, { projectId: request.project }))
    await prisma.trackedJob.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listShares() {
    const request = await requestFor(server, 'listShares')
    const { params, caller, project: projectId = null } = request
    await prisma.folderShare.deleteMany({ where: { folderId: params!.id } })
    const ids = await createMany(() => createShare(server, params!.id, caller.id, { projectId }))
    await prisma.folderShare.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listSharedFolders() {
    const request = await requestFor(server, 'listProjects')
    const { database } = server.services
    const { email } = request.caller
    const ids = await createMany(async () => {
      const folder = await createFolder(database, server.admin.id, randomBytes(8).toString('hex'))
      return await createShare(server, folder, server.admin.id, { email })
    })
    await prisma.folderShare.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request: { ...request, id: 'listSharedFolders' }, ids }
  },
  async listFileVersions() {
    const request = await requestFor(server, 'listFileVersions')
    const { params, caller } = request
    await prisma.fileVersion.deleteMany({ where: { fileId: params!.id } })
    const ids: string[] = []
    for (let i = 0; i < itemCount; i++) ids.push(await createFileVersion(server, params!.id, caller.id))
    await prisma.fileVersion.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listFileLinks() {
    const request = await requestFor(server, 'listFileLinks')
    const at = new Date()
    const ids = await createMany(
      async () => (await createFileLink(server, request.params!.id, request.caller.id)).id,
    )
    await prisma.fileLink.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: at, expiresAt: new Date(at.getTime() + 86_400_000) },
    })
    return { request, ids }
  },
  async listAllFileLinks() {
    const request = await requestFor(server, 'listAllFileLinks')
    const file = await createFile(server, request.caller.id, { projectId: request.project })
    await prisma.fileLink.deleteMany({ where: { file: { projectId: request.project } } })
    const at = new Date()
    const ids = await createMany(async () => (await createFileLink(server, file, request.caller.id)).id)
    await prisma.fileLink.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: at, expiresAt: new Date(at.getTime() + 86_400_000) },
    })
    return { request, ids }
  },
  async listUploadLinks() {
    const request = await requestFor(server, 'listUploadLinks')
    const { project: projectId } = request
    await prisma.uploadLink.deleteMany({ where: { projectId } })
    const at = new Date()
    const ids = await createMany(
      async () => (await createUploadLink(server, request.caller.id, { projectId })).id,
    )
    await prisma.uploadLink.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: at, expiresAt: new Date(at.getTime() + 86_400_000) },
    })
    return { request, ids }
  },
  async listModels() {
    return { request: await requestFor(server, 'listModels'), ids: models }
  },
  async listSessions() {
    const request = await requestFor(server, 'listSessions')
    const ids = await createMany(() =>
      createSession(server, request.caller.id, { projectId: request.project }),
    )
    const at = new Date()
    await prisma.session.updateMany({ where: { id: { in: ids } }, data: { createdAt: at, updatedAt: at } })
    return { request, ids }
  },
  async listSessionMessages() {
    const request = await requestFor(server, 'listSessionMessages')
    const ids = await createMany((i) =>
      createMessage(server, request.params!.id, request.caller.id, {
        role: i % 2 === 0 ? 'user' : 'assistant',
      }),
    )
    await prisma.message.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listKnowledgeBases() {
    const request = await requestFor(server, 'listKnowledgeBases')
    const ids = await createMany(() =>
      createKnowledgeBase(server, request.caller.id, { projectId: request.project, name: 'Alike' }),
    )
    await prisma.knowledgeBase.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listDocuments() {
    const request = await requestFor(server, 'listDocuments')
    const ids = await createMany(() => createDocument(server, request.params!.id, { name: 'Alike' }))
    await prisma.document.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listSources() {
    const request = await requestFor(server, 'listSources')
    const ids = await createMany(() => createSource(server, request.params!.id, request.caller.id))
    await prisma.knowledgeSource.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listProducts() {
    const request = await requestFor(server, 'listProducts')
    const ids = await createMany(() => insertedProduct(server, { name: 'Alike' }))
    await prisma.product.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listCustomers() {
    await prisma.customer.updateMany({ data: { deletedAt: new Date() } })
    const ids = await createMany(() => insertedCustomer(server, { name: 'Alike' }))
    await prisma.customer.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request: await requestFor(server, 'listCustomers'), ids }
  },
  async listMeters() {
    await prisma.meter.deleteMany()
    const ids = await createMany(() => insertedMeter(server, { name: 'Alike' }))
    await prisma.meter.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request: await requestFor(server, 'listMeters'), ids }
  },
  async listFeatures() {
    await prisma.feature.deleteMany()
    const ids = await createMany(() => insertedFeature(server, { name: 'Alike' }))
    await prisma.feature.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request: await requestFor(server, 'listFeatures'), ids }
  },
  async listBudgets() {
    const request = await requestFor(server, 'listBudgets')
    const ids = await createMany(() => createBudget(server, request.caller.id))
    return { request, ids }
  },
  async listEntitlements() {
    const customer = await insertedCustomer(server)
    const ids = await createMany(
      async (i) => (await insertedOverride(server, `alike_${i}`, customer)).feature,
    )
    return { request: { ...(await requestFor(server, 'listEntitlements')), params: { id: customer } }, ids }
  },
  async listPrices() {
    const product = await insertedProduct(server)
    const ids = await createMany(() => insertedPrice(server, product))
    return { request: await requestFor(server, 'listPrices'), ids }
  },
  async listOrders() {
    const request = await requestFor(server, 'listOrders')
    const ids = await createMany(() =>
      insertedOrder(server, request.caller.id, { projectId: request.project }),
    )
    return { request, ids }
  },
  async listRefunds() {
    const request = await requestFor(server, 'listRefunds')
    const ids = await createMany(() => insertedRefund(server, request.params!.id))
    await prisma.refund.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listAllRefunds() {
    const request = await requestFor(server, 'listAllRefunds', { withoutProject: true })
    await prisma.refund.deleteMany({ where: { ownerId: request.caller.id } })
    const order = await insertedOrder(server, request.caller.id, { status: 'paid', quantity: 1000 })
    return { request, ids: await createMany(() => insertedRefund(server, order)) }
  },
  async listPaymentMethods() {
    const id = await insertedCustomer(server)
    const ids = await createMany(async () => {
      const card = toNewCard({ brand: 'Visa', renews: true, last4: String(randomInt(1000, 10_000)) })
      const { database, events } = server.services
      return await database.transaction((tx) => storeCard(tx, events, id, card))
    })
    const at = new Date()
    await prisma.paymentMethod.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: at, updatedAt: at },
    })
    return { request: { ...(await requestFor(server, 'listPaymentMethods')), params: { id } }, ids }
  },
  async listPayments() {
    const request = await requestFor(server, 'listPayments', { withoutProject: true })
    await prisma.payment.deleteMany({ where: { ownerId: request.caller.id } })
    const order = await insertedOrder(server, request.caller.id)
    return { request, ids: await createMany(() => insertedPayment(server, order)) }
  },
  async listDisputes() {
    const request = await requestFor(server, 'listDisputes', { withoutProject: true })
    await prisma.dispute.deleteMany({ where: { ownerId: request.caller.id } })
    const order = await insertedOrder(server, request.caller.id, { status: 'paid' })
    return { request, ids: await createMany(() => insertedDispute(server, order)) }
  },
  async listCheckouts() {
    const request = await requestFor(server, 'listCheckouts', { withoutProject: true })
    await prisma.checkout.deleteMany({ where: { ownerId: request.caller.id } })
    const ids = await createMany(async () =>
      insertedCheckout(server, await insertedOrder(server, request.caller.id)),
    )
    await prisma.checkout.updateMany({ where: { id: { in: ids } }, data: { expiresAt: new Date() } })
    return { request, ids }
  },
  async listSubscriptions() {
    const request = await requestFor(server, 'listSubscriptions')
    const ids = await createMany(() =>
      insertedSubscription(server, request.caller.id, { projectId: request.project }),
    )
    const at = new Date()
    await prisma.subscription.updateMany({
      where: { id: { in: ids } },
      data: { createdAt: at, periodEnd: new Date(at.getTime() + 86_400_000) },
    })
    return { request, ids }
  },
  async listWebhookEndpoints() {
    const request = await requestFor(server, 'listApiKeys')
    const ids = await createWebhookEndpoints(server, request.caller.id, itemCount)
    await prisma.webhookEndpoint.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request: { ...request, id: 'listWebhookEndpoints' }, ids }
  },
  async listWebhookDeliveries() {
    const request = await requestFor(server, 'listWebhookDeliveries')
    const ids = await createMany(
      async () => await createDelivery(server, request.caller.id, { endpointId: request.params!.id }),
    )
    await prisma.webhookDelivery.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listAllWebhookDeliveries() {
    const request = await requestFor(server, 'listAllWebhookDeliveries')
    await prisma.webhookEndpoint.deleteMany({ where: { userId: request.caller.id } })
    const endpoints = [
      await createWebhookEndpoint(server, request.caller.id),
      await createWebhookEndpoint(server, request.caller.id),
    ]
    let n = 0
    const ids = await createMany(
      async () => await createDelivery(server, request.caller.id, { endpointId: endpoints[n++ % 2] }),
    )
    await prisma.webhookDelivery.updateMany({ where: { id: { in: ids } }, data: { createdAt: new Date() } })
    return { request, ids }
  },
  async listEvents() {
    const request = await requestFor(server, 'listApiKeys')
    const ids: string[] = []
    for (let i = 0; i < itemCount; i++) ids.push(await createEvent(server, request.caller.id))
    return { request: { ...request, id: 'listEvents' }, ids }
  },
}
async function newFolder({ caller, project }: OperationRequest, path: string): Promise<string> {
  return await createFolder(server.services.database, caller.id, path, project)
}
const seeded = new Map<OperationId, ReturnType<NonNullable<(typeof seeds)[OperationId]>>>()
/** The tests of a list share its items, which they do not change. */
async function seedsOf(id: OperationId): Promise<{ request: OperationRequest; ids: string[] }> {
  if (!seeded.has(id)) seeded.set(id, seeds[id]!())
  return await seeded.get(id)!
}
const withQuery = (request: OperationRequest, query: Record<string, string>): OperationRequest => ({
  ...request,
  query: { ...request.query, ...query },
})
const linksOf = (reply: Reply): Record<string, string> =>
  Object.fromEntries(
    [...reply.headers.get('link')!.matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, url, rel]) => [rel, url]),
  )
const follow = async (url: string, { key }: Person): Promise<Reply> => {
  const { origin, pathname, search } = new URL(url)
  return await createClient(origin, key).get(pathname + search)
}

/** The body without the times of last use: the caller's own key is in the list of keys. */
const contentOf = ({ body }: Reply): unknown =>
  JSON.parse(JSON.stringify(body, (name, value) => (name === 'last_used_at' ? undefined : value)))

/** The ids of a list, page by page, each from the cursor of the page before. */
async function walk(request: OperationRequest): Promise<string[]> {
  const ids: string[] = []
  let reply = await send(request)
  for (let page = 1; ; page++) {
    t.match(reply, { status: 200, body: { pagination: { page } } })
    ids.push(...reply.body.data.map(idOf))
    const { next_cursor: cursor } = reply.body.pagination
    if (page > 1)
      t.same(
        Object.keys(linksOf(reply)),
        ['first', ...(cursor === null ? [] : ['next'])],
        'links of a cursor',
      )
    if (cursor === null) return ids
    const next = await send(withQuery(request, { cursor }))
    if (page > 1)
      t.same(contentOf(await follow(linksOf(reply).next, request.caller)), contentOf(next), 'the same page')
    reply = next
  }
}
const encoded = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString('base64url')
/** A cursor with a value of the attacker's choice as the sort value. */
const forged = (head: unknown[], values: string[], value: string): string =>
  encoded([...head, value, ...values.slice(1)])

t.test('every list has seed data in this test', async (t) => {
  const all = [...lists.map(({ id }) => id), ...cursorLists, 'listStorageItems' as const]
  t.same(
    all.filter((id) => seeds[id] === undefined),
    [],
  )
  t.same(
    // The lists of OpenAI's API have no pages of ours.
    operationIds.filter((id) => id.startsWith('list') && !id.startsWith('listOpenAi')).sort(),
    all.sort(),
    'every list has pages or a cursor',
  )
})

const invalidValues: Record<string, string[]> = {
  page: [
    '0',
    '-1',
    '1.5',
    'abc',
    '',
    '9223372036854775808',
    '1000001',
    '١',
    'NaN',
    '1,2',
    '-9223372036854775809',
    'null',
    'true',
    '1e400',
    'Infinity',
    '0x10',
    '1e1',
    ' 1 ',
    '+1',
    '01',
    '1.0',
    '-0',
  ],
  limit: [
    '0',
    '-1',
    '1.5',
    'abc',
    '',
    '101',
    '9223372036854775808',
    'NaN',
    '1 OR 1=1',
    '1e400',
    'Infinity',
    '0x10',
    '1e1',
    ' 1',
    '١',
  ],
  sort: [
    '',
    'id',
    'password',
    'created_at desc',
    "created_at'; DROP TABLE users; --",
    '__proto__',
    'constructor',
    'CREATED_AT',
    'created_at,id',
    '1',
  ],
  order: ['', 'up', 'ASC', 'desc nulls last', '1'],
  cursor: ['', 'abc', 'null', 'e30', '%00'],
  after: [
    '-1',
    '1.5',
    'abc',
    '',
    '9007199254740992',
    '9223372036854775808',
    '١',
    'NaN',
    '1,2',
    'null',
    'true',
    '1e400',
    'Infinity',
    '0x10',
    '1e1',
    ' 1 ',
    '+1',
    '01',
    '1.0',
    '-0',
  ],
}

const sentTo = new Set<string>()
/** In the short form, the first list with such a parameter gets all values, and the others the first one. */
function shortened<T>(values: T[], ...parameter: unknown[]): T[] {
  const text = JSON.stringify(parameter)
  if (!isLongForm && sentTo.has(text)) return values.slice(0, 1)
  sentTo.add(text)
  return values
}

for (const id of [...lists.map((info) => info.id), ...cursorLists, 'streamEvents' as const]) {
  t.test(`${id} rejects invalid query parameters`, async (t) => {
    const request = await requestFor(server, id)
    const assertRejected = async (query: string, field: string, constraint?: string): Promise<void> => {
      const { status, body } = await request.caller.client.get(
        `${pathOf({ ...request, query: {} })}?${query}`,
      )
      t.equal(status, 400, query)
      t.match(
        body.error?.details,
        { field, errors: [{ field, location: 'query' }], ...(constraint && { constraint }) },
        query,
      )
    }
    const declaredNames = new Set(queryOf(id).map(({ name }) => name))
    for (const [name, values] of Object.entries(invalidValues).filter(([name]) => declaredNames.has(name))) {
      const known = queryOf(id).find((parameter) => parameter.name === name)!.schema.enum ?? []
      for (const value of shortened(
        values.filter((value) => !known.includes(value)),
        name,
      ))
        await assertRejected(`${name}=${encodeURIComponent(value)}`, name)
    }
    // In the short form, only parameters that no other list has in the same way.
    const isNew = ({ name, schema }: { name: string; schema: unknown }): boolean =>
      shortened([1, 2], 'parameter', name, schema).length === 2
    const own = queryOf(id).filter(isNew)
    for (const { name } of own.filter(({ schema }) => schema.type === 'array')) {
      await assertRejected(`${name}=nothing`, name, 'enum')
      await assertRejected(`${name}=nothing&${name}=else`, name, 'enum')
      await assertRejected(`${name}=`, name, 'required')
    }
    for (const { name, schema } of own.filter(({ schema }) => schema.type !== 'array')) {
      const value = schema.enum?.[0] ?? (schema.type === 'integer' ? '1' : 'x')
      await assertRejected(
        `${name}=${value}&${name}=${value}`,
        name,
        schema.enum === undefined ? 'type' : undefined,
      )
      if (schema.enum !== undefined) await assertRejected(`${name}=nothing`, name, 'enum')
      if (schema.maxLength !== undefined)
        await assertRejected(`${name}=${'x'.repeat(schema.maxLength + 1)}`, name, 'maxLength')
    }
    for (const { name } of own.filter(
      ({ schema }) => schema.type === 'string' && schema.enum === undefined,
    )) {
      for (const text of ['%00', 'a%00b', '%ff', '%ed%a0%80', '%c0%80', ''])
        await assertRejected(`${name}=${text}`, name)
    }
    const unknown = ['surprise', 'page[]', 'Page', 'offset', '__proto__', 'constructor']
    for (const name of shortened(unknown, 'unknown'))
      await assertRejected(`${encodeURIComponent(name)}=1`, name, 'additionalProperties')
    for (const [query, name, constraint] of [
      ['limit=1000000', 'limit', 'maximum'],
      ['page=0', 'page', 'minimum'],
      ['page=abc', 'page', 'type'],
      ['sort=nothing', 'sort', 'enum'],
    ])
      if (declaredNames.has(name)) await assertRejected(query, name, constraint)
  })
}

/** The tables of the lists whose items have metadata. */
const tables: Partial<Record<OperationId, string>> = {
  listUsers: 'users',
  listIdentities: 'identities',
  listPasskeys: 'passkeys',
  listProjects: 'projects',
  listOrganizations: 'organizations',
  listServiceAccounts: 'service_accounts',
  listServiceAccountKeys: 'api_keys',
  listFiles: 'files',
  listFolders: 'folders',
  listTrash: 'files',
  listSessions: 'ai_sessions',
  listSessionMessages: 'ai_messages',
  listKnowledgeBases: 'knowledge_bases',
  listDocuments: 'documents',
  listSources: 'knowledge_sources',
  listProducts: 'products',
  listCustomers: 'customers',
  listMeters: 'meters',
  listFeatures: 'features',
  listBudgets: 'budgets',
  listOrders: 'orders',
  listRefunds: 'refunds',
  listAllRefunds: 'refunds',
  listCheckouts: 'checkouts',
  listSubscriptions: 'subscriptions',
  listApiKeys: 'api_keys',
  listMembers: 'members',
  listInvitations: 'invitations',
  listMyInvitations: 'invitations',
  listShares: 'folder_shares',
  listSharedFolders: 'folder_shares',
  listFileLinks: 'file_links',
  listAllFileLinks: 'file_links',
  listUploadLinks: 'upload_links',
  listPrices: 'prices',
  listWebhookEndpoints: 'webhook_endpoints',
}
const takes = (id: OperationId, name: string): boolean =>
  queryOf(id).some((parameter) => parameter.name === name)

// The test above names the lists without seed data.
for (const { id } of lists.filter(({ id }) => seeds[id] !== undefined)) {
  for (const time of ['created', 'updated'].filter((time) => takes(id, `${time}_after`)))
    t.test(`${id} filters by ${time}_after and ${time}_before`, async (t) => {
      const { request } = await seedsOf(id)
      const idsFor = async (query: Record<string, string>): Promise<string[]> => {
        const { status, body } = await send(withQuery(request, { limit: '100', ...query }))
        t.equal(status, 200)
        t.equal(body.pagination.total, body.data.length, 'the total counts what the filter selects')
        return body.data.map(idOf)
      }
      const all = await idsFor({})
      const hour = (n: number): string => new Date(Date.now() + n * 3_600_000).toISOString()
      t.same(await idsFor({ [`${time}_after`]: hour(-1), [`${time}_before`]: hour(1) }), all)
      t.same(await idsFor({ [`${time}_after`]: hour(1) }), [])
      t.same(await idsFor({ [`${time}_before`]: hour(-1) }), [])
      t.same(await walk(withQuery(request, { limit: '3', [`${time}_after`]: hour(-1) })), all)
    })

  if (takes(id, 'metadata'))
    t.test(`${id} filters by metadata`, async (t) => {
      if (tables[id] === undefined) return t.fail(`\`tables\` of this file has no table for ${id}`)
      const { request, ids } = await seedsOf(id)
      const [one, other] = ids
      const { pool } = server.services.database
      for (const [item, metadata] of [
        [one, { 'a.b': 'x y', n: '1', __proto__: 'own' }],
        [other, { 'a.b': 'x y', n: '2' }],
      ])
        await pool.query(`UPDATE ${tables[id]} SET metadata = $2 WHERE id = $1`, [item, metadata])
      const find = async (query: Record<string, string>): Promise<string[]> => {
        const { status, body } = await send(withQuery(request, query))
        t.equal(status, 200)
        t.equal(body.pagination.total, body.data.length)
        return body.data.map(idOf).sort()
      }
      t.same(await find({ 'metadata[a.b]': 'x y' }), [one, other].sort())
      t.same(await find({ 'metadata[a.b]': 'x y', 'metadata[n]': '1' }), [one])
      t.same(await find({ 'metadata[a.b]': 'x' }), [])
      t.same(await find({ 'metadata[A.B]': 'x y' }), [])
      t.same(await find({ 'metadata[__proto__]': 'x' }), [])
      const links = linksOf(await send(withQuery(request, { 'metadata[a.b]': 'x y', limit: '1' })))
      t.match((await follow(links.next, request.caller)).body.pagination, { page: 2, total: 2 })
      const nine = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`metadata[${n}]`, 'x']))
      for (const query of [
        nine,
        { [`metadata[${'k'.repeat(65)}]`]: 'x' },
        { 'metadata[]': 'x' },
        { 'metadata[k]': 'v'.repeat(513) },
        { 'metadata[\0]': 'x' },
        { 'metadata[k]': '\0' },
        { metadata: 'x' },
        { metadata: 'x', 'metadata[k]': 'x' },
      ] as Array<Record<string, string>>)
        t.match(await send(withQuery(request, query)), { status: 400 }, JSON.stringify(query).slice(0, 60))
    })

  t.test(`${id} returns every item once in each order, ties included`, async (t) => {
    const { request, ids } = await seedsOf(id)
    const sorts = queryOf(id).find(({ name }) => name === 'sort')!.schema.enum!
    for (const sort of sorts) {
      const orders: string[][] = []
      for (const order of ['asc', 'desc']) {
        const whole = await send(withQuery(request, { sort, order, limit: '100' }))
        t.equal(whole.status, 200)
        const all = whole.body.data.map(idOf)
        t.same(
          ids.filter((one) => !all.includes(one)),
          [],
          `${sort} ${order} returns all items`,
        )
        t.equal(whole.body.pagination.total, all.length)
        orders.push(all)
        const values = whole.body.data.map((item: any) =>
          sort === 'name' && id === 'listMembers' ? item.user.name : item[sort],
        )
        const up = order === 'asc' ? values : [...values].reverse()
        if (sort !== 'name')
          t.same(
            up,
            up.toSorted((a: string | number, b: string | number) => (a < b ? -1 : a > b ? 1 : 0)),
            `${sort} ${order} is sorted`,
          )
        // In the short form, the pages of one order up and of one down.
        const isWalked = order === 'asc' ? sort === sorts[0] : sort === sorts.at(-1)
        if (!isWalked && !isLongForm) continue
        const collectedIds: string[] = []
        for (let page = 1; page <= Math.ceil(all.length / 3); page++) {
          const { body } = await send(withQuery(request, { sort, order, limit: '3', page: String(page) }))
          const { next_cursor: cursor, ...pagination } = body.pagination
          t.same(pagination, {
            page,
            limit: 3,
            total: all.length,
            total_pages: Math.ceil(all.length / 3),
            has_more: cursor !== null,
          })
          t.equal(cursor === null, page * 3 >= all.length, 'the last page has no cursor')
          collectedIds.push(...body.data.map(idOf))
        }
        t.same(collectedIds, all, `${sort} ${order}: the pages contain each item once`)
        t.same(
          await walk(withQuery(request, { sort, order, limit: '2' })),
          all,
          `${sort} ${order}: the cursors reach each item once`,
        )
      }
      t.same(orders[1], [...orders[0]].reverse(), `${sort}: ties are broken by id in both directions`)
    }
  })

  t.test(`${id} links its pages`, async (t) => {
    const { request } = await seedsOf(id)
    const { caller } = request
    let reply = await send(withQuery(request, { limit: '2', order: 'asc' }))
    const { total, total_pages: last } = reply.body.pagination
    const collectedIds: string[] = []
    for (let page = 1; ; page++) {
      t.equal(reply.body.pagination.page, page)
      const links = linksOf(reply)
      t.same(
        Object.keys(links),
        ['first', ...(page > 1 ? ['prev'] : []), ...(page < last ? ['next'] : []), 'last'],
        `page ${page} of ${last}`,
      )
      for (const url of Object.values(links))
        t.ok(url.startsWith(`${server.url}${pathOf({ ...request, query: {} })}?`), url)
      collectedIds.push(...reply.body.data.map(idOf))
      if (page > 1) t.equal((await follow(links.prev, caller)).body.pagination.page, page - 1)
      if (page === 2) {
        t.equal((await follow(links.first, caller)).body.pagination.page, 1)
        t.equal((await follow(links.last, caller)).body.pagination.page, last)
      }
      if (links.next === undefined) break
      reply = await follow(links.next, caller)
    }
    t.equal(new Set(collectedIds).size, total, 'the next links reach every item')
    t.equal(collectedIds.length, total, 'each item comes once')
  })

  t.test(`${id} rejects a cursor that does not belong to the request`, async (t) => {
    const { request } = await seedsOf(id)
    const { next_cursor: cursor } = (await send(withQuery(request, { limit: '2', order: 'asc' }))).body
      .pagination
    const assertRejected = async (query: Record<string, string>, constraint: string): Promise<void> => {
      const { status, body } = await send(withQuery(request, query))
      t.equal(status, 400, JSON.stringify(query))
      t.match(body.error?.details, { field: 'cursor', constraint, errors: [{ location: 'query' }] })
    }
    await assertRejected({ cursor, order: 'desc' }, 'cursor')
    await assertRejected({ cursor, order: 'asc', page: '1' }, 'exclusive')
    const [version, list, page, ...values] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const contents = [
      [version, 'other', page, ...values],
      null,
      {},
      [],
      'x',
      [version + 1, list, page, ...values],
      [version, list, 0, ...values],
      [version, list, 1e9, ...values],
      [version, list, '1', ...values],
      [version, list, page],
      [version, list, page, ...values, 'x'],
      [version, list, page, ...values.map(() => null)],
      [version, list, page, ...values.map(() => ({ toString: 'x' }))],
      [version, list, page, ...values.map(() => 'a\0b')].filter(() => id !== 'listModels'),
    ]
    for (const content of shortened(contents, 'content of a cursor'))
      await assertRejected({ cursor: encoded(content), order: 'asc' }, 'cursor')
    const texts = ['x', '%', 'W10', 'bnVsbA', "' OR 1=1 --", '[1]', 'é', `${cursor}x`.slice(3)]
    for (const text of shortened(texts, 'text of a cursor'))
      await assertRejected({ cursor: text, order: 'asc' }, 'cursor')
    // Any text is a value of a text column; of other types, only some are. Nothing else is an answer.
    for (const value of [
      "'; DROP TABLE users; --",
      'infinity',
      '-1',
      '9'.repeat(400),
      '2026-99-99',
      '\ud800',
    ])
      t.ok(
        [200, 400].includes(
          (
            await send(
              withQuery(request, { cursor: forged([version, list, page], values, value), order: 'asc' }),
            )
          ).status,
        ),
        value.slice(0, 40),
      )
  })

  t.test(`${id} answers a page past the end with no items and the total`, async (t) => {
    const { request, ids } = await seedsOf(id)
    for (const page of ['500', '1000000']) {
      const reply = await send(withQuery(request, { page, limit: '3' }))
      t.equal(reply.status, 200)
      const { data, pagination } = reply.body
      t.same(data, [])
      t.ok(pagination.total >= ids.length)
      t.same(pagination, {
        page: Number(page),
        limit: 3,
        total: pagination.total,
        total_pages: Math.ceil(pagination.total / 3),
        has_more: false,
        next_cursor: null,
      })
      t.equal(
        (await follow(linksOf(reply).prev, request.caller)).body.pagination.page,
        pagination.total_pages,
        'prev points to the last page',
      )
    }
    const {
      body: { pagination },
    } = await send(request)
    t.match(pagination, { page: 1, limit: 20 }, 'the defaults')
  })
}

for (const id of cursorLists) {
  t.test(`${id} returns every item once, oldest first, by its cursor`, async (t) => {
    const { request, ids } = await seedsOf(id)
    const whole = await send(withQuery(request, { limit: '100' }))
    t.same(whole.body.data.map(idOf), ids)
    t.equal(whole.body.has_more, false)
    const collectedIds: string[] = []
    const cursors = new Set<string>()
    let cursor = 'start'
    for (let more = true; more;) {
      const { body } = await send(withQuery(request, { limit: '3', cursor }))
      collectedIds.push(...body.data.map(idOf))
      cursor = body.next_cursor
      t.notOk(cursors.has(cursor), 'each page ends at another place')
      cursors.add(cursor)
      more = body.has_more
    }
    t.same(collectedIds, ids, 'the parts contain each item once')
    t.equal(cursor, whole.body.next_cursor, 'and end at the same place as the whole')
    t.equal(
      (await send(withQuery(request, { limit: String(itemCount) }))).body.has_more,
      false,
      'has_more is false when the limit equals the number of items',
    )
    const allButOne = (await send(withQuery(request, { limit: String(itemCount - 1) }))).body
    t.equal(allButOne.has_more, true, 'one item is left')
    t.same(allButOne.pagination, { has_more: true, next_cursor: allButOne.next_cursor })
    t.same(
      (await send(withQuery(request, { cursor: allButOne.next_cursor }))).body.data,
      whole.body.data.slice(-1),
    )
    t.same(
      (await send(withQuery(request, { cursor }))).body,
      { data: [], pagination: { has_more: false, next_cursor: null }, has_more: false, next_cursor: cursor },
      'no items are left',
    )
  })
}

t.test('streamEvents rejects a malformed Last-Event-ID', async (t) => {
  const request = await requestFor(server, 'streamEvents')
  for (const value of [
    '-1',
    '1.5',
    'abc',
    '9007199254740992',
    'NaN',
    '1, 2',
    'null',
    '',
    '1e400',
    '0x10',
    '1e1',
    '+1',
    '01',
    '1.0',
    '-0',
    'Infinity',
  ]) {
    const { status, body } = await send(request, { headers: { 'last-event-id': value } })
    t.equal(status, 400, value)
    t.match(body.error?.details, { errors: [{ field: 'last-event-id', location: 'header' }] }, value)
  }
})
