// Every write emits its events in its own transaction: the type, the payload, the recipients, and which
// fields are omitted. A request that fails, is repeated or changes nothing emits no event. `npm run faults`
// rolls back each write, `npm test` one of each tag and method, with and without an Idempotency-Key.
import t from 'tap'
import { eventTypes, type EventType } from '../../generated/events.ts'
import { operations, type OperationId } from '../../generated/operations.ts'
import type { Operations, HandlerServices } from '../../services/handler.ts'
import { replies } from '../../infra/validation/replies.ts'
import { handlers } from '../../generated/routes.ts'
import type { Once } from '../../infra/contract/replay.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { toProfile } from '../../services/users/users.ts'
import {
  requestFor,
  sharedDataOf,
  fixtures,
  withUnknownIds,
  operationIds,
  unrelatedScope,
  secured,
  send,
  successStatus,
} from '../support/operations/operation-fixtures.ts'
import type { Fixture, OperationRequest } from '../support/operations/operation-fixture.ts'
import {
  catalogFor,
  insertedOrder,
  insertedSubscription,
  pages,
} from '../support/database/db-fixtures-payments.ts'
import { isLongForm } from '../support/long-form.ts'
import { recordChanges, whenDelivered } from '../support/server/changes.ts'
import { createApiKey, createMember, createProject, createUser } from '../support/database/db-fixtures.ts'
import { startServer, type Person, type TestServer } from '../support/server/server.ts'

const server = await startServer(t)
const { prisma } = server.services.database
const changes = await recordChanges(t, server)

