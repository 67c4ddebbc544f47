// Two servers and a worker behind the proxies of deploy/ are restarted one after the other under load: no
// request fails, no upload is cut, the event stream has no gap, and each webhook arrives once.
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../../scripts/test/free-port.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { spawnServer, spawnWorker } from '../support/server/process.ts'
import { skipWithout, startProxy, type ProxyName } from '../support/http/proxies.ts'
import { rolloutSettings, underLoad } from '../support/http/rolling-load.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

const restarts = isLongForm ? 20 : 2

for (const name of ['haproxy', 'nginx'] as const)
  t.test(
    `${restarts} restarts behind ${name}`,
    { skip: skipWithout(name), timeout: 300_000 + restarts * 60_000 },
    (t) => restartBehind(t, name),
  )

async function restartBehind(t: Test, name: ProxyName): Promise<void> {
  const ports: [number, number] = [await freePort(), await freePort()]
  const env = await rolloutSettings(t, (await createTestDatabase(t)).url)
  const servers = [
    await spawnServer(t, { ...env, PORT: String(ports[0]) }),
    await spawnServer(t, { ...env, PORT: String(ports[1]) }),
  ]
  let worker = await spawnWorker(t, env)
  const url = await startProxy(t, name, ports)
  await waitUntil(async () => (await fetch(`${url}/readyz`)).ok, 'the proxy')
  const { connections } = await underLoad(t, url, async () => {
    for (let i = 0; i < restarts; i++) {
      const exit = await servers[i % 2].end('SIGTERM')
      t.strictSame(exit, { code: 0, signal: null }, `restart ${i + 1}`)
      servers[i % 2] = await spawnServer(t, { ...env, PORT: String(ports[i % 2]) })
      if (i % 2 === 1) {
        t.strictSame(await worker.end('SIGTERM'), { code: 0, signal: null }, 'the worker')
        worker = await spawnWorker(t, env)
      }
      // Until the proxy has seen that it is back, the other one must stay.
      await sleep(3_000)
    }
  })
  t.ok(connections > 1, `${connections} connections for the event stream`)
}
