// A stand-in of Stripe's API: it keeps what it is asked to make, answers in Stripe's shapes and refuses as Stripe does, plays the customer and the
// calendar when a test tells it to, and makes the signed events of what happens, which the test delivers, repeats and shuffles.
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Stripe } from 'stripe'
import type { Test } from 'tap'
import {
  invoiceOf,
  intentOf,
  refundOf,
  sessionOf,
  subscriptionOf,
  type Intent,
  type Interval,
  type Invoice,
  type Refund,
  type Session,
  type Subscription,
} from './stripe-objects.ts'

const version = '2026-10-28.endive'

/** What goes wrong with a request: before anything is done, or `after` it is done and before the answer arrives. */
export type Fault = { status: number; retryAfter?: number } | 'hang' | 'reset' | 'reset after'

export interface Asked {
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

export interface StripeStandIn {
  url: string
  /** For a server that takes money by it. */
  env: Record<string, string>
  secretKey: string
  /** Everything that it was asked, in order. */
  asked: Asked[]
  /** What has happened, in order, of all types that Stripe has for it. */
  events: StripeEvent[]
  sessions: Map<string, Session>
  subscriptions: Map<string, Subscription>
  invoices: Map<string, Invoice>
  refunds: Map<string, Refund>
  /** What becomes of refunds when they are made. */
  refundsBecome: 'succeeded' | 'pending' | 'failed'
  /** Lets the next requests fail whose method and path match; for ever without `times`. */
  fail(fault: Fault, options?: { on?: RegExp; times?: number }): void
  /** Holds back the answer to the next request whose method and path match, as it is when it is asked, until `release` is called. */
  hold(on: RegExp): { asked: Promise<void>; release: () => void }
  /** Nothing fails any more. */
  heal(): void
  /** What was asked with which key is a day old, and forgotten. */
  forget(): void
  /** Of a checkout session of the platform's. */
  sessionFor(checkoutId: string): Session
  customer: {
    /** Pays by a card. */
    pay(session: Session): void
    /** Pays by a bank that takes its time. */
    order(session: Session): void
    /** The bank is done. */
    arrive(session: Session, paid: boolean): void
    /** Turns on that a subscription ends with its period, on Stripe's own page. */
    cancel(subscription: Subscription): void
  }
  calendar: {
    expire(session: Session): void
    /** The next period begins, and its invoice is paid or not. */
    renew(subscription: Subscription, paid: boolean): Invoice
    /** An invoice that is open is tried again. */
    retry(invoice: Invoice, paid: boolean): void
    void(invoice: Invoice): void
    end(subscription: Subscription): void
    completeRefund(refund: Refund, status: 'succeeded' | 'failed'): void
  }
  /** The same change, told by another event, as Stripe does at times. */
  twin(event: StripeEvent): StripeEvent
  /** A signature of Stripe's own, or of somebody else at another time. */
  sign(body: string, options?: { secret?: string; timestamp?: number }): string
  /** Delivers an event to a server of the platform's. */
  deliver(server: string, event: StripeEvent): Promise<Response>
}

class Refusal extends Error {
  status: number
  error: Record<string, unknown>

