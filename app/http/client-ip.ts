// Whom limits count where there is no key: the network that a request comes from.
import ipaddr from 'ipaddr.js'

/**
 * An IPv4 address; of an IPv6 one its first 64 bits, which are the least that anybody is given (RFC 6177), so that whoever has
 * them all is counted as one. What is no address, as a proxy may forward it, stands for itself.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`
}
