// Module hooks of the test workers, which must be in place before tap is loaded.
import { registerHooks } from 'node:module'

let fileUrl = ''
let count = 0

/** From now on, the module at this URL gets its own test from `import t from 'tap'`. */
export function nextFile(url: string): void {
  fileUrl = url
  count += 1
}

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'tap' && context.parentURL === fileUrl) return here(`./file-test.ts?${count}`)
    if (specifier === 'async-hook-domain') return here('./error-domain.ts')
    return next(specifier, context)
  },
})

function here(path: string): { url: string; shortCircuit: true } {
  return { url: new URL(path, import.meta.url).href, shortCircuit: true }
}
