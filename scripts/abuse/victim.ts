// The victim: another tenant, who sends a steady number of ordinary requests.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { made, type AttackClient } from './client.ts'
import type { Target } from './target.ts'

export interface Window {
  key: string
  projectId: string
  ms: number
}

export interface WindowResult {
  /** Milliseconds, one per request. */
  latencies: number[]
  /** How many requests had this status, or this error of the connection. */
  statuses: Record<string, number>
}

export interface Victim {
  /** Sends requests for so long, and waits for all answers. */
  watch(ms: number): Promise<WindowResult>
}

export interface VictimProcess {
  /** A new user with one project, whose own limits are unused. */
  next(): Promise<Victim>
  close(): Promise<void>
}

export function openVictims(target: Target, client: AttackClient): VictimProcess {
  // In a session of its own: Linux shares a CPU between sessions before it looks at priorities in them.
  const child = fork(join(import.meta.dirname, 'victim-process.ts'), [target.url], { detached: true })
  return {
    async next() {
      const [{ keys }] = await target.people(1, 1)
      const project = made(
        await client.send('POST', '/v1/projects', { key: keys[0], json: { name: 'Victim' } }),
      )
      return {
        async watch(ms) {
          const ended = new AbortController()
          child.send({ key: keys[0], projectId: project.id, ms } satisfies Window)
          try {
            return await Promise.race([
              once(child, 'message', { signal: ended.signal }).then(([result]) => result as WindowResult),
              once(child, 'exit', { signal: ended.signal }).then(() => {
                throw new Error('the process of the victim ended')
              }),
            ])
          } finally {
            ended.abort()
          }
        },
      }
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

/** The value that this part of the numbers does not exceed. */
export function percentile(numbers: number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)]
}
