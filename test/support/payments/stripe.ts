// A fake of Stripe's API for tests. It stores objects, returns Stripe's shapes and errors, acts as the
// customer and as the billing schedule on a test's command, and records the signed events, which the test
// delivers, repeats and shuffles.
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Stripe } from 'stripe'
import type { Test } from 'tap'
import {
  cardMethodOf,
  disputeOf,
  failedChargeOf,
  invoiceOf,
  intentOf,
  refundOf,
  sessionOf,
  subscriptionOf,
  type Charge,
  type Dispute,
  type Intent,
  type Interval,
  type Invoice,
  type PaymentMethod,
  type Refund,
  type Session,
  type Subscription,
} from './stripe-objects.ts'
import { listen } from '../http/listen.ts'

const version = '2026-10-28.endive'

/**
 * A failure of a request: before it has an effect, or (`reset after`) after its effect and before its
 * response.
 */
export type Fault = { status: number; retryAfter?: number } | 'hang' | 'reset' | 'reset after'

export interface RecordedRequest {
  method: string
  path: string
  params: any
  key: string | null
  replayed: boolean
  status: number
}

export interface StripeEvent {
  id: string
  type: string
  body: string
}

/** What a stored card does: a decline has Stripe's decline code. */
export type OffSession = 'succeeded' | 'processing' | 'requires_action' | { declined: string }

/** The card that succeeds, and Stripe's test cards that fail while their customer is away. */
export const stripeCards = {
  succeeds: '4242424242424242',
  renewalDeclined: '4000000000000341',
  needsCustomer: '4000002760003184',
}

export interface FakeStripe {
  url: string
  /** The environment of a server that uses this fake. */
  env: Record<string, string>
  secretKey: string
  /** A client of this fake. */
  client: Stripe
  /** All requests, in order. */
  requests: RecordedRequest[]
  /** All events, in order, including types that the platform ignores. */
  events: StripeEvent[]
  sessions: Map<string, Session>
  subscriptions: Map<string, Subscription>
  invoices: Map<string, Invoice>
  refunds: Map<string, Refund>
  disputes: Map<string, Dispute>
  intents: Map<string, Intent>
  paymentMethods: Map<string, PaymentMethod>
  /** What a stored card does while its customer is away, by its number; other cards succeed. */
  cards: Map<string, OffSession>
  /** The payment intents of a payment of the platform. */
  intentsFor(paymentId: string): Intent[]
  /** The status that new refunds reach immediately. */
  refundOutcome: 'succeeded' | 'pending' | 'failed'
  /** Makes the next requests fail whose method and path match `on`; all of them without `times`. */
  fail(fault: Fault, options?: { on?: RegExp; times?: number }): void
  /**
   * Delays the response to the next matching request until `release` is called. The response is computed
   * before the delay.
   */
  holdResponse(on: RegExp): { received: Promise<void>; release: () => void }
  /** Removes all faults. */
  clearFaults(): void
  /** Whether a search does not find the latest payment intents yet. */
  searchLags: boolean
  /** Forgets all idempotency keys, as Stripe does after a day. */
  forgetIdempotencyKeys(): void
  /** The Stripe session of a checkout session of the platform. */
  sessionFor(checkoutId: string): Session
  customer: {
    /** Pays by a card, which is stored if the session says so. */
    pay(session: Session, number?: string): void
    /** Tries to pay by a card that is declined. */
    decline(session: Session, declineCode?: string): void
    /** Pays by a slow bank payment. */
    payByBank(session: Session): void
    /** Completes or fails a bank payment. */
    finishBankPayment(session: Session, paid: boolean): void
    /** Cancels a subscription at period end, in the customer portal. */
    cancel(subscription: Subscription): void
  }
  billing: {
    expire(session: Session): void
    /** Starts the next period; its invoice is paid or fails. */
    renew(subscription: Subscription, paid: boolean): Invoice
    /** Charges an open invoice again. */
    retry(invoice: Invoice, paid: boolean): void
    void(invoice: Invoice): void
    end(subscription: Subscription): void
    setStatus(subscription: Subscription, status: Subscription['status']): void
    announceTrialEnd(subscription: Subscription): void
    /** Completes or fails a payment intent that is processing. */
    finish(intent: Intent, paid: boolean): void
    completeRefund(refund: Refund, status: 'succeeded' | 'failed'): void
  }
  bank: {
    /** Disputes a payment intent, or the payment of a session or an invoice. */
    dispute(paid: Session | Invoice | Intent, status?: 'needs_response' | 'warning_needs_response'): Dispute
    /** Changes a dispute. The money goes back to the seller with `won`. */
    setDispute(dispute: Dispute, status: string): void
  }
  /** Another event with another id about the same change, as Stripe sometimes sends. */
  duplicateEvent(event: StripeEvent): StripeEvent
  /** Signs a body as Stripe does, optionally with another secret or time. */
  sign(body: string, options?: { secret?: string; timestamp?: number }): string
  /** Delivers an event to a server of the platform. */
  deliver(server: string, event: StripeEvent): Promise<Response>
}

