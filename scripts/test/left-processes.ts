// Finds the processes of a test run that outlive it. On systems without /proc there are none to find.
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'

export interface LeftProcess {
  pid: number
  command: string
}

/** Kills every process whose command line or environment contains the name of the run's folder. */
export function killProcessesOf(folder: string): LeftProcess[] {
  const left = processesOf(folder)
  for (const { pid } of left) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }
  return left
}

export function processesOf(folder: string): LeftProcess[] {
  const run = basename(folder)
  return processIds()
    .filter((pid) => pid !== process.pid)
    .flatMap((pid) => {
      const command = read(`/proc/${pid}/cmdline`)
      const isOfRun = command.includes(run) || read(`/proc/${pid}/environ`).includes(run)
      return isOfRun ? [{ pid, command: command.replaceAll('\0', ' ').trim() }] : []
    })
}

function processIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
  } catch {
    return []
  }
}

/** Empty when the process has ended or belongs to another user. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
