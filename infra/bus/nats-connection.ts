// Connections to NATS.
import type { NatsConnection } from '@nats-io/transport-node'

/** NATS cannot be used. The message is one sentence for the operator. */
export class BusCheckError extends Error {}

/** @param options.reconnect whether the connection is restored when it is lost. */
export async function connectNats(
  url: string,
  { reconnect, timeout = 5_000 }: { reconnect: boolean; timeout?: number },
): Promise<NatsConnection> {
  const { protocol, host, username, password } = new URL(url)
  // Only servers with BUS_URL load the client.
  const { connect } = await import('@nats-io/transport-node')
  const [user, pass] = [username, password].map(decodeURIComponent)
  return await connect({
    servers: host,
    name: 'platform',
    timeout,
    reconnect,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 200,
    pingInterval: 10_000,
    ...(protocol === 'tls:' && { tls: {} }),
    ...(pass !== '' ? { user, pass } : user !== '' && { token: user }),
  })
}

/** Checks at the start that NATS answers. */
export async function checkBus(url: string): Promise<void> {
  try {
    const connection = await connectNats(url, { reconnect: false })
    await connection.flush()
    await connection.close()
  } catch (error) {
    throw new BusCheckError(`BUS_URL leads to no NATS server that can be used: ${(error as Error).message}.`)
  }
}
