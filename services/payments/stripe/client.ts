// The way to Stripe: its official client, with one version of the API, a time-out and a few tries for each call. What fails is told without
// what Stripe said of it, which may repeat what it was asked, or a part of the key.
import { isUtf8 } from 'node:buffer'
import { Agent as PlainAgent } from 'node:http'
import { Agent } from 'node:https'
import type { Stripe } from 'stripe'
import { invalidHeader, unavailable } from '../../../infra/errors.ts'

/** The version that the types of the package are of: what is asked for does not change with the account's own. */
const apiVersion = '2026-10-28.endive'
/** Seconds that the signature of an event may be old. */
const tolerance = 300

export interface StripeSettings {
  secretKey: string
  webhookSecret: string
  /** Where Stripe is, without a path; null for Stripe itself. */
  apiBase: string | null
}

export interface StripeConnection {
  /** Asks Stripe. Throws `StripeFailure`. */
  ask<T>(call: (stripe: Stripe) => Promise<T>): Promise<T>
  /** The event that a body is. Throws 400 unless it is signed by Stripe, as it is and lately. */
  verified(body: Buffer, signature: string): Promise<Stripe.Event>
  /** Ends the connections, and with them what is being asked. */
  close(): void
}

export interface ConnectionOptions extends StripeSettings {
  /** Milliseconds of silence after which a try is given up. Default 8,000. */
  timeout?: number
  /** How often a call is tried again at once. Default 2. */
  retries?: number
}

/** Stripe refused something, or could not be asked. The message is for the operator. */
export class StripeFailure extends Error {
  /** Stripe's own code for it, such as `resource_missing`. */
  code: string | null
  /** Whether another try may go well, perhaps when an operator has mended the account. */
  passing: boolean
  /** Milliseconds that Stripe asks to wait for, where it does. */
  retryAfter: number | null

  constructor(
    message: string,
    { code, passing, retryAfter }: { code: string | null; passing: boolean; retryAfter: number | null },
  ) {
    super(message)
    this.code = code
    this.passing = passing
    this.retryAfter = retryAfter
  }
}

/** The answer to somebody who waits for what Stripe does not tell at the moment; anything else as it came. */
export function asUnavailable(error: unknown): unknown {
  return error instanceof StripeFailure && error.passing
    ? Object.assign(unavailable('The payment service does not answer at the moment; try again.', 5), {
        cause: error,
      })
    : error
}

export function connectStripe({
  secretKey,
  webhookSecret,
  apiBase,
  timeout = 8_000,
  retries = 2,
}: ConnectionOptions): StripeConnection {
  const base = new URL(apiBase ?? 'https://api.stripe.com')
  const protocol = base.protocol === 'http:' ? 'http' : 'https'
  const agent = protocol === 'http' ? new PlainAgent({ keepAlive: true }) : new Agent({ keepAlive: true })
  // Half a second of work, which only those have who use it.
  const loaded = import('stripe').then(
    ({ Stripe }) =>
      new Stripe(secretKey, {
        apiVersion,
        timeout,
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
    async ask(call) {
      const stripe = await loaded
      try {
        return await call(stripe)
      } catch (error) {
        throw error instanceof stripe.errors.StripeError ? failureOf(error) : error
      }
    },
    async verified(body, signature) {
      const { errors, webhooks } = await loaded
      // Decoded here, so that no two bodies have the same signature: the client's own way loses a byte order mark, and what is no UTF-8.
      if (!isUtf8(body)) throw unsigned()
      try {
        return webhooks.constructEvent(body.toString(), signature, webhookSecret, tolerance)
      } catch (error) {
        throw error instanceof errors.StripeSignatureVerificationError || error instanceof SyntaxError
          ? unsigned()
          : error
      }
    },
    close() {
      agent.destroy()
    },
  }
}

function unsigned(): Error {
  return invalidHeader(
    'Stripe-Signature',
    'signature',
    'This is no event that Stripe has signed in the last five minutes.',
  )
}

/** Kinds of errors after which the same is tried again; a key that is refused may be mended. */
const passing = new Set([
  'StripeConnectionError',
  'StripeAPIError',
  'StripeRateLimitError',
  'StripeAuthenticationError',
  'StripePermissionError',
  'StripeIdempotencyError',
])

function failureOf(error: InstanceType<typeof Stripe.errors.StripeError>): StripeFailure {
  const { type, statusCode, requestId, headers } = error
  const code = worded(error.code) ?? systemCode(error.detail)
  const said = [
    statusCode === undefined ? 'no answer' : `status ${statusCode}`,
    code,
    worded(error.param),
    worded(requestId),
  ].filter((part) => part !== null)
  const seconds = Number(headers?.['retry-after'])
  return new StripeFailure(`Stripe failed (${type}: ${said.join(', ')})`, {
    code,
    passing: passing.has(type),
    retryAfter: seconds > 0 ? seconds * 1000 : null,
  })
}

/** A word of Stripe's own, and nothing longer. */
function worded(text: unknown): string | null {
  return typeof text === 'string' && /^[\w[\].-]{1,100}$/.test(text) ? text : null
}

/** What a broken connection says of itself. */
function systemCode(detail: unknown): string | null {
  const { code, cause } = (detail ?? {}) as { code?: unknown; cause?: { code?: unknown } }
  return worded(code ?? cause?.code)
}
