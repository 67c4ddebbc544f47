// What the permission model of Node 24 does not cover: the network.
import { Socket } from 'node:net'
import { registerHooks } from 'node:module'

const refused =
  /^(?:node:)?(?:child_process|cluster|dgram|dns|http|http2|https|inspector|net|repl|tls|wasi|worker_threads)(?:\/|$)/

/** From now on this process opens no connection, and can load nothing that would. */
export function blockNetwork(): void {
  const refuse = (): never => {
    throw new Error('There is no network here.')
  }
  Socket.prototype.connect = refuse
  Object.assign(globalThis, { fetch: refuse, WebSocket: undefined, EventSource: undefined })
  process.getBuiltinModule = refuse
  registerHooks({
    resolve: (specifier, context, next) => (refused.test(specifier) ? refuse() : next(specifier, context)),
  })
}
