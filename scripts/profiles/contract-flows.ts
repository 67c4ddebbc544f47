// Flows of this platform that no schema describes: an invited user accepts, a customer pays and gets a
// refund, an upload is continued.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Json } from '@platform-api/openapi/document.ts'
import type { Call, Flow } from '@platform-api/contract/profile.ts'
import type { Answer } from '@platform-api/contract/sender.ts'

export const flows: Flow[] = [
  {
    operations: [
      'createBudget',
      'createProject',
      'getBudget',
      'listBudgets',
      'updateBudget',
      'patchBudget',
      'deleteBudget',
    ],
    async work(call) {
      const fields = { subject_id: await newProject(call), unit: 'answers', amount: '5', period: 'day' }
      const { body: budget } = await call('createBudget', { body: fields })
      const path = { id: budget.id }
      await call('getBudget', { path })
      await call('listBudgets', { query: { subject_id: fields.subject_id } })
      await call('updateBudget', { path, body: { amount: '6' } })
      await call('patchBudget', { path, body: { amount: '7' } })
      await call('deleteBudget', { path })
    },
  },
  {
    operations: ['restoreProject', 'createProject', 'deleteProject'],
    async work(call) {
      const path = { id: await newProject(call) }
      await call('deleteProject', { path })
      await call('restoreProject', { path })
      await call('deleteProject', { path })
    },
  },
  {
    operations: [
      'removeMember',
      'patchMember',
      'updateMember',
      'addMember',
      'acceptInvitation',
      'declineInvitation',
      'resendInvitation',
      'createProject',
      'getProfile',
    ],
    async work(call) {
      const id = await newProject(call)
      const { body: other } = await call('getProfile', { as: 'other' })
      const invite = async (): Promise<Record<string, string>> => {
        const { body } = await call('addMember', {
          path: { id },
          body: { email: other.email, role: 'viewer' },
        })
        return { id, invitation_id: body.id }
      }
      const invitation = await invite()
      await call('resendInvitation', { path: invitation })
      await call('declineInvitation', { as: 'other', path: invitation })
      const { body: member } = await call('acceptInvitation', { as: 'other', path: await invite() })
      const path = { id, member_id: member.id }
      await call('patchMember', { path, body: { role: 'editor' } })
      await call('updateMember', { path, body: { role: 'viewer' } })
      await call('removeMember', { path })
    },
  },
  {
    operations: ['createCustomer', 'getCustomerByExternalId', 'upsertCustomer'],
    async work(call) {
      const path = { external_id: 'contract-test' }
      await call('upsertCustomer', { as: 'operator', path, body: { name: 'Contract test' } })
      await call('getCustomerByExternalId', { as: 'operator', path })
    },
  },
  {
    operations: ['createMeter', 'listMeterUsage', 'recordUsage', 'upsertCustomer', 'voidUsage'],
    async work(call) {
      const customer = { external_id: 'contract-test-usage' }
      await call('upsertCustomer', { as: 'operator', path: customer, body: {} })
      const key = `contract_${Date.now()}`
      const fields = { key, name: 'Contract test', aggregation: 'sum', property: 'n' }
      const { body: meter } = await call('createMeter', { as: 'operator', body: fields })
      const event = {
        id: key,
        meter: key,
        customer_external_id: customer.external_id,
        properties: { n: '1.5' },
      }
      await call('recordUsage', { as: 'operator', body: { events: [event] } })
      await call('listMeterUsage', { as: 'operator', path: { id: meter.id } })
      await call('voidUsage', { as: 'operator', path: { event_id: key } })
    },
  },
  {
    operations: ['appendUpload', 'createUpload'],
    async work(call) {
      const headers = { 'Tus-Resumable': '1.0.0' }
      const name = Buffer.from('contract.txt').toString('base64')
      const created = await call('createUpload', {
        headers: { ...headers, 'Upload-Length': '3', 'Upload-Metadata': `filename ${name}` },
      })
      await call('appendUpload', {
        path: { id: created.headers.get('location')!.split('/').at(-1)! },
        headers: { ...headers, 'Upload-Offset': '0' },
        raw: Buffer.from('abc'),
        type: 'application/offset+octet-stream',
      })
    },
  },
  {
    operations: ['retryDocument', 'createDocument', 'createKnowledgeBase', 'getDocument'],
    async work(call) {
      const path = await newDocument(call, 'A text of the contract tests.')
      await call('retryDocument', { path })
    },
  },
  {
    operations: [
      'cancelMessage',
      'createChat',
      'createSession',
      'listSessionMessages',
      'createDocument',
      'createKnowledgeBase',
      'getDocument',
    ],
    async work(call) {
      // Many words to search for, so that the answer takes longer than the requests that cancel it.
      const words = Array.from({ length: 700 }, (_, i) => `w${i.toString(36)}`).join(' ')
      const { id } = await newDocument(call, `${words}. `.repeat(40))
      for (let attempt = 0; attempt < 5; attempt++) {
        const { body: session } = await call('createSession', { body: {} })
        const body = { session_id: session.id, message: words, knowledge_base_ids: [id] }
        let ended = false
        const chat = call('createChat', { body }).finally(() => (ended = true))
        const cancel = async (): Promise<boolean> => {
          while (!ended) {
            const list = await call('listSessionMessages', { path: { id: session.id } })
            const message = list.body.data.find(({ status }: Json) => status === 'in_progress')
            if (message === undefined) continue
            const canceled = await call('cancelMessage', { path: { id: message.id }, allow: [409] })
            return canceled.status < 400
          }
          return false
        }
        const [isCanceled] = await Promise.all([cancel(), chat])
        if (isCanceled) return
      }
    },
  },
  {
    operations: [
      'getOpenAiModel',
      'listOpenAiModels',
      'createEmbeddings',
      'sendToolResults',
      'createChat',
      'streamChat',
    ],
    async work(call) {
      const { body: models } = await call('listOpenAiModels')
      await call('getOpenAiModel', { path: { model: models.data[0].id } })
      // 400: there is no model of embeddings.
      const { id: model } = models.data.at(-1)
      await call('createEmbeddings', { body: { model, input: 'A text.' }, allow: [400] })
      // 409: the built-in model calls no tools.
      await call('streamChat', { body: { message: 'A question.' } })
      const { body: chat } = await call('createChat', { body: { message: 'A question.' } })
      const results = [{ tool_call_id: 'call_1', content: 'A result.' }]
      await call('sendToolResults', { path: { id: chat.id }, body: { results }, allow: [409] })
    },
  },
  {
    operations: ['advanceTestClock'],
    async work(call) {
      // 404: payments are real. 409: the clock is being advanced.
      await call('advanceTestClock', { body: { by_seconds: 1 }, allow: [404, 409] })
    },
  },
  {
    operations: ['getEvent', 'listEvents', 'createProject'],
    async work(call) {
      await newProject(call)
      const { body } = await call('listEvents')
      await call('getEvent', { path: { id: body.data[0].id } })
    },
  },
  {
    operations: [
      'redeliverWebhookDelivery',
      'createWebhookEndpoint',
      'listWebhookDeliveries',
      'createProject',
    ],
    async work(call) {
      const { body: endpoint } = await call('createWebhookEndpoint', {
        body: { url: 'https://contract-tests.invalid/events', event_types: ['project.created'] },
      })
      await newProject(call)
      const { id } = await polled(async () => {
        const { body } = await call('listWebhookDeliveries', { path: { id: endpoint.id } })
        return body.data[0]
      })
      await polled(async () => {
        const { status } = await call('redeliverWebhookDelivery', { path: { id }, allow: [409] })
        return status === 409 ? undefined : status
      })
    },
  },
  {
    operations: [
      'createRefund',
      'getRefund',
      'getRefundById',
      'getReceipt',
      'listPayments',
      'getPayment',
      'listDisputes',
      'getDispute',
      'createProduct',
      'createPrice',
      'createCheckout',
      'showPayPage',
      'payCheckout',
      'confirmPayment',
      'returnFromGateway',
      'expireCheckout',
    ],
    async work(call) {
      const { body: expired } = await newCheckout(call)
      await call('expireCheckout', { path: { id: expired.id } })
      const { body: checkout } = await newCheckout(call)
      const path = { id: checkout.id }
      await call('showPayPage', { path })
      await call('payCheckout', { path, body: card('4000002500003155'), type: form })
      const { text } = await call('showPayPage', { path })
      const payment = /name="payment"[^>]*value="([^"]+)"/.exec(text)?.[1]
      await call('confirmPayment', { path, body: { payment, decision: 'confirm' }, type: form })
      await call('returnFromGateway', { path })
      const order = { id: checkout.order_id }
      await call('getReceipt', { path: order })
      const { body: refund } = await call('createRefund', { as: 'operator', path: order, body: {} })
      await call('getRefund', { path: { ...order, refund_id: refund.id } })
      await call('getRefundById', { path: { id: refund.id } })
      const { body: payments } = await call('listPayments', {})
      await call('getPayment', { path: { id: payments.data[0].id } })
      const { body: disputed } = await newCheckout(call)
      await call('payCheckout', { path: { id: disputed.id }, body: card('4000000000000259'), type: form })
      const { body: disputes } = await call('listDisputes', {})
      await call('getDispute', { path: { id: disputes.data[0].id } })
    },
  },
  {
    operations: [
      'cancelSubscription',
      'resumeSubscription',
      'previewSubscription',
      'getUpcomingOrder',
      'updateSubscription',
      'cancelScheduledChange',
      'pauseSubscription',
      'unpauseSubscription',
      'createSubscription',
      'listPaymentMethods',
      'getPaymentMethod',
      'setDefaultPaymentMethod',
      'deletePaymentMethod',
      'createPortalSession',
      'openPortal',
      'createFeature',
      'setProductFeatures',
      'getProductFeatures',
      'setEntitlement',
      'getEntitlement',
      'listEntitlements',
      'deleteEntitlement',
      'getSubscription',
      'createProduct',
      'createPrice',
      'createCheckout',
      'payCheckout',
      'getCheckout',
    ],
    async work(call) {
      const { body: checkout } = await newCheckout(call, { interval: 'month', interval_count: 1 })
      const paid = { id: checkout.id }
      await call('payCheckout', { path: paid, body: card('4242424242424242'), type: form })
      const { body } = await call('getCheckout', { path: paid })
      const path = { id: body.subscription_id }
      const { body: subscription } = await call('getSubscription', { path })
      await call('cancelSubscription', { path, body: { at_period_end: true } })
      await call('resumeSubscription', { path })
      const change = { items: [{ price_id: subscription.items[0].price_id, quantity: 2 }] }
      await call('previewSubscription', { path, body: change })
      await call('getUpcomingOrder', { path })
      await call('updateSubscription', { path, body: { ...change, apply: 'period_end' } })
      await call('cancelScheduledChange', { path })
      await call('pauseSubscription', { path, body: {} })
      await call('unpauseSubscription', { path })
      await call('createSubscription', { body: change })
      const customer = { id: subscription.customer_id }
      const { body: methods } = await call('listPaymentMethods', { as: 'operator', path: customer })
      const method = { ...customer, payment_method_id: methods.data[0].id }
      await call('getPaymentMethod', { as: 'operator', path: method })
      await call('setDefaultPaymentMethod', { as: 'operator', path: method })
      await call('deletePaymentMethod', { as: 'operator', path: method })
      const fields = { key: `flow_${subscription.id.slice(4)}`, name: 'Projects', type: 'limit' }
      const { body: feature } = await call('createFeature', { as: 'operator', body: fields })
      const { body: sold } = await call('createProduct', { as: 'operator', body: { name: 'Plan' } })
      const features = [{ feature_id: feature.id, limit: '10' }]
      await call('setProductFeatures', { as: 'operator', path: { id: sold.id }, body: { features } })
      await call('getProductFeatures', { path: { id: sold.id } })
      const entitlement = { ...customer, feature: feature.key }
      await call('setEntitlement', { as: 'operator', path: entitlement, body: { enabled: true, limit: '5' } })
      await call('getEntitlement', { as: 'operator', path: entitlement })
      await call('listEntitlements', { as: 'operator', path: customer })
      await call('deleteEntitlement', { as: 'operator', path: entitlement })
      const { body: portal } = await call('createPortalSession', { as: 'operator', path: customer, body: {} })
      await call('openPortal', { path: { token: new URL(portal.url).pathname.split('/').at(-1)! } })
    },
  },
]

