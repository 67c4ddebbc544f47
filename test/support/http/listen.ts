// Starts a server of a test.
import type { Server as HttpServer } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import type { Test } from 'tap'

/** Listens on a free port of 127.0.0.1. The end of the test closes the server. @returns the port. */
export async function listen(t: Pick<Test, 'teardown'>, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    if ('closeAllConnections' in server) (server as HttpServer).closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}
