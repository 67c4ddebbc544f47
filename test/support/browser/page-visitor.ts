// A browser without scripts that is signed in, for tests of the pages.
import { browserCookie } from '../operations/operation-fixtures-auth.ts'
import type { TestServer } from '../server/server.ts'

export interface PageReply {
  status: number
  /** The path that the browser is sent to; null without a redirect. */
  location: string | null
  setCookies: string[]
  html: string
}

export interface Visitor {
  cookie: string
  get(path: string, headers?: Record<string, string>): Promise<PageReply>
  /** Sends a form, by default from a page of the server. */
  submit(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<PageReply>
}

const samePage = { 'sec-fetch-site': 'same-origin' }

/** The headers of forms of other sites, and of neighbouring hosts. */
export const otherSites: Record<string, Record<string, string>> = {
  'another site': { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  'a neighbouring host': { 'sec-fetch-site': 'same-site', origin: 'https://blog.example.com' },
  'a page without an origin': { 'sec-fetch-site': 'cross-site', origin: 'null' },
  'an old browser': { origin: 'https://evil.example' },
}

/** @param cookie more cookies, or others than that of the session. */
export function visitorWith(server: Pick<TestServer, 'url' | 'services'>, cookie: string): Visitor {
  const { url, services } = server
  const own = services.config.publicUrl ?? url
  const send = async (path: string, init: RequestInit): Promise<PageReply> => {
    const response = await fetch(url + path, { redirect: 'manual', ...init })
    return {
      status: response.status,
      location: response.headers.get('location')?.replace(own, '') ?? null,
      setCookies: response.headers.getSetCookie(),
      html: await response.text(),
    }
  }
  const sent = (headers: Record<string, string>) => ({ ...(cookie !== '' && { cookie }), ...headers })
  return {
    cookie,
    get: (path, headers = {}) => send(path, { headers: sent(headers) }),
    submit: (path, fields, headers = samePage) =>
      send(path, { method: 'POST', headers: sent(headers), body: new URLSearchParams(fields) }),
  }
}

/** A browser in which the user signed in some minutes ago. */
export async function visitorOf(server: TestServer, userId: string, minutesAgo = 0): Promise<Visitor> {
  const { cookie } = await browserCookie(server, userId, minutesAgo)
  return visitorWith(server, cookie)
}
