// Makes one attempt of a delivery: signs the event, posts it to the endpoint, and derives the new status of
// the delivery from the response.
import serializers from '../../generated/serializers.js'
import { inCallSpan } from '../../infra/telemetry/spans.ts'
import type { PlatformEvent } from '../events/log.ts'
import { type Attempt, retryDelayMs } from './deliveries.ts'
import { WebhookRequestError, type WebhookClient } from './http-client.ts'
import type { AttemptOutcome } from './record-attempts.ts'
import type { SecretReader } from './secrets.ts'
import { signedHeaders } from './signature.ts'

/** A due delivery with everything that is needed to send it. */
export interface DueDelivery {
  id: string
  /** The number of attempts so far. */
  tries: number
  endpoint_id: string
  /** The id of the user who owns the endpoint. */
  owner: string
  url: string
  /** The endpoint's current secret, then the previous one while it is still valid; encrypted. */
  secrets: string[]
  enabled: boolean
  /** Whether the endpoint is failing: see prisma/sql/events/is-failing.sql. */
  failing: boolean
  /** Whether the endpoint's owner may still read the event. */
  allowed: boolean
  event: PlatformEvent
}

export interface SendOptions {
  readSecret: SecretReader
  webhookClient: WebhookClient
  onError: (error: Error) => void
  /** Aborts the request when the process stops. */
  signal: AbortSignal
}

/** The part of an outcome that the attempt itself decides. */
type SendResult = Pick<AttemptOutcome, 'status' | 'attempt' | 'request' | 'next' | 'gone'>
type SentRequest = NonNullable<AttemptOutcome['request']>

/**
 * Sends a delivery once. Without a request, the delivery fails if the endpoint is disabled or its owner may
 * no longer read the event. Never rejects because of the endpoint.
 */
export async function sendDelivery(due: DueDelivery, options: SendOptions): Promise<SendResult> {
  if (!due.enabled) return refused('The endpoint is disabled.')
  if (!due.allowed) return refused('The owner of the endpoint may no longer read this event.')
  return await post(due, options)
}

async function post(
  due: DueDelivery,
  { readSecret, webhookClient, onError, signal }: SendOptions,
): Promise<SendResult> {
  const startedAt = Date.now()
  const body = serializers.replyPlatformEvent(due.event)
  let request: SentRequest | null = null
  try {
    const headers = headersOf(due, { readSecret, startedAt, body })
    const response = await inCallSpan('POST', due.url, async (trace) => {
      request = { url: due.url, headers: { ...headers, ...trace } }
      return await webhookClient.post(due.url, { headers: request.headers, body, signal })
    })
    const { status } = response
    const succeeded = status >= 200 && status < 300
    const error = succeeded ? null : `The endpoint answered ${status}.`
    const attempt = attemptOf(startedAt, { status, body: response.body, error })
    if (succeeded) return { status: 'succeeded', attempt, request, next: null, gone: false }
    return failed(due, attempt, request, {
      isGone: status === 410,
      ...((status === 429 || status === 503) && { retryAfter: response.retryAfter }),
    })
  } catch (error) {
    // A delivery that the stop of this process aborted does not count as an attempt.
    if (signal.aborted)
      return { status: 'pending', attempt: null, request: null, next: new Date(), gone: false }
    const isRequestError = error instanceof WebhookRequestError
    if (!isRequestError) onError(error as Error)
    const message = isRequestError ? error.message : 'The request could not be made.'
    return failed(due, attemptOf(startedAt, { status: null, body: null, error: message }), request)
  }
}

function headersOf(
  due: DueDelivery,
  { readSecret, startedAt, body }: { readSecret: SecretReader; startedAt: number; body: string },
): Record<string, string> {
  const secrets = due.secrets.map((secret) => readSecret(due.endpoint_id, secret))
  return {
    'content-type': 'application/json',
    'user-agent': 'Platform-API-Webhooks/1',
    ...signedHeaders(secrets, { id: due.event.id, timestamp: Math.floor(startedAt / 1000), body }),
  }
}

/** The attempt that started at `startedAt`, in milliseconds since 1970, and ends now. */
function attemptOf(
  startedAt: number,
  { status, body, error }: { status: number | null; body: string | null; error: string | null },
): Attempt {
  return {
    started_at: new Date(startedAt).toISOString(),
    duration_ms: Date.now() - startedAt,
    response_status: status,
    response_body: body,
    error,
  }
}

/** A delivery that fails without a request. */
function refused(error: string): SendResult {
  const attempt = {
    started_at: new Date().toISOString(),
    duration_ms: 0,
    response_status: null,
    response_body: null,
    error,
  }
  return { status: 'failed', attempt, request: null, next: null, gone: false }
}

/** The Retry-After of an endpoint counts up to 24 hours. */
const maxRetryAfterMs = 24 * 3_600_000

/**
 * A failed attempt. The delivery stays pending unless the endpoint is gone or this was the last attempt. The
 * next one follows after the delay of the schedule, or the Retry-After of the endpoint if that is longer.
 */
function failed(
  due: DueDelivery,
  attempt: Attempt,
  request: SentRequest | null,
  { isGone = false, retryAfter = 0 }: { isGone?: boolean; retryAfter?: number | undefined } = {},
): SendResult {
  const scheduled = isGone ? null : retryDelayMs(due.tries + 1)
  if (scheduled === null) return { status: 'failed', attempt, request, next: null, gone: isGone }
  const delay = Math.max(scheduled, Math.min(retryAfter, maxRetryAfterMs))
  return { status: 'pending', attempt, request, next: new Date(Date.now() + delay), gone: isGone }
}