const eventTypeOf: Partial<Record<OperationId, EventType>> = {
  endSignIn: 'sign_in.ended',
  changePassword: 'password.changed',
  removeTotp: 'totp.removed',
  confirmTotp: 'totp.enabled',
  confirmEmailChange: 'profile.updated',
  addPasskey: 'passkey.added',
  updatePasskey: 'passkey.updated',
  removePasskey: 'passkey.removed',
  removeIdentity: 'identity.removed',
  updateProfile: 'profile.updated',
  updateSettings: 'settings.updated',
  createApiKey: 'api_key.created',
  updateApiKey: 'api_key.updated',
  revokeApiKey: 'api_key.revoked',
  rotateApiKey: 'api_key.rotated',
  createUser: 'user.created',
  updateUser: 'user.updated',
  deleteUser: 'user.deleted',
  exportAccount: 'account_export.created',
  createOrganization: 'organization.created',
  updateOrganization: 'organization.updated',
  deleteOrganization: 'organization.deleted',
  addOrganizationMember: 'organization_member.added',
  updateOrganizationMember: 'organization_member.updated',
  removeOrganizationMember: 'organization_member.removed',
  acceptOrganizationInvitation: 'organization_member.added',
  revokeOrganizationInvitation: 'organization_invitation.removed',
  resendOrganizationInvitation: 'organization_invitation.resent',
  acceptInvitationToOrganization: 'organization_member.added',
  declineOrganizationInvitation: 'organization_invitation.removed',
  createCustomRole: 'custom_role.created',
  updateCustomRole: 'custom_role.updated',
  deleteCustomRole: 'custom_role.deleted',
  createServiceAccount: 'service_account.created',
  updateServiceAccount: 'service_account.updated',
  deleteServiceAccount: 'service_account.deleted',
  createServiceAccountKey: 'service_account.key_created',
  revokeServiceAccountKey: 'service_account.key_revoked',
  transferProject: 'project.transferred',
  createProject: 'project.created',
  updateProject: 'project.updated',
  deleteProject: 'project.deleted',
  restoreProject: 'project.restored',
  archiveProject: 'project.archived',
  unarchiveProject: 'project.unarchived',
  addMember: 'member.added',
  updateMember: 'member.updated',
  removeMember: 'member.removed',
  revokeInvitation: 'invitation.revoked',
  resendInvitation: 'invitation.resent',
  acceptInvitation: 'member.added',
  declineInvitation: 'invitation.declined',
  createWebhookEndpoint: 'webhook_endpoint.created',
  updateWebhookEndpoint: 'webhook_endpoint.updated',
  deleteWebhookEndpoint: 'webhook_endpoint.deleted',
  rotateWebhookSecret: 'webhook_endpoint.secret_rotated',
  testWebhookEndpoint: 'webhook_endpoint.tested',
  recoverWebhookEndpoint: 'webhook_endpoint.recovered',
  redeliverWebhookDelivery: 'webhook_delivery.redelivered',
  uploadAvatar: 'avatar.updated',
  deleteAvatar: 'avatar.deleted',
  uploadFile: 'file.created',
  createOpenAiFile: 'file.created',
  deleteOpenAiFile: 'file.deleted',
  updateFile: 'file.updated',
  replaceFileContent: 'file.updated',
  restoreFileVersion: 'file.updated',
  batchFiles: 'file.updated',
  copyFile: 'file.created',
  moveFile: 'file.updated',
  deleteFile: 'file.trashed',
  createFolder: 'folder.created',
  updateFolder: 'folder.updated',
  deleteFolder: 'folder.deleted',
  restoreFile: 'file.restored',
  deleteTrashedFile: 'file.deleted',
  emptyTrash: 'job.created',
  cancelJob: 'job.canceled',
  createShare: 'share.created',
  deleteShare: 'share.deleted',
  leaveSharedFolder: 'share.deleted',
  createFileLink: 'file_link.created',
  revokeFileLink: 'file_link.revoked',
  createUploadLink: 'upload_link.created',
  revokeUploadLink: 'upload_link.revoked',
  createUpload: 'upload.created',
  appendUpload: 'file.created',
  completeUpload: 'file.created',
  deleteUpload: 'upload.deleted',
  createChat: 'chat.completed',
  createChatCompletion: 'chat.completed',
  createResponse: 'chat.completed',
  streamChat: 'chat.completed',
  createSession: 'session.created',
  updateSession: 'session.updated',
  deleteSession: 'session.deleted',
  updateMessage: 'message.updated',
  cancelMessage: 'chat.canceled',
  regenerateMessage: 'chat.completed',
  sendToolResults: 'chat.completed',
  createKnowledgeBase: 'knowledge_base.created',
  updateKnowledgeBase: 'knowledge_base.updated',
  deleteKnowledgeBase: 'knowledge_base.deleted',
  createDocument: 'document.created',
  createDocuments: 'document.created',
  updateDocument: 'document.updated',
  createSource: 'knowledge_source.created',
  deleteSource: 'knowledge_source.deleted',
  deleteDocument: 'document.deleted',
  retryDocument: 'document.updated',
  createProduct: 'product.created',
  updateProduct: 'product.updated',
  createPrice: 'price.created',
  updatePrice: 'price.updated',
  createCustomer: 'customer.created',
  updateCustomer: 'customer.updated',
  deleteCustomer: 'customer.deleted',
  upsertCustomer: 'customer.updated',
  createBudget: 'budget.created',
  updateBudget: 'budget.updated',
  deleteBudget: 'budget.deleted',
  createFeature: 'feature.created',
  updateFeature: 'feature.updated',
  createMeter: 'meter.created',
  updateMeter: 'meter.updated',
  deletePaymentMethod: 'payment_method.deleted',
  setDefaultPaymentMethod: 'payment_method.updated',
  createPortalSession: 'portal_session.created',
  createOrder: 'order.created',
  cancelOrder: 'order.canceled',
  createRefund: 'refund.created',
  createCheckout: 'checkout.created',
  expireCheckout: 'checkout.expired',
  createSubscription: 'subscription.created',
  updateSubscription: 'subscription.updated',
  pauseSubscription: 'subscription.updated',
  unpauseSubscription: 'subscription.updated',
  cancelScheduledChange: 'subscription.updated',
  cancelSubscription: 'subscription.updated',
  resumeSubscription: 'subscription.updated',
}
/** The additional events of a write, emitted after the main event. */
const further: Partial<Record<OperationId, EventType[]>> = {
  createRefund: ['order.refunded'],
  deleteFolder: ['job.created'],
  acceptInvitation: ['invitation.accepted'],
  acceptOrganizationInvitation: ['organization_invitation.accepted'],
  acceptInvitationToOrganization: ['organization_invitation.accepted'],
  createSubscription: ['order.created'],
  pauseSubscription: ['subscription.paused'],
  unpauseSubscription: ['subscription.resumed'],
  resumeSubscription: ['subscription.resumed'],
  // An event for each owner.
  deleteOrganization: ['organization.deleted'],
  createServiceAccount: ['organization_member.added'],
  deleteServiceAccount: ['organization_member.removed'],
}
/** Operations whose change is not complete: an e-mail, a code or a worker completes it, with an event. */
const unconfirmed: OperationId[] = ['requestEmailChange', 'startTotp', 'startPasskey', 'syncSource']
/**
 * End the session that this test would read with. `endSignIn` and `deleteUser` leave the same events.
 */
