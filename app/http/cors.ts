// CORS for the configured origins. Without any, no CORS header is ever sent.
import cors from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

/** The headers of resumable uploads that a tus client in a browser reads. */
const tusHeaders = [
  'Tus-Resumable',
  'Tus-Version',
  'Tus-Extension',
  'Tus-Max-Size',
  'Tus-Checksum-Algorithm',
  'Upload-Offset',
  'Upload-Length',
  'Upload-Metadata',
  'Upload-Expires',
  'Upload-File-Id',
]

const exposedHeaders = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Range',
  'Deprecation',
  'ETag',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'X-Request-ID',
  'X-Should-Retry',
  'Idempotent-Replayed',
  ...tusHeaders,
]

export async function allowOrigins(app: FastifyInstance, origins: string[]): Promise<void> {
  if (origins.length === 0) return
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
  // Pages of these origins may send the cookie of a session (services/auth/sessions/cookies.ts).
  const credentials = true
  await app.register(cors, { origin: origins, methods, exposedHeaders, credentials, maxAge: 600 })
}
