// The network of a client, by which requests without an API key are counted.
import ipaddr from 'ipaddr.js'

/**
 * An IPv4 address as it is. An IPv6 address as its first 64 bits: the smallest network that a customer gets
 * (RFC 6177), so that one customer counts as one client. Text that is no address, as a proxy may forward it,
 * is returned unchanged.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`
}
