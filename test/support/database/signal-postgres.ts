import { readFileSync } from 'node:fs'

/** Signals a postmaster and its children. SIGSTOP reaches also those that it forks meanwhile. */
export function signalPostgres(postmaster: number, signal: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL'): void {
  if (signal === 'SIGSTOP') kill(postmaster, signal)
  for (const pid of [postmaster, ...childrenOf(postmaster)]) kill(pid, signal)
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
