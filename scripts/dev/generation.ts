// The other end of the generator's process: asks it, and starts another where it has ended or its own code has changed.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Outcome, Request } from './generator.ts'

export interface Generation {
  /** One at a time; `types` follows `served`. */
  generate(what: Request): Promise<Outcome>
  /** What it has imported is not what stands in the files any more. */
  renew(): void
  stop(): Promise<void>
}

export function createGeneration(env: Record<string, string>): Generation {
  let child = start()

  function start(): ChildProcess {
    return fork(join(import.meta.dirname, 'generator.ts'), {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      env: { ...process.env, ...env },
    })
  }

  function isOver({ exitCode, signalCode, connected }: ChildProcess): boolean {
    return exitCode !== null || signalCode !== null || !connected
  }

  return {
    async generate(what) {
      if (isOver(child)) child = start()
      const asked = child
      let written = ''
      const hear = (chunk: Buffer): void => {
        written += chunk
      }
      asked.stderr!.on('data', hear)
      const outcome = await new Promise<Outcome>((resolve) => {
        const ended = (): void => resolve({ problem: `The generator failed: ${written.trim()}` })
        asked.once('close', ended)
        asked.once('message', (message: Outcome) => {
          asked.off('close', ended)
          resolve(message)
        })
        asked.send(what)
      })
      asked.stderr!.off('data', hear)
      return outcome
    },
    renew() {
      child.disconnect()
      child = start()
    },
    async stop() {
      if (isOver(child)) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      await ended
    },
  }
}
