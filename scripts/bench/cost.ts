// The cost of one request under load.
import { openLoad, type Shot } from './load.ts'
import type { Server } from './serve.ts'
import { postgresCpu } from './stage.ts'

/** In seconds per request. */
export interface Cost {
  /** CPU of the server. */
  server: number
  /** CPU of PostgreSQL. */
  postgres: number
  /** Time by the clock, divided by the connections. */
  wall: number
}

export interface Fire {
  next: () => Shot
  status: number
  connections: number
  seconds: number
  dataDir: string
}

export async function fire(
  { program, port }: Pick<Server, 'program' | 'port'>,
  { next, status, connections, seconds, dataDir }: Fire,
): Promise<Cost> {
  const load = await openLoad({ port, connections, next, status })
  try {
    await load.fire({ seconds: 1, requests: connections })
    const before = { server: await program.cpu(), postgres: postgresCpu(dataDir), at: performance.now() }
    const requests = await load.fire({ seconds, requests: 20_000 })
    return {
      wall: (performance.now() - before.at) / 1000 / requests,
      server: ((await program.cpu()) - before.server) / requests,
      postgres: (postgresCpu(dataDir) - before.postgres) / requests,
    }
  } finally {
    load.close()
  }
}