const ending: OperationId[] = ['signOut', 'deleteCurrentUser']
/** POST operations that only read. */
const questions: OperationId[] = [
  'searchKnowledgeBase',
  'searchKnowledgeBases',
  'searchVectorStore',
  'createEmbeddings',
  'explainAccess',
  'introspectToken',
  'previewSubscription',
  'signUploadParts',
]
/** Operations whose answer has a result for each resource: another's resource does not reject the request. */
const withResults: OperationId[] = ['batchFiles']
/** Usage is too frequent for events. */
const frequent: OperationId[] = ['recordUsage', 'voidUsage']
/** A version is no part of the file that events are about. */
const versions: OperationId[] = ['deleteFileVersion']
/** Snapshots of what their maker reads anyway. */
const snapshots: OperationId[] = ['createArchive']
/** Operations that change what entitlements are computed from. Entitlements have no events. */
const entitling: OperationId[] = ['setProductFeatures', 'setEntitlement', 'deleteEntitlement']
/** Operations that move the test clock: the changes that become due emit the events. */
const moving: OperationId[] = ['advanceTestClock']
/**
 * Operations that finish an answer in a separate transaction, which emits the event even if the request
 * fails.
 */
const apart: OperationId[] = [
  'createChat',
  'createChatCompletion',
  'createResponse',
  'streamChat',
  'regenerateMessage',
  'sendToolResults',
]
/** Operations whose response is another object than their event's object, and how to read that object. */
const otherAnswers: Partial<Record<OperationId, (object: { id: string }) => string | null>> = {
  testWebhookEndpoint: () => null,
  // The response has the job.
  deleteFolder: () => null,
  // The event has the service account, and the response the key.
  createServiceAccountKey: () => null,
  confirmTotp: () => '/user/totp',
  batchFiles: ({ id }) => `/storage/files/${id}`,
  deleteOpenAiFile: () => null,
  createOpenAiFile: ({ id }) => `/storage/files/${id}`,
  completeUpload: ({ id }) => `/storage/files/${id}`,
  createDocuments: ({ id }) => `/ai/documents/${id}`,
  createChat: ({ id }) => `/ai/messages/${id}`,
  createChatCompletion: ({ id }) => `/ai/messages/${id}`,
  createResponse: ({ id }) => `/ai/messages/${id}`,
  streamChat: ({ id }) => `/ai/messages/${id}`,
  regenerateMessage: ({ id }) => `/ai/messages/${id}`,
  sendToolResults: ({ id }) => `/ai/messages/${id}`,
}
const writes = secured.filter(
  ({ id, method }) =>
    method !== 'GET' &&
    ![
      ...questions,
      ...frequent,
      ...snapshots,
      ...versions,
      ...entitling,
      ...moving,
      ...unconfirmed,
      ...ending,
    ].includes(id),
)
/** The writes that are rolled back, after which the code is the same for all: the transaction's. */
const rolledBack = writes.filter(
  ({ id, tag, method, idempotent }) =>
    isLongForm ||
    id ===
      writes.find((one) => one.tag === tag && one.method === method && one.idempotent === idempotent)!.id,
)
/** How to read the object of a write that takes no If-Match. */
const reads: Partial<Record<OperationId, OperationId>> = {
  rotateApiKey: 'getApiKey',
  changePassword: 'getProfile',
  confirmEmailChange: 'getProfile',
  confirmTotp: 'getTotp',
  transferProject: 'getProject',
  archiveProject: 'getProject',
  unarchiveProject: 'getProject',
  declineInvitation: 'getInvitation',
  resendInvitation: 'getInvitation',
  resendOrganizationInvitation: 'getOrganizationInvitation',
  rotateWebhookSecret: 'getWebhookEndpoint',
  testWebhookEndpoint: 'getWebhookEndpoint',
  uploadAvatar: 'getAvatar',
  batchFiles: 'getFile',
  moveFile: 'getFile',
  restoreFileVersion: 'getFile',
  deleteOpenAiFile: 'getFile',
  restoreFile: 'getTrashedFile',
  cancelJob: 'getJob',
  retryDocument: 'getDocument',
  cancelOrder: 'getOrder',
  expireCheckout: 'getCheckout',
  pauseSubscription: 'getSubscription',
  unpauseSubscription: 'getSubscription',
  cancelScheduledChange: 'getSubscription',
  setDefaultPaymentMethod: 'getPaymentMethod',
  cancelSubscription: 'getSubscription',
  resumeSubscription: 'getSubscription',
}

