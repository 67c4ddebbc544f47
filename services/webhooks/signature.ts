// Signs webhooks as Standard Webhooks 1.0 specifies (https://www.standardwebhooks.com), so that receivers can
// verify them with its libraries.
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/** A new secret: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}

/** The signed parts of a webhook. */
export interface WebhookMessage {
  /**
   * Equal in all attempts, so that receivers can ignore duplicates. Contains no dot, and only header
   * characters.
   */
  id: string
  /** When the request is sent, in seconds since 1970. Receivers reject a timestamp that is minutes off. */
  timestamp: number
  /** The exact body of the request, as UTF-8. */
  body: string
}

/**
 * The headers of a webhook, with one signature for each secret.
 * @param secrets the secrets that are valid now, newest first, with their prefix; at least one.
 */
export function signedHeaders(
  secrets: string[],
  { id, timestamp, body }: WebhookMessage,
): { 'webhook-id': string; 'webhook-timestamp': string; 'webhook-signature': string } {
  return {
    'webhook-id': id,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': secrets
      .map((secret) => `v1,${signature(secret, `${id}.${timestamp}.${body}`)}`)
      .join(' '),
  }
}

function signature(secret: string, content: string): string {
  if (!secret.startsWith(prefix)) throw new Error(`a webhook secret begins with ${prefix}`)
  const key = createSecretKey(secret.slice(prefix.length), 'base64')
  return createHmac('sha256', key).update(content).digest('base64')
}
