// A child process that a test starts, kills, pauses and resumes.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { acceptsConnections } from '../../../scripts/test/accepts-connections.ts'
import { waitUntil } from './wait.ts'

export interface ServiceProcess {
  start(): Promise<void>
  /** Sends SIGKILL: connections close, and new ones are refused. */
  kill(): Promise<void>
  /** Sends SIGSTOP: connections stay open, but nothing is answered. */
  pause(): Promise<void>
  resume(): Promise<void>
}

/** Starts the command, which listens at the port. The end of the test kills it. */
export async function startServiceProcess(
  t: Pick<Test, 'teardown'>,
  port: number,
  [file, ...args]: string[],
): Promise<ServiceProcess> {
  let running: ChildProcess | null = null
  const signal = (name: NodeJS.Signals) => async (): Promise<void> => void running?.kill(name)
  const service: ServiceProcess = {
    async start() {
      running = spawn(file, args, { stdio: 'ignore' })
      await waitUntil(() => acceptsConnections(port), file)
    },
    async kill() {
      const child = running
      running = null
      if (child === null || child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
    pause: signal('SIGSTOP'),
    resume: signal('SIGCONT'),
  }
  t.teardown(service.kill)
  await service.start()
  return service
}
