// Valid requests of each payment operation, with the objects that they need. The gateway is the sandbox.
import { createHmac, randomBytes, randomInt } from 'node:crypto'
import type { OperationId } from '../../generated/operations.ts'
import type { Fixture, Make, Scene } from './operation-fixture.ts'
import {
  catalogFor,
  insertedCheckout,
  insertedOrder,
  insertedPrice,
  insertedProduct,
  insertedConfirmation,
  insertedRefund,
  insertedSubscription,
  pages,
} from './db-fixtures-payments.ts'
import { insertedProject, projectFor, type Where } from './db-fixtures.ts'

const fresh = () => randomBytes(6).toString('hex')
const unknownId = '01jd6y8m5qe8btc4y5w1r0n3fz'
const metadata = { ticket: 'OPS-12' }

type Body = () => Record<string, unknown>

const onCatalogue: Make = async ({ server }) => {
  await catalogFor(server)
  return {}
}
const onProduct =
  (body?: Body): Make =>
  async ({ server }) => ({ params: { id: await insertedProduct(server) }, body: body?.() })
const onPrice =
  (body?: Body): Make =>
  async ({ server }) => ({
    params: { id: await insertedPrice(server, (await catalogFor(server)).product) },
    body: body?.(),
  })

/** An order of the caller in a project: the project's role decides even for one's own orders. */
const onOrder =
  ({
    where = 'active',
    status,
    body,
  }: { where?: Where; status?: 'pending' | 'paid'; body?: Body } = {}): Make =>
  async (scene) => {
    const project = await projectFor(scene, where)
    return {
      params: {
        id: await insertedOrder(scene.server, scene.caller.id, {
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
  (where: Where = 'active'): Make =>
  async (scene) => {
    const { params, project } = await onOrder({ where, status: 'paid' })(scene)
    return { params: { ...params, refund_id: await insertedRefund(scene.server, params!.id) }, project }
  }

const onCheckout =
  (where: Where = 'active'): Make =>
  async (scene) => {
    const { params, project } = await onOrder({ where })(scene)
    return { params: { id: await insertedCheckout(scene.server, params!.id) }, project }
  }

const onSubscription =
  (status: 'active' | 'ending', where: Where = 'active', body?: Body): Make =>
  async (scene) => {
    const project = await projectFor(scene, where)
    return {
      params: {
        id: await insertedSubscription(scene.server, scene.caller.id, { projectId: project, status }),
      },
      project,
      body: body?.(),
    }
  }

/** The payment page of a session, which is public. */
const onPage =
  (status: 'open' | 'complete' | 'expired' = 'open', body?: Body): Make =>
  async ({ server, caller }) => {
    const order = await insertedOrder(server, caller.id)
    return { params: { id: await insertedCheckout(server, order, status) }, body: body?.() }
  }

const onConfirmation: Make = async ({ server, caller }) => {
  const order = await insertedOrder(server, caller.id)
  const id = await insertedCheckout(server, order)
  return {
    params: { id },
    body: { payment: await insertedConfirmation(server, order, id), decision: 'confirm' },
  }
}

const inProject =
  (insert: (scene: Scene, projectId?: string) => Promise<unknown>): Make =>
  async (scene) => {
    const project = await insertedProject(scene)
    await insert(scene)
    await insert(scene, project)
    return { query: { project_id: project }, project }
  }
const inUnknownProject: Make = () => ({ query: { project_id: `prj_${unknownId}` } })
const inOwnWorkspace =
  (insert: (scene: Scene) => Promise<unknown>): Make =>
  async (scene) => {
    await insert(scene)
    return {}
  }

const addOrder = ({ server, caller }: Scene, projectId?: string) =>
  insertedOrder(server, caller.id, { projectId })
const addSubscription = ({ server, caller }: Scene, projectId?: string) =>
  insertedSubscription(server, caller.id, { projectId })

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
  (where: Where = 'active'): Make =>
  async (scene) => {
    const project = await projectFor(scene, where)
    const { price } = await catalogFor(scene.server)
    return {
      project,
      body: { project_id: project, items: [{ price_id: price, quantity: randomInt(1, 1000) }], metadata },
    }
  }

const checkoutFields = () => ({ ...pages, expires_in_seconds: randomInt(1800, 86_400), metadata })

/** A session for an existing order, so that the operation emits only the session's event. */
const checkingOut =
  (where: Where = 'active'): Make =>
  async (scene) => {
    const { params, project } = await onOrder({ where })(scene)
    return { project, body: { order_id: params!.id, ...checkoutFields() } }
  }

export const paymentsFixtures = {
  listProducts: { make: onCatalogue },
  createProduct: { make: () => ({ body: productFields() }) },
  getProduct: { make: onProduct() },
  updateProduct: { make: onProduct(productChange) },
  listPrices: {
    make: onCatalogue,
    others: { 404: () => ({ query: { product_id: `prod_${unknownId}` } }) },
  },
  createPrice: {
    make: async ({ server }) => ({ body: priceFields((await catalogFor(server)).product) }),
    others: { 404: () => ({ body: priceFields(`prod_${unknownId}`) }) },
  },
  getPrice: { make: onPrice() },
  updatePrice: { make: onPrice(() => ({ active: false })) },
  listOrders: { make: inProject(addOrder), own: inOwnWorkspace(addOrder), others: { 404: inUnknownProject } },
  createOrder: {
    make: ordering(),
    own: ordering('own'),
    others: {
      404: async (scene) => ({
        body: { ...(await ordering('own')(scene)).body, project_id: `prj_${unknownId}` },
      }),
      409: ordering('archived'),
    },
  },
  getOrder: { make: onOrder(), own: onOrder({ where: 'own' }) },
  cancelOrder: {
    make: onOrder(),
    own: onOrder({ where: 'own' }),
    others: { 409: onOrder({ where: 'archived' }) },
  },
  getReceipt: {
    make: onOrder({ status: 'paid' }),
    own: onOrder({ where: 'own', status: 'paid' }),
    others: { 409: onOrder() },
  },
  listRefunds: {
    make: async (scene) => {
      const { params, project } = await onRefund()(scene)
      return { params: { id: params!.id }, project }
    },
    own: onOrder({ where: 'own', status: 'paid' }),
  },
  createRefund: {
    make: onOrder({ status: 'paid', body: refundFields }),
    others: { 409: onOrder({ body: refundFields }) },
  },
  getRefund: { make: onRefund(), own: onRefund('own') },
  createCheckout: {
    make: checkingOut(),
    own: checkingOut('own'),
    others: {
      404: () => ({ body: { order_id: `ord_${unknownId}`, ...checkoutFields() } }),
      409: checkingOut('archived'),
    },
  },
  getCheckout: { make: onCheckout(), own: onCheckout('own') },
  expireCheckout: { make: onCheckout(), own: onCheckout('own'), others: { 409: onCheckout('archived') } },
  listSubscriptions: {
    make: inProject(addSubscription),
    own: inOwnWorkspace(addSubscription),
    others: { 404: inUnknownProject },
  },
  getSubscription: { make: onSubscription('active'), own: onSubscription('active', 'own') },
  cancelSubscription: {
    make: onSubscription('active', 'active', () => ({ at_period_end: true })),
    own: onSubscription('active', 'own'),
    others: { 409: onSubscription('active', 'archived') },
    otherBody: () => ({}),
  },
  resumeSubscription: {
    make: onSubscription('ending'),
    own: onSubscription('ending', 'own'),
    others: { 409: onSubscription('ending', 'archived') },
  },
  getTestClock: { make: () => ({}) },
  advanceTestClock: {
    make: () => ({ body: { seconds: 1 } }),
    others: { 409: () => ({ body: { to: '2026-01-01T00:00:00Z' } }) },
  },
  receiveStripeEvent: {
    make: stripeEventOf('customer.created'),
    others: { 503: stripeEventOf('checkout.session.completed') },
  },
  showPayPage: { make: onPage(), others: { 410: onPage('expired') } },
  payCheckout: {
    make: onPage('open', cardFields),
    others: {
      410: onPage('expired', cardFields),
      422: onPage('open', () => ({ ...cardFields(), number: '1' })),
    },
  },
  confirmPayment: {
    make: onConfirmation,
    others: { 410: onPage('expired', () => ({ payment: `pay_${unknownId}`, decision: 'confirm' })) },
  },
  returnFromGateway: { make: onPage() },
} satisfies Partial<Record<OperationId, Fixture>>

/** Operations of a gateway that is not configured: always 404, except with the settings below. */
export const unconfiguredOperations: OperationId[] = ['receiveStripeEvent']

/** The environment of a server with that gateway, which is unreachable. */
export const stripeEnv = {
  PAYMENT_GATEWAY: 'stripe',
  STRIPE_SECRET_KEY: 'sk_test_contract',
  STRIPE_WEBHOOK_SECRET: 'whsec_contract',
  STRIPE_API_BASE: 'http://127.0.0.1:9',
}

/** A signed webhook (https://docs.stripe.com/webhooks/signature). */
function stripeEventOf(type: string): Make {
  return () => {
    const body = { id: `evt_${fresh()}`, object: 'event', type, data: { object: { id: `obj_${fresh()}` } } }
    const at = Math.floor(Date.now() / 1000)
    const signature = createHmac('sha256', stripeEnv.STRIPE_WEBHOOK_SECRET)
      .update(`${at}.${JSON.stringify(body)}`)
      .digest('hex')
    return { headers: { 'stripe-signature': `t=${at},v1=${signature}` }, body }
  }
}
