// The origin of the URLs in answers: PUBLIC_URL, else the host that the client used.
import type { FastifyRequest } from 'fastify'

const host = /^([\w.-]+|\[[\da-f:.]+\])(:\d+)?$/i

/** Without a trailing slash. `fallback` is for a request without a usable Host. */
export function originOf(
  request: Pick<FastifyRequest, 'host' | 'protocol'>,
  publicUrl: string | null,
  fallback: () => string,
): string {
  if (publicUrl !== null) return publicUrl
  return host.test(request.host) ? `${request.protocol}://${request.host}` : fallback()
}
