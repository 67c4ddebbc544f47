// A browser without pages, for tests: it keeps cookies by host and follows redirects.

export interface Visit {
  status: number
  /** The address of the answer, or of a redirect that `stopAt` names. */
  url: string
  headers: Headers
  body: string
}

export class BrowserJar {
  readonly #cookies = new Map<string, Map<string, string>>()

  /** The `Cookie` header for an address. */
  cookiesFor(url: string): string {
    return [...(this.#cookies.get(new URL(url).host) ?? [])]
      .map(([name, value]) => `${name}=${value}`)
      .join('; ')
  }

  async fetch(url: string, init: RequestInit & { headers?: Record<string, string> } = {}): Promise<Response> {
    const cookie = this.cookiesFor(url)
    const headers = { ...init.headers, ...(cookie !== '' && { cookie }) }
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) this.#keep(new URL(url).host, line)
    return response
  }

  /** Follows redirects until a page, or one to an address that begins with `stopAt`. */
  async visit(start: string, stopAt: string): Promise<Visit> {
    let url = start
    for (let steps = 0; steps < 20; steps++) {
      const response = await this.fetch(url)
      const location = response.headers.get('location')
      const next = location === null ? null : new URL(location, url).href
      const { status, headers } = response
      if (next === null || next.startsWith(stopAt))
        return { status, url: next ?? url, headers, body: await response.text() }
      url = next
    }
    throw new Error(`too many redirects from ${start}`)
  }

  #keep(host: string, line: string): void {
    const [pair, ...attributes] = line.split(/; */)
    const [name, value] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]
    const jar = this.#cookies.get(host) ?? new Map<string, string>()
    this.#cookies.set(host, jar)
    const isDeleted = attributes.some((one) => /^(max-age=0|expires=thu, 01 jan 1970)/i.test(one))
    if (isDeleted) jar.delete(name)
    else jar.set(name, value)
  }
}