/** The types that no entry of this file emits. */
const testedElsewhere: EventType[] = [
  'sign_in.created',
  'identity.linked',
  'account_export.ready',
  'account_export.failed',
  'limit.reached',
  'audit.recorded',
  'organization_invitation.created',
  'organization_invitation.updated',
  'invitation.created',
  'folder.restored',
  'job.progressed',
  'job.succeeded',
  'job.failed',
  'chat.failed',
  'document.processing',
  'document.ready',
  'document.failed',
  'knowledge_source.synced',
  'knowledge_source.failed',
  'budget.threshold_reached',
  'refund.updated',
  'dispute.updated',
  'dispute.closed',
  'subscription.renewed',
  'subscription.past_due',
  'subscription.trial_will_end',
  'webhook_endpoint.disabled',
]

/** Requests that change several objects emit an event for each, in this order. */
const severalThings: Array<{
  what: string
  make: (caller: Person) => Promise<Pick<OperationRequest, 'id' | 'params' | 'body'>>
  types: EventType[]
}> = [
  {
    what: 'a checkout session with items',
    make: async () => await sessionOf('payment'),
    types: ['order.created', 'checkout.created'],
  },
  {
    what: 'a checkout session that starts a subscription',
    make: async () => await sessionOf('subscription'),
    types: ['subscription.created', 'order.created', 'checkout.created'],
  },
  {
    what: 'an order canceled during its payment',
    make: async (caller) => ({
      id: 'cancelOrder',
      params: { id: (await begun(caller, 'payment')).order_id },
    }),
    types: ['order.canceled', 'checkout.expired'],
  },
  {
    what: 'a checkout session that expires with its order',
    make: async (caller) => ({ id: 'expireCheckout', params: { id: (await begun(caller, 'payment')).id } }),
    types: ['checkout.expired', 'order.canceled'],
  },
  {
    what: 'a checkout session that expires with its subscription',
    make: async (caller) => ({
      id: 'expireCheckout',
      params: { id: (await begun(caller, 'subscription')).id },
    }),
    types: ['checkout.expired', 'subscription.canceled', 'order.canceled'],
  },
  {
    what: 'a subscription canceled before its first payment',
    make: async (caller) => ({
      id: 'cancelSubscription',
      params: { id: (await begun(caller, 'subscription')).subscription_id },
    }),
    types: ['subscription.canceled', 'order.canceled', 'checkout.expired'],
  },
  {
    what: 'a subscription canceled immediately',
    make: async (caller) => ({
      id: 'cancelSubscription',
      params: { id: await insertedSubscription(server, caller.id) },
      body: { at_period_end: false },
    }),
    types: ['subscription.canceled'],
  },
  {
    what: 'a card that is declined',
    make: async (caller) => cardOn(await begun(caller, 'payment'), '4000000000000002'),
    types: ['order.payment_failed'],
  },
  {
    what: 'a card that pays an order',
    make: async (caller) => cardOn(await begun(caller, 'payment'), '4242424242424242'),
    types: ['order.paid', 'checkout.completed'],
  },
  {
    what: 'a card whose payment is disputed',
    make: async (caller) => cardOn(await begun(caller, 'payment'), '4000000000000259'),
    types: ['order.paid', 'checkout.completed', 'dispute.created'],
  },
  {
    what: 'a card that pays a subscription',
    make: async (caller) => cardOn(await begun(caller, 'subscription'), '4242424242424242'),
    types: ['order.paid', 'checkout.completed', 'subscription.updated', 'payment_method.created'],
  },
  {
    what: 'a payment that is confirmed',
    make: async (caller) => await requestFor(server, 'confirmPayment', { caller }),
    types: ['order.paid', 'checkout.completed'],
  },
]

async function sessionOf(mode: 'payment' | 'subscription'): Promise<Pick<OperationRequest, 'id' | 'body'>> {
  const { price, monthly } = await catalogFor(server)
  return {
    id: 'createCheckout',
    body: { mode, items: [{ price_id: mode === 'payment' ? price : monthly }], ...pages },
  }
}

async function begun(
  caller: Person,
  mode: 'payment' | 'subscription',
): Promise<{ id: string; order_id: string; subscription_id: string }> {
  return (await send({ ...(await sessionOf(mode)), server, caller })).body
}

function cardOn({ id }: { id: string }, number: string): Pick<OperationRequest, 'id' | 'params' | 'body'> {
  return {
    id: 'payCheckout',
    params: { id },
    body: { number, expiry: '12 / 34', cvc: '123', name: 'Ada Lovelace' },
  }
}

const lastPosition = async () =>
  (await prisma.event.aggregate({ _max: { position: true } }))._max.position ?? 0n
const writtenSince = async (position: bigint) =>
  await prisma.event.findMany({ where: { position: { gt: position } }, orderBy: { position: 'asc' } })
