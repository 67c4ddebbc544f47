// The HTTP server: the plugin with the handlers of this project, and the contract at /openapi.json.
import { readFileSync } from 'node:fs'
import Fastify, { type FastifyInstance } from 'fastify'
import { authenticate } from '../authentication.ts'
import { errorBody } from '../errors.ts'
import { HttpError } from './handler.ts'
import { handlers } from './handlers.ts'
import { api, sendError } from './plugin.ts'
import { skeleton } from './routes.ts'

const contract = readFileSync(new URL('openapi.json', import.meta.url))

/** @returns a server that does not listen yet. */
export async function createServer(): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true, routerOptions: { maxParamLength: 5000 } })
  app.setNotFoundHandler((request, reply) =>
    sendError(errorBody(new HttpError(404, 'Not found'), request), 404, reply),
  )
  if (!('/openapi.json' in skeleton.paths))
    app.get('/openapi.json', (_request, reply) => reply.type('application/json').send(contract))
  await app.register(api, { handlers, authenticate, errorBody })
  // A connection that stays open would lead to a server that `npm run dev` has replaced.
  if (process.env.DEV_SERVER !== undefined) app.server.maxRequestsPerSocket = 1
  return app
}
