// An identity provider that runs here (oidc-provider). It asks no questions: tests say who signs in.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import Provider, { type Configuration } from 'oidc-provider'
import type { Test } from 'tap'
import { listen } from '../http/listen.ts'

export interface ProviderPerson {
  sub: string
  email?: string
  email_verified?: boolean
  name?: string
}

export interface IdentityProvider {
  issuer: string
  /** For OIDC_PROVIDERS. */
  setting: { name: string; issuer: string; client_id: string; client_secret: string }
  /** The person who signs in; null refuses. */
  person: ProviderPerson | null
  /** Call it before the first sign-in. */
  allowCallbacks(urls: string[]): void
}

const client = { client_id: 'platform', client_secret: 'a-secret-of-the-platform' }

export async function startIdentityProvider(
  t: Pick<Test, 'teardown'>,
  { name = 'local' } = {},
): Promise<IdentityProvider> {
  let handle: (request: IncomingMessage, response: ServerResponse) => unknown = () => {}
  const server = createServer((request, response) => void handle(request, response))
  const port = await listen(t, server)
  const issuer = `http://127.0.0.1:${port}`
  const people = new Map<string, ProviderPerson>()
  const state: IdentityProvider = {
    issuer,
    setting: { name, issuer, ...client },
    person: null,
    allowCallbacks(urls) {
      const provider = new Provider(issuer, configurationOf(urls, people))
      const answer = provider.callback()
      handle = async (request, response) => {
        if (!request.url!.startsWith('/interaction/')) return await answer(request, response)
        const { person } = state
        if (person === null)
          return await provider.interactionFinished(request, response, { error: 'access_denied' })
        people.set(person.sub, person)
        const grant = new provider.Grant({ accountId: person.sub, clientId: client.client_id })
        grant.addOIDCScope('openid email profile')
        const consent = { grantId: await grant.save() }
        const login = { accountId: person.sub, remember: false }
        return await provider.interactionFinished(request, response, { login, consent })
      }
    },
  }
  return state
}

function configurationOf(redirectUris: string[], people: Map<string, ProviderPerson>): Configuration {
  return {
    clients: [{ ...client, redirect_uris: redirectUris }],
    pkce: { required: () => true },
    claims: { email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ ...people.get(accountId)!, sub: accountId }),
    }),
    cookies: { keys: ['a key of the test'] },
    jwks: undefined,
  }
}
