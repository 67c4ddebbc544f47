// The addresses of a name, asked of DNS itself. The system's resolver works on a few threads that the whole process shares:
// one tenant's name server that does not answer would hold up everybody's deliveries there. So names in /etc/hosts do not
// count, and `localhost` is what RFC 6761 says.
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { isLocalhost } from './ip-filter.ts'

/** dns.lookup with `all`. */
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
  /** Instead of the system's name servers, such as `192.0.2.1:53`. */
  servers?: string[]
  /** Milliseconds for an answer, which is asked for twice. */
  timeout?: number
}

export function createDnsLookup({ servers, timeout = 3_000 }: DnsOptions = {}): Lookup {
  return (name, _options, answer) => {
    if (isLocalhost(name)) return answer(null, loopback)
    // One for each question, so that none waits for another's servers.
    const dns = new Resolver({ timeout, tries: 2 })
    if (servers !== undefined) dns.setServers(servers)
    void Promise.allSettled([dns.resolve4(name), dns.resolve6(name)]).then(([four, six]) => {
      const found = [...addresses(four, 4), ...addresses(six, 6)]
      answer(
        found.length > 0
          ? null
          : ((four as PromiseRejectedResult).reason ?? new Error('the name has no address')),
        found,
      )
    })
  }
}

function addresses(found: PromiseSettledResult<string[]>, family: number): LookupAddress[] {
  return found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : []
}