const only = (entity: Record<string, unknown>, { ...like }: object) =>
  Object.fromEntries(Object.entries(entity).filter(([name]) => name in like))

/** An endpoint that receives all events that the person can read. */
async function listen({ client }: Person): Promise<string> {
  return (await client.post('/webhooks/endpoints', { url: 'http://127.0.0.1:9/all', event_types: ['*'] }))
    .body.id
}
const adminsEndpoint = await listen(server.admin)
/** The endpoints that select all events. */
const listening = async () =>
  (
    await prisma.webhookEndpoint.findMany({
      where: { eventTypes: { has: '*' }, enabled: true, deletedAt: null },
    })
  ).map(({ id }) => id)
const secrets: string[] = []

t.test('every write operation has an event type in this test', async (t) => {
  t.same(
    writes.filter(({ id }) => eventTypeOf[id] === undefined).map(({ id }) => id),
    [],
  )
  t.same(
    Object.keys(eventTypeOf).filter((id) => !writes.some((info) => info.id === id)),
    [],
    'and no other operation has one',
  )
  const here = [
    ...Object.values(eventTypeOf),
    ...Object.values(further).flat(),
    ...severalThings.flatMap(({ types }) => types),
  ]
  const others = Object.keys(eventTypes).filter((type) => !here.includes(type as EventType))
  t.same(others, testedElsewhere, 'all other types have their own test')
})

