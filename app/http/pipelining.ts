// Requests that a client sends before it has the answer to the last one. Node.js starts them at once, but
// when the connection is cut, it ends the first response alone: the others would have effects without a
// record, and hold their files.
import type { RequestListener, Server } from 'node:http'

/** Starts each request of a connection after the response to the one before. Call it before others listen. */
export function servePipelinedInOrder(server: Server): void {
  const [handle] = server.listeners('request') as RequestListener[]
  server.off('request', handle)
  server.on('request', (request, response) => {
    if (response.socket === null) response.once('socket', () => handle(request, response))
    else handle(request, response)
  })
}
