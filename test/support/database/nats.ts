// A NATS server for a test.
import { existsSync } from 'node:fs'
import type { Test } from 'tap'
import { freePort } from '../../../scripts/test/free-port.ts'
import { startServiceProcess, type ServiceProcess } from '../server/service-process.ts'

const binary = ['/usr/sbin/nats-server', '/usr/bin/nats-server'].find((path) => existsSync(path))

/** The `skip` option of a test that needs NATS. */
export const skipWithoutNats = binary === undefined && 'no nats-server'

export interface NatsServer extends ServiceProcess {
  url: string
}

/** Starts a server with a password. The end of the test stops it. */
export async function startNats(t: Pick<Test, 'teardown'>): Promise<NatsServer> {
  const port = await freePort()
  const args = ['-a', '127.0.0.1', '-p', String(port), '--user', 'us er', '--pass', 'p@ss']
  const service = await startServiceProcess(t, port, [binary!, ...args])
  return { url: `nats://us%20er:p%40ss@127.0.0.1:${port}`, ...service }
}
