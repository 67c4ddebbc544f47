// Request fixtures of the operations of payments. The gateway is the sandbox.
import { createHmac, randomBytes, randomInt } from 'node:crypto'
import type { OperationId } from '../../../generated/operations.ts'
import type { Fixture, RequestBuilder, FixtureContext } from './operation-fixture.ts'
import {
  catalogFor,
  insertedCheckout,
  insertedOrder,
  insertedPrice,
  insertedProduct,
  insertedConfirmation,
  insertedCustomer,
  insertedDispute,
  insertedFeature,
  insertedMeter,
  insertedOverride,
  insertedPayment,
  insertedPaymentMethod,
  insertedRefund,
  insertedSubscription,
  openedPortal,
  pages,
} from '../database/db-fixtures-payments.ts'
import type { TestServer } from '../server/server.ts'
import { projectFor, type Placement } from '../database/db-fixtures.ts'
import { ofNoProject, ofProject, ownAlone, unknownUlid } from './project-filter.ts'

const fresh = () => randomBytes(6).toString('hex')
const metadata = { ticket: 'OPS-12' }

type Body = () => Record<string, unknown>

const onCatalogue: RequestBuilder = async ({ server }) => {
  await catalogFor(server)
  return {}
}
const onProduct =
  (body?: Body): RequestBuilder =>
  async ({ server }) => ({ params: { id: await insertedProduct(server) }, body: body?.() })
const customerFields = () => ({
  email: `${fresh()}@example.com`,
  name: `Grace Hopper ${fresh()}`,
  address: {
    line1: '1 Main Street',
    line2: '2nd floor',
    city: 'Arlington',
    state: 'Virginia',
    postal_code: '22201',
    country: 'US',
  },
  tax_ids: [{ type: 'us_ein', value: fresh() }],
  locale: 'en-US',
  metadata,
})
const onCustomer =
  (body?: Body): RequestBuilder =>
  async ({ server }) => ({ params: { id: await insertedCustomer(server) }, body: body?.() })
const onExternalId =
  (body?: Body): RequestBuilder =>
  async ({ server }) => {
    const external_id = fresh()
    await insertedCustomer(server, { external_id })
    return { params: { external_id }, body: body?.() }
  }
/** A customer whose checkout session is open. */
const onBusyCustomer: RequestBuilder = async ({ server, caller }) => {
  const checkout = await insertedCheckout(server, await insertedOrder(server, caller.id))
  const { customerId } = await server.services.database.prisma.checkout.findUniqueOrThrow({
    where: { id: checkout },
  })
  return { params: { id: customerId! } }
}

const meterFields = () => ({
  name: `Tokens ${fresh()}`,
  unit: 'token',
  metadata,
})
const newMeter = () => ({
  ...meterFields(),
  key: `tokens_${fresh()}`,
  aggregation: 'sum',
  property: 'tokens',
  dimensions: ['region', 'model'],
})
/** The body of a request that records an event of a new customer. */
async function usageOf(server: TestServer) {
  const key = `tokens_${fresh()}`
  await insertedMeter(server, { key, dimensions: ['region'] })
  const customer_id = await insertedCustomer(server)
  const properties = { amount: '1.5', region: 'eu' }
  return { events: [{ id: fresh(), meter: key, customer_id, properties }] }
}
const onMeter =
  (body?: Body): RequestBuilder =>
  async ({ server }) => ({ params: { id: await insertedMeter(server) }, body: body?.() })

const newFeature = () => ({ key: `feature_${fresh()}`, name: `Projects ${fresh()}`, type: 'limit', metadata })
const onFeature =
  (body?: Body): RequestBuilder =>
  async ({ server }) => ({ params: { id: await insertedFeature(server) }, body: body?.() })
const onProductFeatures: RequestBuilder = async ({ server }) => ({
  params: { id: await insertedProduct(server) },
  body: { features: [{ feature_id: await insertedFeature(server), limit: '10.5' }] },
})
const onOverride =
  (body?: Body): RequestBuilder =>
  async ({ server }) => {
    const key = `feature_${fresh()}`
    const { customer } = await insertedOverride(server, key)
    return { params: { id: customer, feature: key }, body: body?.() }
  }

const onPrice =
  (body?: Body): RequestBuilder =>
  async ({ server }) => ({
    params: { id: await insertedPrice(server, (await catalogFor(server)).product) },
    body: body?.(),
  })

