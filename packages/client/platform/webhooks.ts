// Verifies webhooks, which are signed as Standard Webhooks 1.0 specifies
// (https://www.standardwebhooks.com). Web Crypto, so that it runs in Node.js, at the edge and in browsers.
import type { components } from '../../../generated/client/types.d.ts'
import { WebhookVerificationError } from '../error.ts'
import { fromEnvironment } from '../environment.ts'

export interface WebhookRequest {
  /** The exact body of the request, before it is parsed. */
  payload: string | Uint8Array | ArrayBuffer
  /** The headers of the request: a `Headers`, or an object as in Node.js. */
  headers: Headers | Record<string, string | string[] | undefined>
  /**
   * The secret of the endpoint, `whsec_…`, or several while it is rotated. Default: the environment variable
   * `PLATFORM_WEBHOOK_SECRET`.
   */
  secret?: string | readonly string[]
  /** How old the webhook may be, in seconds. Default 300. */
  tolerance?: number
  /** Replaces the system time in milliseconds since 1970, for tests. */
  now?: number
}

/**
 * Checks the signature and the age of a webhook.
 * @returns the event; its `type` determines the type of `data.object`.
 * @throws WebhookVerificationError: answer 400 and ignore the request.
 */
export async function verifyWebhook(
  request: WebhookRequest,
): Promise<components['schemas']['PlatformEvent']> {
  const { payload, headers, tolerance = 300, now = Date.now() } = request
  const secrets = secretsOf(request.secret ?? fromEnvironment('PLATFORM_WEBHOOK_SECRET'))
  const id = headerOf(headers, 'webhook-id')
  const timestamp = headerOf(headers, 'webhook-timestamp')
  const signatures = headerOf(headers, 'webhook-signature').split(' ')
  const age = now / 1000 - Number(timestamp)
  if (!/^\d+$/.test(timestamp)) throw new WebhookVerificationError('webhook-timestamp is not a number.')
  if (Math.abs(age) > tolerance)
    throw new WebhookVerificationError(
      `The webhook is ${Math.round(Math.abs(age))} s ${age > 0 ? 'old' : 'in the future'}; ` +
        `at most ${tolerance} s are allowed. Check the clock of this machine.`,
    )
  const body = bytesOf(payload)
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), body)
  if (!(await isSigned(signed, signatures, secrets)))
    throw new WebhookVerificationError(
      'No signature matches. Check the secret, and that `payload` is the exact body of the request.',
    )
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch (error) {
    throw new WebhookVerificationError('The payload is not JSON.', { cause: error })
  }
}

async function isSigned(
  content: Uint8Array<ArrayBuffer>,
  signatures: string[],
  secrets: Array<Uint8Array<ArrayBuffer>>,
): Promise<boolean> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  let matches = false
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['verify'])
    for (const signature of signatures.filter((one) => one.startsWith('v1,'))) {
      const bytes = fromBase64(signature.slice(3))
      // `verify` compares in constant time.
      if (bytes !== null && (await crypto.subtle.verify('HMAC', key, bytes, content))) matches = true
    }
  }
  return matches
}

function secretsOf(secret: string | readonly string[] | undefined): Array<Uint8Array<ArrayBuffer>> {
  const secrets = secret === undefined ? [] : [secret].flat()
  if (secrets.length === 0)
    throw new WebhookVerificationError(
      'The secret of the endpoint is missing: set `secret`, or the variable PLATFORM_WEBHOOK_SECRET.',
    )
  return secrets.map((one) => {
    const bytes = typeof one === 'string' && one.startsWith('whsec_') ? fromBase64(one.slice(6)) : null
    if (bytes === null || bytes.length === 0)
      throw new WebhookVerificationError('A secret starts with `whsec_`, followed by Base64.')
    return bytes
  })
}

function headerOf(headers: WebhookRequest['headers'], name: string): string {
  const value =
    typeof (headers as Headers).get === 'function'
      ? (headers as Headers).get(name)
      : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]
  const text = Array.isArray(value) ? value[0] : value
  if (typeof text !== 'string' || text === '')
    throw new WebhookVerificationError(`The request has no header ${name}.`)
  return text
}

function bytesOf(payload: unknown): Uint8Array<ArrayBuffer> {
  if (typeof payload === 'string') return new TextEncoder().encode(payload)
  if (payload instanceof ArrayBuffer) return new Uint8Array(payload)
  if (payload instanceof Uint8Array) return payload as Uint8Array<ArrayBuffer>
  throw new WebhookVerificationError(
    '`payload` must be the exact body of the request as text or bytes, not the parsed object.',
  )
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length)
  bytes.set(first)
  bytes.set(second, first.length)
  return bytes
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}
