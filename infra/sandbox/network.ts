// Blocks the network in a sandboxed process, which the permission model of Node 24 does not cover.
import { Socket } from 'node:net'
import { registerHooks } from 'node:module'

const blockedModules = new RegExp(
  '^(?:node:)?(?:child_process|cluster|dgram|dns|http|http2|https|inspector|net|repl|tls|wasi' +
    '|worker_threads)(?:/|$)',
)

/** After this call the process cannot open connections or import modules that can. */
export function blockNetwork(): void {
  const refuse = (): never => {
    throw new Error('A sandboxed process has no network access.')
  }
  Socket.prototype.connect = refuse
  Object.assign(globalThis, { fetch: refuse, WebSocket: undefined, EventSource: undefined })
  process.getBuiltinModule = refuse
  registerHooks({
    resolve: (specifier, context, next) =>
      blockedModules.test(specifier) ? refuse() : next(specifier, context),
  })
}