/** The caller's own, so that a project's role decides even then. */
const onOrder =
  ({
    where = 'active',
    status,
    body,
  }: { where?: Placement; status?: 'pending' | 'paid'; body?: Body } = {}): RequestBuilder =>
  async (context) => {
    const project = await projectFor(context, where)
    return {
      params: {
        id: await insertedOrder(context.server, context.caller.id, {
          projectId: project,
          status,
          quantity: 1000,
        }),
      },
      project,
      body: body?.(),
    }
  }

const onRefund =
  (where: Placement = 'active'): RequestBuilder =>
  async (context) => {
    const { params, project } = await onOrder({ where, status: 'paid' })(context)
    return { params: { ...params, refund_id: await insertedRefund(context.server, params!.id) }, project }
  }

const onRefundAlone =
  (where?: Placement): RequestBuilder =>
  async (context) => {
    const { params, project } = await onRefund(where)(context)
    return { params: { id: params!.refund_id }, project }
  }

const onPaymentMethod: RequestBuilder = async ({ server }) => {
  const id = await insertedCustomer(server)
  return { params: { id, payment_method_id: await insertedPaymentMethod(server, id) } }
}

const portalFields = () => ({ return_url: `https://shop.example/${fresh()}` })
const onPortalSession: RequestBuilder = async ({ server }) => {
  const id = await insertedCustomer(server)
  const { body } = await server.admin.client.post(`/payments/customers/${id}/portal-sessions`, portalFields())
  return { params: { id, portal_session_id: body.id } }
}
const onPortalLink: RequestBuilder = async ({ server }) => {
  const id = await insertedCustomer(server)
  const { body } = await server.admin.client.post(`/payments/customers/${id}/portal-sessions`, portalFields())
  return { params: { token: body.url.split('/').at(-1) } }
}
/** The browser of a customer in the portal, who has a subscription and so a paid order. */
const inPortal =
  (
    more: (ids: { subscription: string; order: string; card: string }) => object = () => ({}),
  ): RequestBuilder =>
  async ({ server, caller }) => {
    const subscription = await insertedSubscription(server, caller.id)
    const { latestOrderId, customerId } =
      await server.services.database.prisma.subscription.findUniqueOrThrow({ where: { id: subscription } })
    const card = await insertedPaymentMethod(server, customerId!)
    const cookie = await openedPortal(server, customerId!)
    return { headers: { cookie }, ...more({ subscription, order: latestOrderId!, card }) }
  }
const fromElsewhere = { origin: 'https://elsewhere.example' }
const subscriptionForm = { subscription: `sub_${unknownUlid}`, action: 'cancel' }
const leaveForm = { action: 'leave' }
const cardForm = { card: `pm_${unknownUlid}`, action: 'default' }

const onPayment =
  (where?: Placement): RequestBuilder =>
  async (context) => {
    const { params, project } = await onOrder({ where })(context)
    return { params: { id: await insertedPayment(context.server, params!.id) }, project }
  }

const onDispute =
  (where?: Placement): RequestBuilder =>
  async (context) => {
    const { params, project } = await onOrder({ where, status: 'paid' })(context)
    return { params: { id: await insertedDispute(context.server, params!.id) }, project }
  }

const onCheckout =
  (where: Placement = 'active'): RequestBuilder =>
  async (context) => {
    const { params, project } = await onOrder({ where })(context)
    return { params: { id: await insertedCheckout(context.server, params!.id) }, project }
  }

const onSubscription =
  (
    status: 'active' | 'ending' | 'changing' | 'paused' | 'canceled',
    where: Placement = 'active',
    body?: Body,
  ): RequestBuilder =>
  async (context) => {
    const project = await projectFor(context, where)
    return {
      params: {
        id: await insertedSubscription(context.server, context.caller.id, { projectId: project, status }),
      },
      project,
      body: body?.(),
    }
  }

/** To be paid: it begins later. */
const subscribing =
  (where: Placement = 'active'): RequestBuilder =>
  async (context) => {
    const project = await projectFor(context, where)
    const { monthly } = await catalogFor(context.server)
    // So that the sale makes no customer.
    await insertedOrder(context.server, context.caller.id)
    return {
      project,
      body: { items: [{ price_id: monthly, quantity: randomInt(1, 1000) }], project_id: project, metadata },
    }
  }

