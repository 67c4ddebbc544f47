// A stall of the main thread is logged and counted with the operation that caused it.
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import t from 'tap'
import { addEndHooks } from '../../app/http/response-end.ts'
import { watchStalls, type Stall } from '../../app/stalls.ts'
import { handlers } from '../../generated/routes.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

t.test('a handler that computes for long is named in the log and in the metrics', async (t) => {
  const server = await startServer(t, {
    env: { METRICS: 'true' },
    handlers: {
      ...handlers,
      async getHealth() {
        const until = performance.now() + 300
        while (performance.now() < until);
        return { status: 200, body: { status: 'ok' } }
      },
    },
  })
  t.equal((await fetch(`${server.url}/healthz`)).status, 200)
  const stalls = (): any[] =>
    server.logs
      .map((line) => JSON.parse(line))
      .filter(({ msg, operations }) => msg === 'the main thread stalled' && operations.includes('getHealth'))
  await waitUntil(() => stalls().length === 1)
  const [{ ms, cpu_ms: cpuMs, level }] = stalls()
  t.ok(ms > 200, `${ms} ms`)
  t.ok(cpuMs > 0)
  t.equal(level, 40)
  const metrics = await (await fetch(`${server.url}/metrics`)).text()
  t.match(metrics, /main_thread_stall_seconds_count\{operation="(?:getHealth|several)"\} [1-9]/)
})

t.test('a stall without an operation is counted, and logged unless that is turned off', async (t) => {
  for (const logIdle of [true, false]) {
    const lines: string[] = []
    const app = Fastify({ logger: { stream: { write: (line: string) => lines.push(line) } } })
    t.teardown(() => app.close())
    const stalls: Stall[] = []
    addEndHooks(app)
    watchStalls(app, { onStall: (stall) => stalls.push(stall), logsIdle: () => logIdle })
    await waitUntil(() => {
      const until = performance.now() + 300
      while (performance.now() < until);
      return stalls.length > 0
    }, 'a stall')
    t.same(stalls[0].operations, [])
    t.equal(lines.filter((line) => line.includes('the main thread stalled')).length > 0, logIdle)
  }
})

t.test('refused requests do not hide the operation of a stall', async (t) => {
  let computes = false
  const server = await startServer(t, {
    handlers: {
      ...handlers,
      async getHealth() {
        // It waits for longer than a turn before it computes.
        if (computes) await sleep(200)
        const until = performance.now() + (computes ? 300 : 0)
        while (performance.now() < until);
        return { status: 200, body: { status: 'ok' } }
      },
    },
  })
  t.equal((await fetch(`${server.url}/healthz`)).status, 200)
  const { hostname, port } = new URL(server.url)
  for (let i = 0; i < 3; i++) {
    const headers = ['host', `${hostname}:${port}`, 'authorization', 'Bearer a', 'authorization', 'Bearer b']
    const request = http.get({ hostname, port, path: '/healthz', headers, agent: false })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    t.equal(response.resume().statusCode, 400)
  }
  computes = true
  t.equal((await fetch(`${server.url}/healthz`)).status, 200)
  await waitUntil(
    () => server.logs.some((line) => /the main thread stalled/.test(line) && /getHealth/.test(line)),
    'the stall',
  )
})
