// The lists of benchmark `growth`, and how their rows are made: the API creates one row, which is copied.
import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../infra/ids.ts'
import { idOf, otherSuffix, type Copies } from './population.ts'

/** Calls the API of a server, with the key of the user who owns the rows or of an admin. */
export interface Api {
  post(path: string, body?: unknown): Promise<any>
  postAsAdmin(path: string, body?: unknown): Promise<any>
  upload(name: string): Promise<{ id: string }>
  /** Pays a checkout session with a test card. */
  pay(checkoutId: string, number?: string): Promise<void>
  get(path: string): Promise<any>
  getAsAdmin(path: string): Promise<any>
  /** Adds a row of the owner that the API creates only with a browser, an identity provider or a device. */
  insert(table: string, row: Record<string, unknown>): Promise<void>
}

export interface GrowthList {
  /** The path in the spec. */
  path: string
  /** Values of filters that the example of a row does not have. */
  values?: Record<string, string>
  byAdmin?: true
  /** Creates the row. @returns what to copy, and the `{id}` of the path. */
  create(api: Api, made: Made): Promise<{ copy: Copies[]; id?: string }>
}

/** The resources that earlier lists have created. */
export interface Made {
  projectId: string
  organizationId: string
  serviceAccountId: string
  orderId: string
  sessionId: string
  endpointId: string
}

const now = new Date()
const later = new Date(now.getTime() + 30 * 86_400_000)
const pages = { success_url: 'https://shop.example/thanks', cancel_url: 'https://shop.example/cart' }

