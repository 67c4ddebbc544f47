// The semaphore of searches: limits in total and for each user, turns between users, and waits that end.
import t from 'tap'
import { setImmediate as tick } from 'node:timers/promises'
import { FairSemaphore, type FairSemaphoreOptions } from '../../infra/concurrency/fair-semaphore.ts'

const limits = { total: 3, perUser: 2, maxWaiting: 10, maxWaitMs: 60_000, name: 'searches' }

/** Tasks that run until they are ended. `started` has the names of their users in order. */
function createTasks(options: Partial<FairSemaphoreOptions> = {}) {
  const semaphore = new FairSemaphore({ ...limits, ...options })
  const started: string[] = []
  const running: Array<() => void> = []
  return {
    started,
    start: (user: string, signal?: AbortSignal): Promise<unknown> =>
      semaphore.run(
        user,
        () => {
          started.push(user)
          return new Promise<void>((resolve) => running.push(resolve))
        },
        signal,
      ),
    async endFirst(): Promise<void> {
      running.shift()!()
      await tick()
    },
  }
}

t.test('a user has two tasks at once, and users take turns', async (t) => {
  const tasks = createTasks()
  for (let i = 0; i < 5; i++) void tasks.start('ada')
  await tick()
  t.same(tasks.started, ['ada', 'ada'], 'the third place stays free')
  void tasks.start('bob')
  void tasks.start('bob')
  void tasks.start('eve')
  await tick()
  t.same(tasks.started, ['ada', 'ada', 'bob'])
  await tasks.endFirst()
  await tasks.endFirst()
  await tasks.endFirst()
  await tasks.endFirst()
  t.same(tasks.started.slice(3), ['ada', 'bob', 'eve', 'ada'])
  while (tasks.started.length < 8) await tasks.endFirst()
})

t.test('a wait ends after the maximum, with the signal, or at once if too many wait', async (t) => {
  const tasks = createTasks({ total: 1, perUser: 1, maxWaiting: 2, maxWaitMs: 50 })
  void tasks.start('ada')
  const timedOut = t.rejects(tasks.start('ada'), { code: 'UNAVAILABLE' })
  const client = new AbortController()
  const aborted = t.rejects(tasks.start('ada', client.signal), { message: 'gone' })
  await t.rejects(tasks.start('ada'), { code: 'RATE_LIMITED' })
  client.abort(new Error('gone'))
  await Promise.all([timedOut, aborted])
  void tasks.start('bob')
  await tasks.endFirst()
  t.same(tasks.started, ['ada', 'bob'], 'the others no longer wait')
})

t.test('a task that fails makes space', async (t) => {
  const semaphore = new FairSemaphore({ ...limits, total: 1, perUser: 1 })
  await t.rejects(
    semaphore.run('ada', () => Promise.reject(new Error('failed'))),
    { message: 'failed' },
  )
  t.equal(await semaphore.run('ada', async () => 1), 1)
})
