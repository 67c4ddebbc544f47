// The cookie in which a browser keeps a session, and the check that a request comes from a page that may use
// it. The check follows the Fetch Metadata and Origin headers, which pages cannot set, so pages need no token
// against forged requests (CSRF).
import { parseCookie, stringifySetCookie } from 'cookie'
import type { Config } from '../../../infra/config/config.ts'
import { forbidden } from '../../../infra/errors.ts'

type Settings = Readonly<Pick<Config, 'publicUrl' | 'corsOrigins' | 'sessionMaxDays'>>

type PublicUrl = Pick<Settings, 'publicUrl'>

const session = 'session'
/** The state of a sign-in at an identity provider, between its two requests. */
const flow = 'oidc'
const flowSeconds = 600
/** The page that the browser returns to after a sign-in: `console`, or the id of an invitation. */
const destination = 'return'
const destinationSeconds = 3_600
const destinations = /^(console|(inv|omb)_[0-7][0-9a-hjkmnp-tv-z]{25})$/

/** The value of `Set-Cookie` that keeps a session in a browser. @param token null deletes the cookie. */
export function sessionCookie(settings: Settings, token: string | null): string {
  return setCookie(settings, session, { value: token, seconds: settings.sessionMaxDays * 86_400 })
}

/** The headers that delete the cookie when its session ends with a request that it has sent. */
export function withoutCookie(settings: Settings, headers: object): { headers?: Record<string, string> } {
  // A token in Authorization may be of another session than the cookie.
  return 'authorization' in headers ? {} : { headers: { 'set-cookie': sessionCookie(settings, null) } }
}

/** The value of the session cookie in a `Cookie` header. */
export function readSessionCookie(settings: PublicUrl, header: string | undefined): string | undefined {
  return readCookie(settings, session, header)
}

/** The value of `Set-Cookie` for a sign-in at an identity provider. null deletes the cookie. */
export function flowCookie(settings: PublicUrl, value: string | null): string {
  return setCookie(settings, flow, { value, seconds: flowSeconds })
}

export function readFlowCookie(settings: PublicUrl, headers: object): string | undefined {
  return readCookie(settings, flow, (headers as { cookie?: string }).cookie)
}

/**
 * The value of `Set-Cookie` that leads to the console or to the page of an invitation after the sign-in.
 * null deletes the cookie.
 */
export function returnCookie(settings: PublicUrl, page: string | null): string {
  return setCookie(settings, destination, { value: page, seconds: destinationSeconds })
}

/** The path of that page: never text of another site, so it is safe in a URL. Null without one. */
export function readReturnPath(settings: PublicUrl, headers: object): string | null {
  const page = readCookie(settings, destination, (headers as { cookie?: string }).cookie)
  if (page === undefined || !destinations.test(page)) return null
  return page === 'console' ? '/console' : `/invitations/${page}`
}

/** The access to the customer portal. */
const portal = 'portal'

/** The value of `Set-Cookie` that keeps a portal session in a browser. null deletes the cookie. */
export function portalCookie(settings: PublicUrl, value: string | null, seconds = 0): string {
  return setCookie(settings, portal, { value, seconds })
}

export function readPortalCookie(settings: PublicUrl, headers: object): string | undefined {
  return readCookie(settings, portal, (headers as { cookie?: string }).cookie)
}

function setCookie(
  settings: PublicUrl,
  name: string,
  { value, seconds }: { value: string | null; seconds: number },
): string {
  return stringifySetCookie({
    name: fullName(settings, name),
    value: value ?? '',
    path: '/',
    httpOnly: true,
    // Links from other sites, and the redirects of identity providers, arrive with the cookie; forms and
    // scripts of other sites do not.
    sameSite: 'lax',
    secure: isSecure(settings),
    maxAge: value === null ? 0 : seconds,
  })
}

function readCookie(settings: PublicUrl, name: string, header: string | undefined): string | undefined {
  return header === undefined ? undefined : parseCookie(header)[fullName(settings, name)]
}

/**
 * Browsers accept a name with `__Host-` over HTTPS only, and from this host alone, so that a page of a
 * neighbouring host cannot set the cookie.
 */
function fullName(settings: PublicUrl, name: string): string {
  return isSecure(settings) ? `__Host-${name}` : name
}

function isSecure({ publicUrl }: PublicUrl): boolean {
  return publicUrl?.startsWith('https:') === true
}

interface OriginHeaders {
  origin?: string
  host?: string
  'sec-fetch-site'?: string
}

/**
 * Throws 403 for a request that a page of another origin has sent. Pages of CORS_ORIGINS may send requests.
 * Programs other than browsers send neither header, and need no check: no page makes them send a cookie.
 */
export function requireOwnPage(settings: Settings, headers: object): void {
  const { origin, host, 'sec-fetch-site': site } = headers as OriginHeaders
  if (site === 'same-origin' || site === 'none' || (site === undefined && origin === undefined)) return
  const isSameHost = host !== undefined && URL.parse(origin!)?.host === host
  const isOwn = site === undefined && settings.publicUrl === null && isSameHost
  const isTrusted =
    origin !== undefined && (settings.corsOrigins.includes(origin) || origin === originOf(settings.publicUrl))
  if (!isOwn && !isTrusted)
    throw forbidden('Pages of this origin may not use the session of the browser.', 'origin')
}

function originOf(url: string | null): string | null {
  return url === null ? null : new URL(url).origin
}
