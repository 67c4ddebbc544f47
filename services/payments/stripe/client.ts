// Stripe's official client with a pinned API version, a timeout and retries. Errors never include Stripe's
// own message, which may contain request data or a part of the API key.
import { isUtf8 } from 'node:buffer'
import { Agent as PlainAgent } from 'node:http'
import { Agent } from 'node:https'
import type { Stripe } from 'stripe'
import { invalidHeader, unavailable } from '../../../infra/errors.ts'
import { inSpan } from '../../../infra/telemetry/spans.ts'
import { GatewayFailure } from '../gateway.ts'

/**
 * The API version of the package's types, sent with each request: the account's default version does not
 * matter.
 */
const apiVersion = '2026-10-28.endive'
/** Maximum age of a webhook signature. */
const toleranceSeconds = 300

export interface StripeSettings {
  secretKey: string
  webhookSecret: string
  /** The base URL of the API, without a path; null for https://api.stripe.com. */
  apiBase: string | null
}

export interface StripeClient {
  /** Calls Stripe's API. Throws `StripeFailure`. */
  request<T>(call: (stripe: Stripe) => Promise<T>): Promise<T>
  /**
   * Parses the body of a webhook. Throws 400 unless Stripe signed exactly these bytes within the last five
   * minutes.
   */
  verifyEvent(body: Buffer, signature: string): Promise<Stripe.Event>
  /** Closes all connections and aborts requests in progress. */
  close(): void
}

export interface StripeClientOptions extends StripeSettings {
  /** Milliseconds without a response after which an attempt fails. Default 8,000. */
  timeoutMs?: number
  /** Maximum number of immediate retries of a request. Default 2. */
  retries?: number
  /** Called before each request. Throws if there must be none. */
  beforeCall?: () => Promise<void>
}

/** Stripe rejected a request or could not be reached. */
export class StripeFailure extends GatewayFailure {
  /** The payment intent that was declined. */
  intent: Stripe.PaymentIntent | null

  constructor(
    message: string,
    {
      intent = null,
      ...failure
    }: {
      code: string | null
      retryable: boolean
      retryAfter: number | null
      intent?: Stripe.PaymentIntent | null
    },
  ) {
    super(message, failure)
    this.intent = intent
  }
}

/** Turns a retryable failure into the 503 for the API user; returns every other error unchanged. */
export function asUnavailable(error: unknown): unknown {
  return error instanceof StripeFailure && error.retryable
    ? Object.assign(unavailable('The payment service is temporarily unavailable. Try again.', 5), {
        cause: error,
      })
    : error
}

export function createStripeClient({
  secretKey,
  webhookSecret,
  apiBase,
  timeoutMs = 8_000,
  retries = 2,
  beforeCall = async () => {},
}: StripeClientOptions): StripeClient {
  const base = new URL(apiBase ?? 'https://api.stripe.com')
  const protocol = base.protocol === 'http:' ? 'http' : 'https'
  const agent = protocol === 'http' ? new PlainAgent({ keepAlive: true }) : new Agent({ keepAlive: true })
  // Loaded only if Stripe is configured: importing the package takes half a second.
  const loaded = import('stripe').then(
    ({ Stripe }) =>
      new Stripe(secretKey, {
        apiVersion,
        timeout: timeoutMs,
        maxNetworkRetries: retries,
        telemetry: false,
        httpAgent: agent,
        protocol,
        host: base.hostname,
        ...(base.port !== '' && { port: base.port }),
      }),
  )
  loaded.catch(() => {})

  return {
    async request(call) {
      await beforeCall()
      const stripe = await loaded
      try {
        return await inSpan(
          'stripe',
          { kind: 'client', attributes: { 'server.address': base.hostname } },
          () => call(stripe),
        )
      } catch (error) {
        throw error instanceof stripe.errors.StripeError ? toFailure(error) : error
      }
    },
    async verifyEvent(body, signature) {
      const { errors, webhooks } = await loaded
      // Decode here, so that no two bodies share a signature: Stripe's client drops a byte order mark and
      // invalid UTF-8.
      if (!isUtf8(body)) throw invalidSignature()
      try {
        return webhooks.constructEvent(body.toString(), signature, webhookSecret, toleranceSeconds)
      } catch (error) {
        throw error instanceof errors.StripeSignatureVerificationError || error instanceof SyntaxError
          ? invalidSignature()
          : error
      }
    },
    close() {
      agent.destroy()
    },
  }
}

function invalidSignature(): Error {
  return invalidHeader(
    'Stripe-Signature',
    'signature',
    'The signature is invalid or older than five minutes.',
  )
}

/** Error types to retry. Includes a rejected API key, because an operator may replace it. */
const retryableTypes = new Set([
  'StripeConnectionError',
  'StripeAPIError',
  'StripeRateLimitError',
  'StripeAuthenticationError',
  'StripePermissionError',
  'StripeIdempotencyError',
])

function toFailure(error: InstanceType<typeof Stripe.errors.StripeError>): StripeFailure {
  const { type, statusCode, requestId, headers } = error
  const code = safeToken(error.code) ?? systemCode(error.detail)
  const details = [
    statusCode === undefined ? 'no response' : `status ${statusCode}`,
    code,
    safeToken(error.param),
    safeToken(requestId),
  ].filter((part) => part !== null)
  const seconds = Number(headers?.['retry-after'])
  return new StripeFailure(`Stripe request failed (${type}: ${details.join(', ')})`, {
    code,
    retryable: retryableTypes.has(type),
    retryAfter: seconds > 0 ? seconds * 1000 : null,
    intent: error.payment_intent ?? null,
  })
}

/**
 * The text if it is a single token, such as an error code or a request id; else null. Tokens are safe to log.
 */
function safeToken(text: unknown): string | null {
  return typeof text === 'string' && /^[\w[\].-]{1,100}$/.test(text) ? text : null
}

/** The error code of a failed connection, e.g. `ECONNRESET`. */
function systemCode(detail: unknown): string | null {
  const { code, cause } = (detail ?? {}) as { code?: unknown; cause?: { code?: unknown } }
  return safeToken(code ?? cause?.code)
}
