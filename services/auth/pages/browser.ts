// The requests of a browser to the pages of this server: whether a page of this server sent them, the session
// of the browser, and the answers.
import type { Config } from '../../../infra/config/config.ts'
import type { Database, Db } from '../../../infra/database/database.ts'
import { ApiError, unauthorized } from '../../../infra/errors.ts'
import { html } from '../../../infra/html/html.ts'
import { page, pageHeaders } from '../../../infra/html/layout.ts'
import { actorOf, type Principal, type Principals } from '../../users/authentication.ts'
import { findBrowserSession } from '../sessions/browser-session.ts'
import { requireOwnPage } from '../sessions/cookies.ts'

export interface PageRequest {
  id: string
  clientRequestId: string | undefined
  headers: object
  ip: string
  identify(userId: string, credentialId?: string): void
  noteError(error: ApiError): void
}

interface PageServices {
  config: Readonly<Config>
  principals: Principals
  database: Database
}

export function isOwnPage({ headers: sent }: PageRequest, { config }: Pick<PageServices, 'config'>): boolean {
  try {
    requireOwnPage(config, sent)
    return true
  } catch {
    return false
  }
}

/**
 * The session of the browser, which the audit log then names; null without one, and for a limited one: the
 * pages do what only a session with all rights of its user may do.
 */
export async function findSession(
  { headers: sent, identify }: PageRequest,
  { config, principals }: Pick<PageServices, 'config' | 'principals'>,
): Promise<Principal | null> {
  const principal = await findBrowserSession(principals, config, sent)
  if (principal === null || principal.isLimitedSession) return null
  identify(principal.userId, principal.credentialId)
  return principal
}

/** The database for changes of the user: their events name the session. */
export function databaseFor(
  { id, clientRequestId }: PageRequest,
  { database }: Pick<PageServices, 'database'>,
  principal: Principal,
): Db {
  return database.forRequest({ id, clientRequestId, actor: actorOf(principal) })
}

/**
 * For an error that the page shows, or that the state of the page already shows as done or impossible: the
 * audit log has it. Throws every other, and what the server is to blame for.
 */
export function noteRefusal({ noteError }: Pick<PageRequest, 'noteError'>, error: unknown): ApiError {
  if (!(error instanceof ApiError) || error.status >= 500) throw error
  noteError(error)
  return error
}

/** The answer to a form that was sent without a session. */
export function signInFirst({ noteError }: PageRequest, cookie?: string) {
  noteError(unauthorized('missing', 'The browser has no session without limits: sign in.'))
  return redirectTo('/sign-in', cookie)
}

/** With `no-referrer`, browsers would send forms without their origin, which `requireOwnPage` needs. */
const headers = () => ({ ...pageHeaders, 'referrer-policy': 'same-origin' })

const headersWith = (cookie: string | undefined) => ({
  ...headers(),
  ...(cookie !== undefined && { 'set-cookie': cookie }),
})

export const shown = (body: string, cookie?: string) => ({
  status: 200 as const,
  body,
  headers: headersWith(cookie),
})

export const refused = (body: string) => ({ status: 422 as const, body, headers: headers() })

export const missing = (body: string, cookie?: string) => ({
  status: 404 as const,
  body,
  headers: headersWith(cookie),
})

export const otherSite = () => ({ status: 403 as const, body: renderOtherSite(), headers: headers() })

export const redirectTo = (location: string, cookie?: string) => ({
  status: 303 as const,
  headers: {
    location,
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    ...(cookie !== undefined && { 'set-cookie': cookie }),
  },
})

function renderOtherSite(): string {
  return page({
    title: 'This form cannot be sent',
    body: html`<div class="sheet stack">
      <h1>This form cannot be sent</h1>
      <p>It was sent by a page of another site. Nothing was changed.</p>
      <p><a class="button" href="/sign-in">Go to the sign-in</a></p>
    </div>`,
  })
}