  constructor(status: number, error: { type?: string; code?: string; param?: string; message: string }) {
    super(error.message)
    this.status = status
    this.error = { type: 'invalid_request_error', ...error }
  }
}

/** Open until the end of the test. */
export async function startStripe(t: Pick<Test, 'teardown'>): Promise<StripeStandIn> {
  const secretKey = `sk_test_${random()}`
  const webhookSecret = `whsec_${random()}`
  const intents = new Map<string, Intent & { refunded: number }>()
  const answers = new Map<string, { request: string; status: number; body: string }>()
  const holds: Array<{ on: RegExp; asked: () => void; released: Promise<void> }> = []
  const faults: Array<{ fault: Fault; on: RegExp; times: number }> = []
  /** What a session is of, for when it is paid. */
  const wanted = new Map<string, { items: any[]; metadata: Record<string, string> }>()
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  const standIn: StripeStandIn = {
    url,
    env: {
      PAYMENT_GATEWAY: 'stripe',
      STRIPE_SECRET_KEY: secretKey,
      STRIPE_WEBHOOK_SECRET: webhookSecret,
      STRIPE_API_BASE: url,
    },
    secretKey,
    asked: [],
    events: [],
    sessions: new Map(),
    subscriptions: new Map(),
    invoices: new Map(),
    refunds: new Map(),
    refundsBecome: 'succeeded',
    fail(fault, { on = /./, times = Infinity } = {}) {
      faults.push({ fault, on, times })
    },
    hold(on) {
      const asked = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      holds.push({ on, asked: asked.resolve, released: released.promise })
      return { asked: asked.promise, release: released.resolve }
    },
    heal() {
      faults.length = 0
    },
    forget() {
      answers.clear()
    },
    sessionFor(checkoutId) {
      const found = [...standIn.sessions.values()].filter(
        (session) => session.metadata?.checkout_id === checkoutId,
      )
      if (found.length !== 1) throw new Error(`${checkoutId} has ${found.length} sessions`)
      return found[0]
    },
    customer: {
      pay(session) {
        complete(session, 'succeeded')
        tell('checkout.session.completed', session)
      },
      order(session) {
        complete(session, 'processing')
        tell('checkout.session.completed', session)
      },
      arrive(session, paid) {
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
        tell(
          paid ? 'checkout.session.async_payment_succeeded' : 'checkout.session.async_payment_failed',
          session,
        )
      },
      cancel(subscription) {
        // As the customer portal does it where the billing is flexible.
        Object.assign(subscription, {
          cancel_at: subscription.items.data[0].current_period_end,
          canceled_at: now(),
        })
        tell('customer.subscription.updated', subscription)
      },
    },
    calendar: {
      expire,
      renew(subscription, paid) {
        const [item] = subscription.items.data
        const { interval, interval_count: count } = item.plan
        Object.assign(item, {
          current_period_start: item.current_period_end,
          current_period_end: later(item.current_period_end, {
            interval: interval as Interval['interval'],
            interval_count: count,
          }),
        })
        tell('customer.subscription.updated', subscription)
        const invoice = invoiceFor(subscription, 'subscription_cycle', item.current_period_start)
        tell('invoice.created', invoice)
        tell('invoice.finalized', invoice)
        attempt(invoice, paid)
        return invoice
      },
      retry: attempt,
      void(invoice) {
        Object.assign(invoice, { status: 'void', amount_remaining: 0 })
        invoice.status_transitions.voided_at = now()
        tell('invoice.voided', invoice)
        const subscription = standIn.subscriptions.get(
          invoice.parent!.subscription_details!.subscription as string,
        )!
        subscription.status = 'active'
        tell('customer.subscription.updated', subscription)
      },
      end,
      completeRefund(refund, status) {
        conclude(refund, status)
        tell('refund.updated', refund)
        if (status === 'failed') tell('refund.failed', refund)
        tell('charge.refund.updated', refund)
      },
    },
    twin: ({ type, body }) => signable(type, JSON.parse(body).data.object),
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
          'stripe-signature': standIn.sign(body),
        },
        body,
      })
    },
  }
  return standIn

  function signable(type: string, object: unknown): StripeEvent {
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

  function tell(type: string, object: object): void {
    standIn.events.push(signable(type, structuredClone(object)))
  }

  function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { pathname, searchParams } = new URL(request.url!, url)
    const method = request.method!
    const text = method === 'POST' ? body : searchParams.toString()
    const key = (request.headers['idempotency-key'] as string | undefined) ?? null
    const seen: Asked = { method, path: pathname, params: parsed(text), key, replayed: false, status: 0 }
    standIn.asked.push(seen)
    const send = (status: number, json: string, headers: Record<string, string> = {}): void => {
      seen.status = status
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
      const at = holds.findIndex(({ on }) => on.test(`${method} ${pathname}`))
      if (at === -1) return write()
      const [{ asked, released }] = holds.splice(at, 1)
      asked()
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
            message: 'This went wrong.',
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
          throw new Refusal(400, {
            type: 'idempotency_error',
            message:
              'Keys for idempotent requests can only be used with the same parameters they were first used with.',
          })
        seen.replayed = true
        if (fault === 'reset after') return void request.socket.destroy()
        return send(known.status, known.body, { 'idempotent-replayed': 'true' })
      }
      const result = JSON.stringify(route(method, pathname, seen.params))
      if (key !== null && method === 'POST') answers.set(key, { request: digest, status: 200, body: result })
      if (fault === 'reset after') return void request.socket.destroy()
      send(200, result)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      send(error.status, JSON.stringify({ error: error.error }))
    }
  }

  function requireAuthorized({ headers }: IncomingMessage): void {
    if (headers.authorization !== `Bearer ${secretKey}`)
      throw new Refusal(401, { message: `Invalid API Key provided: ${headers.authorization?.slice(7)}` })
    if (headers['stripe-version'] !== version)
      throw new Refusal(400, { message: `Invalid Stripe API version: ${headers['stripe-version']}` })
  }

  function route(method: string, path: string, params: any): unknown {
    const [, , ...parts] = path.split('/')
    const [resource, id, action] = parts[0] === 'checkout' ? [parts[1], parts[2], parts[3]] : parts
    const what = `${method} ${resource}${id === undefined ? '' : '/{id}'}${action === undefined ? '' : `/${action}`}`
    switch (what) {
      case 'POST sessions':
        return createSession(params)
      case 'GET sessions/{id}':
        return shownSession(held(standIn.sessions, id, 'checkout.session'), params)
      case 'POST sessions/{id}/expire':
        return expireByRequest(held(standIn.sessions, id, 'checkout.session'))
      case 'GET subscriptions/{id}':
        return held(standIn.subscriptions, id, 'subscription')
      case 'POST subscriptions/{id}':
        return updateSubscription(held(standIn.subscriptions, id, 'subscription'), params)
      case 'DELETE subscriptions/{id}':
        return cancelSubscription(held(standIn.subscriptions, id, 'subscription'))
      case 'GET invoices':
        return listed(
          '/v1/invoices',
          standIn.invoices,
          params,
          (invoice) => invoice.parent!.subscription_details!.subscription === params.subscription,
          shownInvoice,
        )
      case 'GET invoices/{id}':
        return shownInvoice(held(standIn.invoices, id, 'invoice'), params)
      case 'POST refunds':
        return createRefund(params)
      case 'GET refunds':
        return listed(
          '/v1/refunds',
          standIn.refunds,
          params,
          (refund) => refund.payment_intent === params.payment_intent,
          (refund) => refund,
        )
      case 'GET refunds/{id}':
        return held(standIn.refunds, id, 'refund')
      default:
        throw new Refusal(404, { message: `Unrecognized request URL (${method}: ${path}).` })
    }
  }

  function createSession(params: any): Session {
    requireKnown(params, [
      'mode',
      'line_items',
      'client_reference_id',
      'metadata',
      'payment_intent_data',
      'subscription_data',
      'success_url',
      'cancel_url',
      'expires_at',
    ])
    const { mode, line_items: items = [], success_url: successUrl, metadata = {} } = params
    const recurring = mode === 'subscription'
    if (mode !== 'payment' && !recurring) throw new Refusal(400, { param: 'mode', message: 'Invalid mode' })
    if (successUrl === undefined)
      throw new Refusal(400, {
        code: 'parameter_missing',
        param: 'success_url',
        message: 'Missing required param: success_url.',
      })
    if ((recurring ? params.payment_intent_data : params.subscription_data) !== undefined)
      throw new Refusal(400, { message: `You can not pass these in \`${mode}\` mode.` })
    if (items.length === 0 || items.length > (recurring ? 20 : 100))
      throw new Refusal(400, { param: 'line_items', message: 'Invalid number of line items' })
    const expiresAt = Number(params.expires_at ?? now() + 86_400)
    if (expiresAt < now() + 1800 || expiresAt > now() + 86_400)
      throw new Refusal(400, {
        param: 'expires_at',
        message:
          'The `expires_at` timestamp must be between 30 minutes and 24 hours from Checkout Session creation.',
      })
    const currency = items[0].price_data.currency
    let amount = 0
    for (const [i, { quantity, price_data: price }] of items.entries()) {
      const unit = Number(price.unit_amount)
      if (!Number.isInteger(unit) || unit < 0)
        throw new Refusal(400, {
          code: 'parameter_invalid_integer',
          param: `line_items[${i}][price_data][unit_amount]`,
          message: `Invalid integer: ${price.unit_amount}`,
        })
      if (price.currency !== currency || !price.product_data?.name)
        throw new Refusal(400, { param: `line_items[${i}][price_data]`, message: 'Invalid price_data' })
      if ((price.recurring !== undefined) !== recurring)
        throw new Refusal(400, {
          param: `line_items[${i}]`,
          message:
            'You must provide at least one recurring price in `subscription` mode, and none in `payment` mode.',
        })
      amount += unit * Number(quantity)
    }
    if (amount > 99_999_999)
      throw new Refusal(400, {
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
    standIn.sessions.set(id, session)
    wanted.set(id, {
      items,
      metadata: (recurring ? params.subscription_data : params.payment_intent_data)?.metadata ?? {},
    })
    return session
  }

  function shownSession(session: Session, { expand = [] }: { expand?: string[] }): object {
    return expand.includes('payment_intent') && session.payment_intent !== null
      ? { ...session, payment_intent: intents.get(session.payment_intent as string) }
      : session
  }

  function complete(session: Session, status: 'succeeded' | 'processing'): void {
    if (session.status !== 'open') throw new Error(`${session.id} is ${session.status}`)
    const { items, metadata } = wanted.get(session.id)!
    Object.assign(session, {
      status: 'complete',
      payment_status: status === 'succeeded' ? 'paid' : 'unpaid',
      url: null,
    })
    if (session.mode === 'payment') {
      const intent = newIntent(session.amount_total!, session.currency!, metadata, status)
      session.payment_intent = intent.id
      tell(`payment_intent.${status}`, intent)
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
      end: later(start, every),
    })
    standIn.subscriptions.set(subscription.id, subscription)
    tell('customer.subscription.created', subscription)
    const invoice = invoiceFor(subscription, 'subscription_create', start)
    Object.assign(session, {
      subscription: subscription.id,
      invoice: invoice.id,
      customer: subscription.customer,
    })
    tell('invoice.created', invoice)
    tell('invoice.finalized', invoice)
    if (status === 'succeeded') attempt(invoice, true)
    else Object.assign(invoice, { attempted: true, attempt_count: 1 })
  }

  function newIntent(
    amount: number,
    currency: string,
    metadata: Record<string, string>,
    status: 'succeeded' | 'processing',
  ): Intent {
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
    standIn.invoices.set(invoice.id, invoice)
    subscription.latest_invoice = invoice.id
    return invoice
  }

  function attempt(invoice: Invoice, paid: boolean): void {
    const subscription = standIn.subscriptions.get(
      invoice.parent!.subscription_details!.subscription as string,
    )!
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
      tell('invoice.paid', invoice)
      tell('invoice.payment_succeeded', invoice)
    } else tell('invoice.payment_failed', invoice)
    const status = paid ? 'active' : 'past_due'
    if (subscription.status === status || subscription.status === 'canceled') return
    subscription.status = status
    tell('customer.subscription.updated', subscription)
  }

  function expire(session: Session): void {
    Object.assign(session, { status: 'expired', url: null })
    tell('checkout.session.expired', session)
  }

  function expireByRequest(session: Session): Session {
    if (session.status !== 'open')
      throw new Refusal(400, {
        message: `Only Checkout Sessions with a status in ["open"] can be expired. This Checkout Session has a status of \`${session.status}\`.`,
      })
    expire(session)
    return session
  }

  function updateSubscription(subscription: Subscription, params: any): Subscription {
    requireKnown(params, ['cancel_at_period_end', 'cancel_at'])
    if (subscription.status === 'canceled')
      throw new Refusal(400, {
        message: 'A canceled subscription can only update its cancellation_details and metadata.',
      })
    if (params.cancel_at === '') Object.assign(subscription, { cancel_at: null, canceled_at: null })
    if (params.cancel_at_period_end !== undefined) {
      const ends = params.cancel_at_period_end === 'true'
      Object.assign(subscription, {
        cancel_at_period_end: ends,
        cancel_at: ends ? subscription.items.data[0].current_period_end : null,
        canceled_at: ends ? now() : null,
      })
    }
    tell('customer.subscription.updated', subscription)
    return subscription
  }

  function cancelSubscription(subscription: Subscription): Subscription {
    if (subscription.status === 'canceled') throw missing('subscription', subscription.id)
    end(subscription)
    return subscription
  }

  function end(subscription: Subscription): void {
    Object.assign(subscription, {
      status: 'canceled',
      ended_at: now(),
      canceled_at: subscription.canceled_at ?? now(),
    })
    tell('customer.subscription.deleted', subscription)
  }

  function shownInvoice(invoice: Invoice, { expand = [] }: { expand?: string[] }): object {
    const { payments, ...shown } = invoice
    return expand.includes('payments') ? { ...shown, payments } : shown
  }

  function createRefund(params: any): Refund {
    requireKnown(params, ['payment_intent', 'amount', 'metadata'])
    const intent = held(intents, params.payment_intent, 'payment_intent')
    const left = intent.amount_received - intent.refunded
    const amount = params.amount === undefined ? left : Number(params.amount)
    if (left <= 0)
      throw new Refusal(400, {
        code: 'charge_already_refunded',
        message: 'Charge has already been refunded.',
      })
    if (!Number.isInteger(amount) || amount < 1 || amount > left)
      throw new Refusal(400, {
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
    standIn.refunds.set(refund.id, refund)
    tell('refund.created', refund)
    if (standIn.refundsBecome !== 'pending') {
      conclude(refund, standIn.refundsBecome)
      tell('refund.updated', refund)
      tell('charge.refunded', { id: newId('ch'), object: 'charge', payment_intent: intent.id })
    }
    return refund
  }

  function conclude(refund: Refund, status: 'succeeded' | 'failed'): void {
    refund.status = status
    if (status === 'succeeded') return
    refund.failure_reason = 'lost_or_stolen_card'
    intents.get(refund.payment_intent as string)!.refunded -= refund.amount
  }
}

function listed<T extends { id: string; created: number }>(
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

function held<T>(all: Map<string, T>, id: string, what: string): T {
  const found = all.get(id)
  if (found === undefined) throw missing(what, id)
  return found
}

function missing(what: string, id: string): Refusal {
  return new Refusal(404, { code: 'resource_missing', param: 'id', message: `No such ${what}: '${id}'` })
}

function requireKnown(params: Record<string, unknown>, known: string[]): void {
  const unknown = Object.keys(params).find((name) => !known.includes(name) && name !== 'expand')
  if (unknown !== undefined)
    throw new Refusal(400, {
      code: 'parameter_unknown',
      param: unknown,
      message: `Received unknown parameter: ${unknown}`,
    })
}

/** `a[b][0][c]=d` as objects and arrays. */
function parsed(text: string): any {
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

/** The end of a period that begins then. */
function later(start: number, { interval, interval_count: count }: Interval): number {
  const at = new Date(start * 1000)
  if (interval === 'day' || interval === 'week')
    at.setUTCDate(at.getUTCDate() + count * (interval === 'week' ? 7 : 1))
  else at.setUTCMonth(at.getUTCMonth() + count * (interval === 'year' ? 12 : 1))
  return Math.floor(at.getTime() / 1000)
}

function random(bytes = 12): string {
  return randomBytes(bytes).toString('hex')
}
