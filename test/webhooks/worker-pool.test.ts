// How often a pool of the webhook worker fetches from the queue.
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createSlowEndpoints } from '../../services/webhooks/slow-endpoints.ts'
import { WorkerPool, type RunningJob } from '../../services/webhooks/worker-pool.ts'
import { waitUntil } from '../support/server/wait.ts'

type Fetch = (count: number) => string[] | Promise<string[]>

/** A pool whose jobs run until `end` is called. */
function startPool(test: Test, fetch: Fetch) {
  const ends: Array<() => void> = []
  const counts: number[] = []
  const pool = new WorkerPool<string>({
    async fetch(count) {
      counts.push(count)
      return await fetch(count)
    },
    run: async (jobs) =>
      jobs.map((job): RunningJob => {
        const done = Promise.withResolvers<void>()
        ends.push(done.resolve)
        return { done: done.promise, source: { owner: job, group: job } }
      }),
    slowEndpoints: createSlowEndpoints(() => {}),
    slots: 50,
    slowSlots: 50,
    slowAfterMs: 60_000,
    interval: 60_000,
    drainTimeoutMs: 0,
    onError: (error) => test.fail(error.message),
  })
  const end = (): void => ends.splice(0).forEach((resolve) => resolve())
  test.teardown(async () => {
    const stopped = pool.stop()
    end()
    await stopped
  })
  pool.start()
  return { pool, counts, end }
}

t.test('a fetch that found nothing is not repeated at once, however often the pool is woken', async (t) => {
  const takes = 20
  const { pool, counts } = startPool(t, () => sleep(takes, []))
  const began = performance.now()
  while (performance.now() - began < 600) {
    pool.wake()
    await sleep(1)
  }
  const passed = performance.now() - began
  t.ok(counts.length <= 2 + passed / (11 * takes), `${counts.length} fetches in ${passed} ms`)
  const before = counts.length
  pool.wake()
  await waitUntil(() => counts.length > before, 'a fetch after the pause')
})

t.test('the end of a job ends the pause, and a fetch of some jobs does not', async (t) => {
  const takes = 1_000
  const fetches: Array<() => string[] | Promise<string[]>> = [
    () => ['first'],
    () => sleep(takes, []),
    () => ['second'],
  ]
  const begun: number[] = []
  let pausedAt = Infinity
  const { counts, end } = startPool(t, async () => {
    begun.push(performance.now())
    const found = (await fetches.shift()?.()) ?? []
    if (counts.length === 2) pausedAt = performance.now()
    return found
  })
  await waitUntil(() => pausedAt < Infinity, 'a fetch that finds a job, and one that finds none')
  end()
  await waitUntil(() => counts.length >= 4, 'two further fetches')
  t.ok(begun[2] - pausedAt < takes, `the end brings a fetch, after ${begun[2] - pausedAt} ms`)
  t.ok(begun[3] - pausedAt >= takes, `the next one comes after the pause, after ${begun[3] - pausedAt} ms`)
})

t.test('a fetch asks for few jobs first, and for more while there are more', async (t) => {
  const { counts } = startPool(t, (count) => Array.from({ length: count }, () => 'job'))
  await waitUntil(() => counts.length >= 3, 'three fetches')
  // All 50 slots are taken then.
  t.same(counts, [10, 20, 20])
})
