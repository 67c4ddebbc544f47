// The IP addresses and networks that an API key can be used from.
import ipaddr from 'ipaddr.js'
import { invalidField } from '../../infra/errors.ts'

type Network = ReturnType<typeof ipaddr.parseCIDR>

export class Networks {
  /** As in the API: IP addresses, and networks in CIDR notation. */
  readonly texts: readonly string[]
  readonly #networks: Network[]

  /** @param texts were checked by `requireNetworks`. */
  constructor(texts: readonly string[]) {
    this.texts = texts
    this.#networks = texts.map((text) => parseNetwork(text)!)
  }

  /** Whether an address, as the operating system or a trusted proxy formats it, is in one of the networks. */
  has(address: string): boolean {
    if (!ipaddr.isValid(address)) return false
    // An IPv4 client of an IPv6 socket has an IPv4-mapped address.
    const parsed = ipaddr.process(address)
    return this.#networks.some((network) => isIn(network, parsed))
  }

  /** Whether each address of the other networks is in one of these. */
  includes(others: Networks): boolean {
    return others.#networks.every(([address, bits]) =>
      this.#networks.some((network) => network[1] <= bits && isIn(network, address)),
    )
  }
}

/** @throws 400 for a text that is neither an IP address nor a network. */
export function requireNetworks(texts: readonly string[]): void {
  const wrong = texts.findIndex((text) => parseNetwork(text) === null)
  if (wrong === -1) return
  const field = `allowed_addresses[${wrong}]`
  throw invalidField(field, 'network', `${field} must be an IP address or a network such as 203.0.113.0/24`)
}

/** Null for a text that is neither; `10.1` and other short forms of IPv4 are not accepted. */
function parseNetwork(text: string): Network | null {
  const [address, bits] = text.split('/')
  if (!ipaddr.IPv6.isValid(address) && !ipaddr.IPv4.isValidFourPartDecimal(address)) return null
  const parsed = ipaddr.parse(address)
  const all = parsed.kind() === 'ipv4' ? 32 : 128
  const length = bits === undefined ? all : Number(bits)
  return length > all ? null : [parsed, length]
}

function isIn([network, bits]: Network, address: Network[0]): boolean {
  return address.kind() === network.kind() && address.match(network as ipaddr.IPv4, bits)
}
