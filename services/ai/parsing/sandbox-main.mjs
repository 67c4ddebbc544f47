// The entry of the parser process. Its modules arrive as JavaScript on file descriptor 4: to strip their types
// would take half of the CPU time of a small document.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

/** @type {Record<string, string>} JavaScript by URL. */
const modules = JSON.parse(readFileSync(4, 'utf8'))
registerHooks({
  load: (url, context, next) =>
    Object.hasOwn(modules, url)
      ? { format: 'module', source: modules[url], shortCircuit: true }
      : next(url, context),
})
await import('./sandbox-child.ts')
