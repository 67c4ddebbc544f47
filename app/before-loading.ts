// What a process does before it loads its modules, which is most of the CPU and the memory of a start. The
// modules that do it are therefore loaded with `await import()`.
import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import './compile-cache.js'

/**
 * Young objects get no more room: nearly everything that is made while modules load stays, so V8 would
 * enlarge the young generation to its 32 MB and keep it so. Buffers count in the limit of the whole heap:
 * with a limit of their own, bodies of 250 KiB cause a full collection of garbage eight times a second.
 */
export function prepareToLoad(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--external-memory-accounted-in-global-limit')
}

/** From now on the young generation grows with the load, as by default. */
export function finishLoading(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
  flushCompileCache()
}
