// Sign-in with identity providers, and the identities of a user.
import type { Config } from '../infra/config/config.ts'
import { invalidField, notFound } from '../infra/errors.ts'
import { flowCookie, readFlowCookie } from '../services/auth/cookies.ts'
import { findOwnIdentity, listIdentities, removeIdentity, tokenFor } from '../services/auth/identities.ts'
import { decryptFlow, encryptFlow, type Provider, type Providers } from '../services/auth/oidc.ts'
import { lockActiveUser } from '../services/auth/sign-in.ts'
import type { Handlers, Request } from '../services/handler.ts'
import { requireRecentSignIn } from '../services/users/api-keys.ts'

export const identities = {
  async startOidcSignIn({ params, query }, { oidcProviders, cipher, config, publicUrl }) {
    const provider = findProvider(oidcProviders, params.provider)
    const redirectTo = requireOwnRedirect(config, publicUrl(), query.redirect_to)
    const { url, flow } = await provider.start(callbackUrl(publicUrl(), provider), redirectTo)
    return redirect(url, flowCookie(config, encryptFlow(cipher, flow)))
  },

  async finishOidcSignIn({ params, query, headers }, services) {
    const { db, cipher, config, oidcProviders, publicUrl } = services
    const provider = findProvider(oidcProviders, params.provider)
    const flow = decryptFlow(cipher, readFlowCookie(config, headers), provider.name)
    const back = (answer: Record<string, string>) =>
      redirect(withAnswer(flow.redirectTo, `${publicUrl()}/sign-in/token`, answer), flowCookie(config, null))
    const claims = await provider.finish(answeredUrl(callbackUrl(publicUrl(), provider), query), flow)
    if (claims === null) return back({ error: 'denied' })
    const findAccount = () => db.transaction((tx) => tokenFor(tx, services, provider.name, claims))
    // Of two first sign-ins at once, one creates the account, and the other then finds it.
    const result = await findAccount().catch((error) => {
      if (error.status !== 409) throw error
      return findAccount()
    })
    return 'refusal' in result ? back({ error: result.refusal }) : back({ kind: 'oidc', token: result.token })
  },

  async listIdentities({ principal, query }, { db }) {
    return { status: 200, body: await listIdentities(db, principal, query) }
  },

  async getIdentity({ principal, params: { id } }, { db }) {
    return { status: 200, body: await findOwnIdentity(db, id, principal) }
  },

  async removeIdentity({ principal, params: { id }, ifMatch }, services) {
    return await services.db.transaction(async (tx) => {
      const { email } = await lockActiveUser(tx, principal.userId)
      const identity = await findOwnIdentity(tx, id, principal)
      await requireRecentSignIn(tx, principal)
      ifMatch(identity)
      await removeIdentity(tx, services, identity, email!)
      return { status: 204 }
    })
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

function redirect(location: string, cookie: string) {
  return {
    status: 303 as const,
    headers: {
      location,
      'set-cookie': cookie,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    },
  }
}

/**
 * The page with what it needs: in the fragment, which browsers send to no server, or in the query for the
 * page of this server, which has no script.
 */
function withAnswer(page: string, ownPage: string, answer: Record<string, string>): string {
  const url = new URL(page)
  const text = new URLSearchParams(answer).toString()
  if (page === ownPage) url.search = text
  else url.hash = text
  return url.href
}

/** The page that gets the token. Throws 400 for one of another application. */
function requireOwnRedirect(
  { signInUrl, corsOrigins }: Readonly<Config>,
  publicUrl: string,
  asked: string | undefined,
): string {
  const page = asked ?? signInUrl ?? `${publicUrl}/sign-in/token`
  const own = [publicUrl, ...(signInUrl === null ? [] : [signInUrl])].map((url) => new URL(url).origin)
  const url = URL.parse(page)
  if (url === null || !/^https?:$/.test(url.protocol) || ![...own, ...corsOrigins].includes(url.origin))
    throw invalidField('redirect_to', 'origin', 'redirect_to has an origin that this server does not know')
  url.hash = ''
  return url.href
}
