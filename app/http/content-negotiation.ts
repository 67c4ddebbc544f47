// Content negotiation by the Accept header.

/** Whether Accept (RFC 9110, section 12.5.1) allows at least one of the types. */
export function accepts(header: string | undefined, types: string[]): boolean {
  if (header === undefined || header === '*/*' || types.includes(header) || header.trim() === '') return true
  return types.some((type) => {
    let best = { specificity: -1, quality: 0 }
    for (const item of header.split(',')) {
      const [range, ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
      const specificity =
        range === type
          ? 2
          : range === `${type.split('/')[0]}/*`
            ? 1
            : range === '*/*' || range === '*'
              ? 0
              : -1
      const q = parameters.find((p) => p.startsWith('q='))
      if (specificity > best.specificity)
        best = { specificity, quality: q === undefined ? 1 : Number(q.slice(2)) }
    }
    return best.specificity >= 0 && best.quality > 0
  })
}

/** Whether the client is a browser that shows a page: only browsers name HTML in Accept. */
export function acceptsHtml(header: string | undefined): boolean {
  return header !== undefined && /text\/html/i.test(header) && accepts(header, ['text/html'])
}
