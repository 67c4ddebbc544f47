// Which addresses are public: anybody's on the internet, and nobody's own network.
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * What is not a public unicast address, from the IANA IPv4 special-purpose address registry. The anycast ones that it calls
 * reachable (AS112, AMT, 6to4 relays) are nobody's endpoint.
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
  // Azure's own services, for every virtual machine there.
  '168.63.129.16/32',
].map((network) => ipaddr.parseCIDR(network))

/** The only part of IPv6 that is given out for unicast. NAT64, IPv4-compatible and IPv4-mapped addresses lie outside. */
const globalIPv6 = [ipaddr.parseCIDR('2000::/3')]
/** What of it is not public, from the IANA IPv6 special-purpose address registry: protocols with Teredo and ORCHID, documentation, 6to4, AS112. */
const reservedIPv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'].map(
  (network) => ipaddr.parseCIDR(network),
)

type Address = ReturnType<typeof ipaddr.parse>
export type Network = ReturnType<typeof ipaddr.parseCIDR>

/**
 * Whether an address, in the form in which the system writes it, is anybody's on the internet. IPv4-mapped ones are not,
 * whatever they map: no resolver answers with them, so they are there to deceive.
 */
export function isPublicAddress(address: string): boolean {
  if (!isPlain(address)) return false
  const parsed = ipaddr.parse(address)
  if (parsed.kind() === 'ipv4') return !matches(reservedIPv4, parsed)
  return matches(globalIPv6, parsed) && !matches(reservedIPv6, parsed)
}

/** Whether a name is the machine's own by RFC 6761. */
export function isLocalhost(name: string): boolean {
  return /(^|\.)localhost\.?$/.test(name)
}

/** A network in CIDR notation. @throws Error when it is not. */
export function parseNetwork(text: string): Network {
  return ipaddr.parseCIDR(text)
}

/** Whether an address lies in one of the networks; an IPv4-mapped one if the IPv4 address does. */
export function isInNetworks(networks: Network[], address: string): boolean {
  return isPlain(address) && matches(networks, ipaddr.process(address))
}

/**
 * Whether a string is an address without a zone. ipaddr.js also reads 10 and 0x7f.1, which never come here, and takes the
 * IPv4-compatible ::1.2.3.4 for ::ffff:1.2.3.4, which it is not.
 */
function isPlain(address: string): boolean {
  return isIP(address) !== 0 && !address.includes('%') && !/^::\d+\./.test(address)
}

function matches(networks: Network[], address: Address): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
}