class StripeError extends Error {
  status: number
  error: Record<string, unknown>

  constructor(status: number, error: { type?: string; code?: string; param?: string; message: string }) {
    super(error.message)
    this.status = status
    this.error = { type: 'invalid_request_error', ...error }
  }
}

/** Starts the fake until the end of the test. */
export async function startFakeStripe(t: Pick<Test, 'teardown'>): Promise<FakeStripe> {
  const secretKey = `sk_test_${random()}`
  const webhookSecret = `whsec_${random()}`
  const intents = new Map<string, Intent & { refunded: number }>()
  const customers = new Map<string, { id: string; object: 'customer'; created: number; metadata: object }>()
  const charges = new Map<string, Charge>()
  const answers = new Map<string, { request: string; status: number; body: string }>()
  const heldResponses: Array<{ on: RegExp; received: () => void; released: Promise<void> }> = []
  const faults: Array<{ fault: Fault; on: RegExp; times: number }> = []
  /** The items and metadata of each session, for when it is paid. */
  const pendingItems = new Map<string, { items: any[]; metadata: Record<string, string>; stores: boolean }>()
  let counter = 0
  const newId = (prefix: string): string => `${prefix}_${(++counter).toString().padStart(6, '0')}${random(8)}`
  const now = (): number => Math.floor(Date.now() / 1000)

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => answer(request, response, Buffer.concat(chunks).toString()))
  })
  server.timeout = 0
  const port = await listen(t, server)
  const url = `http://127.0.0.1:${port}`

  const fake: FakeStripe = {
    url,
    env: {
      PAYMENT_GATEWAY: 'stripe',
      CHECKOUT_REDIRECT_ORIGINS: 'https://shop.example',
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: webhookSecret,
      STRIPE_API_BASE: url,
    },
    secretKey,
    client: new Stripe(secretKey, { apiVersion: version, host: '127.0.0.1', port, protocol: 'http' }),
    searchLags: false,
    requests: [],
    events: [],
    sessions: new Map(),
    subscriptions: new Map(),
    invoices: new Map(),
    refunds: new Map(),
    disputes: new Map(),
    intents,
    paymentMethods: new Map(),
    cards: new Map<string, OffSession>([
      [stripeCards.renewalDeclined, { declined: 'generic_decline' }],
      [stripeCards.needsCustomer, { declined: 'authentication_required' }],
    ]),
    intentsFor: (id) => [...intents.values()].filter(({ metadata }) => metadata.payment_id === id),
    refundOutcome: 'succeeded',
    fail(fault, { on = /./, times = Infinity } = {}) {
      faults.push({ fault, on, times })
    },
    holdResponse(on) {
      const received = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      heldResponses.push({ on, received: received.resolve, released: released.promise })
      return { received: received.promise, release: released.resolve }
    },
    clearFaults() {
      faults.length = 0
    },
    forgetIdempotencyKeys() {
      answers.clear()
    },
    sessionFor(checkoutId) {
      const found = [...fake.sessions.values()].filter(
        (session) => session.metadata?.checkout_id === checkoutId,
      )
      if (found.length !== 1) throw new Error(`${checkoutId} has ${found.length} sessions`)
      return found[0]
    },
    customer: {
      pay(session, number = stripeCards.succeeds) {
        complete(session, 'succeeded', number)
        emit('checkout.session.completed', session)
      },
      decline(session, declineCode = 'generic_decline') {
        const intent = intentOfSession(session, 'requires_payment_method')
        const charge = failedChargeOf({ id: newId('ch'), intent, declineCode, created: now() })
        charges.set(charge.id, charge)
        declineIntent(intent, declineCode)
        emit('charge.failed', charge)
      },
      payByBank(session) {
        complete(session, 'processing')
        emit('checkout.session.completed', session)
      },
      finishBankPayment(session, paid) {
        const intent = intents.get(session.payment_intent as string)!
        Object.assign(
          intent,
          paid
            ? { status: 'succeeded', amount_received: intent.amount }
            : {
                status: 'requires_payment_method',
                last_payment_error: { type: 'card_error', code: 'debit_not_authorized' },
              },
        )
        if (paid) session.payment_status = 'paid'
        emit(
          paid ? 'checkout.session.async_payment_succeeded' : 'checkout.session.async_payment_failed',
          session,
        )
      },
      cancel(subscription) {
        // The customer portal does this for subscriptions with flexible billing.
        Object.assign(subscription, {
          cancel_at: subscription.items.data[0].current_period_end,
          canceled_at: now(),
        })
        emit('customer.subscription.updated', subscription)
      },
    },
    billing: {
      expire,
      renew(subscription, paid) {
        const [item] = subscription.items.data
        const { interval, interval_count: count } = item.plan
        Object.assign(item, {
          current_period_start: item.current_period_end,
          current_period_end: addPeriod(item.current_period_end, {
            interval: interval as Interval['interval'],
            interval_count: count,
          }),
        })
        emit('customer.subscription.updated', subscription)
        const invoice = invoiceFor(subscription, 'subscription_cycle', item.current_period_start)
        emit('invoice.created', invoice)
        emit('invoice.finalized', invoice)
        tryInvoice(invoice, paid)
        return invoice
      },
      retry: tryInvoice,
      void(invoice) {
        Object.assign(invoice, { status: 'void', amount_remaining: 0 })
        invoice.status_transitions.voided_at = now()
        emit('invoice.voided', invoice)
        const subscription = fake.subscriptions.get(
          invoice.parent!.subscription_details!.subscription as string,
        )!
        subscription.status = 'active'
        emit('customer.subscription.updated', subscription)
      },
      end,
      setStatus(subscription, status) {
        subscription.status = status
        emit('customer.subscription.updated', subscription)
      },
      announceTrialEnd(subscription) {
        emit('customer.subscription.trial_will_end', subscription)
      },
      finish(intent, paid) {
        if (!paid) return void declineIntent(intent, 'generic_decline')
        succeed(intent)
      },
      completeRefund(refund, status) {
        setRefundStatus(refund, status)
        emit('refund.updated', refund)
        if (status === 'failed') emit('refund.failed', refund)
        emit('charge.refund.updated', refund)
      },
    },
    bank: {
      dispute(paid, status = 'needs_response') {
        const intent = intents.get(
          paid.object === 'payment_intent'
            ? paid.id
            : paid.object === 'invoice'
              ? (paid.payments!.data[0].payment.payment_intent as string)
              : (paid.payment_intent as string),
        )!
        const { amount, currency } = intent
        const dispute = disputeOf({
          id: newId('dp'),
          intent: intent.id,
          amount,
          currency,
          created: now(),
          status,
        })
        fake.disputes.set(dispute.id, dispute)
        emit('charge.dispute.created', dispute)
        if (status === 'needs_response') emit('charge.dispute.funds_withdrawn', dispute)
        return dispute
      },
      setDispute(dispute, status) {
        dispute.status = status
        emit('charge.dispute.updated', dispute)
        if (/^(won|lost|warning_closed)$/.test(status)) emit('charge.dispute.closed', dispute)
        if (status === 'won') emit('charge.dispute.funds_reinstated', dispute)
      },
    },
    duplicateEvent: ({ type, body }) => newEvent(type, JSON.parse(body).data.object),
    sign: (payload, { secret = webhookSecret, timestamp } = {}) =>
      Stripe.webhooks.generateTestHeaderString({
        payload,
        secret,
        ...(timestamp !== undefined && { timestamp }),
      }),
    async deliver(to, { body }) {
      return await fetch(`${to}/v1/payments/webhooks/stripe`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'stripe-signature': fake.sign(body),
        },
        body,
      })
    },
  }
  return fake

  function newEvent(type: string, object: unknown): StripeEvent {
    const id = newId('evt')
    const event = {
      id,
      object: 'event',
      api_version: version,
      created: now(),
      data: { object },
      livemode: false,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      type,
    }
    return { id, type, body: JSON.stringify(event, null, 2) }
  }

  function emit(type: string, object: object): void {
    fake.events.push(newEvent(type, structuredClone(object)))
  }

  function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { pathname, searchParams } = new URL(request.url!, url)
    const method = request.method!
    const text = method === 'POST' ? body : searchParams.toString()
    const key = (request.headers['idempotency-key'] as string | undefined) ?? null
    const recorded: RecordedRequest = {
      method,
      path: pathname,
      params: parseForm(text),
      key,
      replayed: false,
      status: 0,
    }
    fake.requests.push(recorded)
    const send = (status: number, json: string, headers: Record<string, string> = {}): void => {
      recorded.status = status
      const write = (): void => {
        response.writeHead(status, {
          'content-type': 'application/json',
          'request-id': `req_${random(14)}`,
          'stripe-version': version,
          ...(key !== null && { 'idempotency-key': key }),
          ...headers,
        })
        response.end(json)
      }
      const at = heldResponses.findIndex(({ on }) => on.test(`${method} ${pathname}`))
      if (at === -1) return write()
      const [{ received, released }] = heldResponses.splice(at, 1)
      received()
      void released.then(write)
    }
    const found = faults.find(({ on, times }) => times > 0 && on.test(`${method} ${pathname}`))
    if (found !== undefined) found.times -= 1
    const fault = found?.fault
    if (fault === 'hang') return
    if (fault === 'reset') return void request.socket.destroy()
    if (typeof fault === 'object') {
      const code = fault.status === 429 ? 'rate_limit' : undefined
      return send(
        fault.status,
        JSON.stringify({
          error: {
            type: fault.status === 429 ? 'invalid_request_error' : 'api_error',
            code,
            message: 'Simulated failure.',
          },
        }),
        fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) },
      )
    }
    const digest = createHash('sha256').update(`${method} ${pathname}\n${text}`).digest('hex')
    const known = key === null ? undefined : answers.get(key)
    try {
      requireAuthorized(request)
      if (known !== undefined) {
        if (known.request !== digest)
          throw new StripeError(400, {
            type: 'idempotency_error',
            message:
              'Keys for idempotent requests can only be used with the same parameters ' +
              'they were first used with.',
          })
        recorded.replayed = true
        if (fault === 'reset after') return void request.socket.destroy()
        return send(known.status, known.body, { 'idempotent-replayed': 'true' })
      }
      const result = JSON.stringify(route(method, pathname, recorded.params))
      if (key !== null && method === 'POST') answers.set(key, { request: digest, status: 200, body: result })
      if (fault === 'reset after') return void request.socket.destroy()
      send(200, result)
    } catch (error) {
      if (!(error instanceof StripeError)) throw error
      const text = JSON.stringify({ error: error.error })
      // Stripe stores the result of a request that was executed.
      if (key !== null && error.status === 402) answers.set(key, { request: digest, status: 402, body: text })
      if (fault === 'reset after') return void request.socket.destroy()
      send(error.status, JSON.stringify({ error: error.error }))
    }
  }

  function requireAuthorized({ headers }: IncomingMessage): void {
    if (headers.authorization !== `Bearer ${secretKey}`)
      throw new StripeError(401, { message: `Invalid API Key provided: ${headers.authorization?.slice(7)}` })
    if (headers['stripe-version'] !== version)
      throw new StripeError(400, { message: `Invalid Stripe API version: ${headers['stripe-version']}` })
  }

  function route(method: string, path: string, params: any): unknown {
    const [, , ...parts] = path.split('/')
    const [resource, id, action] = parts[0] === 'checkout' ? [parts[1], parts[2], parts[3]] : parts
    const idPart = id === undefined ? '' : '/{id}'
    const what = `${method} ${resource}${idPart}${action === undefined ? '' : `/${action}`}`
    switch (what) {
      case 'POST sessions':
        return createSession(params)
      case 'GET sessions/{id}':
        return toSession(find(fake.sessions, id, 'checkout.session'), params)
      case 'POST sessions/{id}/expire':
        return expireByRequest(find(fake.sessions, id, 'checkout.session'))
      case 'GET subscriptions/{id}':
        return find(fake.subscriptions, id, 'subscription')
      case 'POST subscriptions/{id}':
        return updateSubscription(find(fake.subscriptions, id, 'subscription'), params)
      case 'DELETE subscriptions/{id}':
        return cancelSubscription(find(fake.subscriptions, id, 'subscription'))
      case 'GET invoices':
        return listPage(
          '/v1/invoices',
          fake.invoices,
          params,
          (invoice) => invoice.parent!.subscription_details!.subscription === params.subscription,
          toInvoice,
        )
      case 'GET invoices/{id}':
        return toInvoice(find(fake.invoices, id, 'invoice'), params)
      case 'GET disputes/{id}':
        return find(fake.disputes, id, 'dispute')
      case 'GET sessions':
        return listPage(
          '/v1/checkout/sessions',
          fake.sessions,
          params,
          (session) => session.payment_intent === params.payment_intent,
          (session) => session,
        )
      case 'GET invoice_payments':
        return listPage(
          '/v1/invoice_payments',
          new Map(
            [...fake.invoices.values()].map(({ payments }) => [payments!.data[0].id, payments!.data[0]]),
          ),
          params,
          ({ payment }) => payment.payment_intent === params.payment?.payment_intent,
          (payment) => payment,
        )
      case 'POST customers': {
        requireKnown(params, ['metadata'])
        const id = newId('cus')
        const customer = { id, object: 'customer' as const, created: now(), metadata: params.metadata ?? {} }
        customers.set(id, customer)
        return customer
      }
      case 'DELETE customers/{id}':
        find(customers, id, 'customer')
        customers.delete(id)
        for (const method of fake.paymentMethods.values()) if (method.customer === id) method.customer = null
        return { id, object: 'customer', deleted: true }
      case 'POST payment_intents':
        return createIntent(params)
      case 'GET payment_intents':
        return listPage(
          '/v1/payment_intents',
          intents,
          params,
          ({ customer }) => customer === params.customer,
          (intent) => intent,
        )
      case 'GET payment_intents/{id}':
        if (id === 'search') return searchIntents(params.query)
        return find(intents, id, 'payment_intent')
      case 'POST payment_intents/{id}/cancel': {
        const intent = find(intents, id, 'payment_intent')
        if (/^(succeeded|processing|canceled)$/.test(intent.status))
          throw new StripeError(400, {
            code: 'payment_intent_unexpected_state',
            message: `You cannot cancel this PaymentIntent because it has a status of ${intent.status}.`,
          })
        Object.assign(intent, { status: 'canceled', canceled_at: now() })
        emit('payment_intent.canceled', intent)
        return intent
      }
      case 'GET charges':
        return listPage(
          '/v1/charges',
          charges,
          params,
          (charge) => charge.payment_intent === params.payment_intent,
          (charge) => charge,
        )
      case 'POST payment_methods/{id}/detach': {
        const method = find(fake.paymentMethods, id, 'payment_method')
        if (method.customer === null)
          throw new StripeError(400, { message: 'The payment method is not attached to a customer.' })
        method.customer = null
        return method
      }
      case 'POST refunds':
        return createRefund(params)
      case 'GET refunds':
        return listPage(
          '/v1/refunds',
          fake.refunds,
          params,
          (refund) => refund.payment_intent === params.payment_intent,
          (refund) => refund,
        )
      case 'GET refunds/{id}':
        return find(fake.refunds, id, 'refund')
      default:
        throw new StripeError(404, { message: `Unrecognized request URL (${method}: ${path}).` })
    }
  }

  function createSession(params: any): Session {
    requireKnown(params, [
      'mode',
      'line_items',
      'client_reference_id',
      'customer',
      'metadata',
      'allowed_payment_method_types',
      'payment_intent_data',
      'subscription_data',
      'success_url',
      'cancel_url',
      'expires_at',
    ])
    const { mode, line_items: items = [], success_url: successUrl, metadata = {} } = params
    const recurring = mode === 'subscription'
    if (params.customer !== undefined) find(customers, params.customer, 'customer')
    if (mode !== 'payment' && !recurring)
      throw new StripeError(400, { param: 'mode', message: 'Invalid mode' })
    if (successUrl === undefined)
      throw new StripeError(400, {
        code: 'parameter_missing',
        param: 'success_url',
        message: 'Missing required param: success_url.',
      })
    if ((recurring ? params.payment_intent_data : params.subscription_data) !== undefined)
      throw new StripeError(400, { message: `You can not pass these in \`${mode}\` mode.` })
    if (items.length === 0 || items.length > (recurring ? 20 : 100))
      throw new StripeError(400, { param: 'line_items', message: 'Invalid number of line items' })
    const expiresAt = Number(params.expires_at ?? now() + 86_400)
    if (expiresAt < now() + 1800 || expiresAt > now() + 86_400)
      throw new StripeError(400, {
        param: 'expires_at',
        message:
          'The `expires_at` timestamp must be between 30 minutes and 24 hours ' +
          'from Checkout Session creation.',
      })
    const currency = items[0].price_data.currency
    let amount = 0
    for (const [i, { quantity, price_data: price }] of items.entries()) {
      const unit = Number(price.unit_amount)
      if (!Number.isInteger(unit) || unit < 0)
        throw new StripeError(400, {
          code: 'parameter_invalid_integer',
          param: `line_items[${i}][price_data][unit_amount]`,
          message: `Invalid integer: ${price.unit_amount}`,
        })
      if (price.currency !== currency || !price.product_data?.name)
        throw new StripeError(400, { param: `line_items[${i}][price_data]`, message: 'Invalid price_data' })
      if ((price.recurring !== undefined) !== recurring)
        throw new StripeError(400, {
          param: `line_items[${i}]`,
          message:
            'You must provide at least one recurring price in `subscription` mode, ' +
            'and none in `payment` mode.',
        })
      amount += unit * Number(quantity)
    }
    if (amount > 99_999_999)
      throw new StripeError(400, {
        code: 'amount_too_large',
        message: "The Checkout Session's total amount must be no more than 99999999.",
      })
    const id = newId('cs_test')
    const session = sessionOf({
      id,
      mode,
      amount,
      currency,
      metadata,
      clientReferenceId: params.client_reference_id ?? null,
      successUrl,
      cancelUrl: params.cancel_url ?? null,
      created: now(),
      expiresAt,
    })
    session.customer = params.customer ?? null
    fake.sessions.set(id, session)
    pendingItems.set(id, {
      items,
      stores: params.payment_intent_data?.setup_future_usage === 'off_session',
      metadata: (recurring ? params.subscription_data : params.payment_intent_data)?.metadata ?? {},
    })
    return session
  }

  function toSession(session: Session, { expand = [] }: { expand?: string[] }): object {
    const intent = intents.get(session.payment_intent as string)
    if (intent === undefined || !expand.some((field) => field.startsWith('payment_intent'))) return session
    const method = fake.paymentMethods.get(intent.payment_method as string)
    const expands = method !== undefined && expand.includes('payment_intent.payment_method')
    return { ...session, payment_intent: expands ? { ...intent, payment_method: method } : intent }
  }

  /** The payment intent of a session, which its first attempt creates. */
  function intentOfSession(session: Session, status: Intent['status']): Intent & { refunded: number } {
    const { metadata } = pendingItems.get(session.id)!
    const intent =
      session.payment_intent === null
        ? newIntent(session.amount_total!, session.currency!, metadata, 'requires_payment_method')
        : intents.get(session.payment_intent as string)!
    Object.assign(intent, { status, customer: session.customer })
    session.payment_intent = intent.id
    return intent
  }

  function succeed(intent: Intent): void {
    Object.assign(intent, { status: 'succeeded', amount_received: intent.amount, last_payment_error: null })
    emit('payment_intent.succeeded', intent)
  }

  function declineIntent(intent: Intent, declineCode: string): Record<string, unknown> {
    const error = {
      type: 'card_error',
      code: declineCode === 'authentication_required' ? declineCode : 'card_declined',
      decline_code: declineCode,
      message: 'Your card was declined.',
    }
    Object.assign(intent, { status: 'requires_payment_method', last_payment_error: error })
    emit('payment_intent.payment_failed', intent)
    return error
  }

  function searchIntents(query: string): object {
    const [, id] = /^metadata\['payment_id'\]:'(\w+)'$/.exec(query)!
    return {
      object: 'search_result',
      url: '/v1/payment_intents/search',
      has_more: false,
      next_page: null,
      data: fake.searchLags ? [] : fake.intentsFor(id),
    }
  }

  /** Charges a stored card. A payment of the platform may have one payment intent only. */
  function createIntent(params: any): Intent {
    requireKnown(params, [
      'amount',
      'currency',
      'customer',
      'payment_method',
      'allowed_payment_method_types',
      'off_session',
      'confirm',
      'metadata',
    ])
    const { amount, currency, customer, payment_method: methodId, metadata = {} } = params
    find(customers, customer, 'customer')
    const method = find(fake.paymentMethods, methodId, 'payment_method')
    if (method.customer !== customer)
      throw new StripeError(400, {
        code: 'payment_method_unactivated',
        param: 'payment_method',
        message: 'The payment method does not belong to the customer.',
      })
    if (
      params.off_session !== 'true' ||
      params.confirm !== 'true' ||
      params.allowed_payment_method_types[0] !== 'card'
    )
      throw new StripeError(400, { message: 'This payment intent is not confirmed off session.' })
    if (metadata.payment_id === undefined || fake.intentsFor(metadata.payment_id).length > 0)
      throw new Error(`There is a payment intent of ${metadata.payment_id} already.`)
    if (Number(amount) < 50)
      throw new StripeError(400, { code: 'amount_too_small', message: 'Amount must be at least 50 cents.' })
    const intent = newIntent(Number(amount), currency, metadata, 'processing')
    Object.assign(intent, { customer, payment_method: methodId })
    emit('payment_intent.created', intent)
    const outcome = fake.cards.get(method.card!.fingerprint!.slice(2)) ?? 'succeeded'
    if (outcome === 'succeeded') succeed(intent)
    else if (outcome === 'requires_action') intent.status = outcome
    else if (outcome === 'processing') emit('payment_intent.processing', intent)
    else {
      const error = declineIntent(intent, outcome.declined)
      throw new StripeError(402, {
        ...(error as { message: string }),
        payment_intent: structuredClone(intent),
      } as { message: string })
    }
    return intent
  }

  function complete(session: Session, status: 'succeeded' | 'processing', number?: string): void {
    if (session.status !== 'open') throw new Error(`${session.id} is ${session.status}`)
    const { items, metadata, stores } = pendingItems.get(session.id)!
    Object.assign(session, {
      status: 'complete',
      payment_status: status === 'succeeded' ? 'paid' : 'unpaid',
      url: null,
    })
    if (session.mode === 'payment') {
      const intent = intentOfSession(session, status)
      if (number !== undefined) {
        const customer = stores ? (session.customer as string) : null
        const method = cardMethodOf({ id: newId('pm'), number, customer, created: now() })
        fake.paymentMethods.set(method.id, method)
        intent.payment_method = method.id
      }
      if (status === 'succeeded') succeed(intent)
      else emit(`payment_intent.${status}`, intent)
      return
    }
    const [
      {
        quantity,
        price_data: { currency, unit_amount: unitAmount, recurring },
      },
    ] = items
    const every = {
      interval: recurring.interval,
      interval_count: Number(recurring.interval_count),
    } as Interval
    const start = now()
    const subscription = subscriptionOf({
      id: newId('sub'),
      customer: newId('cus'),
      currency,
      unitAmount: Number(unitAmount),
      quantity: Number(quantity),
      recurring: every,
      metadata,
      start,
      end: addPeriod(start, every),
    })
    fake.subscriptions.set(subscription.id, subscription)
    emit('customer.subscription.created', subscription)
    const invoice = invoiceFor(subscription, 'subscription_create', start)
    Object.assign(session, {
      subscription: subscription.id,
      invoice: invoice.id,
      customer: subscription.customer,
    })
    emit('invoice.created', invoice)
    emit('invoice.finalized', invoice)
    if (status === 'succeeded') tryInvoice(invoice, true)
    else Object.assign(invoice, { attempted: true, attempt_count: 1 })
  }

  function newIntent(
    amount: number,
    currency: string,
    metadata: Record<string, string>,
    status: 'succeeded' | 'processing' | 'requires_payment_method',
  ): Intent & { refunded: number } {
    const intent = {
      ...intentOf({ id: newId('pi'), amount, currency, created: now(), metadata, status }),
      refunded: 0,
    }
    intents.set(intent.id, intent)
    return intent
  }

  function invoiceFor(
    subscription: Subscription,
    reason: 'subscription_create' | 'subscription_cycle',
    created: number,
  ): Invoice {
    const [{ plan, quantity = 1 }] = subscription.items.data
    const amount = plan.amount! * quantity
    const intent = newIntent(amount, subscription.currency, {}, 'processing')
    const invoice = invoiceOf({ id: newId('in'), subscription, reason, amount, created, intent: intent.id })
    fake.invoices.set(invoice.id, invoice)
    subscription.latest_invoice = invoice.id
    return invoice
  }

  function tryInvoice(invoice: Invoice, paid: boolean): void {
    const subscription = fake.subscriptions.get(invoice.parent!.subscription_details!.subscription as string)!
    const [payment] = invoice.payments!.data
    Object.assign(invoice, { attempted: true, attempt_count: invoice.attempt_count + 1 })
    if (paid) {
      Object.assign(invoice, { status: 'paid', amount_paid: invoice.total, amount_remaining: 0 })
      invoice.status_transitions.paid_at = now()
      Object.assign(payment, { status: 'paid', amount_paid: invoice.total })
      Object.assign(intents.get(payment.payment.payment_intent as string)!, {
        status: 'succeeded',
        amount_received: invoice.total,
      })
      emit('invoice.paid', invoice)
      emit('invoice.payment_succeeded', invoice)
    } else emit('invoice.payment_failed', invoice)
    const status = paid ? 'active' : 'past_due'
    if (subscription.status === status || subscription.status === 'canceled') return
    subscription.status = status
    emit('customer.subscription.updated', subscription)
  }

  function expire(session: Session): void {
    Object.assign(session, { status: 'expired', url: null })
    emit('checkout.session.expired', session)
  }

  function expireByRequest(session: Session): Session {
    if (session.status !== 'open')
      throw new StripeError(400, {
        message:
          'Only Checkout Sessions with a status in ["open"] can be expired. ' +
          `This Checkout Session has a status of \`${session.status}\`.`,
      })
    expire(session)
    return session
  }

  function updateSubscription(subscription: Subscription, params: any): Subscription {
    requireKnown(params, ['cancel_at_period_end', 'cancel_at'])
    if (subscription.status === 'canceled')
      throw new StripeError(400, {
        message: 'A canceled subscription can only update its cancellation_details and metadata.',
      })
    if (params.cancel_at === '') Object.assign(subscription, { cancel_at: null, canceled_at: null })
    if (params.cancel_at_period_end !== undefined) {
      const atPeriodEnd = params.cancel_at_period_end === 'true'
      Object.assign(subscription, {
        cancel_at_period_end: atPeriodEnd,
        cancel_at: atPeriodEnd ? subscription.items.data[0].current_period_end : null,
        canceled_at: atPeriodEnd ? now() : null,
      })
    }
    emit('customer.subscription.updated', subscription)
    return subscription
  }

  function cancelSubscription(subscription: Subscription): Subscription {
    if (subscription.status === 'canceled') throw notFound('subscription', subscription.id)
    end(subscription)
    return subscription
  }

  function end(subscription: Subscription): void {
    Object.assign(subscription, {
      status: 'canceled',
      ended_at: now(),
      canceled_at: subscription.canceled_at ?? now(),
    })
    emit('customer.subscription.deleted', subscription)
  }

  function toInvoice(invoice: Invoice, { expand = [] }: { expand?: string[] }): object {
    const { payments, ...invoiceFields } = invoice
    return expand.includes('payments') ? { ...invoiceFields, payments } : invoiceFields
  }

  function createRefund(params: any): Refund {
    requireKnown(params, ['payment_intent', 'amount', 'metadata'])
    const intent = find(intents, params.payment_intent, 'payment_intent')
    if (
      [...fake.disputes.values()].some((one) => one.payment_intent === intent.id && !one.is_charge_refundable)
    )
      throw new StripeError(400, { code: 'charge_disputed', message: 'The charge has been charged back.' })
    const left = intent.amount_received - intent.refunded
    const amount = params.amount === undefined ? left : Number(params.amount)
    if (left <= 0)
      throw new StripeError(400, {
        code: 'charge_already_refunded',
        message: 'Charge has already been refunded.',
      })
    if (!Number.isInteger(amount) || amount < 1 || amount > left)
      throw new StripeError(400, {
        param: 'amount',
        message: `Refund amount (${params.amount}) is greater than unrefunded amount on charge (${left})`,
      })
    const refund = refundOf({
      id: newId('re'),
      amount,
      currency: intent.currency,
      created: now(),
      intent: intent.id,
      metadata: params.metadata ?? {},
      status: 'pending',
    })
    intent.refunded += amount
    fake.refunds.set(refund.id, refund)
    emit('refund.created', refund)
    if (fake.refundOutcome !== 'pending') {
      setRefundStatus(refund, fake.refundOutcome)
      emit('refund.updated', refund)
      emit('charge.refunded', { id: newId('ch'), object: 'charge', payment_intent: intent.id })
    }
    return refund
  }

  function setRefundStatus(refund: Refund, status: 'succeeded' | 'failed'): void {
    refund.status = status
    if (status === 'succeeded') return
    refund.failure_reason = 'lost_or_stolen_card'
    intents.get(refund.payment_intent as string)!.refunded -= refund.amount
  }
}

