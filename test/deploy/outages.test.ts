// Two servers behind the proxies of deploy/ lose an optional service under load: NATS or Redis is killed, or
// stops answering (SIGSTOP). No request fails, no event is missing, and each webhook arrives once.
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/test/free-port.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { skipWithoutNats, startNats } from '../support/database/nats.ts'
import { spawnWorker, startServerHere } from '../support/server/process.ts'
import { skipWithout, startProxy, type ProxyName } from '../support/http/proxies.ts'
import { skipWithoutRedis, startRedis } from '../support/database/redis.ts'
import { rolloutSettings, underLoad } from '../support/http/rolling-load.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

/** Longer than HAProxy needs to take a server out. nginx does not ask for the readiness. */
const outageMs = isLongForm ? 60_000 : 3_000

for (const name of isLongForm ? (['haproxy', 'nginx'] as const) : (['haproxy'] as const))
  t.test(
    `outages of NATS and Redis behind ${name}`,
    { skip: skipWithout(name) || skipWithoutNats || skipWithoutRedis, timeout: 300_000 + 8 * outageMs },
    (t) => outagesBehind(t, name),
  )

async function outagesBehind(t: Test, name: ProxyName): Promise<void> {
  const [nats, redis] = [await startNats(t), await startRedis(t)]
  const ports: [number, number] = [await freePort(), await freePort()]
  const settings = await rolloutSettings(t, (await createTestDatabase(t)).url)
  // No server stops under load.
  const env = { ...settings, BUS_URL: nats.url, REDIS_URL: redis.url, SHUTDOWN_DELAY: '0' }
  for (const port of ports) await startServerHere(t, { ...env, PORT: String(port) })
  await spawnWorker(t, env)
  const url = await startProxy(t, name, ports)
  const readiness = async (): Promise<any> => await (await fetch(`${url}/readyz`)).json()
  const isOk = async (): Promise<boolean> => (await readiness()).status === 'ok'
  await waitUntil(isOk, 'the proxy')
  await underLoad(t, [url], async () => {
    for (const [check, begin, end] of [
      ['bus', nats.pause, nats.resume],
      ['bus', nats.kill, nats.start],
      ['rate_limits', redis.pause, redis.resume],
      ['rate_limits', redis.kill, redis.start],
    ] as const) {
      await begin()
      await waitUntil(async () => (await readiness()).checks[check] === 'unavailable', check)
      await sleep(outageMs)
      t.match(await readiness(), { status: 'degraded', checks: { database: 'ok', notifications: 'ok' } })
      await end()
      await waitUntil(isOk, 'its return')
    }
  })
}
