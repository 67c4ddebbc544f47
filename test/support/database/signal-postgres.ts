import { readFileSync } from 'node:fs'

/** Signals a postmaster and its children. Stops it first, so that it neither forks nor reaps meanwhile. */
export function signalPostgres(postmaster: number, signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
  kill(postmaster, 'SIGSTOP')
  for (const pid of [...childrenOf(postmaster), postmaster]) kill(pid, signal)
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It has ended since its id was read.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

function childrenOf(pid: number): number[] {
  let children = ''
  try {
    children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  return children.trim().split(' ').filter(Boolean).map(Number)
}
