// Resolves host names through DNS directly. The system's resolver runs on a few threads that the whole
// process shares, so one tenant's unresponsive name server would delay the deliveries of all tenants. Names
// in /etc/hosts are therefore not resolved, and `localhost` is the loopback address, as RFC 6761 requires.
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isLocalhost } from './ip-filter.ts'

/** A function like dns.lookup with `all`. */
export type Lookup = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

const loopback: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

export interface DnsOptions {
  /** Name servers such as `192.0.2.1:53`. Default: the name servers of the system. */
  servers?: string[]
  /** Milliseconds to wait for an answer; each question is asked twice. */
  timeout?: number
}

export function createDnsLookup({ servers, timeout = 3_000 }: DnsOptions = {}): Lookup {
  return (name, _options, onResult) => {
    if (isLocalhost(name)) return onResult(null, loopback)
    // Each lookup has its own resolver, so that no lookup waits for another lookup's name servers.
    const resolver = new Resolver({ timeout, tries: 2 })
    if (servers !== undefined) resolver.setServers(servers)
    void Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]).then(([four, six]) => {
      const found = [...addresses(four, 4), ...addresses(six, 6)]
      onResult(
        found.length > 0
          ? null
          : ((four as PromiseRejectedResult).reason ?? new Error('the name has no address')),
        found,
      )
    })
  }
}

function addresses(result: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : []
}
