// Content negotiation by the Accept header (RFC 9110, section 12.5.1).
import type { FastifyReply } from 'fastify'

/** How a type matches Accept: by the most specific of the ranges that contain it. */
interface Match {
  /** 2 for the type itself, 1 for `type/*`, 0 for any type, -1 for no match. */
  specificity: number
  quality: number
}

/** Whether Accept allows at least one of the types. */
export function accepts(header: string | undefined, types: string[]): boolean {
  if (header === undefined || header === '*/*' || types.includes(header) || header.trim() === '') return true
  return types.some((type) => matchOf(header, type).quality > 0)
}

/**
 * The type that Accept prefers: the one with the highest quality, then the one that is named most
 * specifically. Otherwise, and when Accept allows none, the first; undefined if there are no types.
 */
export function preferredType(header: string | undefined, types: string[]): string | undefined {
  if (header === undefined || types.length < 2) return types.at(0)
  const [best] = types
    .map((type) => ({ type, ...matchOf(header, type) }))
    .toSorted((a, b) => b.quality - a.quality || b.specificity - a.specificity)
  return best.quality > 0 ? best.type : types[0]
}

function matchOf(header: string, type: string): Match {
  let best: Match = { specificity: -1, quality: 0 }
  for (const item of header.split(',')) {
    const [range, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
    const specificity =
      range === type ? 2 : range === `${type.split('/')[0]}/*` ? 1 : range === '*/*' || range === '*' ? 0 : -1
    const q = parameters.find((p) => p.startsWith('q='))
    if (specificity > best.specificity) best = { specificity, quality: q === undefined ? 1 : qualityOf(q) }
  }
  return best
}

function qualityOf(parameter: string): number {
  return Number(parameter.slice('q='.length)) || 0
}

/** Whether the client is a browser that shows a page: only browsers name HTML in Accept. */
export function acceptsHtml(header: string | undefined): boolean {
  return header !== undefined && /text\/html/i.test(header) && accepts(header, ['text/html'])
}

/** Adds a header field of the request, such as `accept`, to `Vary`: the response depends on it. */
export function varyBy(reply: FastifyReply, field: string): void {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? field : `${others}, ${field}`)
}