const changing =
  (where: Placement, status: 'active' | 'paused' = 'active', fields = {}): RequestBuilder =>
  async (context) => {
    const { monthly } = await catalogFor(context.server)
    const change = {
      items: [{ price_id: monthly, quantity: randomInt(2, 1000) }],
      apply: 'period_end',
      ...fields,
    }
    return await onSubscription(status, where, () => change)(context)
  }

const inAMonth = () => new Date(Date.now() + 30 * 86_400_000).toISOString()

/** The public page of a session. */
const onPage =
  (status: 'open' | 'complete' | 'expired' = 'open', body?: Body): RequestBuilder =>
  async ({ server, caller }) => {
    const order = await insertedOrder(server, caller.id)
    return { params: { id: await insertedCheckout(server, order, status) }, body: body?.() }
  }

const onQuestion: RequestBuilder = async ({ server, caller }) => {
  const order = await insertedOrder(server, caller.id)
  const id = await insertedCheckout(server, order)
  return {
    params: { id },
    body: { payment: await insertedConfirmation(server, order, id), decision: 'confirm' },
  }
}

const addOrder = ({ server, caller }: FixtureContext, projectId?: string) =>
  insertedOrder(server, caller.id, { projectId })
const addSubscription = ({ server, caller }: FixtureContext, projectId?: string) =>
  insertedSubscription(server, caller.id, { projectId })

const addCheckout = async (context: FixtureContext, projectId?: string) =>
  await insertedCheckout(context.server, await addOrder(context, projectId))
const addRefund = async ({ server, caller }: FixtureContext, projectId?: string) =>
  await insertedRefund(server, await insertedOrder(server, caller.id, { projectId, status: 'paid' }))

const addPayment = async (context: FixtureContext, projectId?: string) =>
  await insertedPayment(context.server, await addOrder(context, projectId))
const addDispute = async ({ server, caller }: FixtureContext, projectId?: string) =>
  await insertedDispute(server, await insertedOrder(server, caller.id, { projectId, status: 'paid' }))

const ofNoOrganization = () => ({ query: { organization_id: `org_${unknownUlid}` } })

const productFields = () => ({ name: `Seat ${fresh()}`, description: 'One seat', metadata })
const productChange = () => ({ ...productFields(), active: false })
const priceFields = (product: string) => ({
  product_id: product,
  unit_amount: randomInt(1, 1_000_000),
  currency: 'usd',
  recurring: { interval: 'month', interval_count: 3 },
})
const refundFields = () => ({ amount: randomInt(1, 1000), reason: `One arrived broken ${fresh()}`, metadata })
const cardFields = () => ({
  number: '4242 4242 4242 4242',
  expiry: '12 / 34',
  cvc: '123',
  name: 'Ada Lovelace',
})

const ordering =
  (where: Placement = 'active'): RequestBuilder =>
  async (context) => {
    const project = await projectFor(context, where)
    const { price } = await catalogFor(context.server)
    // So that the sale makes none.
    await insertedOrder(context.server, context.caller.id)
    return {
      project,
      body: { project_id: project, items: [{ price_id: price, quantity: randomInt(1, 1000) }], metadata },
    }
  }

const checkoutFields = () => ({ ...pages, expires_in_seconds: randomInt(1800, 86_400), metadata })

/** With a checkout session for an existing order, so that only the session emits an event. */
const checkingOut =
  (where: Placement = 'active'): RequestBuilder =>
  async (context) => {
    const { params, project } = await onOrder({ where })(context)
    return { project, body: { order_id: params!.id, ...checkoutFields() } }
  }

