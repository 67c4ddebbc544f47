// The end of a response: it has been sent, or its client has left. Fastify's hook onResponse does not run
// when the client leaves first.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyInstance {
    endHooks: EndHook[]
  }
}

/** Runs at the end of every response. It must not throw. */
export type EndHook = (request: FastifyRequest, reply: FastifyReply) => void

/** The status of a request whose client left before the answer, as in the logs of proxies. */
const clientLeft = 499

/** Call it before hooks are added, so that requests that they refuse run the `endHooks`, too. */
export function addEndHooks(app: FastifyInstance): void {
  const hooks: EndHook[] = []
  app.decorate('endHooks', hooks)
  app.addHook('onRequest', (request, reply, done) => {
    atEnd(reply, () => {
      for (const hook of hooks) hook(request, reply)
    })
    done()
  })
}

/** Calls back at the end of the response, at once if it has ended. */
export function atEnd({ raw }: FastifyReply, callback: () => void): void {
  if (raw.closed) callback()
  else raw.once('close', callback)
}

/** The status of a response that has ended. */
export function endStatus({ raw, statusCode }: FastifyReply): number {
  return raw.headersSent ? statusCode : clientLeft
}
