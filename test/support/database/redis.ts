// A Redis server for a test.
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Test } from 'tap'
import { freePort } from '../../../scripts/test/free-port.ts'
import { startServiceProcess, type ServiceProcess } from '../server/service-process.ts'

const binary = ['/usr/bin/redis-server', '/usr/local/bin/redis-server'].find((path) => existsSync(path))

/** The `skip` option of a test that needs Redis. */
export const skipWithoutRedis = binary === undefined && 'no redis-server'

export interface RedisServer extends ServiceProcess {
  url: string
}

/** Starts a server that stores nothing on disk. The end of the test stops it. */
export async function startRedis(t: Pick<Test, 'teardown'>): Promise<RedisServer> {
  const port = await freePort()
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', tmpdir()]
  return {
    url: `redis://127.0.0.1:${port}`,
    ...(await startServiceProcess(t, port, [binary!, ...args])),
  }
}
