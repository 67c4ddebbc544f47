// The lowest priority for the attacker, so that it takes no CPU from the server, as if on another machine.
import { fork, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Starts this command again in a session of its own, because Linux shares a CPU between sessions before it
 * looks at the priorities in them (autogroups, sched(7)).
 *
 * @returns the process of the command, or null in that process.
 */
export function startInOwnSession(file: string): ChildProcess | null {
  if (process.send !== undefined) return null
  return fork(file, process.argv.slice(2), { detached: true })
}

/** Lowers the priority of this session and of the threads that this process has now. */
export function lowerPriority(): void {
  const ofSession = '/proc/self/autogroup'
  if (existsSync(ofSession)) writeFileSync(ofSession, '19')
  for (const thread of threads()) setPriority(thread, 19)
}

/** The threads of this process, also those that collect garbage. Empty where Linux does not list them. */
function threads(): number[] {
  const folder = '/proc/self/task'
  return existsSync(folder) ? readdirSync(folder).map(Number) : []
}