function listPage<T extends { id: string; created: number }>(
  path: string,
  all: Map<string, T>,
  params: any,
  fits: (one: T) => boolean,
  show: (one: T, params: any) => unknown,
): object {
  const since = Number(params.created?.gte ?? 0)
  const found = [...all.values()].reverse().filter((one) => fits(one) && one.created >= since)
  const start =
    params.starting_after === undefined ? 0 : found.findIndex(({ id }) => id === params.starting_after) + 1
  const limit = Number(params.limit ?? 10)
  return {
    object: 'list',
    url: path,
    has_more: found.length > start + limit,
    data: found.slice(start, start + limit).map((one) => show(one, params)),
  }
}

function find<T>(all: Map<string, T>, id: string, what: string): T {
  const found = all.get(id)
  if (found === undefined) throw notFound(what, id)
  return found
}

function notFound(what: string, id: string): StripeError {
  return new StripeError(404, { code: 'resource_missing', param: 'id', message: `No such ${what}: '${id}'` })
}

function requireKnown(params: Record<string, unknown>, known: string[]): void {
  const unknown = Object.keys(params).find((name) => !known.includes(name) && name !== 'expand')
  if (unknown !== undefined)
    throw new StripeError(400, {
      code: 'parameter_unknown',
      param: unknown,
      message: `Received unknown parameter: ${unknown}`,
    })
}

/** Parses `a[b][0][c]=d` to objects and arrays. */
function parseForm(text: string): any {
  const root: any = {}
  for (const [name, value] of new URLSearchParams(text)) {
    const path = name.split(/[[\]]+/).filter((part) => part !== '')
    let place = root
    for (const [i, part] of path.entries()) {
      if (i === path.length - 1) place[part] = value
      else place = place[part] ??= /^\d+$/.test(path[i + 1]) ? [] : {}
    }
  }
  return root
}

/** The end of a period with this start. */
function addPeriod(start: number, { interval, interval_count: count }: Interval): number {
  const at = new Date(start * 1000)
  if (interval === 'day' || interval === 'week')
    at.setUTCDate(at.getUTCDate() + count * (interval === 'week' ? 7 : 1))
  else at.setUTCMonth(at.getUTCMonth() + count * (interval === 'year' ? 12 : 1))
  return Math.floor(at.getTime() / 1000)
}

function random(bytes = 12): string {
  return randomBytes(bytes).toString('hex')
}
