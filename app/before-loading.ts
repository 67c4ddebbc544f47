// Prepares V8 before a process loads its modules, which takes most of the CPU and the memory of a start. The
// entry files therefore load the application with `await import()`.
import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import './compile-cache.js'

/**
 * The young generation does not grow: nearly all objects that are created while modules load stay, so V8
 * would enlarge it to its 32 MB and keep it so.
 */
export function prepareToLoad(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}

/** From now on the young generation grows with the load, as by default. */
export function finishLoading(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
  flushCompileCache()
}
