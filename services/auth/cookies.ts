// The cookie in which a browser keeps a session, and the check that a request comes from a page that may use
// it. The check follows the Fetch Metadata and Origin headers, which pages cannot set, so pages need no token
// against forged requests (CSRF).
import { parseCookie, stringifySetCookie } from 'cookie'
import type { Config } from '../../infra/config/config.ts'
import { forbidden } from '../../infra/errors.ts'

type Settings = Readonly<Pick<Config, 'publicUrl' | 'corsOrigins' | 'sessionMaxDays'>>

/**
 * Browsers accept a name with `__Host-` over HTTPS only, and from this host alone, so that a page of a
 * neighbouring host cannot set the cookie.
 */
function isSecure({ publicUrl }: Pick<Settings, 'publicUrl'>): boolean {
  return publicUrl?.startsWith('https:') === true
}

export function sessionCookieName(settings: Pick<Settings, 'publicUrl'>): string {
  return isSecure(settings) ? '__Host-session' : 'session'
}

/** The value of `Set-Cookie` that keeps a session in a browser. @param token null deletes the cookie. */
export function sessionCookie(settings: Settings, token: string | null): string {
  return stringifySetCookie({
    name: sessionCookieName(settings),
    value: token ?? '',
    path: '/',
    httpOnly: true,
    // Links from other sites arrive signed in; their forms and scripts do not.
    sameSite: 'lax',
    secure: isSecure(settings),
    maxAge: token === null ? 0 : settings.sessionMaxDays * 86_400,
  })
}

/** The value of the session cookie in a `Cookie` header. */
export function readSessionCookie(
  settings: Pick<Settings, 'publicUrl'>,
  header: string | undefined,
): string | undefined {
  return header === undefined ? undefined : parseCookie(header)[sessionCookieName(settings)]
}

const flowSeconds = 600

/** The value of `Set-Cookie` for what a sign-in at an identity provider needs. null deletes the cookie. */
export function flowCookie(settings: Pick<Settings, 'publicUrl'>, value: string | null): string {
  return stringifySetCookie({
    name: flowCookieName(settings),
    value: value ?? '',
    path: '/',
    httpOnly: true,
    // The provider redirects back from another site.
    sameSite: 'lax',
    secure: isSecure(settings),
    maxAge: value === null ? 0 : flowSeconds,
  })
}

export function readFlowCookie(settings: Pick<Settings, 'publicUrl'>, headers: object): string | undefined {
  const { cookie } = headers as { cookie?: string }
  return cookie === undefined ? undefined : parseCookie(cookie)[flowCookieName(settings)]
}

function flowCookieName(settings: Pick<Settings, 'publicUrl'>): string {
  return isSecure(settings) ? '__Host-oidc' : 'oidc'
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
