// Measures the CPU time that the host takes from this virtual machine.
import { readFileSync } from 'node:fs'

/** @returns the part of one CPU that the host has taken from this machine since the call. */
export function startStolen(): () => number {
  const [stolen, at] = [stolenMs(), performance.now()]
  return () => (stolenMs() - stolen) / (performance.now() - at)
}

/**
 * Milliseconds in which a thread could have run and the host ran another machine, of all CPUs together:
 * "steal" of proc_stat(5). 0 where Linux does not report it.
 */
function stolenMs(): number {
  try {
    const [, , , , , , , , steal] = readFileSync('/proc/stat', 'utf8').split(/\s+/, 9)
    return Number(steal) * 10
  } catch {
    return 0
  }
}