export const growthLists: Record<string, GrowthList> = {
  listApiKeys: {
    path: '/user/api-keys',
    async create(api) {
      const { id } = await api.post('/user/api-keys', { name: 'One', scopes: ['projects:read'] })
      return { copy: [{ table: 'api_keys', id }] }
    },
  },
  listUsers: {
    path: '/users',
    byAdmin: true,
    values: { q: 'Person 77' },
    async create(api) {
      const { id } = await api.postAsAdmin('/users', { email: 'person@example.com', name: 'Person 7' })
      return { copy: [{ table: 'users', id }] }
    },
  },
  listMembers: {
    path: '/projects/{id}/members',
    values: { q: 'Person 77' },
    async create(api, made) {
      made.projectId = (await api.post('/projects', { name: 'With members' })).id
      const { data } = await api.get(`/projects/${made.projectId}/members`)
      const set = { user_id: idOf('usr'), role: "'viewer'" }
      return { copy: [{ table: 'members', id: data[0].id, set }], id: made.projectId }
    },
  },
  listInvitations: {
    path: '/projects/{id}/invitations',
    async create(api, { projectId }) {
      await api.post(`/projects/${projectId}/members`, { email: 'guest@example.org', role: 'viewer' })
      const { data } = await api.get(`/projects/${projectId}/invitations`)
      return { copy: [{ table: 'invitations', id: data[0].id }], id: projectId }
    },
  },
  listMyInvitations: {
    path: '/user/invitations',
    async create(api) {
      const project = await api.postAsAdmin('/projects', { name: 'With an invitation' })
      const [owner] = (await api.getAsAdmin(`/projects/${project.id}/members`)).data
      const id = newId('inv')
      const ofAdmin = { project_id: project.id, created_by: project.owner_id }
      await api.insert('invitations', { id, email: '', role: 'viewer', expires_at: later, ...ofAdmin })
      const ofProject = { project_id: idOf('prj') }
      return {
        copy: [
          { table: 'projects', id: project.id },
          { table: 'members', id: owner.id, set: { id: idOf('mem', otherSuffix), ...ofProject } },
          { table: 'invitations', id, set: { id: idOf('inv', otherSuffix), email: "''", ...ofProject } },
        ],
      }
    },
  },
  listOrganizations: {
    path: '/organizations',
    async create(api) {
      const { id } = await api.post('/organizations', { name: 'Acme' })
      const [owner] = (await api.get(`/organizations/${id}/members`)).data
      return {
        copy: [
          { table: 'organizations', id },
          { table: 'organization_members', id: owner.id, set: { organization_id: idOf('org') } },
        ],
      }
    },
  },
  listOrganizationMembers: {
    path: '/organizations/{id}/members',
    async create(api, made) {
      made.organizationId = (await api.post('/organizations', { name: 'With members' })).id
      const [owner] = (await api.get(`/organizations/${made.organizationId}/members`)).data
      const set = { id: idOf('omb', otherSuffix), user_id: idOf('usr'), role: "'member'" }
      return { copy: [{ table: 'organization_members', id: owner.id, set }], id: made.organizationId }
    },
  },
  listCustomRoles: {
    path: '/organizations/{id}/roles',
    async create(api, { organizationId }) {
      const permissions = { projects: 'read', storage: 'write', ai: 'none', payments: 'none' }
      const { id } = await api.post(`/organizations/${organizationId}/roles`, { name: 'Shop', permissions })
      return { copy: [{ table: 'custom_roles', id }], id: organizationId }
    },
  },
  listServiceAccounts: {
    path: '/service-accounts',
    async create(api, made) {
      const robot = { name: 'Robot', organization_id: made.organizationId, role: 'member' }
      made.serviceAccountId = (await api.post('/service-accounts', robot)).id
      const set = { user_id: idOf('usr') }
      return { copy: [{ table: 'service_accounts', id: made.serviceAccountId, set }] }
    },
  },
  listServiceAccountKeys: {
    path: '/service-accounts/{id}/api-keys',
    async create(api, { serviceAccountId }) {
      const path = `/service-accounts/${serviceAccountId}/api-keys`
      const { id } = await api.post(path, { name: 'Deploy', scopes: ['projects:read'] })
      const copy = [{ table: 'api_keys', id, set: { id: idOf('key', otherSuffix) } }]
      return { copy, id: serviceAccountId }
    },
  },
  listSignIns: {
    path: '/user/sessions',
    async create(api) {
      const id = newId('ses')
      const row = { id, methods: ['password'], network: '127.0.0.1', last_used_at: now, expires_at: later }
      await api.insert('sign_ins', row)
      return { copy: [{ table: 'sign_ins', id }] }
    },
  },
  listPasskeys: {
    path: '/user/passkeys',
    async create(api) {
      const id = newId('pky')
      const device = { credential: 'device', public_key: Buffer.from('key'), counter: 0, transports: [] }
      await api.insert('passkeys', { id, name: 'Phone', ...device, synced: true })
      return { copy: [{ table: 'passkeys', id }] }
    },
  },
  listIdentities: {
    path: '/user/identities',
    async create(api) {
      const id = newId('idn')
      await api.insert('identities', { id, provider: 'example', subject: 'owner', last_used_at: now })
      return { copy: [{ table: 'identities', id }] }
    },
  },
  listRequests: {
    path: '/requests',
    async create(api) {
      const { id } = await firstOf(api, '/requests')
      return { copy: [{ table: 'api_requests', id }] }
    },
  },
  listAuditEntries: {
    path: '/audit-log',
    async create(api) {
      const { id } = await firstOf(api, '/audit-log')
      return { copy: [{ table: 'audit_entries', id, set: { sequence: 'n + 1000' } }] }
    },
  },
  listFileLinks: {
    path: '/storage/files/{id}/links',
    async create(api) {
      const file = await api.upload('shared.txt')
      const { id } = await api.post(`/storage/files/${file.id}/links`, {})
      return { copy: [{ table: 'file_links', id }], id: file.id }
    },
  },
  listFolders: {
    path: '/storage/folders',
    // A workspace has at most 10,000 folders.
    async create(api) {
      await api.post('/storage/folders', { name: 'reports' })
      return { copy: [] }
    },
  },
  listTrash: {
    path: '/storage/trash',
    // The files that the list of files has.
    create: async () => ({ copy: [] }),
  },
  listJobs: {
    path: '/jobs',
    async create(api) {
      const { id } = await api.post('/storage/trash/empty', {})
      return { copy: [{ table: 'tracked_jobs', id }] }
    },
  },
  listAllFileLinks: {
    path: '/storage/links',
    // The links of the list before.
    create: async () => ({ copy: [] }),
  },
  listUploadLinks: {
    path: '/storage/upload-links',
    async create(api) {
      const { id } = await api.post('/storage/upload-links', {})
      return { copy: [{ table: 'upload_links', id }] }
    },
  },
  listSessions: {
    path: '/ai/sessions',
    values: { q: 'Talk 77' },
    async create(api, made) {
      const { id } = await api.post('/ai/sessions', { title: 'Talk 7' })
      made.sessionId = id
      return { copy: [{ table: 'ai_sessions', id }] }
    },
  },
  listSessionMessages: {
    path: '/ai/sessions/{id}/messages',
    async create(api, { sessionId }) {
      await api.post('/ai/chat', { session_id: sessionId, message: 'Hello' })
      const { data } = await api.get(`/ai/sessions/${sessionId}/messages`)
      return { copy: [{ table: 'ai_messages', id: data[0].id, set: { position: 'n' } }], id: sessionId }
    },
  },
  listKnowledgeBases: {
    path: '/ai/knowledge',
    values: { q: 'Base 77' },
    async create(api) {
      const { id } = await api.post('/ai/knowledge', { name: 'Base 7' })
      return { copy: [{ table: 'knowledge_bases', id }] }
    },
  },
  listDocuments: {
    path: '/ai/knowledge/{id}/documents',
    values: { q: 'Page 77' },
    async create(api) {
      const base = await api.post('/ai/knowledge', { name: 'Documents' })
      const path = `/ai/knowledge/${base.id}/documents`
      const { id } = await api.post(path, { name: 'Page 7', text: 'A short text.' })
      return { copy: [{ table: 'documents', id }], id: base.id }
    },
  },
  listProducts: {
    path: '/payments/products',
    values: { q: 'Tea 77' },
    async create(api) {
      const { id } = await api.postAsAdmin('/payments/products', { name: 'Tea 7' })
      return { copy: [{ table: 'products', id }] }
    },
  },
  listPrices: {
    path: '/payments/prices',
    async create(api) {
      const { id } = await newPrice(api)
      return { copy: [{ table: 'prices', id }] }
    },
  },
  listOrders: {
    path: '/payments/orders',
    byAdmin: true,
    async create(api, made) {
      const checkout = await paidCheckout(api, await newPrice(api))
      made.orderId = checkout.order_id
      return { copy: [{ table: 'orders', id: made.orderId }] }
    },
  },
  listCheckouts: {
    path: '/payments/checkout',
    byAdmin: true,
    async create(api) {
      const { id } = await paidCheckout(api, await newPrice(api))
      return { copy: [{ table: 'checkouts', id }] }
    },
  },
  listRefunds: {
    path: '/payments/orders/{id}/refunds',
    async create(api, { orderId }) {
      const { id } = await api.postAsAdmin(`/payments/orders/${orderId}/refunds`, { amount: 100 })
      return { copy: [{ table: 'refunds', id }], id: orderId }
    },
  },
  listAllRefunds: {
    path: '/payments/refunds',
    byAdmin: true,
    // The refunds of the list before.
    create: async () => ({ copy: [] }),
  },
  listPayments: {
    path: '/payments/payments',
    byAdmin: true,
    async create(api) {
      await paidCheckout(api, await newPrice(api))
      const { data } = await api.get('/payments/payments')
      // An order has one payment that succeeded.
      return { copy: [{ table: 'payments', id: data[0].id, set: { status: "'failed'" } }] }
    },
  },
  listDisputes: {
    path: '/payments/disputes',
    byAdmin: true,
    async create(api) {
      await paidCheckout(api, await newPrice(api), {}, '4000000000000259')
      const { data } = await api.get('/payments/disputes')
      return { copy: [{ table: 'disputes', id: data[0].id }] }
    },
  },
  listSubscriptions: {
    path: '/payments/subscriptions',
    byAdmin: true,
    async create(api) {
      const price = await newPrice(api, { interval: 'month', interval_count: 1 })
      await paidCheckout(api, price, { mode: 'subscription' })
      const { data } = await api.get('/payments/subscriptions')
      return { copy: [{ table: 'subscriptions', id: data[0].id }] }
    },
  },
  listWebhookDeliveries: {
    path: '/webhooks/endpoints/{id}/deliveries',
    async create(api, made) {
      const body = { url: 'https://hooks.example/x', event_types: ['project.created'] }
      made.endpointId = (await api.post('/webhooks/endpoints', body)).id
      await api.post(`/webhooks/endpoints/${made.endpointId}/test`)
      const { data } = await api.get(`/webhooks/endpoints/${made.endpointId}/deliveries`)
      return { copy: [{ table: 'webhook_deliveries', id: data[0].id }], id: made.endpointId }
    },
  },
  listAllWebhookDeliveries: {
    path: '/webhooks/deliveries',
    // The deliveries of the list before.
    create: async () => ({ copy: [] }),
  },
  // The last: each event would be delivered to all of these endpoints.
  listWebhookEndpoints: {
    path: '/webhooks/endpoints',
    create: async (_, { endpointId }) => ({
      copy: [{ table: 'webhook_endpoints', id: endpointId, set: { enabled: 'false' } }],
    }),
  },
}

/** The first row of a list that is written a moment after the request. */
async function firstOf(api: Api, path: string): Promise<{ id: string }> {
  for (;;) {
    const { data } = await api.get(path)
    if (data.length > 0) return data[0]
    await sleep(50)
  }
}

async function newPrice(api: Api, recurring?: object): Promise<{ id: string }> {
  const product = await api.postAsAdmin('/payments/products', { name: 'Coffee' })
  const price = { product_id: product.id, currency: 'eur', unit_amount: 1_000, recurring }
  return await api.postAsAdmin('/payments/prices', price)
}

async function paidCheckout(
  api: Api,
  price: { id: string },
  mode: object = {},
  number?: string,
): Promise<{ id: string; order_id: string }> {
  const items = [{ price_id: price.id, quantity: 1 }]
  const checkout = await api.post('/payments/checkout', { items, ...mode, ...pages })
  await api.pay(checkout.id, number)
  return checkout
}
