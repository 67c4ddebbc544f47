// The parent's side of the generator process: sends requests, and restarts the process after a crash or when
// the generator's own code has changed.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { GeneratorRequest, GeneratorResult } from './generator.ts'

export interface GeneratorProcess {
  /** One request at a time; `types` must follow `served`. */
  generate(request: GeneratorRequest): Promise<GeneratorResult>
  /** Starts a new process, because a module that the generator has imported has changed. */
  restart(): void
  stop(): Promise<void>
}

export function startGenerator(env: Record<string, string>): GeneratorProcess {
  let child = start()

  function start(): ChildProcess {
    return fork(join(import.meta.dirname, 'generator.ts'), {
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
      env: { ...process.env, ...env },
    })
  }

  function hasExited({ exitCode, signalCode, connected }: ChildProcess): boolean {
    return exitCode !== null || signalCode !== null || !connected
  }

  return {
    async generate(request) {
      if (hasExited(child)) child = start()
      const current = child
      let stderr = ''
      const append = (chunk: Buffer): void => {
        stderr += chunk
      }
      current.stderr!.on('data', append)
      const result = await new Promise<GeneratorResult>((resolve) => {
        const onClose = (): void => resolve({ problem: `The generator failed: ${stderr.trim()}` })
        current.once('close', onClose)
        current.once('message', (message: GeneratorResult) => {
          current.off('close', onClose)
          resolve(message)
        })
        current.send(request)
      })
      current.stderr!.off('data', append)
      return result
    },
    restart() {
      child.disconnect()
      child = start()
    },
    async stop() {
      if (hasExited(child)) return
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
  }
}
