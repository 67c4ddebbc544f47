// HTML that is written by hand. Whatever is put into it is text, and is escaped, unless it is HTML of here already.

export class Html {
  readonly text: string

  constructor (text: string) {
    this.text = text
  }

  toString (): string {
    return this.text
  }
}

type Part = Html | string | number | null | Part[]

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }

function write (part: Part): string {
  if (part === null) return ''
  if (part instanceof Html) return part.text
  if (Array.isArray(part)) return part.map(write).join('')
  return String(part).replace(/[&<>"']/g, (sign) => entities[sign])
}

/** For elements and for attributes, whose values stand in double quotes. null is nothing. */
export function html (texts: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(texts.reduce((whole, text, i) => whole + write(parts[i - 1]) + text))
}
