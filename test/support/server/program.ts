// Runs a TypeScript program that reports its progress as lines of JSON. A test can wait for a line or kill
// the program.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

export type Line = Record<string, unknown>

export interface Program {
  pid: number
  /** Resolves with the first line, past or future, that has this key. */
  line(key: string): Promise<Line>
  kill(signal: NodeJS.Signals): Promise<void>
  ended: Promise<void>
}

export function runProgram(
  t: Pick<Test, 'teardown'>,
  file: string,
  args: string[],
  env: Record<string, string> = {},
): Program {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url))
  // In its own process group, as a shell would start it, so that a test can send Ctrl-C.
  const child = spawn(process.execPath, [path, ...args], {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close').then(() => {})
  const lines: Line[] = []
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const each of waiting) each()
  }
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(JSON.parse(line) as Line)
    wake()
  })
  let over = false
  void ended.then(() => {
    over = true
    wake()
  })

  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await ended
  }
  t.teardown(async () => {
    if (!over) await kill('SIGKILL')
  })
  return {
    pid: child.pid ?? 0,
    ended,
    kill,
    line: (key) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const line = lines.find((each) => key in each)
          if (line === undefined && !over) return
          waiting.delete(look)
          if (line !== undefined) resolve(line)
          else reject(new Error(`The program exited without a line with ${key}: ${JSON.stringify(lines)}`))
        }
        waiting.add(look)
        look()
      }),
  }
}
