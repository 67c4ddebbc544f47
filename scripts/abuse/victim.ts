// The victim: another tenant, who sends a steady number of ordinary requests.
import { Worker } from 'node:worker_threads'
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

export interface VictimThread {
  /** A new user with one project, whose own limits are unused. */
  next(): Promise<Victim>
  close(): Promise<void>
}

export function openVictims(target: Target, client: AttackClient): VictimThread {
  const worker = new Worker(new URL('./victim-thread.ts', import.meta.url), {
    workerData: { url: target.url },
  })
  return {
    async next() {
      const [{ keys }] = await target.people(1, 1)
      const project = made(
        await client.send('POST', '/v1/projects', { key: keys[0], json: { name: 'Victim' } }),
      )
      return {
        watch: async (ms) =>
          await new Promise((resolve, reject) => {
            worker.once('error', reject)
            worker.once('message', (result: WindowResult) => {
              worker.off('error', reject)
              resolve(result)
            })
            worker.postMessage({ key: keys[0], projectId: project.id, ms } satisfies Window)
          }),
      }
    },
    async close() {
      await worker.terminate()
    },
  }
}

/** The value that this part of the numbers does not exceed. */
export function percentile(numbers: number[], part: number): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)]
}