for (const info of writes) {
  const { id, idempotent } = info
  const type = eventTypeOf[id]!
  t.test(`${id} leaves one ${[type, ...(further[id] ?? [])].join(' and one ')}`, async (t) => {
    const ask = await requestFor(server, id)
    const { caller } = ask
    const endpoint = caller === server.admin ? adminsEndpoint : await listen(caller)
    const get = (reads[id] ?? info.ifMatch ?? undefined) as OperationId | undefined
    const before = get === undefined ? null : (await send({ ...ask, id: get, body: undefined })).body
    const position = await lastPosition()
    const keyed: Record<string, string> = idempotent ? { 'idempotency-key': 'once' } : {}
    const reply = await send(ask, { headers: { 'x-request-id': `writes ${id}`, ...keyed } })
    t.equal(reply.status, successStatus(id), reply.text)
    const hasUrl = id === 'createFileLink' || id === 'createUploadLink'
    const token = hasUrl ? reply.body.url.split('/').at(-1) : undefined
    // The key of a meter is a name.
    const key = info.path.startsWith('/v1/payments/') ? undefined : reply.body?.key
    for (const secret of [key, reply.body?.api_key?.key, reply.body?.secret, token])
      if (secret !== undefined) secrets.push(secret)

    const rows = await writtenSince(position)
    t.same(
      rows.map((row) => row.type),
      [type, ...(further[id] ?? [])],
      'one event of each type',
    )
    const [row] = rows
    const { audience, project, organization, payload } = eventTypes[type]
    const { object: about } = row.data as {
      object: { id: string; customer_id?: string } & Record<string, string | null | undefined>
    }
    const named = project === 'id' ? about.id : (ask.project ?? ask.params?.id)
    // An answer without a session belongs to its user, though the request names a project to search. So does
    // a copy outside of projects of a file in one.
    const isOwn = ['createChatCompletion', 'createResponse', 'copyFile'].includes(id)
    // The caller leaves a folder of the admin.
    const ownerId = id === 'leaveSharedFolder' ? server.admin.id : caller.id
    const organizationId = organization === null ? null : (about[organization] ?? null)
    const projectId =
      project === null || organizationId !== null || isOwn || ownerId !== caller.id ? null : named
    t.match(row, {
      requestId: /^req_/,
      clientRequestId: `writes ${id}`,
      projectId: projectId ?? organizationId,
      // Sellers read the events of a customer, a meter or a feature as those of a sale.
      userId: /^(customer|meter|feature)\./.test(type)
        ? about.id
        : /^(payment_method|portal_session)\./.test(type)
          ? about.customer_id
          : audience === 'user' || isOwn || ownerId !== caller.id
            ? ownerId
            : null,
    })

    // A member who leaves a project, or never joins it, cannot read its events.
    const isOutside = [
      'removeMember',
      'removeOrganizationMember',
      'declineInvitation',
      'declineOrganizationInvitation',
      'leaveSharedFolder',
    ].includes(id)
    const reader = isOutside ? server.admin : caller
    const event = (await reader.client.get(`/events/${row.id}`)).body
    const validate = replies[payload]
    t.ok(validate(event), `its payload matches the spec: ${JSON.stringify(validate.errors)}`)
    t.match(event, {
      id: row.id,
      type,
      request_id: row.requestId,
      client_request_id: `writes ${id}`,
      project_id: projectId,
      organization_id: organizationId,
    })
    const system = { type: 'system', id: null, name: null, user_id: null }
    t.match(
      event.actor,
      info.scopes === null
        ? system
        : info.needsSession === true
          ? { type: 'session', id: /^ses_/, name: null, user_id: caller.id }
          : { type: 'api_key', id: /^key_/, name: String, user_id: caller.id },
      'its actor is the API key or the session of the request',
    )

    const { object, previous_attributes: previous } = event.data
    // The event of a deleted user contains only the id, and a deleted project cannot be read.
    if (id === 'restoreProject')
      t.match(
        [object.deleted_at, previous],
        [null, { status: 'deleted', version: object.version - 1, deleted_at: /^\d{4}-/ }],
      )
    else if (before === null)
      t.same(previous, {}, `${id} changes no object: if it does, name in \`reads\` how to read that`)
    else if (id !== 'deleteUser' && id !== 'revokeServiceAccountKey')
      t.same(
        { ...object, ...previous },
        only(before, object),
        'with the previous attributes it equals the object before',
      )
    for (const [name, value] of Object.entries(previous))
      t.notSame(object[name], value, `${name} was another`)
    const place = otherAnswers[id]?.(object)
    const now =
      place === undefined ? reply.body : place === null ? undefined : (await caller.client.get(place)).body
    if (now !== undefined) t.same(object, only(now, object), 'the event contains the object of the response')
    if (typeof place === 'string' && object.id !== undefined)
      t.ok(reply.text.includes(object.id), 'the event is about the object of the response')

    await whenDelivered(server.services.database.pool)
    for (const row of rows) {
      const place = { projectId: projectId ?? organizationId }
      t.match(row, { clientRequestId: `writes ${id}`, ...place }, row.type)
      const deliveries = await prisma.webhookDelivery.findMany({ where: { eventId: row.id } })
      const listeners = [
        { person: caller, endpoint },
        ...(caller === server.admin ? [] : [{ person: server.admin, endpoint: adminsEndpoint }]),
      ]
      const readers: string[] = audience === 'everyone' ? await listening() : []
      if (audience !== 'everyone')
        for (const { person, endpoint } of listeners)
          if ((await person.client.get(`/events/${row.id}`)).status === 200) readers.push(endpoint)
      t.same(
        deliveries.map((delivery) => delivery.endpointId).sort(),
        id === 'testWebhookEndpoint' ? [ask.params!.id] : readers.sort(),
        'every user who can read it receives it',
      )
      for (const delivery of deliveries) t.equal(await jobsFor(delivery.id), 1, 'each delivery has a job')
    }

    if (!idempotent) return
    const after = await changes()
    const again = await send(ask, { headers: { 'x-request-id': `writes ${id} again`, ...keyed } })
    t.equal(again.headers.get('idempotent-replayed'), 'true')
    t.same(await changes(), after, 'a repeated request adds no event, delivery or job')
  })

  t.test(`${id} emits no event when it is rejected`, async (t) => {
    const stranger = await server.person()
    const { secret } = await createApiKey(server, stranger.id, { scopes: [unrelatedScope(id)] })
    const { byStatus: others }: Fixture = fixtures[id]
    const ask = await requestFor(server, id)
    if (ask.caller !== server.admin) await listen(ask.caller)
    // An invitation is not visible to other users, and a customer, a meter or a feature only to its seller.
    const isHidden =
      (info.projectAccess ?? info.organizationAccess)?.role === 'none' ||
      /^\/v1\/(payments\/(customers|meters|features|budgets)|storage\/shared)\/\{id\}/.test(info.path)
    const refusals: Array<[number, OperationRequest, Parameters<typeof send>[1]]> = [
      [400, { ...ask, query: { surprise: '1' } }, {}],
      [
        isHidden ? 404 : 403,
        ask,
        {
          key:
            (info.path.includes('{') && !info.scopes!.includes('admin')) ||
            (ask.project !== undefined && !withResults.includes(id))
              ? stranger.key
              : secret,
        },
      ],
    ]
    if (ask.params !== undefined && ![...withResults, 'upsertCustomer'].includes(id))
      refusals.push([404, withUnknownIds(ask), {}])
    if (info.ifMatch !== null) refusals.push([412, ask, { headers: { 'if-match': '"stale"' } }])
    for (const status of Object.keys(others ?? {})
      .map(Number)
      // An upload with other bytes than declared is deleted.
      .filter((status) => status >= 400 && status !== 408 && !(id === 'completeUpload' && status === 460)))
      refusals.push([status, await requestFor(server, id, { forStatus: status }), {}])
    const before = await changes()
    for (const [status, refused, init] of refusals) t.equal((await send(refused, init)).status, status)
    t.same(await changes(), before, 'and adds no delivery or job')
  })
}