export const paymentsFixtures = {
  listProducts: { build: onCatalogue, byStatus: { 404: ofNoOrganization } },
  createProduct: {
    build: () => ({ body: productFields() }),
    byStatus: { 404: () => ({ body: { ...productFields(), organization_id: `org_${unknownUlid}` } }) },
  },
  getProduct: { build: onProduct() },
  updateProduct: { build: onProduct(productChange) },
  listCustomers: { build: () => ({}), byStatus: { 404: ofNoOrganization } },
  createCustomer: {
    build: () => ({ body: customerFields() }),
    byStatus: {
      404: () => ({ body: { user_id: `usr_${unknownUlid}` } }),
      409: async ({ server }) => {
        const external_id = fresh()
        await insertedCustomer(server, { external_id })
        return { body: { external_id } }
      },
    },
  },
  getCustomer: { build: onCustomer() },
  updateCustomer: {
    build: onCustomer(() => ({ external_id: fresh(), ...customerFields() })),
    byStatus: {
      409: async ({ server }) => {
        const external_id = fresh()
        await insertedCustomer(server, { external_id })
        return { params: { id: await insertedCustomer(server) }, body: { external_id } }
      },
    },
  },
  deleteCustomer: { build: onCustomer(), byStatus: { 409: onBusyCustomer } },
  getCustomerByExternalId: {
    build: onExternalId(),
    byStatus: { 404: () => ({ params: { external_id: fresh() } }) },
  },
  upsertCustomer: {
    build: onExternalId(customerFields),
    byStatus: {
      201: () => ({ params: { external_id: fresh() }, body: customerFields() }),
      404: () => ({ params: { external_id: 'x'.repeat(201) }, body: customerFields() }),
    },
  },
  listMeters: { build: () => ({}), byStatus: { 404: ofNoOrganization } },
  createMeter: {
    build: () => ({ body: newMeter() }),
    byStatus: {
      404: () => ({ body: { ...newMeter(), organization_id: `org_${unknownUlid}` } }),
      409: async ({ server }) => {
        const { key } = newMeter()
        await insertedMeter(server, { key })
        return { body: { ...newMeter(), key } }
      },
    },
  },
  getMeter: { build: onMeter() },
  updateMeter: { build: onMeter(() => ({ ...meterFields(), active: false })) },
  listMeterUsage: { build: onMeter() },
  recordUsage: {
    build: async ({ server }) => ({ body: await usageOf(server) }),
    byStatus: {
      404: async ({ server }) => {
        const { events } = await usageOf(server)
        return { body: { events: [{ ...events[0], customer_id: `cus_${unknownUlid}` }] } }
      },
    },
  },
  voidUsage: {
    build: async ({ server }) => {
      const body = await usageOf(server)
      await server.admin.client.post('/payments/usage', body)
      return { params: { event_id: body.events[0].id } }
    },
    byStatus: { 404: () => ({ params: { event_id: fresh() } }) },
    differentQuery: () => ({ organization_id: `org_${unknownUlid}` }),
  },
  listFeatures: { build: () => ({}), byStatus: { 404: ofNoOrganization } },
  createFeature: {
    build: () => ({ body: newFeature() }),
    byStatus: {
      404: () => ({ body: { ...newFeature(), organization_id: `org_${unknownUlid}` } }),
      409: async ({ server }) => {
        const { key } = newFeature()
        await insertedFeature(server, { key })
        return { body: { ...newFeature(), key } }
      },
    },
  },
  getFeature: { build: onFeature() },
  updateFeature: { build: onFeature(() => ({ name: `Projects ${fresh()}`, active: false, metadata })) },
  getProductFeatures: { build: onProduct() },
  setProductFeatures: { build: onProductFeatures },
  listEntitlements: { build: onCustomer() },
  getEntitlement: { build: onOverride() },
  setEntitlement: {
    build: onOverride(() => ({ enabled: true, limit: '12.5', expires_at: '2099-01-01T00:00:00.000Z' })),
  },
  deleteEntitlement: { build: onOverride() },
  listPrices: {
    build: onCatalogue,
    byStatus: { 404: () => ({ query: { product_id: `prod_${unknownUlid}` } }) },
  },
  createPrice: {
    build: async ({ server }) => ({ body: priceFields((await catalogFor(server)).product) }),
    byStatus: { 404: () => ({ body: priceFields(`prod_${unknownUlid}`) }) },
  },
  getPrice: { build: onPrice() },
  updatePrice: { build: onPrice(() => ({ active: false, metadata: { plan: 'team' } })) },
  listOrders: {
    build: ofProject(addOrder),
    withoutProject: ownAlone(addOrder),
    byStatus: { 404: ofNoProject },
  },
  createOrder: {
    build: ordering(),
    withoutProject: ordering('own'),
    byStatus: {
      404: async (context) => ({
        body: { ...(await ordering('own')(context)).body, project_id: `prj_${unknownUlid}` },
      }),
      409: ordering('archived'),
    },
  },
  getOrder: { build: onOrder(), withoutProject: onOrder({ where: 'own' }) },
  cancelOrder: {
    build: onOrder(),
    withoutProject: onOrder({ where: 'own' }),
    byStatus: { 409: onOrder({ where: 'archived' }) },
  },
  getReceipt: {
    build: onOrder({ status: 'paid' }),
    withoutProject: onOrder({ where: 'own', status: 'paid' }),
    byStatus: { 409: onOrder() },
  },
  listRefunds: {
    build: async (context) => {
      const { params, project } = await onRefund()(context)
      return { params: { id: params!.id }, project }
    },
    withoutProject: onOrder({ where: 'own', status: 'paid' }),
  },
  createRefund: {
    build: onOrder({ status: 'paid', body: refundFields }),
    byStatus: { 409: onOrder({ body: refundFields }) },
  },
  getRefund: { build: onRefund(), withoutProject: onRefund('own') },
  getRefundById: { build: onRefundAlone(), withoutProject: onRefundAlone('own') },
  listAllRefunds: {
    build: ofProject(addRefund),
    withoutProject: ownAlone(addRefund),
    byStatus: { 404: ofNoProject },
  },
  listPaymentMethods: {
    build: async (context) => ({ params: { id: (await onPaymentMethod(context)).params!.id } }),
  },
  getPaymentMethod: { build: onPaymentMethod },
  deletePaymentMethod: { build: onPaymentMethod },
  setDefaultPaymentMethod: { build: onPaymentMethod },
  createPortalSession: { build: onCustomer(portalFields) },
  getPortalSession: { build: onPortalSession },
  openPortal: {
    build: onPortalLink,
    byStatus: { 404: () => ({ params: { token: fresh() } }) },
  },
  showPortal: { build: inPortal(), byStatus: { 303: () => ({}) } },
  leavePortal: {
    build: inPortal(() => ({ body: leaveForm })),
    byStatus: { 403: () => ({ headers: fromElsewhere, body: leaveForm }) },
  },
  submitPortalSubscription: {
    build: inPortal(({ subscription }) => ({ body: { subscription, action: 'cancel' } })),
    byStatus: { 403: () => ({ headers: fromElsewhere, body: subscriptionForm }) },
  },
  showPortalPlans: {
    build: inPortal(({ subscription }) => ({ params: { id: subscription } })),
    byStatus: {
      303: () => ({ params: { id: `sub_${unknownUlid}` } }),
      404: inPortal(() => ({ params: { id: `sub_${unknownUlid}` } })),
    },
  },
  submitPortalCard: {
    build: inPortal(({ card }) => ({ body: { card, action: 'default' } })),
    byStatus: { 403: () => ({ headers: fromElsewhere, body: cardForm }) },
  },
  showPortalReceipt: {
    build: inPortal(({ order }) => ({ params: { id: order } })),
    byStatus: { 303: () => ({ params: { id: `ord_${unknownUlid}` } }) },
  },
  listPayments: {
    build: ofProject(addPayment),
    withoutProject: ownAlone(addPayment),
    byStatus: { 404: ofNoProject },
  },
  getPayment: { build: onPayment(), withoutProject: onPayment('own') },
  listDisputes: {
    build: ofProject(addDispute),
    withoutProject: ownAlone(addDispute),
    byStatus: { 404: ofNoProject },
  },
  getDispute: { build: onDispute(), withoutProject: onDispute('own') },
  listCheckouts: {
    build: ofProject(addCheckout),
    withoutProject: ownAlone(addCheckout),
    byStatus: { 404: ofNoProject },
  },
  createCheckout: {
    build: checkingOut(),
    withoutProject: checkingOut('own'),
    byStatus: {
      404: () => ({ body: { order_id: `ord_${unknownUlid}`, ...checkoutFields() } }),
      409: checkingOut('archived'),
    },
  },
  getCheckout: { build: onCheckout(), withoutProject: onCheckout('own') },
  expireCheckout: {
    build: onCheckout(),
    withoutProject: onCheckout('own'),
    byStatus: { 409: onCheckout('archived') },
  },
  listSubscriptions: {
    build: ofProject(addSubscription),
    withoutProject: ownAlone(addSubscription),
    byStatus: { 404: ofNoProject },
  },
  getSubscription: { build: onSubscription('active'), withoutProject: onSubscription('active', 'own') },
  getUpcomingOrder: {
    build: onSubscription('active'),
    withoutProject: onSubscription('active', 'own'),
    byStatus: { 409: onSubscription('canceled') },
  },
  cancelSubscription: {
    build: onSubscription('active', 'active', () => ({ at_period_end: true })),
    withoutProject: onSubscription('active', 'own'),
    byStatus: { 409: onSubscription('active', 'archived') },
    differentBody: () => ({}),
  },
  resumeSubscription: {
    build: onSubscription('ending'),
    withoutProject: onSubscription('ending', 'own'),
    byStatus: { 409: onSubscription('ending', 'archived') },
  },
  createSubscription: {
    build: subscribing(),
    withoutProject: subscribing('own'),
    byStatus: {
      404: async (context) => ({
        body: { ...(await subscribing('own')(context)).body, project_id: `prj_${unknownUlid}` },
      }),
      409: subscribing('archived'),
    },
  },
  updateSubscription: {
    build: changing('active', 'active', { metadata: { note: 'Ours' } }),
    withoutProject: changing('own', 'active', { metadata }),
    byStatus: { 409: changing('archived') },
  },
  previewSubscription: {
    build: changing('active'),
    withoutProject: changing('own'),
    byStatus: { 409: changing('active', 'paused') },
  },
  pauseSubscription: {
    build: onSubscription('active', 'active', () => ({ resumes_at: inAMonth() })),
    withoutProject: onSubscription('active', 'own'),
    byStatus: { 409: onSubscription('active', 'archived') },
    differentBody: () => ({}),
  },
  unpauseSubscription: {
    build: onSubscription('paused'),
    withoutProject: onSubscription('paused', 'own'),
    byStatus: { 409: onSubscription('paused', 'archived') },
  },
  cancelScheduledChange: {
    build: onSubscription('changing'),
    withoutProject: onSubscription('changing', 'own'),
    byStatus: { 409: onSubscription('changing', 'archived') },
  },
  getTestClock: { build: () => ({}) },
  advanceTestClock: {
    build: () => ({ body: { by_seconds: 1 } }),
    differentBody: () => ({ by_seconds: 2 }),
    byStatus: {
      404: () => ({ body: { customer_id: 'cus_01jd6y8m5qe8btc4y5w1r0n3fz', by_seconds: 1 } }),
      409: () => ({ body: { to: '2026-01-01T00:00:00Z' } }),
    },
  },
  receiveStripeEvent: {
    build: stripeEvent('customer.created'),
    byStatus: { 503: stripeEvent('checkout.session.completed') },
  },
  showPayPage: { build: onPage(), byStatus: { 410: onPage('expired') } },
  payCheckout: {
    build: onPage('open', cardFields),
    byStatus: {
      410: onPage('expired', cardFields),
      422: onPage('open', () => ({ ...cardFields(), number: '1' })),
    },
  },
  confirmPayment: {
    build: onQuestion,
    byStatus: { 410: onPage('expired', () => ({ payment: `pay_${unknownUlid}`, decision: 'confirm' })) },
  },
  returnFromGateway: { build: onPage() },
} satisfies Partial<Record<OperationId, Fixture>>

/** Operations of a gateway that is not configured: they return 404 without the settings below. */
export const unconfiguredOperations: OperationId[] = ['receiveStripeEvent']

/** The settings of a server with that gateway. No server listens at the URL of its API. */
export const stripeEnv = {
  PAYMENT_GATEWAY: 'stripe',
  STRIPE_SECRET_KEY: 'sk_test_contract',
  STRIPE_WEBHOOK_SECRET: 'whsec_contract',
  STRIPE_API_BASE: 'http://127.0.0.1:9',
}

/** An event with a signature of Stripe's own (https://docs.stripe.com/webhooks/signature). */
function stripeEvent(type: string): RequestBuilder {
  return () => {
    const body = { id: `evt_${fresh()}`, object: 'event', type, data: { object: { id: `obj_${fresh()}` } } }
    const at = Math.floor(Date.now() / 1000)
    const signature = createHmac('sha256', stripeEnv.STRIPE_WEBHOOK_SECRET)
      .update(`${at}.${JSON.stringify(body)}`)
      .digest('hex')
    return { headers: { 'stripe-signature': `t=${at},v1=${signature}` }, body }
  }
}
