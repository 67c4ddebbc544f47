// The SSRF filter: decides which IP addresses are public unicast addresses of the internet.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * IPv4 networks that are not public, from the IANA IPv4 special-purpose address registry. The list includes
 * the anycast networks that the registry calls globally reachable (AS112, AMT, 6to4 relays), because no
 * webhook endpoint uses them.
 */
const reservedIPv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // The platform services of Azure, reachable from every virtual machine there.
  '168.63.129.16/32',
].map((network) => ipaddr.parseCIDR(network))

/**
 * The only IPv6 network assigned for global unicast. NAT64, IPv4-compatible and IPv4-mapped addresses are
 * outside.
 */
const globalIPv6 = [ipaddr.parseCIDR('2000::/3')]
/**
 * The parts of it that are not public, from the IANA IPv6 special-purpose address registry: protocols (with
 * Teredo and ORCHID), documentation, 6to4, AS112.
 */
const reservedIPv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'].map(
  (network) => ipaddr.parseCIDR(network),
)

type Address = ReturnType<typeof ipaddr.parse>
export type Network = ReturnType<typeof ipaddr.parseCIDR>

/**
 * Whether an address, as the operating system formats it, is public. An IPv4-mapped IPv6 address never is: no
 * honest DNS record contains one, so it is an attempt to bypass the filter.
 */
export function isPublicAddress(address: string): boolean {
  if (!isPlain(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.kind() === 'ipv4') return !matches(reservedIPv4, parsed)
  return matches(globalIPv6, parsed) && !matches(reservedIPv6, parsed)
}

/** Whether a host name is `localhost` or a name below it (RFC 6761). */
export function isLocalhost(name: string): boolean {
  return /(^|\.)localhost\.?$/.test(name)
}

/** Parses a network in CIDR notation. Throws an Error for other text. */
export function parseNetwork(text: string): Network {
  return ipaddr.parseCIDR(text)
}

/**
 * Whether an address is in one of the networks. An IPv4-mapped address is in the network of its IPv4 address.
 */
export function isInNetworks(networks: Network[], address: string): boolean {
  return isPlain(address) && matches(networks, ipaddr.process(address))
}

/**
 * Whether a string is an address without a zone. The check is needed because ipaddr.js also parses `10` and
 * `0x7f.1`, and treats the IPv4-compatible ::1.2.3.4 as the IPv4-mapped ::ffff:1.2.3.4.
 */
function isPlain(address: string): boolean {
  return isIP(address) !== 0 && !address.includes('%') && !/^::\d+\./.test(address)
}

function matches(networks: Network[], address: Address): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
}