const form = 'application/x-www-form-urlencoded'
/** The longest wait for background work, and the time between two looks. */
const maxWaitMs = 60_000
const pollMs = 500

/** A test card of the sandbox. */
function card(number: string): Json {
  return { number, expiry: '12/40', cvc: '123', name: 'Ada Lovelace' }
}

async function newProject(call: Call): Promise<string> {
  return (await call('createProject', { body: { name: 'Contract test' } })).body.id
}

/** Polls `look` until it finds a value; throws after `maxWaitMs`. */
async function polled<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (let waited = 0; waited < maxWaitMs; waited += pollMs) {
    const found = await look()
    if (found !== undefined) return found
    await sleep(pollMs)
  }
  throw new Error(`nothing came within ${maxWaitMs / 1000} s`)
}

/** A document that the server has read, in a new knowledge base. @returns the parameters of its path. */
async function newDocument(call: Call, text: string): Promise<{ id: string; document_id: string }> {
  const { body: base } = await call('createKnowledgeBase', { body: { name: 'Contract test' } })
  const { body: document } = await call('createDocument', { path: { id: base.id }, body: { text } })
  const path = { id: base.id, document_id: document.id }
  return await polled(async () => {
    const { body } = await call('getDocument', { path })
    return ['queued', 'processing'].includes(body.status) ? undefined : path
  })
}

async function newCheckout(call: Call, recurring?: Json): Promise<Answer> {
  const { body: product } = await call('createProduct', { body: { name: 'Contract test' } })
  const { body: price } = await call('createPrice', {
    body: { product_id: product.id, unit_amount: 500, currency: 'eur', recurring },
  })
  return await call('createCheckout', {
    body: {
      mode: recurring === undefined ? 'payment' : 'subscription',
      items: [{ price_id: price.id, quantity: 1 }],
      success_url: 'https://contract-tests.invalid/paid',
      cancel_url: 'https://contract-tests.invalid/back',
    },
  })
}
