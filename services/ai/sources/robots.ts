// robots.txt (RFC 9309). Hosts choose their rules and paths, and every page is matched, so a match takes time
// that is linear in the rules and the path, with any number of wildcards.

interface Rule {
  allows: boolean
  /** The pattern, without its wildcards. */
  parts: string[]
  /** Whether the path must end with the pattern. */
  isWhole: boolean
  length: number
}

interface Group {
  rules: Rule[]
  crawlDelay: number | null
}

export class Robots {
  /** Seconds between two requests. */
  readonly crawlDelay: number
  readonly #rules: Rule[]

  /** @param token the name of the crawler. Groups with its name count, or else those for all. */
  constructor(text: string, token: string) {
    const groups = readGroups(text)
    const own = groups.get(token.toLowerCase()) ?? groups.get('*') ?? { rules: [], crawlDelay: null }
    this.#rules = own.rules
    this.crawlDelay = own.crawlDelay ?? 0
  }

  /** The longest rule decides; of two as long, the one that allows. */
  isAllowed(url: string): boolean {
    const { pathname, search } = new URL(url)
    const path = normalize(pathname + search)
    let best: Rule | undefined
    for (const rule of this.#rules)
      if (
        (best === undefined ||
          rule.length > best.length ||
          (rule.length === best.length && rule.allows && !best.allows)) &&
        matches(rule, path)
      )
        best = rule
    return best?.allows ?? true
  }
}

function readGroups(text: string): Map<string, Group> {
  const groups = new Map<string, Group>()
  let current: Group[] = []
  let isNaming = false
  for (const line of text.replace(/^\ufeff/, '').split(/[\r\n]+/)) {
    const [statement] = line.split('#', 1)
    const colon = statement.indexOf(':')
    if (colon === -1) continue
    const name = statement.slice(0, colon).trim().toLowerCase()
    const value = statement.slice(colon + 1).trim()
    if (name === 'user-agent') {
      if (!isNaming) current = []
      isNaming = true
      const agent = value.split('/', 1)[0].toLowerCase()
      const group = groups.get(agent) ?? { rules: [], crawlDelay: null }
      groups.set(agent, group)
      current.push(group)
    } else if (name === 'allow' || name === 'disallow') {
      isNaming = false
      if (value !== '') for (const group of current) group.rules.push(toRule(name === 'allow', value))
    } else if (name === 'crawl-delay') {
      isNaming = false
      if (/^\d{1,6}(\.\d{1,3})?$/.test(value)) for (const group of current) group.crawlDelay = Number(value)
    }
  }
  return groups
}

function toRule(allows: boolean, value: string): Rule {
  const isWhole = value.endsWith('$')
  const pattern = normalize(isWhole ? value.slice(0, -1) : value)
  return { allows, parts: pattern.replaceAll(/\*+/g, '*').split('*'), isWhole, length: value.length }
}

function matches({ parts, isWhole }: Rule, path: string): boolean {
  const [first, ...others] = parts
  if (!path.startsWith(first)) return false
  if (isWhole && others.length === 0) return path === first
  const last = isWhole ? others.pop()! : ''
  let end = first.length
  for (const part of others) {
    const at = path.indexOf(part, end)
    if (at === -1) return false
    end = at + part.length
  }
  return path.endsWith(last) && path.length - last.length >= end
}

/** The same text for each way to write a path with percent signs. */
function normalize(path: string): string {
  return path
    .toWellFormed()
    .replaceAll(/[^!-~]+/g, encodeURIComponent)
    .replaceAll(/%[0-9a-f]{2}/gi, (code) => {
      const character = String.fromCharCode(Number.parseInt(code.slice(1), 16))
      return /[\w.~-]/.test(character) ? character : code.toUpperCase()
    })
}