t.test('a read emits no event', async (t) => {
  // The tokens of embeddings are counted.
  for (const id of questions.filter((id) => id !== 'createEmbeddings')) {
    const ask = await requestFor(server, id)
    const before = await changes()
    t.equal((await send(ask)).status, successStatus(id), id)
    t.same(await changes(), before, id)
  }
})

for (const { what, make, types } of severalThings) {
  t.test(`${what} leaves ${types.length === 0 ? 'no event' : types.join(', ')}`, async (t) => {
    const caller = await server.person()
    // So that the sale makes no customer.
    await insertedOrder(server, caller.id)
    const endpointId = await listen(caller)
    const undo = { ...(await make(caller)), server: await undoingServer(), caller }
    const before = await changes()
    t.equal((await send(undo)).status, 500)
    t.same(await changes(), before, 'a rolled back write emits no event')
    const ask = { ...(await make(caller)), server, caller }
    const position = await lastPosition()
    const headers: Record<string, string> = {
      'x-request-id': what,
      ...((operations[ask.id] as OperationInfo).idempotent && { 'idempotency-key': 'once' }),
    }
    const reply = await send(ask, { headers })
    t.equal(reply.status, successStatus(ask.id), reply.text)
    const rows = await writtenSince(position)
    t.same(
      rows.map(({ type }) => type),
      types,
    )
    t.ok(
      rows.every(({ clientRequestId }) => clientRequestId === what),
      'with the request id',
    )
    // Sellers read what is stored of a customer.
    const theirs = rows.filter(({ type }) => !type.startsWith('payment_method.'))
    t.ok(
      theirs.every(({ userId }) => userId === caller.id),
      'in the workspace of the customer',
    )
    await whenDelivered(server.services.database.pool)
    t.equal(
      await prisma.webhookDelivery.count({
        where: { eventId: { in: rows.map(({ id }) => id) }, endpointId },
      }),
      theirs.length,
      "the customer's endpoint receives each",
    )
    const after = await changes()
    await send(ask, { headers })
    // A declined card can be tried again.
    if (types[0] === 'order.payment_failed') return
    t.equal((await writtenSince(position)).length, types.length, 'a repeated request emits no event')
    t.same(await changes(), after, 'and has no effect')
  })
}

t.test('an invited email address emits invitation.created', async (t) => {
  const ask = await requestFor(server, 'addMember', { forStatus: 202 })
  const position = await lastPosition()
  const { status, body } = await send(ask)
  t.equal(status, 202)
  const rows = await writtenSince(position)
  t.same(
    rows.map(({ type, projectId, role }) => ({ type, projectId, role })),
    [{ type: 'invitation.created', projectId: ask.params!.id, role: 'admin' }],
  )
  t.same((await ask.caller.client.get(`/events/${rows[0].id}`)).body.data, {
    object: body,
    previous_attributes: {},
  })
})

t.test('deleting a user emits member.removed for each project, and then user.deleted', async (t) => {
  const member = await createUser(server)
  const projects = [
    await createProject({ server, caller: server.admin, role: 'owner' }),
    await createProject({ server, caller: server.admin, role: 'owner' }),
  ]
  for (const project of projects) await createMember(server, project, member, 'editor')
  const position = await lastPosition()
  t.equal(
    (await server.admin.client.delete(`/users/${member}`, { headers: { 'x-request-id': 'deleted' } })).status,
    204,
  )
  const rows = await writtenSince(position)
  t.same(
    rows.map(({ type, projectId }) => `${type} ${projectId}`),
    [...projects.sort().map((id) => `member.removed ${id}`), 'user.deleted null'],
  )
  t.ok(rows.every(({ clientRequestId }) => clientRequestId === 'deleted'))
  t.same(
    rows.map(({ data }: any) => data.object.user?.id ?? data.object.id),
    [member, member, member],
  )
  t.same(
    (rows.at(-1)!.data as any).object,
    { id: member, deleted: true },
    'the event contains no personal data',
  )
})

t.test('a request that changes nothing emits no event', async (t) => {
  const member = await requestFor(server, 'updateMember')
  t.equal((await send(member)).status, 200)
  const key = await requestFor(server, 'revokeApiKey')
  t.equal((await send(key)).status, 204)
  const before = await changes()
  t.equal((await send(member)).status, 200, 'the same role')
  t.equal((await send({ ...member, body: {} })).status, 200, 'no role')
  t.equal((await send(key)).status, 204, 'a revoked key')
  t.same(await changes(), before)
})

