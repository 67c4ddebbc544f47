// Signatures of outgoing webhooks as Standard Webhooks 1.0 has them (https://www.standardwebhooks.com), so that receivers
// can verify them with its libraries.
import { createHmac, randomBytes } from 'node:crypto'

const prefix = 'whsec_'

/** A new secret: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}

/** What is signed and sent. */
export interface WebhookMessage {
  /** The same for every attempt; receivers tell repetitions by it. No dot and nothing that a header cannot hold. */
  id: string
  /** When it is sent, in seconds since 1970; receivers refuse what is minutes off. */
  timestamp: number
  /** Exactly what is sent as the body, as UTF-8. */
  body: string
}

/**
 * The headers of one message, signed with every secret that is valid now, newest first.
 * @param secrets whole secrets, with their prefix; at least one.
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
  return createHmac('sha256', Buffer.from(secret.slice(prefix.length), 'base64'))
    .update(content)
    .digest('base64')
}
