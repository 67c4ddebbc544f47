// Sign-in with identity providers, and the identities of a user.
import type { Config } from '../infra/config/config.ts'
import { ApiError, forbidden, invalidField, notFound } from '../infra/errors.ts'
import { flowCookie, readFlowCookie } from '../services/auth/sessions/cookies.ts'
import {
  findOwnIdentity,
  listIdentities,
  removeOwnIdentity,
  tokenFor,
} from '../services/auth/oidc/identities.ts'
import {
  challengeOf,
  decryptFlow,
  encryptFlow,
  type Provider,
  type Providers,
} from '../services/auth/oidc/oidc.ts'
import type { Handlers, Request } from '../services/handler.ts'

export const identities = {
  async startOidcSignIn({ params, query }, { oidcProviders, cipher, config, publicUrl }) {
    const provider = findProvider(oidcProviders, params.provider)
    const redirectTo = requireOwnRedirect(config, publicUrl(), query.redirect_to)
    const { challenge = null } = query
    const { url, flow } = await provider.start(callbackUrl(publicUrl(), provider), { redirectTo, challenge })
    return redirect(url, flowCookie(config, encryptFlow(cipher, flow)))
  },

  async finishOidcSignIn({ params, query, headers, identify, noteCreated, noteError }, services) {
    const { db, cipher, config, oidcProviders, publicUrl } = services
    const provider = findProvider(oidcProviders, params.provider)
    const flow = decryptFlow(cipher, readFlowCookie(config, headers), provider.name)
    const isOwnPage = flow.redirectTo === ownTokenPage(publicUrl())
    const back = (answer: Record<string, string>) =>
      redirect(withAnswer(flow.redirectTo, isOwnPage, answer), isOwnPage ? null : flowCookie(config, null))
    const claims = await provider
      .finish(answeredUrl(callbackUrl(publicUrl(), provider), query), flow)
      .catch((error) => {
        // The page shows what happened; an application gets the error.
        if (!isOwnPage || !(error instanceof ApiError)) throw error
        noteError(error)
        return error.status === 401 ? 'not_valid' : 'unavailable'
      })
    if (claims === null) return back({ error: 'denied' })
    if (typeof claims === 'string') return back({ error: claims })
    // The page of this server proves with the cookie that the sign-in began in its browser.
    const challenge = isOwnPage ? challengeOf(flow.verifier) : flow.challenge
    const findAccount = () =>
      db.transaction((tx) => tokenFor(tx, services, { provider: provider.name, claims, challenge }))
    // Of two first sign-ins at once, one creates the account, and the other then finds it.
    const result = await findAccount().catch((error) => {
      if (error.status !== 409) throw error
      return findAccount()
    })
    if ('refusal' in result) {
      noteError(forbidden(`The sign-in was refused: ${result.refusal}.`, result.refusal))
      return back({ error: result.refusal })
    }
    if (result.createdId !== null) {
      identify(result.createdId)
      noteCreated(result.createdId)
    }
    return back({ kind: 'oidc', token: result.token })
  },

  async listIdentities({ principal, query }, { db }) {
    return { status: 200, body: await listIdentities(db, principal, query) }
  },

  async getIdentity({ principal, params: { id } }, { db }) {
    return { status: 200, body: await findOwnIdentity(db, id, principal) }
  },

  async removeIdentity({ principal, params: { id }, ifMatch }, services) {
    await services.db.transaction((tx) => removeOwnIdentity(tx, services, { id, principal }, ifMatch))
    return { status: 204 }
  },
} satisfies Handlers<'identities'>

type Answer = Request<'finishOidcSignIn'>['query']

function findProvider(providers: Providers, name: string): Provider {
  const provider = providers.find(name)
  if (provider === null) throw notFound('identity provider', name)
  return provider
}

function callbackUrl(publicUrl: string, { name }: Provider): string {
  return `${publicUrl}/v1/auth/oidc/${name}/callback`
}

/** The callback with the answer of the provider. */
function answeredUrl(callback: string, { code, state, iss, error, error_description }: Answer): URL {
  const url = new URL(callback)
  for (const [name, value] of Object.entries({ code, state, iss, error, error_description }))
    if (value !== undefined) url.searchParams.set(name, value)
  return url
}

function ownTokenPage(publicUrl: string): string {
  return new URL('/sign-in/token', publicUrl).href
}

function redirect(location: string, cookie: string | null) {
  return {
    status: 303 as const,
    headers: {
      location,
      ...(cookie !== null && { 'set-cookie': cookie }),
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    },
  }
}

/**
 * The page with what it needs: in the fragment, which browsers send to no server, or in the query for the
 * page of this server, which has no script.
 */
function withAnswer(page: string, isOwn: boolean, answer: Record<string, string>): string {
  const url = new URL(page)
  const text = new URLSearchParams(answer).toString()
  if (isOwn) url.search = text
  else url.hash = text
  return url.href
}

/**
 * The page that gets the token. Throws 400 for any other than SIGN_IN_URL, those of SIGN_IN_REDIRECTS, and
 * the page of this server: a page that redirects on would hand the token to another site.
 */
function requireOwnRedirect(
  { signInUrl, signInRedirects }: Readonly<Config>,
  publicUrl: string,
  asked: string | undefined,
): string {
  const own = ownTokenPage(publicUrl)
  const allowed = [own, ...(signInUrl === null ? [] : [signInUrl]), ...signInRedirects].map(normalized)
  const page = normalized(asked ?? signInUrl ?? own)
  if (page === null || !allowed.includes(page))
    throw invalidField('redirect_to', 'page', 'redirect_to is not a page that this server knows')
  return page
}

function normalized(page: string): string | null {
  return URL.parse(page)?.href ?? null
}