/** The types of the events that a request had inserted before its rollback. */
const inside = new Map<string, string[]>()
let undoing: Promise<TestServer> | undefined

/** A server that rolls back the transaction of every handler. */
function undoingServer(): Promise<TestServer> {
  const handle = Object.fromEntries(
    operationIds.map((id) => [
      id,
      async (request: never, services: HandlerServices) =>
        await services.once(async (tx) => {
          const once: Once = (work) => tx.transaction(work)
          await handlers[id](request, { ...services, db: tx, once } as never)
          const { id: requestId } = request as { id: string }
          inside.set(
            requestId,
            (await tx.prisma.event.findMany({ where: { requestId }, orderBy: { position: 'asc' } })).map(
              ({ type }) => type,
            ),
          )
          throw new Error('undone')
        }),
    ]),
  ) as unknown as Operations
  undoing ??= startServer(t, { ...sharedDataOf(server), handlers: handle })
  return undoing
}

t.test('a write that fails after its event rolls back both', async (t) => {
  const failing = await undoingServer()
  for (const { id, idempotent } of rolledBack.filter(({ id }) => !apart.includes(id))) {
    const ask = { ...(await requestFor(server, id)), server: failing }
    if (ask.caller !== server.admin) await listen(ask.caller)
    for (const headers of idempotent ? [{}, { 'idempotency-key': 'undone' }] : [{}]) {
      const before = await changes()
      const reply = await send(ask, { headers: headers as Record<string, string> })
      t.equal(reply.status, 500, id)
      t.same(
        inside.get(reply.headers.get('x-request-id')!),
        [eventTypeOf[id], ...(further[id] ?? [])],
        `${id}: the event existed in the transaction`,
      )
      t.same(
        await changes(),
        before,
        `${id} ${JSON.stringify(headers)}: no event, no delivery, no job and no effect`,
      )
    }
  }
})

t.test(
  'a response that does not match the spec emits no event when it is stored for idempotency',
  async (t) => {
    const bend = (answer: any): any =>
      typeof answer?.status === 'number' ? { ...answer, body: { ...answer.body, surprise: 1 } } : answer
    // For a streamed body, the response of the transaction is stored.
    const bent = Object.fromEntries(
      operationIds.map((id) => [
        id,
        async (request: never, services: HandlerServices) => {
          const once: Once = (work) => services.once(async (tx) => bend(await work(tx)))
          return bend(await handlers[id](request, { ...services, once } as never))
        },
      ]),
    ) as unknown as Operations
    const bending = await startServer(t, { ...sharedDataOf(server), handlers: bent })
    for (const { id } of rolledBack.filter(
      ({ idempotent, handlesIdempotency }) => idempotent && handlesIdempotency !== true,
    )) {
      const ask = { ...(await requestFor(server, id)), server: bending }
      const before = await changes()
      t.equal((await send(ask, { headers: { 'idempotency-key': 'bent' } })).status, 500, id)
      t.same(await changes(), before, id)
    }
  },
)

t.test('events contain no secrets and no fields that the spec does not declare', async (t) => {
  const { database, events } = server.services
  await database.transaction(async (tx) => {
    const profile = toProfile(
      await tx.prisma.user.findUniqueOrThrow({ where: { id: server.admin.id } }),
      server.url,
    )
    const canary = { ...profile, password_hash: 'canary', metadata: { note: 'kept' } }
    await events.emit(tx, 'profile.updated', canary, {
      previous: { ...canary, name: 'Before', secret: 'canary' } as never,
      userId: server.admin.id,
    })
  })
  const rows = await prisma.event.findMany()
  const text = JSON.stringify(rows.map(({ data }) => data))
  const jobs = JSON.stringify(await prisma.$queryRaw`SELECT data FROM jobs`)
  t.ok(secrets.length >= 5, 'the responses contained secrets')
  for (const secret of secrets)
    t.notOk(text.includes(secret) || jobs.includes(secret), 'no event and no job contains the secret')
  t.notMatch(text, /plat_(live|test)_\w{10}|whsec_|canary/)
  t.match(text, /"note":"kept"/)
})

async function jobsFor(deliveryId: string): Promise<number> {
  const [{ n }] = await prisma.$queryRaw<
    [{ n: number }]
  >`SELECT count(*)::int AS n FROM jobs WHERE data->>'delivery_id' = ${deliveryId}`
  return n
}
