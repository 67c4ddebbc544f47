// The process of a service that a test starts, kills and stops.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { acceptsConnections } from '../http/accepts-connections.ts'
import { waitUntil } from './wait.ts'

export interface ServiceProcess {
  start(): Promise<void>
  /** Kills the process (SIGKILL): connections end, and new ones are refused. */
  stop(): Promise<void>
  /** Stops the process (SIGSTOP): connections stay, and nothing is answered. */
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
    async stop() {
      const process = running
      running = null
      if (process === null || process.exitCode !== null) return
      const exited = once(process, 'exit')
      process.kill('SIGKILL')
      await exited
    },
    pause: signal('SIGSTOP'),
    resume: signal('SIGCONT'),
  }
  await service.start()
  t.teardown(service.stop)
  return service
}
